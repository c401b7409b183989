//! The calling thread's index, in thread-local storage. A thread that has run its thread-local
//! destructors, or for which the C library has no memory, takes one for each call.

use core::ptr;

use crate::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::process::fork::{self, Hook, Watched};
use crate::process::local::{Word, exit, word};
use crate::process::thread;
use crate::registry::{Registry, RegistrySlot};

/// An index that a thread may have.
struct Writer {
    /// The thread's id; 0: free.
    owner: AtomicU64,
    /// The index; set by the thread that has it.
    index: AtomicUsize,
}

impl Writer {
    const fn none() -> Writer {
        Writer { owner: AtomicU64::new(0), index: AtomicUsize::new(0) }
    }

    #[inline]
    fn index(&self) -> usize {
        // Relaxed: the thread's own.
        self.index.load(Ordering::Relaxed)
    }
}

impl RegistrySlot for Writer {
    #[allow(clippy::declare_interior_mutable_const)]
    const NEW: Writer = Writer::none();

    fn fresh() -> Writer {
        Writer::none()
    }

    fn is_free(&self) -> bool {
        // Relaxed: `claim` decides.
        self.owner.load(Ordering::Relaxed) == 0
    }

    fn claim(&self, owner: u64, _: u32) -> bool {
        // Acquire: partner of the release in `free`: what the last thread kept at this index.
        self.owner.compare_exchange(0, owner, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    fn free(&self) {
        // Release: partner of the acquire in `claim`.
        self.owner.store(0, Ordering::Release);
    }
}

static WRITERS: Registry<Writer> = Registry::new();
/// That of threads which have none.
static NO_WRITER: Writer = Writer::none();

word! {
    /// The thread's index.
    static WRITER: *const Writer = &raw const NO_WRITER
}
exit! { static WRITER_EXIT = leave }

/// In the child of a fork the indices of other threads are free. What they were changing is found
/// by its mark (`PerWriter`'s users).
struct WritersInChild(Hook);

static WRITERS_IN_CHILD: WritersInChild = WritersInChild(Hook::new());

impl Watched for WritersInChild {
    fn hook(&self) -> &Hook {
        &self.0
    }

    fn in_child(&'static self) {
        let me = thread::current();
        for writer in WRITERS.slots() {
            // Relaxed: the child has one thread.
            if writer.owner.load(Ordering::Relaxed) != me {
                writer.free();
            }
        }
        WRITERS.start_over();
    }
}

/// Calls `act` with an index that no other thread has meanwhile.
#[inline(always)]
pub(crate) fn with_index<R>(act: impl FnOnce(usize) -> R) -> R {
    let writer = WRITER.get();
    if !ptr::eq(writer, &NO_WRITER) {
        // SAFETY: the word holds addresses of a registry's slots, which live forever.
        return act(unsafe { &*writer }.index());
    }
    let Some(taken) = Taken::new() else { no_memory() };
    act(taken.0.index())
}

/// Does what [`with_index`] does; `None`: there is no memory for one more writer.
#[inline(always)]
pub(crate) fn try_with_index<R>(act: impl FnOnce(usize) -> R) -> Option<R> {
    let writer = WRITER.get();
    if !ptr::eq(writer, &NO_WRITER) {
        // SAFETY: as in `with_index`.
        return Some(act(unsafe { &*writer }.index()));
    }
    let taken = Taken::new()?;
    Some(act(taken.0.index()))
}

#[cold]
#[inline(never)]
fn no_memory() -> ! {
    panic!("leeward: there is no memory for one more writer");
}

/// An index that was taken for the thread, or for one call.
struct Taken(&'static Writer);

impl Taken {
    #[cold]
    #[inline(never)]
    fn new() -> Option<Taken> {
        fork::watch(&WRITERS_IN_CHILD);
        // The claim may be this thread's second one at a time, where the allocator uses a container.
        let (index, writer) = WRITERS.claim_at(thread::current(), 0).ok()?;
        // Relaxed: this thread's.
        writer.index.store(index, Ordering::Relaxed);
        Some(Taken(writer))
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        // The thread keeps it, if it is its first and will be given back at its exit.
        if WRITER_EXIT.arm() && ptr::eq(WRITER.get(), &NO_WRITER) {
            WRITER.set(self.0);
        } else {
            WRITERS.release(self.0);
        }
    }
}

/// Gives the index of the calling thread back, which exits.
fn leave() {
    let writer = WRITER.get();
    WRITER.set(&raw const NO_WRITER);
    if !ptr::eq(writer, &NO_WRITER) {
        // SAFETY: as in `with_index`.
        WRITERS.release(unsafe { &*writer });
    }
}
