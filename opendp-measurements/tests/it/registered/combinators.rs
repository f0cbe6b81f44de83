//! Tests that call combinators by their registered names. Only parallel composition is registered
//! for typed domains and metrics. All other combinators are registered for an erased domain and an
//! erased metric. The types of erased objects are known only at run time.

use opendp_core::arith::Exact;
use opendp_core::erased::{AnyDistance, AnyFunction, AnyMeasurement, AnyTransformation, AnyValue};
use opendp_core::{
    AbsoluteDistance, Approximate, Arg, Args, AtomDomain, ChangeOneDistance, Codec, Constructed,
    DiscreteDistance, Error, Function, HammingDistance, Made, MaxDivergence, Measure, Measurement,
    MetricOn, PrivacyMap, Queryable, Result, Sampled, SmoothedMaxDivergence, Space, StabilityMap,
    SymmetricDistance, TheMeasure, TheMetric, Transformation, UserDivergence, VectorDomain,
    ZeroConcentratedDivergence,
};
use opendp_measurements::accounting::{concentrated_epsilon, concentrated_rho_of_pure};
use opendp_measurements::{Scale, make_composition, make_laplace, make_population_amplification};
use serde_json::{Value as Json, json};

use super::{named, single};

type Rows = VectorDomain<AtomDomain<i32>>;
type Numbers = AtomDomain<i32>;
type Noise = Measurement<Numbers, AbsoluteDistance<i32>, MaxDivergence, i32>;

fn numbers() -> Space<Numbers, AbsoluteDistance<i32>> {
    Space::new(AtomDomain::default(), AbsoluteDistance::new()).unwrap()
}
fn noise(scale: f64) -> Noise {
    make_laplace(numbers(), Scale::new(scale).unwrap(), None).unwrap()
}
fn rows() -> Space<Rows, SymmetricDistance> {
    Space::new(VectorDomain::default(), SymmetricDistance).unwrap()
}
fn count() -> Transformation<Rows, SymmetricDistance, Numbers, AbsoluteDistance<i32>> {
    let function = Function::map(|rows: &Vec<i32>| Ok(i32::try_from(rows.len()).unwrap()));
    Transformation::new(rows(), numbers(), function, StabilityMap::from_constant(1))
}
/// Make a measurement of rows with the privacy map `loss`.
fn told<M, MO>(
    metric: M,
    measure: MO,
    size: usize,
    loss: impl Fn(u32) -> Result<MO::Distance> + Send + Sync + 'static,
) -> Measurement<Rows, M, MO, i32>
where
    M: MetricOn<Rows> + opendp_core::Metric<Distance = u32>,
    MO: Measure,
{
    let space = Space::new(Rows::default().with_size(size), metric).unwrap();
    let map = PrivacyMap::new(move |d: &u32| loss(*d));
    Measurement::new(space, measure, Function::map(|rows: &Vec<i32>| Ok(rows.iter().sum())), map)
}
/// Call a registered function. If the function is registered once for each of several measures,
/// choose the registration for the given measure.
fn call(name: &str, measure: &str, told: AnyMeasurement, args: Args) -> Result<AnyMeasurement> {
    let found = named(name)
        .into_iter()
        .find(|offer| offer.generic("MO").is_none_or(|given| given == measure));
    found.unwrap().construct(&args.with("measurement", Constructed::from(told)))?.measurement()
}
#[track_caller]
fn close(found: f64, exact: f64) {
    let bound = exact.next_down() <= found && found <= exact * (1.0 + 1e-9);
    assert!(bound, "{found:e} for {exact:e}");
}

#[test]
fn chains_are_registered_at_erased_types() {
    let call = |name: &str, args: &Args| {
        let offer = single(name);
        assert!(!offer.documentation().is_empty() && offer.names() == [name]);
        offer.construct(args)
    };
    let triple = Function::map(|x: &i32| Ok(3 * x));
    let triple = Transformation::new(numbers(), numbers(), triple, StabilityMap::from_constant(3));
    let made = |step: AnyTransformation| Constructed::from(step);
    let args = Args::new()
        .with("transformation1", made(triple.erase()))
        .with("transformation0", made(count().erase()));
    let chain = call("make_chain_tt", &args).unwrap().transformation().unwrap();
    assert!(chain.input().domain().is::<Rows>(), "{:?}", chain.input());
    let args = Args::new()
        .with("measurement1", Constructed::from(noise(0.0).erase()))
        .with("transformation0", made(chain));
    let release = call("make_chain_mt", &args).unwrap().measurement().unwrap();
    let function = Function::map(|x: &i32| Ok(x + 1)).erase();
    let args = Args::new()
        .with("postprocess1", Constructed::from(function))
        .with("measurement0", Constructed::from(release));
    let release = call("make_chain_pm", &args).unwrap().measurement().unwrap();
    let released = release.invoke(&AnyValue::new(vec![7, 7])).unwrap();
    assert_eq!(released.downcast::<i32>().unwrap(), 7);
}
#[test]
fn composition_is_registered_at_erased_types_under_both_names() {
    let offer = single("make_composition");
    assert_eq!(offer.names(), ["make_composition", "make_basic_composition"]);
    let call = |members: Vec<AnyMeasurement>| {
        let members = members.into_iter().map(Constructed::from).map(Arg::from).collect();
        offer.construct(&Args::new().with("measurements", Arg::List(members)))
    };
    let both = call(vec![noise(1.0).erase(), noise(0.0).erase()]).unwrap();
    let both = both.measurement().unwrap();
    assert!(both.input().domain().is::<Numbers>(), "{:?}", both.input());
    let answers = both.invoke(&AnyValue::new(7)).unwrap();
    let answers = answers.downcast::<Vec<AnyValue>>().unwrap();
    assert_eq!(*answers[1].downcast_ref::<i32>().unwrap(), 7);
    assert_eq!(call(vec![]).unwrap_err().kind(), "MakeMeasurement");
    // A composition can be a member of another composition.
    let nested = call(vec![both.clone(), both]).unwrap().measurement().unwrap();
    let total = nested.map(&AnyDistance::new(0)).unwrap();
    assert_eq!(*total.downcast_ref::<f64>().unwrap(), 0.0);
}
#[test]
fn parallel_composition_is_made_by_name_for_parts_that_are_written() {
    let offers = named("make_parallel_composition");
    let registration = |measure: &str| {
        let fits =
            |output: &str| output.contains(measure) && output.contains("AtomDomain<i32>>, Sym");
        offers.iter().find(|offer| fits(&offer.output())).unwrap()
    };
    let member = |scale| {
        let scale = Scale::new(scale).unwrap();
        let member = count().then(|count| make_laplace(count, scale, None)).unwrap();
        Arg::from(Constructed::from(member.erase()))
    };
    let args = |part, members| {
        Args::new()
            .with("input", &rows().erase())
            .with("part", part)
            .with("measurements", Arg::List(members))
    };
    let members = || vec![member(1.0), member(2.0), member(4.0)];
    let by_age = args(json!({"edges": [18, 65]}), members());
    let fits: Vec<String> = offers.iter().filter(|o| o.fits(&by_age)).map(|o| o.output()).collect();
    let made = "Measurement<VectorDomain<AtomDomain<i32>>, SymmetricDistance, MaxDivergence, \
                Vec<AnyValue>>";
    assert_eq!(fits, [made]);
    let made = registration("MaxDivergence").construct(&by_age).unwrap();
    assert_eq!(made.map(&1.into()), Ok(json!(1.0)));
    let made = made.measurement().unwrap();
    let answers = made.invoke(&AnyValue::new(vec![17, 18, 70]));
    assert_eq!(answers.unwrap().downcast::<Vec<AnyValue>>().unwrap().len(), 3);
    let two = args(json!({"categories": [0, 1]}), members());
    let error = registration("MaxDivergence").construct(&two).unwrap_err();
    assert_eq!(error.kind(), "MakeMeasurement");
    let none = args(json!({"categories": [0, 1]}), vec![]);
    let error = registration("MaxDivergence").construct(&none).unwrap_err();
    assert_eq!(error.kind(), "MakeMeasurement");
    let error = registration("ZeroConc").construct(&by_age).unwrap_err();
    assert_eq!(error.kind(), "Argument");
    assert!(TheMetric(SymmetricDistance).erased().metric().is_ok());
    // The metric of the member `other` differs from the metric of the input. No registered
    // signature accepts such a member, and a call of the constructor gives an error.
    let sequence = Space::new(Rows::default(), opendp_core::InsertDeleteDistance).unwrap();
    let map = PrivacyMap::new(|d: &u32| Ok(f64::from(*d)));
    let other = Measurement::new(sequence, MaxDivergence, Function::map(|_| Ok(0)), map).erase();
    let other = args(json!({"edges": []}), vec![Constructed::from(other).into()]);
    assert!(!offers.iter().any(|offer| offer.fits(&other)));
    let error = registration("MaxDivergence").construct(&other).unwrap_err();
    assert!(error.kind() == "MetricMismatch" && error.to_string().contains("measurements[0]"));
}
#[test]
fn adaptive_composition_is_registered_with_its_odometer_and_filter() {
    let space = Space::new(VectorDomain::new(AtomDomain::<f64>::non_nan()), SymmetricDistance);
    let args = Args::new()
        .with("input", &space.unwrap().erase())
        .with("output_measure", TheMeasure(ZeroConcentratedDivergence).erased());
    let adaptive = args.clone().with("d_in", json!(1));
    let adaptive = adaptive.with("d_mids", json!([0.5, 0.25]));
    let plan = single("make_sequential_composition").construct(&adaptive).unwrap();
    assert_eq!(plan.map(&1.into()).unwrap(), json!(0.75));
    let odometer = single("make_fully_adaptive_composition").construct(&args).unwrap();
    assert_eq!(odometer.kind().name(), "odometer");
    let args =
        Args::new().with("odometer", odometer).with("d_in", json!(2)).with("d_out", json!(0.5));
    let filter = single("make_privacy_filter").construct(&args).unwrap();
    assert_eq!(filter.map(&2.into()).unwrap(), json!(0.5));
    assert_eq!(filter.map(&3.into()).unwrap_err().kind(), "FailedMap");
}
#[test]
fn every_conversion_is_registered_at_erased_types() {
    let floats = Space::new(AtomDomain::<f64>::non_nan(), AbsoluteDistance::<f64>::new()).unwrap();
    let laplace = make_laplace(floats, Scale::new(1.0).unwrap(), None).unwrap();
    let number = |number: f64| Args::new().with("delta", json!(number));
    let rho = call("make_pureDP_to_zCDP", "", laplace.erase(), Args::new()).unwrap();
    assert!(rho.measure().is::<ZeroConcentratedDivergence>());
    let types = "ZeroConcentratedDivergence";
    let profile = call("make_zCDP_to_approxDP", types, rho.clone(), Args::new()).unwrap();
    let fixed = call("make_fix_delta", "SmoothedMaxDivergence", profile, number(1e-6)).unwrap();
    assert!(fixed.measure().is::<Approximate<MaxDivergence>>());
    let loss = fixed.map(&AnyDistance::new(1.0)).unwrap();
    let (epsilon, delta) = *loss.downcast_ref::<(f64, f64)>().unwrap();
    close(epsilon, concentrated_epsilon(concentrated_rho_of_pure(1.0).unwrap(), 1e-6).unwrap());
    assert_eq!(delta, 1e-6);
    let curve = "Approximate<MaxDivergence>";
    let step = call("make_fixed_approxDP_to_approxDP", curve, fixed, Args::new()).unwrap();
    assert!(step.measure().is::<SmoothedMaxDivergence>());
    let pair = call("make_approximate", types, rho.clone(), Args::new()).unwrap();
    assert!(pair.measure().is::<Approximate<ZeroConcentratedDivergence>>());
    // If a conversion cannot convert the measure of its argument, the conversion gives an error.
    let error = call("make_pureDP_to_zCDP", "", rho, Args::new()).unwrap_err();
    assert_eq!(error.kind(), "Argument");
    let sample = told(SymmetricDistance, MaxDivergence, 10, |d| Ok(f64::from(d.min(1)))).erase();
    let size = Args::new().with("population_size", json!(100));
    let sample = call("make_population_amplification", "MaxDivergence", sample, size).unwrap();
    assert!(sample.measure().is::<Sampled<MaxDivergence>>());
    let loss = sample.map(&AnyDistance::new(2_u32)).unwrap();
    close(*loss.downcast_ref::<f64>().unwrap(), (0.1 * 1_f64.exp_m1()).ln_1p());
}
#[test]
fn group_privacy_is_registered_and_composes() {
    let call = |measure: &str, told: AnyMeasurement, size: u32| {
        call("make_group_privacy", measure, told, Args::new().with("size", json!(size)))
    };
    /// At distance 0, return `nothing`, which is the loss 0. At distance 1, return the loss
    /// `single`. Larger distances give an error.
    fn once<Q>(d: u32, nothing: Q, single: Q) -> Result<Q> {
        match d {
            0 => Ok(nothing),
            1 => Ok(single),
            _ => Err(Error::FailedMap("more than one record".into())),
        }
    }
    let single =
        told(HammingDistance, ZeroConcentratedDivergence, 5, |d| once(d, 0.0, 0.5)).erase();
    let four = call("ZeroConcentratedDivergence", single, 4).unwrap();
    let twice = make_composition(vec![four.clone(), four]).unwrap();
    let loss = twice.map(&AnyDistance::new(4_u32)).unwrap();
    assert_eq!(*loss.downcast_ref::<f64>().unwrap(), 16.0);
    // The map of `single` gives a loss only for distances of at most one replaced record. `sample`
    // applies this measurement to 5 records, which are a secret random sample from 50 records.
    let single = told(ChangeOneDistance, Approximate(MaxDivergence), 5, |d| {
        once(d, (0.0, 0.0), (1.0, 1e-6))
    });
    let sample = make_population_amplification(single, 50).unwrap();
    let (epsilon, delta) = sample.map(&1).unwrap();
    let three = call("Sampled<Approximate<MaxDivergence>>", sample.erase(), 3).unwrap();
    let loss = three.map(&AnyDistance::new(3_u32)).unwrap();
    let (all, sum) = *loss.downcast_ref::<(f64, f64)>().unwrap();
    assert!((all / epsilon - 3.0).abs() < 1e-12);
    let geometric = 1.0 + epsilon.exp() + (2.0 * epsilon).exp();
    assert!((sum / delta - geometric).abs() < 1e-9);
}
#[test]
fn a_choice_of_candidates_is_registered_for_pairs_and_compositions_of_any_types() {
    let offer = single("make_select_private_candidate");
    let call = |measurement| {
        let args = Args::new()
            .with("measurement", Arg::from(Constructed::from(measurement)))
            .with("stop_probability", json!(0.5))
            .with("threshold", json!(2));
        offer.construct(&args).unwrap().measurement().unwrap()
    };
    let noisy = noise(2.0).then(|| Ok(Function::map(|x: &i32| Ok((f64::from(*x), *x))))).unwrap();
    let map = PrivacyMap::new(|_: &i32| Ok(1.0));
    let pairs = call(noisy.with_loss(MaxDivergence, map).erase());
    assert_eq!(*pairs.map(&AnyDistance::new(1)).unwrap().downcast_ref::<f64>().unwrap(), 2.0);
    let released = (0..1000).find_map(|_| {
        pairs.invoke(&AnyValue::new(1)).unwrap().downcast::<Option<AnyValue>>().unwrap()
    });
    let (score, label) = released.unwrap().downcast::<(f64, i32)>().unwrap();
    assert!(2.0 <= score && 2 <= label);

    let exact = noise(0.0);
    let score = exact.then(|| Ok(Function::map(|x: &i32| Ok(f64::from(*x))))).unwrap();
    let both = make_composition(vec![score.erase(), exact.erase()]).unwrap().erase();
    let release = |x: i32| call(both.clone()).invoke(&AnyValue::new(x)).unwrap().to_json();
    assert_eq!(release(3), json!([3.0, 3]));
    assert_eq!(release(1), Json::Null);
    // The score of an erased release can also be an integer.
    let swapped = make_composition(vec![exact.erase(), score.erase()]).unwrap().erase();
    let released = call(swapped).invoke(&AnyValue::new(3)).unwrap();
    assert_eq!(released.to_json(), json!([3, 3.0]));
    // If a release does not begin with a score, the mechanism returns an error. The first release
    // below is an `i32`. The second release is a list that begins with a text.
    let error = call(exact.erase()).invoke(&AnyValue::new(3)).unwrap_err();
    assert_eq!(error.kind(), "FailedCast");
    let text = exact.then(|| Ok(Function::map(|x: &i32| Ok(x.to_string())))).unwrap();
    let texts = make_composition(vec![text.erase(), exact.erase()]).unwrap().erase();
    assert_eq!(call(texts).invoke(&AnyValue::new(3)).unwrap_err().kind(), "FailedCast");
}
#[test]
fn a_function_continues_a_release_and_leaves_its_loss_alone() {
    let parity = Constructed::from(Function::map(|x: &i32| Ok(x.rem_euclid(2))).erase());
    let args = Args::new().with("function", parity);
    let parity = single("make_user_postprocessor").construct(&args).unwrap();
    let noisy = noise(2.0).erase().then(|| parity.function()).unwrap();
    let answer: i32 = noisy.invoke(&AnyValue::new(7)).unwrap().downcast().unwrap();
    assert!(answer == 0 || answer == 1);
    let distance = noisy.input().metric().decode(&1.into()).unwrap();
    assert_eq!(*noisy.map(&distance).unwrap().downcast_ref::<f64>().unwrap(), 0.5);
}
#[test]
fn a_queryable_is_registered_for_values_whose_types_are_erased() {
    let offer = single("new_queryable");
    let start = |transition: AnyFunction| {
        let args = Args::new().with("transition", Constructed::from(transition));
        let start = offer.construct(&args).unwrap().function().unwrap();
        let talk = start.eval(&AnyValue::new(5)).unwrap();
        talk.downcast::<Queryable<AnyValue, AnyValue>>().unwrap()
    };
    let halve = Function::map(|(state, by): &(AnyValue, AnyValue)| {
        let (state, by) = (*state.downcast_ref::<i32>()?, *by.downcast_ref::<i32>()?);
        let half = state.checked_div(by);
        let half = half.ok_or_else(|| Error::FailedFunction("divided by 0".into()))?;
        Ok((half, half.to_string()))
    });
    let talk = start(halve.erase());
    let ask = |by: i32| talk.ask(&AnyValue::new(by)).and_then(|answer| answer.downcast());
    assert_eq!(ask(2), Ok("2".to_owned()));
    assert_eq!(ask(0).unwrap_err().kind(), "FailedFunction");
    assert_eq!(ask(1), Ok("2".to_owned()), "a question that fails changes nothing");
    let single = start(Function::map(|_: &(AnyValue, AnyValue)| Ok(1)).erase());
    assert_eq!(single.ask(&AnyValue::new(0)).unwrap_err().kind(), "FailedCast");
}

/// Make a user-defined measurement from arguments whose types are erased.
fn own<M: Measure>(measure: M, map: PrivacyMap<DiscreteDistance, M>) -> AnyMeasurement {
    let bits = Space::new(AtomDomain::<bool>::default(), DiscreteDistance).unwrap();
    let args = Args::new()
        .with("input", &bits.erase())
        .with("output_measure", TheMeasure(measure).erased())
        .with("function", Constructed::from(Function::map(|_: &bool| Ok(7)).erase()))
        .with_value("privacy_map", map.erase());
    single("make_user_measurement").construct(&args).unwrap().measurement().unwrap()
}
#[test]
fn a_measurement_of_ones_own_is_made_of_erased_values_and_composes() {
    let third = || "1".parse::<Exact>().unwrap().over(&"3".parse().unwrap());
    let map = PrivacyMap::new(|_: &u32| Ok(0.34)).with_exact(move |_| Ok(vec![third()]));
    let made = own(MaxDivergence, map);
    let answer = made.invoke(&AnyValue::new(true)).unwrap();
    assert_eq!(answer.downcast::<i32>().unwrap(), 7);
    let distance = AnyDistance::new(1_u32);
    assert_eq!(*made.map(&distance).unwrap().downcast_ref::<f64>().unwrap(), 0.34);
    let thrice = make_composition(vec![made; 3]).unwrap();
    assert_eq!(thrice.exact_map(&distance).unwrap(), ["1".parse().unwrap()]);
}
#[test]
fn a_measure_of_ones_own_joins_nothing_else() {
    let bits = || own(UserDivergence::new("bits"), PrivacyMap::new(|_: &u32| Ok(0.5)));
    let error = make_composition(vec![bits(), bits()]).unwrap_err();
    assert_eq!(error.kind(), "MakeMeasurement");
    let rho = own(ZeroConcentratedDivergence, PrivacyMap::new(|_: &u32| Ok(0.5)));
    let error = make_composition(vec![rho, bits()]).unwrap_err();
    assert_eq!(error.kind(), "MeasureMismatch");
}
