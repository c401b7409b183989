//! Forks beside everything else: the child must find a library that works, whatever the other
//! threads were doing.
//!
//! The child does not check what is published, because its memory was copied page by page while
//! other threads wrote it. It checks what the forking thread held.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use leeward::fence::{self, Strategy};
use leeward::rcu::{Guard, RcuCell, Reader, qsbr};

use super::crew::{Member, is_over};
use super::fixture::{Fixture, Flavour};
use super::random::Random;
use super::violation::{Kind, found, report};
use super::{arena::Name, watchdog};
use crate::sys::{self, Ended};

/// Held by a fork, and by a thread that is inside a section while it exits. The library cannot tell such a
/// section, which would never end in a child, from one whose guard was leaked, and rightly keeps it
/// there.
pub static LATE: Mutex<()> = Mutex::new(());

/// The exit codes of the child.
const FINE: u8 = 0;
const READ_AFTER_FREE: u8 = 3;
const CALLBACK_LOST: u8 = 4;
const CALLBACKS_LEFT: u8 = 5;
const OLD_VALUE: u8 = 6;
const PANICKED: u8 = 7;

/// Forks until the phase is over.
pub fn fork<D: Flavour>(me: &'static Member, mut random: Random) {
    let fixture = D::fixture();
    while !is_over() && found().is_none() {
        let name = |random: &mut Random| fixture.look(random.next() as usize);
        me.enters();
        match random.below(4) {
            0 => fork_now(|| live_on::<D>()),
            1 => {
                let guard = D::read();
                let held = name(&mut random);
                fork_now(move || outlive(fixture, guard, held));
            }
            2 => {
                let handle = Reader::<D>::register_in();
                let (guard, inner) = (handle.read(), handle.read());
                let held = name(&mut random);
                drop(guard);
                fork_now(|| outlive(fixture, inner, held));
            }
            _ => {
                let mut reader = qsbr::Reader::<D>::register_in();
                let held = name(&mut random);
                fork_now(|| {
                    let alive = fixture.check(held);
                    reader.quiescent();
                    reader.synchronize();
                    drop(reader);
                    if alive { live_on::<D>() } else { READ_AFTER_FREE }
                });
            }
        }
        me.left();
        crate::sys::sleep(Duration::from_millis(5 + random.below(30)));
    }
    reap(0);
}

/// Forks, and checks how the child ends. The caller's guards, if any, are in the child as well.
fn fork_now(child: impl FnOnce() -> u8) {
    let in_child = move || {
        // The limit is by the clock, unlike the watchdog's: long enough for a busy machine, also
        // where each of a dozen heavy fences takes seconds.
        let times = if fence::strategy() == Some(Strategy::MembarrierGlobal) { 6 } else { 1 };
        sys::die_in(times * watchdog::patience().max(20));
        let code = std::panic::catch_unwind(std::panic::AssertUnwindSafe(child)).unwrap_or(PANICKED);
        if found().is_some() { READ_AFTER_FREE } else { code }
    };
    let late = LATE.lock();
    // SAFETY: the child takes no lock of this program's: neither the arena's nor the handles'. The
    // library takes care of its own, which is what is tested.
    let Ok(number) = (unsafe { sys::fork(in_child) }) else { return };
    drop(late);
    // The child is independent: the section here need not last as long as it.
    CHILDREN.with(|children| children.borrow_mut().push(number));
    reap(8);
}

thread_local! {
    /// The children that have not been waited for.
    static CHILDREN: std::cell::RefCell<Vec<i32>> = const { std::cell::RefCell::new(Vec::new()) };
}

/// Waits until no more than `leave` children are left.
fn reap(leave: usize) {
    while let Some(child) = CHILDREN.with(|children| {
        let mut children = children.borrow_mut();
        (children.len() > leave).then(|| children.remove(0))
    }) {
        match sys::wait_for(child) {
            Ok(Ended::Exited(0)) | Err(_) => {}
            Ok(Ended::Exited(code)) => report(Kind::ChildFailed, [code as u64, 0]),
            Ok(Ended::Killed(signal)) => report(Kind::ChildStuck, [signal as u64, 0]),
        }
    }
}

/// Runs in the child, inside the section that the forking thread had opened.
fn outlive<D: Flavour>(fixture: &Fixture<D>, guard: Guard<'_, D>, held: Name) -> u8 {
    let alive = fixture.check(held);
    drop(guard);
    if alive { live_on::<D>() } else { READ_AFTER_FREE }
}

/// Runs in the child, outside any section: uses everything that the library offers.
fn live_on<D: Flavour>() -> u8 {
    let cell = RcuCell::<u64, D>::new_in(1);
    for value in 2..5 {
        let guard = D::read();
        let before = *cell.load(&guard);
        drop(guard);
        let old = cell.replace(value).synchronize();
        if *old != before {
            return OLD_VALUE;
        }
    }
    let runs = Arc::new(AtomicU64::new(0));
    for _ in 0..3 {
        let runs = runs.clone();
        // Relaxed: `barrier` orders the store.
        D::defer(move || {
            runs.fetch_add(1, Ordering::Relaxed);
        });
        cell.replace(9).defer();
    }
    D::barrier();
    if runs.load(Ordering::Relaxed) != 3 {
        return CALLBACK_LOST;
    }
    let cookie = D::start_poll();
    while !D::poll_state(&cookie) {
        std::thread::yield_now();
    }
    if D::stats().callbacks_queued != 0 { CALLBACKS_LEFT } else { FINE }
}
