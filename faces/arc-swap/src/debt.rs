//! What guards borrow: each thread's slots, in which its guards note their values, and the writer's
//! payment, which gives each of them a count.
//!
//! After Michal Vaner's debts in arc-swap, with a grace period in the place of the second look at the
//! pointer. A note is written in a read section of [`Readers`]; a writer that has taken a value out
//! waits for the sections that may have found it, and so sees their notes.
//!
//! Notes of one pointer are interchangeable. Where the first of two guards of a pointer clears the
//! second one's note, since its own was paid meanwhile and the slot used again, the count that it was
//! given becomes the second one's, which finds its note cleared. So the notes are of one kind: each
//! stands for a count of an `Arc` ([`RefCnt::IS_LENT`]).

use core::cell::Cell;
use core::mem::ManuallyDrop;
use core::ptr::{self, null_mut};
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use crate::RefCnt;

leeward::rcu_domain! {
    /// The readers of all cells, for the length of a load.
    pub(crate) struct Readers;
}

/// A note: the pointer that a guard borrows, or null. The thread that owns the slot writes pointers;
/// any thread clears it.
pub struct Slot(AtomicPtr<()>);

impl Slot {
    /// Clears the note of `pointer`; returns false if a writer has paid it, and the caller has a count.
    #[inline]
    pub fn clear(&self, pointer: *const ()) -> bool {
        // Release: partner of the acquires in `lend` and `pay`: what the guard read is read before a
        // writer that finds no note drops the value. Acquire on failure: partner of the release in
        // `pay`: the count was given before it is taken back.
        self.0.compare_exchange(pointer.cast_mut(), null_mut(), Ordering::Release, Ordering::Acquire).is_ok()
    }
}

/// The slots of a thread, for another one when it has exited. It is never freed.
#[repr(align(128))]
struct Node {
    slots: [Slot; 8],
    is_owned: AtomicBool,
    /// Written before the node is published.
    next: AtomicPtr<Node>,
}

static NODES: AtomicPtr<Node> = AtomicPtr::new(null_mut());

/// The nodes of all threads.
fn nodes() -> impl Iterator<Item = &'static Node> {
    // Acquire: partner of the release in `Node::take`.
    let mut next = NODES.load(Ordering::Acquire);
    core::iter::from_fn(move || {
        // SAFETY: null, or a node, which is never freed.
        let node = unsafe { next.as_ref() }?;
        // Relaxed: written before the node was published.
        next = node.next.load(Ordering::Relaxed);
        Some(node)
    })
}

impl Node {
    /// Returns a node for the calling thread.
    #[cold]
    fn take() -> &'static Node {
        // Acquire: partner of the release in `Own::drop`.
        let is_free = |node: &&Node| !node.is_owned.swap(true, Ordering::Acquire);
        if let Some(node) = nodes().find(is_free) {
            return node;
        }
        let slots = [const { Slot(AtomicPtr::new(null_mut())) }; 8];
        let node = Node { slots, is_owned: AtomicBool::new(true), next: AtomicPtr::new(null_mut()) };
        let node: &'static Node = Box::leak(Box::new(node));
        let new = ptr::from_ref(node).cast_mut();
        // Relaxed, both: the exchange decides, and publishes.
        let mut first = NODES.load(Ordering::Relaxed);
        loop {
            node.next.store(first, Ordering::Relaxed);
            // Release: partner of the acquire in `nodes`. Relaxed on failure: tried again.
            match NODES.compare_exchange_weak(first, new, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return node,
                Err(now) => first = now,
            }
        }
    }
}

/// The calling thread's node, once it has one.
struct Own(Cell<Option<&'static Node>>);

impl Drop for Own {
    fn drop(&mut self) {
        if let Some(node) = self.0.get() {
            // Release: partner of the acquire in `Node::take`.
            node.is_owned.store(false, Ordering::Release);
        }
    }
}

thread_local! {
    static OWN: Own = const { Own(Cell::new(None)) };
}

/// Where the calling thread's guards note what they borrow.
#[derive(Clone, Copy)]
pub struct Lender(Option<&'static Node>);

impl Lender {
    /// Returns the calling thread's slots; none where its thread-local data are gone.
    #[inline]
    pub fn own() -> Lender {
        let own = |own: &Own| {
            own.0.get().unwrap_or_else(|| {
                let node = Node::take();
                own.0.set(Some(node));
                node
            })
        };
        Lender(OWN.try_with(own).ok())
    }

    /// Notes that a guard borrows `pointer`; `None` if all slots are in use. Called in the section in
    /// which the pointer was found.
    #[inline]
    pub fn lend(self, pointer: *const ()) -> Option<&'static Slot> {
        // Acquire: hands on what the guard before did, to the writer that finds our note (`pay`).
        let slot = self.0?.slots.iter().find(|slot| slot.0.load(Ordering::Acquire).is_null())?;
        // Release: partner of the acquire in `pay`.
        slot.0.store(pointer.cast_mut(), Ordering::Release);
        Some(slot)
    }
}

/// Gives each guard that borrows `value` a count.
///
/// The caller has taken it out of its cell, whose count the value still has; the sections that may
/// have found it there have ended.
pub fn pay<T: RefCnt>(value: &ManuallyDrop<T>) {
    let pointer = T::as_ptr(value).cast::<()>();
    if !T::IS_LENT || pointer.is_null() {
        return;
    }
    for slot in nodes().flat_map(|node| &node.slots) {
        // Acquire: partner of the releases in `clear` and `lend`: what guards that are gone read is
        // read before the caller drops the value.
        if slot.0.load(Ordering::Acquire) != pointer {
            continue;
        }
        let given = T::inc(value);
        // Release: partner of the acquire in `clear`. Acquire on failure: as above.
        if slot.0.compare_exchange(pointer, null_mut(), Ordering::Release, Ordering::Acquire).is_err() {
            // SAFETY: the count that `inc` has just made.
            unsafe { T::dec(given) };
        }
    }
}
