//! Tests of handles. They are not in `handle.rs`, because `tests/interleavings.rs` compiles
//! `handle.rs` without the rest of this crate.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use crate::{Codec as _, Error, Handle, Queryable, Result, Turns, with_threads};

/// A conversation that code outside of the library keeps.
#[derive(Clone)]
struct Kept(Queryable<i32, i32>, Handle);
impl Kept {
    fn open() -> Self {
        Kept(Queryable::stateless(|x: &i32| Ok(x + 1)), Handle::new())
    }
    fn ask(&self) -> Result<i32> {
        self.1.turns().iter().fold(self.0.clone(), |kept, turn| kept.bound_to(turn)).ask(&1)
    }
}
fn nothing() -> Result<()> {
    Ok(())
}
/// Begin a turn, and keep a conversation outside of the answer.
fn keep(turns: &Turns) -> Kept {
    turns.begin(nothing, |_| Ok(Kept::open())).unwrap()
}

#[test]
fn a_later_turn_closes_a_conversation_that_was_kept_elsewhere() {
    let turns = Turns::new();
    let first = keep(&turns);
    assert_eq!(first.ask(), Ok(2));
    let second = keep(&turns);
    assert!(first.ask().unwrap_err().to_string().starts_with("a later query has begun"));
    assert_eq!(second.ask(), Ok(2));
    // The control: outside of all turns, a handle gets no turn.
    let free = Kept::open();
    keep(&turns);
    assert_eq!((free.ask(), free.1.turns().len()), (Ok(2), 0));
}
#[test]
fn a_conversation_answers_during_its_own_turn() {
    let turns = Turns::new();
    let answer = turns.begin(nothing, |_| Kept::open().ask());
    assert_eq!(answer, Ok(2));
}
#[test]
fn every_turn_around_a_conversation_can_close_it() {
    let (outer, inner) = (Turns::new(), Turns::new());
    let nest = || outer.begin(nothing, |_| inner.begin(nothing, |_| Ok(Kept::open()))).unwrap();
    let kept = nest();
    assert_eq!((kept.ask(), kept.1.turns().len()), (Ok(2), 2));
    inner.begin(nothing, |_| Ok(())).unwrap();
    assert!(kept.ask().is_err());
    let kept = nest();
    outer.begin(nothing, |_| Ok(())).unwrap();
    assert!(kept.ask().is_err());
}
#[test]
fn a_descendant_gets_the_turn_of_its_ancestor() {
    let turns = Turns::new();
    let made: Arc<Mutex<Vec<Kept>>> = Arc::default();
    let list = made.clone();
    let ancestor = turns
        .begin(nothing, |turn| {
            let answer = move |_: &i32| {
                list.lock().unwrap().push(Kept::open());
                Ok(0)
            };
            Ok(Queryable::<i32, i32>::stateless(answer).bound_to(&turn))
        })
        .unwrap();
    ancestor.ask(&0).unwrap();
    let descendant = made.lock().unwrap().remove(0);
    assert_eq!(descendant.ask(), Ok(2));
    keep(&turns);
    assert!(descendant.ask().is_err());
}
#[test]
fn failures_panics_and_other_threads_of_the_library_close_conversations_as_well() {
    let (turns, made) = (Turns::new(), Mutex::new(Vec::new()));
    let fails: Result<()> = turns.begin(nothing, |_| {
        made.lock().unwrap().push(Kept::open());
        Err(Error::FailedFunction("no".into()))
    });
    assert!(fails.is_err());
    let first = made.lock().unwrap().remove(0);
    assert_eq!(first.ask(), Ok(2));
    // A thread that holds a lock passes its work to another thread.
    let second = turns.begin(nothing, |_| Ok(with_threads(|_| Kept::open()))).unwrap();
    assert!(first.ask().is_err() && second.ask() == Ok(2));
    let panics = || {
        turns.begin(nothing, |_| -> Result<()> {
            made.lock().unwrap().push(Kept::open());
            panic!("a panic of a test")
        })
    };
    assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
    let third = made.lock().unwrap().remove(0);
    assert!(second.ask().is_err() && third.ask().is_err());
    // The panic of work that this thread passes to another thread.
    let panics_elsewhere = || {
        Turns::new().begin(nothing, |_| -> Result<()> {
            with_threads(|_| {
                made.lock().unwrap().push(Kept::open());
                panic!("a panic of a test")
            })
        })
    };
    assert!(catch_unwind(AssertUnwindSafe(panics_elsewhere)).is_err());
    let fourth = made.lock().unwrap().remove(0);
    assert_eq!(fourth.1.turns().len(), 1);
    assert!(fourth.ask().is_err());
    // The control: after the panic, no run is left on this thread.
    assert!(Handle::new().turns().is_empty());
    assert_eq!(Kept::open().ask(), Ok(2));
}
