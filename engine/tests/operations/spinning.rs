//! Threads that spin before they sleep: one that is woken while it spins sees it by its flag, and
//! is not unparked. And threads on which a signal handler ran before they slept, which compare
//! their words again.

#![allow(missing_docs)]

#[path = "../common/paged.rs"]
mod paged;

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Waker};

use leeward_engine::{Config, Engine, Errno, Heap, Host, ParkEnd, Requeue, Wait, WaitAny, WaitEntry, Word};
use paged::{Page, Paged};

const ANY: u32 = u32::MAX;
const HERE: Word = Word::private(64);
const THERE: Word = Word::private(128);

/// Runs a wait in whose sleep, or spin, `others` happens each time; returns how it ended, and how
/// many were unparked.
fn wait(spins: bool, others: impl Fn(&Engine<Paged>, &Paged) + 'static) -> (Result<Wait, Errno>, u32) {
    let (engine, host) = case(spins, others);
    let end = engine.wait(&host, HERE, 0, ANY, None);
    assert_eq!(host.space().stats(&host).waiters + engine.stats(&host).waiters, 0);
    (end, host.unparked.get())
}

fn case(spins: bool, others: impl Fn(&Engine<Paged>, &Paged) + 'static) -> (Rc<Engine<Paged>>, Paged) {
    let engine = Rc::new(Engine::new(Config::small(1), Heap).unwrap());
    let host = Paged::new(&[Page::There]);
    host.spins.set(spins);
    let same = engine.clone();
    *host.sleep.borrow_mut() = Some(Box::new(move |host, _| others(&same, host)));
    (engine, host)
}

#[test]
fn a_wake_of_who_spins_unparks_nobody() {
    let wake = |engine: &Engine<Paged>, host: &Paged| assert!(engine.wake(host, HERE, 1, ANY).is_ok());
    assert_eq!(wait(true, wake), (Ok(Wait::Woken), 0));
    assert_eq!(wait(false, wake), (Ok(Wait::Woken), 1));
}

#[test]
fn a_wake_of_many_unparks_those_who_sleep() {
    // Two wait in each other's sleep, and spin: the inner wait is chosen last.
    for (spins, unparked) in [(true, 0), (false, 2)] {
        let inner = move |engine: &Engine<Paged>, host: &Paged| {
            let same: *const Engine<Paged> = engine;
            *host.sleep.borrow_mut() = Some(Box::new(move |host, _| {
                // SAFETY: the case's, which waits.
                assert!(unsafe { &*same }.wake(host, HERE, ANY, ANY).is_ok());
            }));
            assert_eq!(engine.wait(host, HERE, 0, ANY, None), Ok(Wait::Woken));
        };
        assert_eq!(wait(spins, inner), (Ok(Wait::Woken), unparked));
    }
}

#[test]
fn a_future_beside_who_spins_is_told() {
    let (engine, host) = case(true, |engine, host| assert!(engine.wake(host, HERE, ANY, ANY).is_ok()));
    let mut context = Context::from_waker(Waker::noop());
    let mut future = pin!(engine.wait_async(&host, HERE, 0, ANY));
    assert!(future.as_mut().poll(&mut context).is_pending());
    assert_eq!(engine.wait(&host, HERE, 0, ANY, None), Ok(Wait::Woken));
    assert!(future.as_mut().poll(&mut context).is_ready());
    assert_eq!(host.unparked.get(), 0);
}

#[test]
fn who_spins_may_be_moved() {
    let end = wait(true, |engine, host| {
        assert_eq!(engine.requeue(host, HERE, THERE, 0, 1, Some(0)), Ok(Requeue::Done(1)));
        assert_eq!(engine.wake(host, HERE, 1, ANY), Ok(0));
        assert_eq!(engine.wake(host, THERE, 1, ANY), Ok(1));
    });
    assert_eq!(end, (Ok(Wait::Woken), 0));
}

#[test]
fn of_several_words_one_is_woken() {
    let (engine, host) = case(true, |engine, host| assert!(engine.wake(host, THERE, 1, ANY).is_ok()));
    let mut entries = [WaitEntry::new(HERE, 0), WaitEntry::new(THERE, 0)];
    assert_eq!(engine.waitv(&host, &mut entries, None), Ok(WaitAny::Woken(1)));
    assert_eq!(engine.stats(&host).waiters, 0);
}

/// Runs a wait in whose first sleep a signal handler runs, after which the host asks for the
/// word to be compared again; returns how it ended.
fn interrupted(handler: impl Fn(&Engine<Paged>, &Paged) + 'static) -> (Rc<Engine<Paged>>, Paged) {
    let (engine, host) = case(false, handler);
    host.ends.borrow_mut().push_back(ParkEnd::Recheck);
    (engine, host)
}

fn waiters(engine: &Engine<Paged>, host: &Paged) -> u64 {
    host.space().stats(host).waiters + engine.stats(host).waiters
}

#[test]
fn a_word_that_a_handler_changed_ends_the_wait() {
    let (engine, host) = interrupted(|_, host| host.word(64).set(1));
    assert_eq!(engine.wait(&host, HERE, 0, ANY, None), Ok(Wait::Changed));
    assert_eq!(waiters(&engine, &host), 0);
    let (engine, host) = interrupted(|_, host| host.word(128).set(1));
    let mut entries = [WaitEntry::new(HERE, 0), WaitEntry::new(THERE, 0)];
    assert_eq!(engine.waitv(&host, &mut entries, None), Ok(WaitAny::Changed));
    assert_eq!(waiters(&engine, &host), 0);
}

#[test]
fn a_wait_whose_word_is_what_it_was_goes_on() {
    let (engine, host) = interrupted(|_, _| {});
    host.ends.borrow_mut().extend([ParkEnd::Recheck, ParkEnd::Unparked, ParkEnd::Interrupted]);
    assert_eq!(engine.wait(&host, HERE, 0, ANY, None), Ok(Wait::Interrupted));
    let (engine, host) = interrupted(|_, _| {});
    let mut entries = [WaitEntry::new(HERE, 0), WaitEntry::new(THERE, 0)];
    assert_eq!(engine.waitv(&host, &mut entries, None), Ok(WaitAny::TimedOut));
    assert_eq!(waiters(&engine, &host), 0);
}

#[test]
fn a_wake_of_the_handlers_counts_before_the_change() {
    let change_and_wake = |engine: &Engine<Paged>, host: &Paged| {
        host.word(64).set(1);
        assert_eq!(engine.wake(host, HERE, 1, ANY), Ok(1));
    };
    let (engine, host) = interrupted(change_and_wake);
    assert_eq!(engine.wait(&host, HERE, 0, ANY, None), Ok(Wait::Woken));
    let (engine, host) = interrupted(change_and_wake);
    let mut entries = [WaitEntry::new(HERE, 0), WaitEntry::new(THERE, 0)];
    assert_eq!(engine.waitv(&host, &mut entries, None), Ok(WaitAny::Woken(0)));
    assert_eq!(waiters(&engine, &host), 0);
}

/// A requeue counted the waiter: it must not be gone when the word that it was moved to is woken.
#[test]
fn a_waiter_that_was_moved_does_not_recheck_its_first_word() {
    let change_and_move = |engine: &Engine<Paged>, host: &Paged| {
        host.word(64).set(1);
        assert_eq!(engine.requeue(host, HERE, THERE, 0, 1, None), Ok(Requeue::Done(1)));
    };
    let (engine, host) = interrupted(change_and_move);
    assert_eq!(engine.wait(&host, HERE, 0, ANY, None), Ok(Wait::TimedOut));
    let (engine, host) = interrupted(change_and_move);
    let mut entries = [WaitEntry::new(HERE, 0), WaitEntry::new(THERE, 0)];
    assert_eq!(engine.waitv(&host, &mut entries, None), Ok(WaitAny::TimedOut));
    assert_eq!(waiters(&engine, &host), 0);
}

#[test]
fn a_word_that_cannot_be_read_any_more_ends_the_wait() {
    let (engine, host) = interrupted(|_, host| host.set_page(0, Page::Never));
    assert_eq!(engine.wait(&host, HERE, 0, ANY, None), Err(Errno::EFAULT));
    let (engine, host) = interrupted(|engine, host| {
        assert_eq!(engine.wake(host, HERE, 1, ANY), Ok(1));
        host.set_page(0, Page::Never);
    });
    assert_eq!(engine.wait(&host, HERE, 0, ANY, None), Ok(Wait::Woken));
    let (engine, host) = interrupted(|_, host| host.set_page(0, Page::Late(3)));
    assert_eq!(engine.wait(&host, HERE, 0, ANY, None), Ok(Wait::TimedOut));
    assert_eq!(waiters(&engine, &host), 0);
}

#[test]
fn who_spun_in_vain_may_go_and_may_be_unparked() {
    assert_eq!(wait(true, |_, _| {}), (Ok(Wait::TimedOut), 0));
    // The spin ends by a panic: the wait is left, and no waiter is woken.
    let (engine, host) = case(true, |_, _| panic!("host: a spin that panics"));
    let panicked = catch_unwind(AssertUnwindSafe(|| engine.wait(&host, HERE, 0, ANY, None)));
    assert!(panicked.is_err());
    assert_eq!((engine.wake(&host, HERE, ANY, ANY), engine.stats(&host).waiters), (Ok(0), 0));
}
