//! Waits as futures: for asynchronous runtimes, and `Atomics.waitAsync`.

mod common;

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::thread;

use common::{Pages, memory, runtime, until_waiters};
use leeward_wasm::{Outcome, Threads, Trap};

#[test]
fn a_future_waits_in_one_list_with_threads() {
    let memory = memory();
    let mut context = Context::from_waker(Waker::noop());
    let mut future = pin!(memory.wait64_async(0, 0, 0));
    assert_eq!(future.as_mut().poll(&mut context), Poll::Pending);
    thread::scope(|threads| {
        let thread = threads.spawn(|| memory.wait32(0, 0, 0, -1));
        until_waiters(&memory, 2);
        assert_eq!(memory.notify(0, 0, 1), Ok(1));
        assert_eq!(future.poll(&mut context), Poll::Ready(Ok(Outcome::Woken)));
        assert_eq!(memory.notify(0, 0, 1), Ok(1));
        assert_eq!(thread.join().unwrap(), Ok(Outcome::Woken));
    });
}

#[test]
fn a_future_that_is_dropped_passes_the_notify_on_that_had_chosen_it() {
    let memory = memory();
    let mut context = Context::from_waker(Waker::noop());
    let mut first = Box::pin(memory.wait32_async(0, 0, 0));
    let mut second = pin!(memory.wait32_async(0, 0, 0));
    assert_eq!(first.as_mut().poll(&mut context), Poll::Pending);
    assert_eq!(second.as_mut().poll(&mut context), Poll::Pending);
    assert_eq!(memory.notify(0, 0, 1), Ok(1));
    assert_eq!(second.as_mut().poll(&mut context), Poll::Pending);
    drop(first);
    assert_eq!(second.poll(&mut context), Poll::Ready(Ok(Outcome::Woken)));
}

#[test]
fn a_future_that_is_dropped_while_it_waits_leaves_nothing() {
    let memory = memory();
    let mut context = Context::from_waker(Waker::noop());
    let mut future = Box::pin(memory.wait32_async(0, 0, 0));
    assert_eq!(future.as_mut().poll(&mut context), Poll::Pending);
    assert_eq!(memory.stats().waiters, 1);
    drop(future);
    assert_eq!(memory.stats().waiters, 0);
    assert_eq!(memory.notify(0, 0, 1), Ok(0));
}

#[test]
fn a_future_compares_when_it_is_first_polled() {
    let memory = memory();
    let mut context = Context::from_waker(Waker::noop());
    let future = pin!(memory.wait64_async(0, 0, 0));
    memory.linear().store64(0, 1 << 32);
    assert_eq!(future.poll(&mut context), Poll::Ready(Ok(Outcome::NotEqual)));
}

#[test]
fn a_future_traps_as_a_wait_does() {
    let memory = memory();
    let mut context = Context::from_waker(Waker::noop());
    let unshared = runtime(Threads::default()).memory(Pages::new(1, false));
    assert_eq!(pin!(memory.wait32_async(2, 0, 0)).poll(&mut context), Poll::Ready(Err(Trap::Unaligned)));
    assert_eq!(pin!(memory.wait64_async(1 << 40, 0, 0)).poll(&mut context), Poll::Ready(Err(Trap::OutOfBounds)));
    assert_eq!(pin!(unshared.wait32_async(0, 0, 0)).poll(&mut context), Poll::Ready(Err(Trap::Unshared)));
}

#[test]
fn a_future_may_own_its_handle_and_go_to_another_thread() {
    fn is_send(_: &(impl Future + Send)) {}
    let memory = memory();
    let own = memory.clone();
    let mut task = Box::pin(async move { own.wait32_async(0, 0, 0).await });
    is_send(&task);
    let mut context = Context::from_waker(Waker::noop());
    assert_eq!(task.as_mut().poll(&mut context), Poll::Pending);
    assert_eq!(memory.notify(0, 0, 1), Ok(1));
    let end = thread::spawn(move || task.as_mut().poll(&mut Context::from_waker(Waker::noop())));
    assert_eq!(end.join().unwrap(), Poll::Ready(Ok(Outcome::Woken)));
}
