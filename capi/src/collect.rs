//! Queues and stacks: what the inline functions of `<leeward/queue.h>` and `<leeward/stack.h>` call
//! where a thread sleeps or is woken. The headers document the calls.
//!
//! A queue of C is the Rust type, as a lock is (`locks/mod.rs`).

use core::ffi::c_int;
use core::ptr::{self, NonNull};

use leeward::collect::TryPop;
use leeward::collect::raw::{Node, Queue, Stack, wake_for_link};
use leeward::futex::{Private, Timeout};
use libc::timespec;

use crate::locks::deadline::timeout;

// The layouts that the headers have.
const _: () = assert!(size_of::<Queue>() == 128 && size_of::<Stack>() == size_of::<usize>());
const _: () = assert!(size_of::<Node>() == size_of::<usize>() && align_of::<Queue>() == align_of::<usize>());

/// Wakes the threads that wait for a link.
#[unsafe(no_mangle)]
pub extern "C" fn lee_1_node_wake() {
    wake_for_link::<Private>();
}

/// Wakes the consumer of a queue that was empty.
#[unsafe(no_mangle)]
pub extern "C" fn lee_1_queue_wake(queue: &Queue) {
    queue.wake();
}

/// Pops the first node, waiting; null in the child of a fork only.
///
/// # Safety
/// No other thread pops.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lee_1_queue_pop_slow(queue: &Queue) -> *mut Node {
    // SAFETY: the caller's promise.
    unsafe { queue.pop(Timeout::Never) }.value().map_or(ptr::null_mut(), NonNull::as_ptr)
}

/// Pops the first node, waiting until the deadline at most.
///
/// # Safety
/// No other thread pops; `node` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lee_1_queue_timedpop_slow(
    queue: &Queue,
    node: &mut *mut Node,
    deadline: Option<&timespec>,
) -> c_int {
    let timeout = match timeout(deadline) {
        Ok(timeout) => timeout,
        Err(error) => return error,
    };
    // SAFETY: the caller's promise.
    match unsafe { queue.pop(timeout) } {
        TryPop::Value(popped) => *node = popped.as_ptr(),
        TryPop::Empty => return libc::ETIMEDOUT,
        TryPop::Busy => return libc::EBUSY,
    }
    0
}

/// Moves all nodes from one queue to another.
///
/// # Safety
/// No other thread pops from `from`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lee_1_queue_splice(to: &Queue, from: &Queue) -> c_int {
    // SAFETY: the caller's promise.
    match unsafe { to.splice(from, Timeout::Never) } {
        TryPop::Value(_) => 0,
        TryPop::Empty => libc::EAGAIN,
        TryPop::Busy => libc::EBUSY,
    }
}

/// The link of the last node of a stack, as the header has it.
const END_NODE: *mut Node = ptr::without_provenance_mut(2);

/// Waits for the link of a stack's node, and returns it.
///
/// # Safety
/// The node was pushed, and is not freed meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lee_1_stack_await(node: NonNull<Node>) -> *mut Node {
    // SAFETY: the caller's promise.
    unsafe { Stack::<Private>::next(node) }.map_or(END_NODE, NonNull::as_ptr)
}
