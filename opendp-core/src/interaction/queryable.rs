//! Releases that answer questions.

use std::fmt;
use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::lock::Lock;
use super::turn::{Bindings, Turn};
use crate::{Carrier, Codec, Error, Function, Named, Result, TypeName, Whole};

/// A release that answers questions of type `Q` with answers of type `A`.
///
/// Clones share one conversation. Any number of threads can ask questions. A queryable with a state
/// answers the questions one at a time. If the computation of an answer panics, a queryable with a
/// state returns an error for all later questions.
///
/// ```
/// # use opendp_core::Queryable;
/// let counter = Queryable::new(0, |count: &mut i32, step: &i32| {
///     *count += step;
///     Ok(*count)
/// });
/// counter.ask(&2)?;
/// assert_eq!(counter.clone().ask(&3)?, 5);
/// # Ok::<(), opendp_core::Error>(())
/// ```
pub struct Queryable<Q, A> {
    answer: Arc<dyn Fn(&Q) -> Result<A> + Send + Sync>,
    bindings: Bindings,
}

impl<Q: 'static, A: Carrier> Queryable<Q, A> {
    /// Make a queryable from a state and a function that answers a question and updates the state.
    pub fn new<S: Send + 'static>(
        state: S,
        answer: impl Fn(&mut S, &Q) -> Result<A> + Send + Sync + 'static,
    ) -> Self {
        let state = Lock::new(state);
        Queryable::stateless(move |query| state.with(|state| answer(state, query)))
    }
    /// Make a queryable from a function that several threads can run at the same time.
    pub fn stateless(answer: impl Fn(&Q) -> Result<A> + Send + Sync + 'static) -> Self {
        Queryable { answer: Arc::new(answer), bindings: Bindings::default() }
    }
    /// Ask a question.
    ///
    /// # Errors
    /// The errors of the function that answers the question. `FailedFunction` if the
    /// [turn](crate::Turn) of this queryable has ended. A queryable with a state or a turn also
    /// gives `FailedFunction` in two other cases. In the first case, an earlier answer panicked. In
    /// the second case, the function that answers asks its own queryable. There is a turn only if
    /// the privacy measure requires that interactive mechanisms run one after the other.
    pub fn ask(&self, query: &Q) -> Result<A> {
        let answer = self.bindings.run(|| (self.answer)(query))?;
        Ok(self.bindings.turns().iter().fold(answer, |answer, turn| answer.bound_to(turn)))
    }
    /// Apply a function to each answer. The function gets only the answer.
    pub fn then<B: Carrier>(&self, next: Function<A, B>) -> Queryable<Q, B> {
        let inner = self.clone();
        Queryable::stateless(move |query| next.eval(&inner.ask(query)?))
    }
}

impl<Q, A> Clone for Queryable<Q, A> {
    fn clone(&self) -> Self {
        Queryable { answer: self.answer.clone(), bindings: self.bindings.clone() }
    }
}
impl<Q: Named, A: Named> fmt::Debug for Queryable<Q, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Self::type_name())
    }
}
impl<Q: Named, A: Named> Named for Queryable<Q, A> {
    fn type_name() -> TypeName {
        TypeName::generic("Queryable", [Q::type_name(), A::type_name()])
    }
}
/// The JSON of a queryable contains only its type, so a queryable cannot be read from JSON.
impl<Q: Named, A: Named> Codec for Queryable<Q, A> {
    fn to_json(&self) -> Json {
        shown(Self::type_name)
    }
    fn from_json(_: &Json) -> Result<Self> {
        Err(Error::FailedCast("a queryable cannot be read from JSON".into()))
    }
    fn bound_to(mut self, turn: &Turn) -> Self {
        self.bindings.bind(turn);
        self
    }
}
/// Return the JSON of a queryable, whose type has the name `type_name`.
fn shown(type_name: fn() -> TypeName) -> Json {
    json!({"queryable": type_name().to_string()})
}
/// The error of a queryable that is only a placeholder in a buffer.
const EMPTY: &str = "this queryable answers no question: it is a placeholder in a buffer";

impl<Q: Named, A: Carrier> Carrier for Queryable<Q, A> {
    type Chunk<'a> = Whole<'a, Self>;
    fn chunk(&self) -> Whole<'_, Self> {
        Whole(self)
    }
    /// Make a queryable that returns an error for every question.
    fn buffer() -> Self {
        Queryable::stateless(|_| Err(Error::FailedFunction(EMPTY.into())))
    }
    fn reset(&mut self) {
        *self = Self::buffer();
    }
    fn append_rows(&mut self, chunk: Whole<'_, Self>) {
        self.clone_from(chunk.0);
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use rayon::prelude::*;

    use super::*;
    use crate::erased::AnyValue;
    use crate::{Fold, Turns};

    fn counter() -> Queryable<i32, i32> {
        Queryable::new(0, |count: &mut i32, step: &i32| {
            *count += step;
            Ok(*count)
        })
    }
    /// Begin a turn and bind the queryables in a value to this turn, as a sequential composition
    /// does.
    fn release<A: Codec>(turns: &Turns, value: A) -> A {
        turns.begin(|| Ok(()), |turn| Ok(value.bound_to(&turn))).unwrap()
    }
    const OVER: &str = "a later query has begun";

    #[test]
    fn threads_see_one_state() {
        let shared = counter();
        let totals: Vec<i32> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|_| scope.spawn(|| (0..1000).map(|_| shared.ask(&1).unwrap()).max().unwrap()))
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(totals.into_iter().max(), Some(8000));
        assert_eq!(shared.ask(&0), Ok(8000));
    }
    #[test]
    fn a_panic_ends_the_conversation_with_an_error() {
        let fragile = Queryable::new(0, |_: &mut i32, query: &i32| {
            assert!(*query != 13);
            Ok(*query)
        });
        assert_eq!(fragile.ask(&1), Ok(1));
        assert!(catch_unwind(AssertUnwindSafe(|| fragile.ask(&13))).is_err());
        for _ in 0..2 {
            let error = fragile.ask(&1).unwrap_err();
            assert!(error.to_string().contains("panicked"), "{error}");
        }
    }
    #[test]
    fn a_question_to_itself_is_an_error_and_no_deadlock() {
        let itself: Arc<OnceLock<Queryable<i32, i32>>> = Arc::default();
        let inner = itself.clone();
        let queryable = Queryable::new((), move |(), query: &i32| match (query, inner.get()) {
            (0, _) => Ok(7),
            (_, Some(queryable)) => queryable.ask(&0),
            _ => Ok(-1),
        });
        itself.set(queryable.clone()).unwrap();
        assert!(queryable.ask(&1).unwrap_err().to_string().contains("one query at a time"));
        assert_eq!(queryable.ask(&0), Ok(7));
    }
    struct Sum;
    impl Fold<Vec<u8>, u64> for Sum {
        type State = u64;
        fn label(&self) -> String {
            "sum".into()
        }
        fn start(&self) -> u64 {
            0
        }
        fn absorb(&self, sum: &mut u64, rows: &[u8]) -> Result<()> {
            *sum += rows.iter().map(|row| u64::from(*row)).sum::<u64>();
            Ok(())
        }
        fn merge(&self, sum: &mut u64, other: u64) -> Result<()> {
            *sum += other;
            Ok(())
        }
        fn finish(&self, sum: u64) -> Result<u64> {
            Ok(sum)
        }
    }
    #[test]
    fn tasks_of_a_thread_pool_ask_queryables_that_fold_many_rows() {
        let (sender, ended) = channel();
        std::thread::spawn(move || {
            let folding = || {
                let (sum, rows) = (Function::fold(Sum), vec![1_u8; 1 << 18]);
                Queryable::new((), move |(), _: &i32| sum.eval(&rows))
            };
            let both = [folding(), folding()];
            let pool = rayon::ThreadPoolBuilder::new().num_threads(4).build().unwrap();
            let answers: Result<Vec<u64>> = pool
                .install(|| (0..200_usize).into_par_iter().map(|i| both[i % 2].ask(&0)).collect());
            sender.send(answers)
        });
        // If there is a deadlock, the time limit makes the test fail.
        let answers = ended.recv_timeout(Duration::from_secs(60)).unwrap().unwrap();
        assert_eq!(answers, [1 << 18; 200]);
    }
    #[test]
    fn a_thread_folds_many_rows_although_all_workers_wait_for_its_queryable() {
        static ANSWERING: AtomicBool = AtomicBool::new(false);
        static ASKING: AtomicUsize = AtomicUsize::new(0);
        let wait = |done: &dyn Fn() -> bool| {
            while !done() {
                std::thread::yield_now();
            }
        };
        let (sum, rows) = (Function::fold(Sum), vec![1_u8; 1 << 18]);
        let queryable = Queryable::new((), move |(), _: &i32| {
            ANSWERING.store(true, SeqCst);
            wait(&|| ASKING.load(SeqCst) == rayon::current_num_threads());
            sum.eval(&rows)
        });
        let (workers, (sender, ended)) = (queryable.clone(), channel());
        std::thread::spawn(move || sender.send(queryable.ask(&0)));
        wait(&|| ANSWERING.load(SeqCst));
        std::thread::spawn(move || {
            rayon::broadcast(|_| {
                ASKING.fetch_add(1, SeqCst);
                workers.ask(&0)
            })
        });
        assert_eq!(ended.recv_timeout(Duration::from_secs(60)).unwrap(), Ok(1 << 18));
    }
    #[test]
    fn a_turn_ends_when_the_next_begins() {
        let turns = Turns::new();
        let first = release(&turns, counter());
        assert_eq!(first.ask(&1), Ok(1));
        let refused = turns.begin(|| Err(Error::BudgetExceeded("no".into())), |_| Ok(()));
        assert_eq!(refused.unwrap_err().kind(), "BudgetExceeded");
        assert_eq!(first.ask(&1), Ok(2), "a query that is refused ends nothing");
        let second = release(&turns, counter());
        assert!(first.ask(&1).unwrap_err().to_string().starts_with(OVER));
        assert_eq!(second.ask(&1), Ok(1));
    }
    #[test]
    fn queryables_inside_of_values_are_bound_too() {
        type Inside = (Vec<Option<Queryable<i32, i32>>>, std::collections::HashMap<i32, AnyValue>);
        let turns = Turns::new();
        let inside: Inside =
            (vec![Some(counter())], [(1, AnyValue::new(vec![counter()]))].into_iter().collect());
        let (list, map) = release(&turns, inside);
        let listed = list[0].clone().unwrap();
        let mapped = map[&1].downcast_ref::<Vec<Queryable<i32, i32>>>().unwrap()[0].clone();
        assert_eq!((listed.ask(&1), mapped.ask(&1)), (Ok(1), Ok(1)));
        release(&turns, 0);
        assert!(listed.ask(&1).is_err() && mapped.ask(&1).is_err());
        // The control: without a turn, a queryable still answers.
        assert_eq!(counter().ask(&1), Ok(1));
    }
    #[test]
    fn descendants_are_bound_as_their_ancestors_are() {
        let turns = Turns::new();
        let nest = |depth| -> Queryable<i32, AnyValue> {
            fn level(depth: i32) -> AnyValue {
                if depth == 0 {
                    return AnyValue::new(counter());
                }
                AnyValue::new(Queryable::<i32, AnyValue>::stateless(move |_| Ok(level(depth - 1))))
            }
            level(depth).downcast().unwrap()
        };
        let child = release(&turns, nest(3));
        let step = |queryable: &Queryable<i32, AnyValue>| queryable.ask(&0).unwrap();
        let grandchild: Queryable<i32, AnyValue> = step(&child).downcast().unwrap();
        let last: Queryable<i32, AnyValue> = step(&grandchild).downcast().unwrap();
        let leaf: Queryable<i32, i32> = step(&last).downcast().unwrap();
        let continued = leaf.then(Function::map(|x: &i32| Ok(x + 1)));
        assert_eq!((leaf.ask(&1), continued.ask(&1)), (Ok(1), Ok(3)));
        release(&turns, 0);
        assert!(child.ask(&0).is_err() && grandchild.ask(&0).is_err() && last.ask(&0).is_err());
        assert!(leaf.ask(&1).unwrap_err().to_string().starts_with(OVER));
        assert!(continued.ask(&1).is_err());
    }
    #[test]
    fn a_queryable_that_gives_itself_away_is_bound_once() {
        let turns = Turns::new();
        let itself: Arc<OnceLock<Queryable<i32, AnyValue>>> = Arc::default();
        let inner = itself.clone();
        let queryable = Queryable::stateless(move |_: &i32| {
            Ok(inner.get().map_or(AnyValue::new(0), |queryable| AnyValue::new(queryable.clone())))
        });
        let queryable = release(&turns, queryable);
        itself.set(queryable.clone()).unwrap();
        let again: Queryable<i32, AnyValue> = queryable.ask(&0).unwrap().downcast().unwrap();
        assert!(again.ask(&0).is_ok());
    }
    #[test]
    fn is_a_value_that_shows_its_type_only() {
        let value = AnyValue::new(counter());
        assert_eq!(format!("{value:?}"), "AnyValue(Queryable<i32, i32>)");
        assert_eq!(value.to_json(), json!({"queryable": "Queryable<i32, i32>"}));
        assert!(Queryable::<i32, i32>::from_json(&value.to_json()).is_err());
        assert!(Queryable::<i32, i32>::buffer().ask(&1).is_err());
    }
}
