//! Waiting for several words, as the kernel does it and where it is refused.

#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
#[cfg(target_os = "linux")]
#[path = "../common/seccomp.rs"]
mod seccomp;

use common::*;

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use leeward::futex::{Deadline, Futex, Private, Shared, Timeout, WAIT_ANY_MOST, WaitAny, WrongCount, wait_any};
use leeward::sync::Event;

fn soon() -> Deadline {
    Deadline::after::<Private>(Duration::from_millis(3))
}

fn words<const N: usize>() -> [AtomicU32; N] {
    std::array::from_fn(|_| AtomicU32::new(0))
}

fn zeroes(words: &[AtomicU32]) -> Vec<(&AtomicU32, u32)> {
    words.iter().map(|word| (word, 0)).collect()
}

#[test]
fn counts_that_do_not_fit() {
    assert_eq!(wait_any(&[], Timeout::Never), Err(WrongCount::Empty));
    let many = words::<{ WAIT_ANY_MOST + 1 }>();
    assert_eq!(wait_any(&zeroes(&many), Timeout::Never), Err(WrongCount::TooMany(129)));
    assert_eq!(wait_any(&zeroes(&many)[1..], Timeout::At(soon())), Ok(WaitAny::TimedOut));
    assert_eq!(Event::wait_any(&[]), Err(WrongCount::Empty));
    let events: Vec<_> = (0..129).map(|_| Event::new()).collect();
    let events: Vec<_> = events.iter().collect();
    assert_eq!(Event::wait_any(&events), Err(WrongCount::TooMany(129)));
    assert_eq!(Event::wait_any_until(&events[1..], soon()), Ok(None));
    assert_eq!(Event::wait_any_for(&[], Duration::MAX), Err(WrongCount::Empty));
    assert_eq!(Event::wait_any_for(&events, Duration::MAX), Err(WrongCount::TooMany(129)));
    for limit in [Duration::ZERO, Duration::from_millis(3)] {
        assert_eq!(Event::wait_any_for(&events[1..], limit), Ok(None));
    }
    events[128].set();
    assert_eq!(Event::wait_any(&events[1..]), Ok(127));
    for limit in [Duration::ZERO, Duration::from_millis(3), Duration::MAX] {
        assert_eq!(Event::wait_any_for(&events[1..], limit), Ok(Some(127)));
    }
}

/// Tries what must hold with the kernel's call and without it.
fn suite() {
    let three = words::<3>();
    for place in 0..3 {
        three[place].store(1, Ordering::Relaxed);
        assert_eq!(wait_any(&zeroes(&three), Timeout::Never), Ok(WaitAny::Changed));
        assert_eq!(Shared::wait_any(&zeroes(&three), Timeout::Never), Ok(WaitAny::Changed));
        three[place].store(0, Ordering::Relaxed);
    }
    assert_eq!(wait_any(&zeroes(&three), Timeout::At(soon())), Ok(WaitAny::TimedOut));
    assert_eq!(Shared::wait_any(&zeroes(&three), Timeout::Now), Ok(WaitAny::TimedOut));
    woken::<Private>(|words| Private::wait_any(words, Timeout::Never));
    woken::<Shared>(|words| Shared::wait_any(words, Timeout::Never));
    events();
}

/// A store and a wake through any of the words ends the wait.
fn woken<F: Futex>(wait: impl Fn(&[(&AtomicU32, u32)]) -> Result<WaitAny, WrongCount> + Sync) {
    for place in 0..3 {
        let words = words::<3>();
        thread::scope(|scope| {
            let waiter = scope.spawn(|| {
                let mut ends = 0;
                while words[place].load(Ordering::Acquire) == 0 {
                    let end = wait(&zeroes(&words)).unwrap();
                    assert!(
                        matches!(end, WaitAny::Woken(None) | WaitAny::Changed) || end == WaitAny::Woken(Some(place))
                    );
                    ends += 1;
                }
                ends
            });
            thread::sleep(GLANCE);
            words[place].store(1, Ordering::Release);
            F::wake(&words[place], 1);
            waiter.join().unwrap();
        });
    }
}

/// Each of many settings of three events by three threads is answered, also of an event that is
/// cleared at once.
fn events() {
    let events = [Event::new(), Event::new(), Event::new()];
    let answers = [Event::new(), Event::new(), Event::new()];
    let end = Event::new();
    thread::scope(|scope| {
        for place in 0..3 {
            let (event, answer) = (&events[place], &answers[place]);
            scope.spawn(move || {
                for _ in 0..200 {
                    event.set();
                    answer.wait();
                    assert!(answer.clear());
                }
            });
        }
        let [one, two, three] = &events;
        for _ in 0..600 {
            let place = Event::wait_any(&[one, two, three, &end]).unwrap();
            assert!(events[place].clear());
            answers[place].set();
        }
    });
    thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            let three = [&events[0], &events[1], &end];
            // A limit that the clock cannot say is none.
            assert_eq!(Event::wait_any_for(&three, Duration::MAX), Ok(Some(1)));
            Event::wait_any(&three).unwrap()
        });
        while !waiter.is_finished() {
            thread::sleep(Duration::from_micros(300));
            events[1].set();
            events[1].clear();
        }
        assert_eq!(waiter.join().unwrap(), 1);
    });
}

#[test]
fn by_the_kernel() {
    let _dog = Watchdog::new("by_the_kernel");
    suite();
}

/// Where the call is refused: in a process of its own, since a filter cannot be taken off.
#[test]
#[cfg(all(target_os = "linux", not(leeward_symmetric)))]
fn where_it_is_refused() {
    for errno in [libc::ENOSYS, libc::EPERM] {
        let output = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "refused", "--ignored", "--nocapture", "--test-threads=1"])
            .env("LEEWARD_TEST_CASE", errno.to_string())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "errno {errno}: {said}\n{}", String::from_utf8_lossy(&output.stderr));
        assert!(said.contains("1 passed"), "nothing ran: {said}");
    }
}

/// Runs the other process of `where_it_is_refused`.
#[test]
#[ignore = "started by another test"]
#[cfg(all(target_os = "linux", not(leeward_symmetric)))]
fn refused() {
    use seccomp::{Action, Rule, When, refuse};
    let _dog = Watchdog::new("refused");
    let Some(errno) = std::env::var("LEEWARD_TEST_CASE").ok().and_then(|text| text.parse().ok()) else { return };
    refuse(&[Rule::new(libc::SYS_futex_waitv, When::Always, Action::Errno(errno))]);
    suite();
}
