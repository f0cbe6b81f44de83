//! A forked child must not repeat the random words of its parent.
#![cfg(unix)]
#![allow(
    unsafe_code,
    clippy::unwrap_used,
    reason = "fork, pipe and waitpid have no safe wrapper in std"
)]

use opendp_core::random::{NoEntropy, RandomSource, with_secure};
use std::{
    fs::File,
    io::{Read, Write},
    os::fd::FromRawFd,
};

fn draw() -> u64 {
    with_secure(|source| source.word()).unwrap()
}

/// Fork a child that sends its next word back.
fn draw_in_child() -> u64 {
    let mut ends = [0; 2];
    // SAFETY: `ends` has room for the two descriptors; the child calls only code that needs no
    // lock another thread could hold (this is the only test of the binary) and leaves by _exit.
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

#[test]
fn parent_and_children_draw_different_words_before_and_after_warm_up() {
    let cold = [draw_in_child(), draw_in_child(), draw()];
    with_secure(|source| {
        for _ in 0..1000 {
            source.word()?;
        }
        Ok::<_, NoEntropy>(())
    })
    .unwrap();
    let warm = [draw_in_child(), draw_in_child(), draw()];
    let mut all = [cold, warm].concat();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 6);
}
