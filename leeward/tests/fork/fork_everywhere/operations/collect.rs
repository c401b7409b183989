//! The operations of queues and stacks. A child may use them, whatever the parent's thread did: a
//! slot that it claimed is passed, and a lock that it held is taken over.

use std::ptr::NonNull;
use std::time::Duration;

use leeward::collect::{Queue, Stack, TryPop, raw};
use leeward::futex::Timeout;

use super::super::case::Beside;
use super::Operation;

operations! {
    "collect";
    queue_pushed: || QUEUE.push(1) => left(queue_is_usable);
    queue_popped: || {
        QUEUE.push(1);
        assert!(QUEUE.pop().is_some());
    } => left(queue_is_usable);
    queue_tried: || {
        QUEUE.push(1);
        assert!(QUEUE.try_pop().value().is_some());
    } => left(queue_is_usable);
    queue_taken: || {
        QUEUE.push(1);
        assert!(QUEUE.pop_all().count() > 0);
    } => left(queue_is_usable);
    queue_spliced: || {
        QUEUE.push(1);
        OTHER.splice(&QUEUE);
    } => left(|| queue_is_usable() && other_is_usable());
    queue_filled: || {
        // More than a block: some are appended, and emptied blocks are put by.
        (0..200).for_each(|value| BLOCKS.push([value; 64]));
        while BLOCKS.try_pop().value().is_some() {}
    } => left(blocks_are_usable);
    queue_awaited: || assert!(AWAITED.pop().is_some()) => beside(pushes).left(awaited_is_usable);
    queue_pushed_to_a_sleeper: || AWAITED.push(1) => beside(pops).left(awaited_is_usable);
    queue_awaited_to_take: || TAKEN.splice(&HELD) => beside(leaves).left(held_is_usable);
    queue_popped_behind: || assert!(BEHIND.pop().is_some()) => beside(is_done).left(behind_is_usable);
    queue_over_behind: || _ = OVER.pop() => beside(closes).left(over_is_usable);
    queue_closed: || QUEUE.close() => left(queue_is_usable);
    stack_pushed: || STACK.push(1) => left(stack_is_usable);
    stack_popped: || {
        STACK.push(1);
        assert!(STACK.pop().is_some());
    } => left(stack_is_usable);
    stack_taken: || {
        STACK.push(1);
        assert!(STACK.pop_all().count() > 0);
    } => left(stack_is_usable);
    raw_pushed: || {
        know_of_forks();
        // SAFETY: a new node, which stays.
        unsafe { RAW.push(node()) };
    } => left(raw_answers);
    raw_popped: || {
        know_of_forks();
        // SAFETY: a new node, which stays.
        unsafe { RAW.push(node()) };
        // SAFETY: one thread pops.
        assert!(unsafe { RAW.pop(Timeout::Never) }.value().is_some());
    } => left(raw_answers);
    raw_stacked: || {
        // SAFETY: a new node, which stays.
        unsafe { RAW_STACK.push_wait_free(node()) };
    } => left(|| RAW_STACK.pop_all().is_some() || RAW_STACK.is_empty());
}

const SHORT: Duration = Duration::from_millis(2);
const LONG: Duration = Duration::from_secs(5);

static QUEUE: Queue<u32> = Queue::new();
static OTHER: Queue<u32> = Queue::new();
static BLOCKS: Queue<[u32; 64]> = Queue::new();
static AWAITED: Queue<u32> = Queue::new();
static HELD: Queue<u32> = Queue::new();
static TAKEN: Queue<u32> = Queue::new();
static BEHIND: Queue<u32> = Queue::new();
static OVER: Queue<u32> = Queue::new();
static STACK: Stack<u32> = Stack::new();
static RAW: raw::Queue = raw::Queue::new();
static RAW_STACK: raw::Stack = raw::Stack::new();

fn node() -> NonNull<raw::Node> {
    NonNull::from(Box::leak(Box::new(raw::Node::new())))
}

/// Makes forks known from here on: an intrusive queue does not.
fn know_of_forks() {
    let _ = OTHER.try_pop();
}

/// Returns true if what is pushed comes out, after what is there.
fn is_usable<T: Copy + PartialEq>(queue: &Queue<T>, last: T) -> bool {
    queue.push(last);
    loop {
        match queue.pop_for(LONG) {
            Some(value) if value == last => return queue.try_pop().is_empty(),
            Some(_) => {}
            None => return false,
        }
    }
}

fn queue_is_usable() -> bool {
    is_usable(&QUEUE, 99)
}

fn other_is_usable() -> bool {
    is_usable(&OTHER, 99)
}

fn blocks_are_usable() -> bool {
    is_usable(&BLOCKS, [999; 64])
}

fn awaited_is_usable() -> bool {
    is_usable(&AWAITED, 99)
}

/// A thread that takes all waits for no consumer of the parent.
fn held_is_usable() -> bool {
    TAKEN.splice(&HELD);
    HELD.is_empty() && is_usable(&HELD, 99) && is_usable(&TAKEN, 99)
}

/// A thread that pops waits for no consumer of the parent.
fn behind_is_usable() -> bool {
    is_usable(&BEHIND, 99)
}

fn over_is_usable() -> bool {
    is_usable(&OVER, 99)
}

fn stack_is_usable() -> bool {
    STACK.push(99);
    STACK.pop() == Some(99) && {
        STACK.push(98);
        STACK.pop_all().next() == Some(98) && STACK.try_pop().is_empty()
    }
}

/// A link may be missing for ever: a pop ends, also without a limit.
fn raw_answers() -> bool {
    // SAFETY: a new node, which stays.
    unsafe { RAW.push(node()) };
    loop {
        // SAFETY: the child has one thread.
        match unsafe { RAW.pop(Timeout::Never) } {
            TryPop::Value(_) => {}
            TryPop::Empty => return false,
            // SAFETY: as above.
            TryPop::Busy => return unsafe { RAW.try_pop() }.is_busy(),
        }
        if RAW.is_empty() {
            return true;
        }
    }
}

fn pushes(beside: &Beside<'_>) {
    beside.until_it_sleeps();
    AWAITED.push(1);
}

/// Gives the right to pop up when the operation sleeps, which waits to take all.
fn leaves(beside: &Beside<'_>) {
    HELD.push(1);
    let consumer = HELD.consumer();
    beside.until_it_sleeps();
    drop(consumer);
}

/// Gives the right to pop up, with a value, when the operation sleeps, which waits to pop.
fn is_done(beside: &Beside<'_>) {
    BEHIND.push(1);
    let consumer = BEHIND.consumer();
    beside.until_it_sleeps();
    drop(consumer);
}

/// Closes the empty queue when the operation sleeps, which waits to pop behind this thread.
fn closes(beside: &Beside<'_>) {
    let consumer = OVER.consumer();
    beside.until_it_sleeps();
    OVER.close();
    drop(consumer);
}

/// Sleeps until the operation pushes, which begins when this thread is ready.
fn pops(beside: &Beside<'_>) {
    beside.is_ready();
    while AWAITED.pop_for(SHORT).is_none() {}
}
