//! The operations of bounded queues. A child may use them, whatever the parent's thread did: what it had
//! claimed is settled.

use std::sync::LazyLock;
use std::time::Duration;

use leeward::collect::Bounded;

use super::super::case::Beside;
use super::Operation;

operations! {
    "bounded";
    pushed: || _ = QUEUE.try_push(1) => beside(are_made).left(queue_is_usable);
    popped: || {
        let _ = QUEUE.try_push(1);
        assert!(QUEUE.pop().is_some());
    } => beside(are_made).left(queue_is_usable);
    /// The ring is gone round, with one value in it or two.
    passed_on: || {
        let _ = QUEUE.try_push(0);
        for value in 1..8 {
            QUEUE.push(value).unwrap();
            assert!(QUEUE.try_pop().value().is_some());
        }
        // In destructors it runs more than once.
        while QUEUE.try_pop().value().is_some() {}
    } => beside(are_made).left(queue_is_usable);
    forced: || (0..4).for_each(|value| _ = FORCED.force_push(value)) => beside(are_made).left(forced_is_usable);
    awaited: || assert!(AWAITED.pop().is_some()) => beside(pushes).left(awaited_is_usable);
    room_awaited: || FULL.push(1).unwrap() => beside(makes_room).left(full_is_usable);
    closed: || CLOSED.close() => beside(are_made).left(is_closed);
}

const SHORT: Duration = Duration::from_millis(2);
const LONG: Duration = Duration::from_secs(5);

static QUEUE: LazyLock<Bounded<u32>> = LazyLock::new(|| Bounded::with_capacity(3));
static FORCED: LazyLock<Bounded<u32>> = LazyLock::new(|| Bounded::with_capacity(2));
static AWAITED: LazyLock<Bounded<u32>> = LazyLock::new(|| Bounded::with_capacity(2));
static CLOSED: LazyLock<Bounded<u32>> = LazyLock::new(|| Bounded::with_capacity(1));
static FULL: LazyLock<Bounded<u32>> = LazyLock::new(|| {
    let queue = Bounded::with_capacity(1);
    queue.push(0).unwrap();
    queue
});

/// Makes the queues: a child waits for ever for a thread of its parent that makes one.
fn are_made(_: &Beside<'_>) {
    [&QUEUE, &FORCED, &AWAITED, &CLOSED, &FULL].into_iter().for_each(|queue| _ = LazyLock::force(queue));
}

/// Returns true if what is pushed comes out, after what is there, and the queue has all its room.
fn is_usable(queue: &Bounded<u32>) -> bool {
    const LAST: u32 = 99;
    while queue.push_for(LAST, SHORT).is_err() {
        if queue.pop_for(LONG).is_none() {
            return false;
        }
    }
    loop {
        match queue.pop_for(LONG) {
            Some(LAST) => break,
            Some(_) => {}
            None => return false,
        }
    }
    let numbers = 0..queue.capacity() as u32;
    queue.is_empty()
        && numbers.clone().all(|number| queue.try_push(number).is_ok())
        && queue.is_full()
        && queue.push_for(LAST, SHORT).is_err()
        && queue.force_push(LAST) == Some(0)
        && numbers.skip(1).chain([LAST]).all(|number| queue.pop() == Some(number))
        && matches!(queue.len(), 0)
}

fn queue_is_usable() -> bool {
    is_usable(&QUEUE)
}

fn forced_is_usable() -> bool {
    is_usable(&FORCED)
}

fn awaited_is_usable() -> bool {
    is_usable(&AWAITED)
}

fn full_is_usable() -> bool {
    is_usable(&FULL) && FULL.push(0).is_ok()
}

/// A queue that another thread closes is closed or is not.
fn is_closed() -> bool {
    CLOSED.is_closed() && CLOSED.push(1) == Err(1) && CLOSED.pop().is_none() || is_usable(&CLOSED)
}

fn pushes(beside: &Beside<'_>) {
    are_made(beside);
    beside.until_it_sleeps();
    AWAITED.push(1).unwrap();
}

fn makes_room(beside: &Beside<'_>) {
    are_made(beside);
    beside.until_it_sleeps();
    assert!(FULL.pop().is_some());
}
