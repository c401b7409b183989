//! RCU's worker: a thread of the library's own, in the parent and in a child.

use alloc::vec;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use core::time::Duration;

use leeward::rcu::{Domain, RcuOption, Reader};

use crate::runtime::{in_child, on_a_thread, say, spawn, until};

leeward::rcu_domain! { struct Own; }

pub fn all(may_fork: bool) {
    callbacks_run_on_it();
    readers_are_waited_for();
    if may_fork {
        a_child_has_its_own();
    }
    a_stall_is_reported();
}

fn number() -> u32 {
    // SAFETY: has no precondition.
    unsafe { libc::gettid() as u32 }
}

static RUN: AtomicU64 = AtomicU64::new(0);
static WHERE: AtomicU32 = AtomicU32::new(0);

fn callbacks_run_on_it() {
    for _ in 0..10 {
        Own::defer(|| {
            WHERE.store(number(), Ordering::Relaxed);
            RUN.fetch_add(1, Ordering::Relaxed);
        });
    }
    // Nobody asks for them.
    until(|| RUN.load(Ordering::Relaxed) == 10);
    assert!(![0, number()].contains(&WHERE.load(Ordering::Relaxed)));
    let cookie = Own::start_poll();
    until(|| Own::poll_state(&cookie));
    Own::barrier();
    assert!(Own::stats().callbacks_run == 10);
    say(c"worker: callbacks ran on a thread of its own");
}

/// Readers by handles, on threads that come and go, while values are replaced and freed.
fn readers_are_waited_for() {
    static DONE: AtomicU32 = AtomicU32::new(0);
    static CELL: RcuOption<Vec<u32>, Own> = RcuOption::none_in();
    let readers: Vec<_> = (0..3)
        .map(|_| {
            spawn(|| {
                while DONE.load(Ordering::Relaxed) == 0 {
                    let reader = Reader::<Own>::register_in();
                    for _ in 0..100 {
                        let guard = reader.read();
                        assert!(CELL.load(&guard).is_none_or(|value| value.len() == 3 && value[0] == value[2]));
                    }
                }
            })
        })
        .collect();
    for round in 0..300 {
        CELL.replace(Some(vec![round; 3])).into_iter().for_each(|old| old.defer());
    }
    DONE.store(1, Ordering::Relaxed);
    readers.into_iter().for_each(|thread| thread.join());
    Own::barrier();
    say(c"worker: readers were waited for");
}

fn a_child_has_its_own() {
    Own::set_child_adopts(true);
    let before = RUN.load(Ordering::Relaxed);
    let reader = Reader::<Own>::register_in();
    let guard = reader.read();
    Own::defer(|| _ = RUN.fetch_add(1, Ordering::Relaxed));
    assert!(in_child(|| {
        drop(guard);
        until(|| RUN.load(Ordering::Relaxed) == before + 1);
        on_a_thread(|| Own::defer(|| _ = RUN.fetch_add(1, Ordering::Relaxed)));
        until(|| RUN.load(Ordering::Relaxed) == before + 2);
        true
    }));
    Own::barrier();
    assert!(RUN.load(Ordering::Relaxed) == before + 1);
    say(c"worker: a child has its own");
}

/// The report goes to standard error, in one line.
fn a_stall_is_reported() {
    let mut ends = [0; 2];
    // SAFETY: a local array of two.
    assert!(unsafe { libc::pipe(ends.as_mut_ptr()) } == 0);
    // SAFETY: two descriptors of this program.
    let stderr = unsafe { libc::dup(2) };
    // SAFETY: two descriptors of this program.
    unsafe { libc::dup2(ends[1], 2) };
    Own::set_stall_limit(Some(Duration::from_millis(20)), None);
    let reader = Reader::<Own>::register_in();
    let guard = reader.read();
    let cookie = Own::start_poll();
    let mut line = [0_u8; 600];
    // SAFETY: a local array.
    let length = unsafe { libc::read(ends[0], line.as_mut_ptr().cast(), line.len()) };
    // SAFETY: two descriptors of this program.
    unsafe { libc::dup2(stderr, 2) };
    drop(guard);
    until(|| Own::poll_state(&cookie));
    let line = &line[..length.max(0) as usize];
    assert!(line.starts_with(b"leeward: a grace period has waited") && line.ends_with(b"\n"));
    say(c"worker: a stall was reported");
}
