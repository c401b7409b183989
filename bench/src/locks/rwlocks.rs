//! The reader-writer locks that take part, each in a few lines, and the loops over them, which are
//! written once.

use std::sync::PoisonError;
use std::time::{Duration, Instant};

use super::pthread;
use crate::alignment::{ALIGNMENTS, align};
use crate::crew::Post;
use crate::tails::Tails;

/// A reader-writer lock that guards a number.
pub trait RwLock: Send + Sync + Sized + 'static {
    fn open() -> Self;
    fn read<R>(&self, section: impl FnOnce(&u64) -> R) -> R;
    fn write<R>(&self, section: impl FnOnce(&mut u64) -> R) -> R;
}

macro_rules! guarded {
    ($([$($generic:tt)*] $lock:ty { $new:expr, $read:ident, $write:ident, $open:expr })*) => {$(
        impl<$($generic)*> RwLock for $lock {
            fn open() -> Self {
                $new
            }

            #[inline(always)]
            fn read<R>(&self, section: impl FnOnce(&u64) -> R) -> R {
                let guard = $open(self.$read());
                section(&guard)
            }

            #[inline(always)]
            fn write<R>(&self, section: impl FnOnce(&mut u64) -> R) -> R {
                let mut guard = $open(self.$write());
                section(&mut guard)
            }
        }
    )*};
}

/// Returns the guard as it is.
#[inline(always)]
fn plain<G>(guard: G) -> G {
    guard
}

/// Returns std's guard, of a poisoned lock as well.
#[inline(always)]
fn poisoned<G>(guard: Result<G, PoisonError<G>>) -> G {
    guard.unwrap_or_else(PoisonError::into_inner)
}

guarded! {
    [L: lock_api::RawRwLock + Send + Sync + 'static]
        lock_api::RwLock<L, u64> { lock_api::RwLock::new(0), read, write, plain }
    [] parking_lot::RwLock<u64> { parking_lot::RwLock::new(0), read, write, plain }
    [] std::sync::RwLock<u64> { std::sync::RwLock::new(0), read, write, poisoned }
}

impl RwLock for pthread::RwLock {
    fn open() -> Self {
        pthread::RwLock::new()
    }

    #[inline(always)]
    fn read<R>(&self, section: impl FnOnce(&u64) -> R) -> R {
        pthread::RwLock::read(self, section)
    }

    #[inline(always)]
    fn write<R>(&self, section: impl FnOnce(&mut u64) -> R) -> R {
        pthread::RwLock::write(self, section)
    }
}

/// The loops over one reader-writer lock, of which the measurements know only these methods.
pub trait RwLockLoops: Send + Sync {
    /// Returns the time of about `n` reads by one thread, with the loop at one of the alignments.
    fn alone(&self, n: u64, alignment: u32) -> Duration;

    /// Reads without pause until told to stop.
    fn read(&self, post: &Post<'_>);

    /// Writes once a millisecond until told to stop.
    fn write(&self, post: &Post<'_>);

    /// Writes once a millisecond until told to stop, and notes how long each lock took.
    fn write_timed(&self, post: &Post<'_>) -> Tails;

    /// Reads, and writes one time in `one_in` on average (0: never), without pause until told to stop.
    fn mix(&self, post: &Post<'_>, one_in: u32, seed: u64);
}

/// A lock that shares its cache lines with nothing.
#[repr(align(128))]
struct Apart<L>(L);

/// Opens a reader-writer lock.
pub fn rwlock_loops<L: RwLock>() -> Box<dyn RwLockLoops> {
    Box::new(Apart(L::open()))
}

const BATCH: u64 = 1024;

impl<L: RwLock> Apart<L> {
    #[inline(never)]
    fn batch<const ALIGNMENT: u32>(&self) {
        align::<ALIGNMENT>();
        for _ in 0..BATCH {
            self.0.read(|number| {
                std::hint::black_box(*number);
            });
        }
    }
}

impl<L: RwLock> RwLockLoops for Apart<L> {
    fn alone(&self, n: u64, alignment: u32) -> Duration {
        let batch = match alignment % ALIGNMENTS {
            0 => Self::batch::<0>,
            1 => Self::batch::<1>,
            2 => Self::batch::<2>,
            _ => Self::batch::<3>,
        };
        // The first read may register the thread; it is not timed.
        batch(self);
        let began = Instant::now();
        for _ in 0..n.div_ceil(BATCH) {
            batch(self);
        }
        began.elapsed()
    }

    fn read(&self, post: &Post<'_>) {
        post.ready();
        post.until_stopped(|| {
            self.0.read(|number| {
                std::hint::black_box(*number);
            });
        });
    }

    fn write(&self, post: &Post<'_>) {
        post.ready();
        post.until_stopped(|| {
            std::thread::sleep(Duration::from_millis(1));
            self.0.write(|number| *number += 1);
        });
    }

    fn write_timed(&self, post: &Post<'_>) -> Tails {
        let mut tails = Tails::new();
        post.ready();
        post.until_stopped(|| {
            std::thread::sleep(Duration::from_millis(1));
            let began = Instant::now();
            let took = self.0.write(|number| {
                *number += 1;
                began.elapsed()
            });
            tails.note(took);
        });
        tails
    }

    fn mix(&self, post: &Post<'_>, one_in: u32, seed: u64) {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut reads = || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            if one_in == 0 { u64::MAX } else { (state >> 33) % (2 * u64::from(one_in) - 1) }
        };
        let mut left = reads();
        post.ready();
        post.until_stopped(|| {
            if left == 0 {
                left = reads();
                return self.0.write(|number| *number += 1);
            }
            left -= 1;
            self.0.read(|number| {
                std::hint::black_box(*number);
            });
        });
    }
}
