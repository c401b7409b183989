//! WAIT as a future: it waits on the same word as blocked threads do, in the same list. Calls what
//! `wait` shares.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

use crate::mutant::{check, mutated};
use crate::ops::call::Call;
use crate::ops::wait::Queued;
use crate::waiter::{Handle, Waiter};
use crate::{Engine, Errno, Host, Wait, Word};

/// The progress of a future.
enum Stage<H: Host> {
    /// Not polled yet: the word, the expected value and the bitset.
    New(Word, u64, u32),
    /// The node is queued, or was.
    Queued(Waiter<H>),
    /// The future has returned its result.
    Done,
}

/// A wait that is polled, made by [`Engine::wait_async`].
///
/// ```
/// # #[cfg(feature = "std")] {
/// use leeward_engine::{Config, Engine, Heap, Wait, WaitAsync, Word, parking::Process};
/// use std::pin::pin;
/// use std::sync::atomic::AtomicU32;
/// use std::task::{Context, Poll, Waker};
///
/// let engine = Engine::new(Config::small(7), Heap).unwrap();
/// // SAFETY: the word that is named is aligned, and outlives the wait.
/// let host = unsafe { Process::new(2, 7) };
/// let value = AtomicU32::new(0);
/// let word = Word::private(value.as_ptr().expose_provenance() as u64);
/// let wait: WaitAsync<'_, Process> = engine.wait_async(&host, word, 0, u32::MAX);
/// let (mut wait, mut context) = (pin!(wait), Context::from_waker(Waker::noop()));
/// assert_eq!(wait.as_mut().poll(&mut context), Poll::Pending);
/// assert_eq!(engine.wake(&host, word, 1, u32::MAX), Ok(1));
/// assert_eq!(wait.poll(&mut context), Poll::Ready(Ok(Wait::Woken)));
/// # }
/// ```
#[must_use = "a future waits only when it is polled"]
pub struct WaitAsync<'a, H: Host> {
    // Holds the space of the call: the host is not asked for it again when the future is dropped.
    call: Call<'a, H>,
    stage: Stage<H>,
}

impl<H: Host> Engine<H> {
    /// Returns a future that waits like [`wait`](Self::wait), without a deadline. It compares the
    /// word when it is first polled, and is a waiter like the others from then on. It allocates
    /// nothing. It ends with [`Wait::Woken`] or [`Wait::Changed`]; for a time-out or an
    /// interruption it is dropped.
    ///
    /// Dropped after a wake chose it and before it returned that, it passes the wake on to another
    /// waiter of the word (after a requeue: of the word that it was moved to): no wake is lost.
    ///
    /// Forgotten (`core::mem::forget`) while it waits, it stays in the list: a wake of that address
    /// chooses it one day, whatever word lies there by then, and is lost on it. Its memory stays
    /// valid, because it is pinned, so nothing worse happens.
    ///
    /// Memory ordering: what happens before the wake happens before a poll that returns
    /// [`Wait::Woken`].
    ///
    /// # Cost
    /// The first poll: as [`wait`](Self::wait). A further poll of a future that was not woken: one
    /// lock of a bucket, to keep the new context's waker. A drop while it waits: one lock.
    ///
    /// # Errors
    /// Those of [`wait`](Self::wait), returned by the first poll.
    ///
    /// # Panics
    /// A poll after the future has ended panics.
    pub fn wait_async<'a>(&'a self, host: &'a H, word: Word, expected: u64, bitset: u32) -> WaitAsync<'a, H> {
        WaitAsync { call: Call::new(self, host), stage: Stage::New(word, expected, bitset) }
    }
}

impl<H: Host> Future for WaitAsync<'_, H> {
    type Output = Result<Wait, Errno>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: the node is not moved: `start` puts it in place before it is queued, and it stays
        // there until `Done` replaces it, when it is in no list.
        let this = unsafe { self.get_unchecked_mut() };
        let call = this.call;
        let answer = match &this.stage {
            Stage::Queued(node) if !node.is_idle() => {
                // SAFETY: as above.
                let node = unsafe { Pin::new_unchecked(node) };
                if !call.is_woken_else_tell(node, context) {
                    return Poll::Pending;
                }
                Ok(Wait::Woken)
            }
            &Stage::New(word, expected, bitset) => match this.start(word, expected, bitset, context) {
                Ok(true) => return Poll::Pending,
                Ok(false) => Ok(Wait::Changed),
                Err(errno) => Err(errno),
            },
            // Idle: the host or the executor panicked in the first poll.
            Stage::Queued(_) | Stage::Done => panic!("WaitAsync was polled after it had ended"),
        };
        this.stage = Stage::Done;
        Poll::Ready(answer)
    }
}

impl<H: Host> WaitAsync<'_, H> {
    /// Queues the node; returns false if the word held another value.
    fn start(&mut self, word: Word, expected: u64, bitset: u32, context: &mut Context<'_>) -> Result<bool, Errno> {
        let call = self.call;
        let Some(key) = call.key_to_wait(word, expected, bitset)? else { return Ok(false) };
        self.stage = Stage::Queued(Waiter::new(key, bitset, call.host.priority()));
        let Stage::Queued(node) = &self.stage else { unreachable!() };
        // SAFETY: the future is pinned, and the node is not moved out of it.
        let node = unsafe { Pin::new_unchecked(node) };
        call.queue(node, word, expected, key, || Handle::Waker(context.waker().clone()))
    }
}

impl<H: Host> Call<'_, H> {
    /// Returns true if a node was woken; otherwise stores this context's waker as its handle.
    fn is_woken_else_tell(&self, node: Pin<&Waiter<H>>, context: &Context<'_>) -> bool {
        let node = node.get_ref();
        if node.is_woken() {
            return true;
        }
        let mut new = Some(Handle::Waker(context.waker().clone()));
        while !node.is_woken() {
            // In no list: a waker is about to store its decision.
            let Some(bucket) = node.bucket() else { continue };
            // SAFETY: a bucket of the engine or of the space, both of which this borrows: no call
            // moves a waiter elsewhere (`TablePin`).
            let locked = unsafe { bucket.as_ref() }.lock(self.host, self.space);
            if node.bucket() == Some(bucket) && !node.is_woken() {
                // SAFETY: in the list of a bucket whose lock is held.
                let links = unsafe { &mut *node.links() };
                let old =
                    if mutated!(new_waker) { new.take() } else { core::mem::replace(&mut links.handle, new.take()) };
                drop(locked);
                // After unlocking: dropping a waker runs the executor's code.
                drop(old);
                return false;
            }
        }
        true
    }
}

impl<H: Host> Drop for WaitAsync<'_, H> {
    fn drop(&mut self) {
        let Stage::Queued(node) = &self.stage else { return };
        // SAFETY: pinned when it was queued, and not moved here.
        let node = unsafe { Pin::new_unchecked(node) };
        let queued = Queued { call: self.call, node };
        if check!(pass_on, !queued.leave() && node.is_woken()) {
            // SAFETY: woken, so the links belong to the owner, which is this future.
            let links = unsafe { &*node.get_ref().links() };
            // An error means that only waiters for locks with priority inheritance are left, which
            // this wake is not for.
            _ = self.call.wake(&links.key, 1, links.woken_by);
        }
    }
}
