//! Sessions that several threads use at the same time.

use super::*;

/// The number of rounds. With 16 threads in each round, all rounds together have about 10^5 steps.
/// The steps of a round are interleaved at random.
const ROUNDS: u64 = 100;
/// The number of steps of each thread in a round.
const STEPS: u64 = 64;

/// The part of the outer session's budget that all threads together used. The whole budget is 100
/// times 1/20.
struct Spending {
    /// The number of questions that the outer session answered.
    answered: usize,
    /// The inner filters that were opened. Each pair contains an inner filter and the number of
    /// questions that this filter answered. The budget of an inner filter is 4 times 1/20.
    opened: Vec<(Talk<MaxDivergence>, usize)>,
}
impl Spending {
    fn twentieths(&self) -> usize {
        self.answered + 4 * self.opened.len()
    }
}
/// Let 16 threads use one budget. The threads ask questions and open inner filters. Each thread
/// also sends questions to the inner filters that any thread opened.
fn spend(session: &Talk<MaxDivergence>, seed: u64) -> Spending {
    let unit = 0.05;
    let answered = AtomicUsize::new(0);
    let shared = std::sync::Mutex::new(Vec::<(Talk<MaxDivergence>, Arc<AtomicUsize>)>::new());
    std::thread::scope(|scope| {
        for thread in 0..16_u64 {
            let (answered, shared) = (&answered, &shared);
            scope.spawn(move || {
                let mut draw = opendp_core::random::Seeded::<64>::new(seed * 16 + thread);
                let question = costing_exactly(format!("{unit}").parse().unwrap());
                for _ in 0..STEPS {
                    let word = draw.word().unwrap();
                    match word % 4 {
                        0 => {
                            if let Ok(inner) = session.ask(&filter(MaxDivergence, 4.0 * unit)) {
                                shared.lock().unwrap().push((inner, Arc::default()));
                            }
                        }
                        1 => {
                            if session.ask(&question).is_ok() {
                                answered.fetch_add(1, Ordering::SeqCst);
                            }
                        }
                        _ => {
                            let found = {
                                let all = shared.lock().unwrap();
                                let place = word as usize / 4 % all.len().max(1);
                                all.get(place).cloned()
                            };
                            if let Some((inner, count)) = found
                                && inner.ask(&question).is_ok()
                            {
                                count.fetch_add(1, Ordering::SeqCst);
                            }
                        }
                    }
                }
            });
        }
    });
    let opened = shared.into_inner().unwrap().into_iter();
    let opened = opened.map(|(inner, count)| (inner, count.load(Ordering::SeqCst))).collect();
    Spending { answered: answered.load(Ordering::SeqCst), opened }
}
#[test]
fn threads_never_overspend_through_nested_conversations() {
    for seed in 0..ROUNDS {
        let session = session(5.0);
        let spending = spend(&session, seed);
        let spent = spending.twentieths();
        assert!(spent <= 100, "seed {seed}: {spent}");
        assert!(100 - 4 < spent, "seed {seed}: the threads spend nearly the whole budget");
        for (inner, count) in &spending.opened {
            assert!(*count <= 4, "seed {seed}");
            let spent = tenths(*count as u32).over(&tenths(20));
            assert_eq!(inner.loss(&1).unwrap(), spent.to_f64_up());
        }
    }
}
/// A wrong allowance. This allowance first checks the remaining budget. It charges the loss later,
/// in a second step.
struct Late(AtomicUsize);
impl Allowance<Change, MaxDivergence> for Late {
    fn charge(&self, map: PrivacyMapRef<'_, Change, MaxDivergence>) -> Result<()> {
        let twentieths = (20.0 * map.eval(&1)?).round() as usize;
        if 100 < self.0.load(Ordering::SeqCst) + twentieths {
            return Err(Error::BudgetExceeded("no".into()));
        }
        std::thread::yield_now();
        self.0.fetch_add(twentieths, Ordering::SeqCst);
        Ok(())
    }
    fn loss(&self, _: &i32) -> Result<f64> {
        Ok(self.0.load(Ordering::SeqCst) as f64 / 20.0)
    }
    fn left(&self) -> Result<f64> {
        Ok(0.0)
    }
}
#[test]
fn threads_do_overspend_what_is_charged_late() {
    let overspent = (0..ROUNDS).any(|seed| {
        let session = Session::new(numbers(), MaxDivergence, &7, Late(AtomicUsize::new(0)));
        100 < spend(&session, seed).twentieths()
    });
    assert!(overspent, "the control: {ROUNDS} rounds have not found a race");
}
