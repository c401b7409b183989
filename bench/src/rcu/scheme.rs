//! What a peer must say about itself, and nothing more: how to enter, load and leave, and how to
//! replace. The loops over it are written once, in `loops.rs`, and compiled for each peer. Also
//! used by the separate crate in `kovan/`.

use std::sync::atomic::{AtomicU64, Ordering};

/// Sections between two quiescent states of a QSBR reader. Same number in `c/scheme.h`.
pub const BATCH: u64 = 1024;

const ALIVE: u64 = 0x600d_c0de;
const POISON: u64 = 0xdead;

/// What is published: 64 bytes, of which the reader looks at one field and the writer overwrites it
/// before freeing.
#[repr(C)]
pub struct Node {
    alive: AtomicU64,
    filler: [u64; 7],
}

impl Node {
    /// A live node.
    pub fn new() -> Node {
        Node { alive: AtomicU64::new(ALIVE), filler: [0; 7] }
    }

    /// The reader's look: the process ends with a sentence if the node was freed under it.
    #[inline(always)]
    pub fn look(&self) {
        if self.alive.load(Ordering::Relaxed) != ALIVE {
            freed_under_reader();
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.alive.store(POISON, Ordering::Relaxed);
    }
}

// `extern "C"`: it never unwinds, as its C sister doesn't, and so costs the loops nothing.
#[cold]
#[inline(never)]
extern "C" fn freed_under_reader() -> ! {
    eprintln!("compare: a reader saw a freed node");
    std::process::abort()
}

/// The shared cell of one scheme, and how its readers and writers use it.
pub trait Scheme: Send + Sync + Sized + 'static {
    /// What a reading thread keeps between sections: its registration.
    type Reader<'a>
    where
        Self: 'a;

    /// What a writing thread keeps between writes; `()` where writers need nothing.
    type Writer<'a>
    where
        Self: 'a;

    /// A cell with its first node in it.
    fn open() -> Self;

    /// Registers the calling thread.
    fn reader(&self) -> Self::Reader<'_>;

    /// Sets up the calling thread as a writer.
    fn writer(&self) -> Self::Writer<'_>;

    /// Enter, load, `look` at what was found, leave.
    fn section(&self, reader: &mut Self::Reader<'_>, look: impl FnOnce(&Node));

    /// Says that the reader holds nothing. Only QSBR has anything to say; called once every
    /// [`BATCH`] sections.
    #[inline(always)]
    fn quiescent(&self, _reader: &mut Self::Reader<'_>) {}

    /// Runs `during` registered but outside any section.
    fn rest(&self, _reader: &mut Self::Reader<'_>, during: &mut dyn FnMut()) {
        during();
    }

    /// The write of the table: a new node in, the old one poisoned and freed. Schemes with grace
    /// periods wait for one; the others hand the old node to their collector.
    fn replace(&self, writer: &mut Self::Writer<'_>);

    /// The same without waiting, where the scheme can.
    fn retire(&self, writer: &mut Self::Writer<'_>) {
        self.replace(writer);
    }

    /// Waits for a grace period. Called only where the roster says that the scheme has them.
    fn synchronize(&self) {
        unreachable!("this scheme has no grace periods");
    }

    /// Waits until everything retired before is freed. Called only where the roster says that the
    /// scheme has it.
    fn barrier(&self) {
        unreachable!("this scheme has no barrier");
    }
}
