//! The trait that a scheme implements: how to enter, load and leave, and how to replace. The loops
//! over it are written once, in `loops.rs`, and compiled for each scheme. The crate in `kovan/`
//! uses this file too.

use std::sync::atomic::{AtomicU64, Ordering};

/// The number of sections between two quiescent states of a QSBR reader. `c/scheme.h` has the same
/// number.
pub const BATCH: u64 = 1024;

const ALIVE: u64 = 0x600d_c0de;
const POISON: u64 = 0xdead;

/// The published object, of 64 bytes. The reader checks one field, which the writer overwrites
/// before it frees the node.
#[repr(C)]
pub struct Node {
    alive: AtomicU64,
    filler: [u64; 7],
}

impl Node {
    /// Returns a live node.
    pub fn new() -> Node {
        Node { alive: AtomicU64::new(ALIVE), filler: [0; 7] }
    }

    /// Checks for the reader that the node is alive. Otherwise the process aborts with a sentence.
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

// `extern "C"` so that it never unwinds, as its counterpart in C does not, and costs the loops
// nothing.
#[cold]
#[inline(never)]
extern "C" fn freed_under_reader() -> ! {
    eprintln!("compare: a reader saw a freed node");
    std::process::abort()
}

/// The shared cell of one scheme, and how its readers and writers use it.
pub trait Scheme: Send + Sync + Sized + 'static {
    /// The registration that a reading thread keeps between sections.
    type Reader<'a>
    where
        Self: 'a;

    /// The state that a writing thread keeps between writes; `()` if there is none.
    type Writer<'a>
    where
        Self: 'a;

    /// Returns a cell with its first node in it.
    fn open() -> Self;

    /// Registers the calling thread.
    fn reader(&self) -> Self::Reader<'_>;

    /// Sets up the calling thread as a writer.
    fn writer(&self) -> Self::Writer<'_>;

    /// Enters, loads, calls `look` with the node, and leaves.
    fn section(&self, reader: &mut Self::Reader<'_>, look: impl FnOnce(&Node));

    /// Announces that the reader holds nothing, for QSBR. Called once every [`BATCH`] sections.
    #[inline(always)]
    fn quiescent(&self, _reader: &mut Self::Reader<'_>) {}

    /// Runs `during` in a registered thread outside any section.
    fn rest(&self, _reader: &mut Self::Reader<'_>, during: &mut dyn FnMut()) {
        during();
    }

    /// Puts a new node in and poisons and frees the old one. Schemes with grace periods wait for
    /// one first; the others hand the old node to their collector.
    fn replace(&self, writer: &mut Self::Writer<'_>);

    /// Replaces the node without waiting, if the scheme can.
    fn retire(&self, writer: &mut Self::Writer<'_>) {
        self.replace(writer);
    }

    /// Waits for a grace period. Called only for schemes that have them, as the roster says.
    fn synchronize(&self) {
        unreachable!("this scheme has no grace periods");
    }

    /// Waits until everything retired before is freed. Called only for schemes that can, as the
    /// roster says.
    fn barrier(&self) {
        unreachable!("this scheme has no barrier");
    }
}
