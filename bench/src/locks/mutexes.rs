//! Mutexes, each in a line or two, and the loops over them, which are written once.

use std::sync::PoisonError;
use std::time::{Duration, Instant};

use super::pthread::{self, Kind};
use crate::alignment::{ALIGNMENTS, align};
use crate::crew::Post;

/// A mutex around a number.
pub trait Mutex: Send + Sync + Sized + 'static {
    fn open() -> Self;

    /// Runs `section` under the lock.
    fn locked<R>(&self, section: impl FnOnce(&mut u64) -> R) -> R;
}

/// Ours, and usync's: lock_api's around a raw lock.
impl<L: lock_api::RawMutex + Send + Sync + 'static> Mutex for lock_api::Mutex<L, u64> {
    fn open() -> Self {
        lock_api::Mutex::new(0)
    }

    #[inline(always)]
    fn locked<R>(&self, section: impl FnOnce(&mut u64) -> R) -> R {
        section(&mut self.lock())
    }
}

/// Of a newer lock_api.
impl Mutex for parking_lot::Mutex<u64> {
    fn open() -> Self {
        parking_lot::Mutex::new(0)
    }

    #[inline(always)]
    fn locked<R>(&self, section: impl FnOnce(&mut u64) -> R) -> R {
        section(&mut self.lock())
    }
}

impl Mutex for std::sync::Mutex<u64> {
    fn open() -> Self {
        std::sync::Mutex::new(0)
    }

    #[inline(always)]
    fn locked<R>(&self, section: impl FnOnce(&mut u64) -> R) -> R {
        section(&mut self.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

macro_rules! pthread {
    ($($name:ident $kind:ident),*) => {$(
        pub struct $name(pthread::Mutex<u64>);

        impl Mutex for $name {
            fn open() -> Self {
                // SAFETY: zero is a number.
                $name(unsafe { pthread::Mutex::zeroed(Kind::$kind) })
            }

            #[inline(always)]
            fn locked<R>(&self, section: impl FnOnce(&mut u64) -> R) -> R {
                section(&mut self.0.lock())
            }
        }
    )*};
}

pthread!(PthreadNormal Normal, PthreadRobust Robust, PthreadInheriting Inheriting);

/// A mutex ready to run: what the measurements are written against.
pub trait Ring: Send + Sync {
    /// The time of so many locks and unlocks, nobody else there, their loop at one of the alignments.
    fn alone(&self, n: u64, alignment: u32) -> Duration;

    /// Locks, adds one, stays inside for so many turns of `dwell`, unlocks and counts, until told to stop.
    fn contend(&self, post: &Post<'_>, turns: u32);

    /// How often somebody was inside.
    fn entered(&self) -> u64;
}

/// Alone on its cache lines.
#[repr(align(128))]
struct Apart<M>(M);

/// Opens one.
pub fn ring<M: Mutex>() -> Box<dyn Ring> {
    Box::new(Apart(M::open()))
}

const BATCH: u64 = 1024;

impl<M: Mutex> Apart<M> {
    #[inline(never)]
    fn batch<const ALIGNMENT: u32>(&self) {
        align::<ALIGNMENT>();
        for _ in 0..BATCH {
            self.0.locked(|_| ());
        }
    }
}

impl<M: Mutex> Ring for Apart<M> {
    fn alone(&self, n: u64, alignment: u32) -> Duration {
        let batch = match alignment % ALIGNMENTS {
            0 => Self::batch::<0>,
            1 => Self::batch::<1>,
            2 => Self::batch::<2>,
            _ => Self::batch::<3>,
        };
        let began = Instant::now();
        for _ in 0..n.div_ceil(BATCH) {
            batch(self);
        }
        began.elapsed()
    }

    fn contend(&self, post: &Post<'_>, turns: u32) {
        post.ready();
        post.until_stopped(|| {
            self.0.locked(|number| {
                *number += 1;
                dwell(turns);
            });
        });
    }

    fn entered(&self) -> u64 {
        self.0.locked(|number| *number)
    }
}

/// Spends time without pauses and without touching what others see: a chain of multiplications.
#[inline(always)]
pub fn dwell(turns: u32) {
    let mut value = u64::from(turns) | 1;
    for _ in 0..turns {
        value = std::hint::black_box(value.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    }
}

/// As many turns as take so many nanoseconds here, when nothing disturbs.
pub fn turns_for(nanoseconds: f64) -> u32 {
    const TURNS: u32 = 100_000;
    let time = |_| {
        let began = Instant::now();
        dwell(TURNS);
        began.elapsed().as_nanos() as f64 / f64::from(TURNS)
    };
    let each = (0..20).map(time).fold(f64::INFINITY, f64::min);
    (nanoseconds / each).round().max(1.0) as u32
}
