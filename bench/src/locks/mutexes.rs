//! The mutexes that take part, each in a few lines, and the loops over them, which are written
//! once.

use std::sync::PoisonError;
use std::time::{Duration, Instant};

use super::pthread::{self, Kind};
use crate::alignment::{ALIGNMENTS, align};
use crate::crew::Post;
use crate::tails::Tails;

/// A mutex that guards a number.
pub trait Mutex: Send + Sync + Sized + 'static {
    fn open() -> Self;

    /// Runs `section` under the lock.
    fn locked<R>(&self, section: impl FnOnce(&mut u64) -> R) -> R;
}

/// Ours and usync's: raw locks under lock_api 0.4's guards.
impl<L: lock_api::RawMutex + Send + Sync + 'static> Mutex for lock_api::Mutex<L, u64> {
    fn open() -> Self {
        lock_api::Mutex::new(0)
    }

    #[inline(always)]
    fn locked<R>(&self, section: impl FnOnce(&mut u64) -> R) -> R {
        section(&mut self.lock())
    }
}

/// parking_lot's, which are of lock_api 0.5.
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
                // SAFETY: zeroes are the number 0.
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

/// The loops over one mutex, of which the measurements know only these methods.
pub trait MutexLoops: Send + Sync {
    /// Returns the time of about `n` locks and unlocks by one thread, with the loop at one of the
    /// alignments.
    fn alone(&self, n: u64, alignment: u32) -> Duration;

    /// Locks, adds one, spends `steps` of `dwell` inside, unlocks and counts, until told to stop.
    fn contend(&self, post: &Post<'_>, steps: u32);

    /// Locks once in `every` until told to stop.
    fn visit(&self, post: &Post<'_>, every: Duration);

    /// Does as `contend`, and notes how long each lock took.
    fn contend_timed(&self, post: &Post<'_>, steps: u32) -> Tails;

    /// Returns how often the lock was taken by `contend`.
    fn entered(&self) -> u64;
}

/// A lock that shares its cache lines with nothing.
#[repr(align(128))]
struct Apart<M>(M);

/// Opens a mutex.
pub fn mutex_loops<M: Mutex>() -> Box<dyn MutexLoops> {
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

impl<M: Mutex> MutexLoops for Apart<M> {
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

    fn contend(&self, post: &Post<'_>, steps: u32) {
        post.ready();
        post.until_stopped(|| {
            self.0.locked(|number| {
                *number += 1;
                dwell(steps);
            });
        });
    }

    fn contend_timed(&self, post: &Post<'_>, steps: u32) -> Tails {
        let mut tails = Tails::new();
        post.ready();
        post.until_stopped(|| {
            let began = Instant::now();
            let took = self.0.locked(|_| {
                let took = began.elapsed();
                dwell(steps);
                took
            });
            tails.note(took);
            dwell(steps);
        });
        tails
    }

    fn visit(&self, post: &Post<'_>, every: Duration) {
        post.ready();
        let mut next = Instant::now();
        post.until_stopped(|| {
            next = (next + every).max(Instant::now());
            // A sleep takes longer than it is told to.
            if every >= Duration::from_millis(1) {
                std::thread::sleep(next.saturating_duration_since(Instant::now()));
            }
            while Instant::now() < next {
                std::hint::spin_loop();
            }
            self.0.locked(|_| ());
        });
    }

    fn entered(&self) -> u64 {
        self.0.locked(|number| *number)
    }
}

/// Spends time on a chain of multiplications, without pauses and without memory that others see.
#[inline(always)]
pub fn dwell(steps: u32) {
    let mut value = u64::from(steps) | 1;
    for _ in 0..steps {
        value = std::hint::black_box(value.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    }
}

/// Returns the number of `dwell`'s steps that take about `nanoseconds` on this machine when nothing
/// disturbs.
pub fn steps_for(nanoseconds: f64) -> u32 {
    const STEPS: u32 = 100_000;
    let time = |_| {
        let began = Instant::now();
        dwell(STEPS);
        began.elapsed().as_nanos() as f64 / f64::from(STEPS)
    };
    let each = (0..20).map(time).fold(f64::INFINITY, f64::min);
    (nanoseconds / each).round().max(1.0) as u32
}
