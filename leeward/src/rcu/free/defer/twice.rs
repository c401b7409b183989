//! A head that is queued again while it is queued: the lists through its words are broken then, so that
//! callbacks are lost, or called without a grace period, and `barrier` waits for ever. The process ends
//! instead, with a line.
//!
//! | the head is | it is found by |
//! |---|---|
//! | the one that was queued last | the call that queues it again (`Queue::link`) |
//! | queued | the thread that takes the queue, which meets it twice (`in_order`) |
//! | in a batch | the thread that runs the batch, and was to call it (`Queue::run`) |
//! | queued in two domains | as queued, where the other domain's batch was run before |
//!
//! What a head had in its words before it is queued is never looked at: its memory may be fresh. And a
//! head whose function has begun is free, so a call that comes too early by a moment may not be found.

use super::super::head::Head;
use crate::process;
use crate::rcu::backing::State;
use crate::rcu::c;

/// Ends the process, with a line that names the head, and the domain if it is one of C. The thread is
/// the one that found it.
#[cold]
#[inline(never)]
pub(super) fn deferred_twice(domain: &'static State, head: *const Head) -> ! {
    let thread = process::thread_number();
    match c::name_of(domain) {
        Some(name) => process::print_error(format_args!(
            "leeward: {name}_defer called again with the head {head:p}, which the domain {name} has queued already \
             (thread {thread})\n"
        )),
        None => process::print_error(format_args!(
            "leeward: defer_raw called again with the head {head:p}, which its domain has queued already (thread \
             {thread})\n"
        )),
    }
    process::abort()
}
