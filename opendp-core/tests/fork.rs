//! Tests that a child process of `libc::fork` does not repeat the random words of its parent.
#![cfg(unix)]
#![allow(
    unsafe_code,
    clippy::unwrap_used,
    reason = "fork, pipe and waitpid have no safe wrapper in std"
)]

use opendp_core::random::{NoEntropy, RandomSource, Seeded, with_secure};
use std::{
    fs::File,
    io::{Read, Write},
    os::fd::FromRawFd,
    sync::Mutex,
};

fn draw() -> u64 {
    with_secure(|source| source.word()).unwrap()
}

/// Fork a child process. Return the next word that the child draws.
fn draw_in_child(draw: impl FnOnce() -> u64) -> u64 {
    let mut ends = [0; 2];
    // SAFETY: `ends` has space for the two file descriptors of the pipe. The tests of this program
    // run one at a time, so no other thread holds a lock that the child needs. The child ends with
    // _exit.
    unsafe {
        assert_eq!(libc::pipe(ends.as_mut_ptr()), 0);
        let child = libc::fork();
        assert!(child >= 0);
        if child == 0 {
            let sent = File::from_raw_fd(ends[1]).write_all(&draw().to_le_bytes());
            libc::_exit(i32::from(sent.is_err()));
        }
        libc::close(ends[1]);
        let mut bytes = [0; 8];
        File::from_raw_fd(ends[0]).read_exact(&mut bytes).unwrap();
        let mut status = 0;
        assert_eq!(libc::waitpid(child, &mut status, 0), child);
        assert_eq!(status, 0);
        u64::from_le_bytes(bytes)
    }
}

/// A fork also copies locks that other threads hold, and the child would wait for such a lock
/// forever. So each test holds the lock `TURN`, and only one test runs at a time.
static TURN: Mutex<()> = Mutex::new(());

#[test]
fn a_plain_generator_repeats_itself_in_the_child() {
    let _turn = TURN.lock();
    let mut plain = Seeded::<64>::new(7);
    plain.word().unwrap();
    let in_child = draw_in_child(|| plain.word().unwrap());
    assert_eq!(in_child, plain.word().unwrap());
}

#[test]
fn parent_and_children_draw_different_words_before_and_after_warm_up() {
    let _turn = TURN.lock();
    let cold = [draw_in_child(draw), draw_in_child(draw), draw()];
    with_secure(|source| {
        for _ in 0..1000 {
            source.word()?;
        }
        Ok::<_, NoEntropy>(())
    })
    .unwrap();
    let warm = [draw_in_child(draw), draw_in_child(draw), draw()];
    let mut all = [cold, warm].concat();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 6);
}
