//! The flavours whose readers are inlined sections: what the inlined code does with its words.

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering, compiler_fence, fence};
use std::sync::mpsc::channel;
use std::thread;

use leeward::rcu::Domain;
use leeward::rcu::c::{self, Bp, Mb, Memb, RawDomain, Served};

use crate::common::{Watchdog, alone};
use crate::words::{ALONE, Gp};

/// What inlined code does in a flavour, and its words.
pub trait Flavour: Domain {
    fn raw() -> &'static RawDomain;
    fn gp() -> &'static Gp;
    /// Returns the calling thread's count.
    fn count() -> &'static AtomicU64;
    /// The barrier between a section and its announcements.
    fn light();
    const WAKES: bool;

    fn enroll() {
        assert_eq!(Self::raw().register_inlined(), Ok(true));
    }

    fn lock() {
        let own = Self::count().load(Ordering::Relaxed);
        if own as u32 == 0 {
            Self::count().store(Self::gp().copied.load(Ordering::Relaxed), Ordering::Release);
            Self::light();
        } else {
            Self::count().store(own + 1, Ordering::Relaxed);
        }
    }

    fn unlock() {
        let own = Self::count().load(Ordering::Relaxed);
        if own as u32 != 1 {
            Self::count().store(own - 1, Ordering::Relaxed);
            return;
        }
        Self::light();
        Self::count().store(own - 1, Ordering::Release);
        Self::light();
        let gp = Self::gp();
        if Self::WAKES && gp.futex.load(Ordering::Relaxed) == u32::MAX {
            gp.futex.store(0, Ordering::Relaxed);
            // SAFETY: a wake, of the kind that processes share, which reads nothing.
            unsafe { libc::syscall(libc::SYS_futex, &gp.futex, libc::FUTEX_WAKE, 1) };
        }
    }
}

/// Implements a flavour whose count is thread-local.
macro_rules! with_counts {
    ($name:ident, $domain:ident, $gp:ident, $count:ident, $served:ident, $fence:expr) => {
        static $gp: Gp = Gp::new();
        thread_local! { static $count: AtomicU64 = const { AtomicU64::new(0) }; }
        static $served: Served = Served {
            common: (&raw const $gp).cast(),
            reader: {
                extern "C" fn reader() -> *mut c_void {
                    $count.with(|count| count.as_ptr().cast())
                }
                reader
            },
            wakes: 0,
        };

        impl Flavour for $name {
            const WAKES: bool = true;
            fn raw() -> &'static RawDomain {
                // SAFETY: statics, and counts that their threads have until their end.
                unsafe { c::$domain.serve_inlined(&$served) };
                &c::$domain
            }
            fn gp() -> &'static Gp {
                &$gp
            }
            fn count() -> &'static AtomicU64 {
                // SAFETY: used by the thread itself, while it lives.
                $count.with(|count| unsafe { &*ptr::from_ref(count) })
            }
            fn light() {
                $fence(Ordering::SeqCst);
            }
        }
    };
}

with_counts!(Memb, lee_memb, MEMB_GP, MEMB_COUNT, MEMB, compiler_fence);
with_counts!(Mb, lee_mb, MB_GP, MB_COUNT, MB, fence);

static BP_GP: Gp = Gp::new();
thread_local! { pub static BP_READER: AtomicPtr<AtomicU64> = const { AtomicPtr::new(ptr::null_mut()) }; }
static BP: Served = Served {
    common: (&raw const BP_GP).cast(),
    reader: {
        extern "C" fn reader() -> *mut c_void {
            BP_READER.with(|reader| reader.as_ptr().cast())
        }
        reader
    },
    wakes: 1,
};

impl Flavour for Bp {
    const WAKES: bool = false;
    fn raw() -> &'static RawDomain {
        // SAFETY: statics, and pointers that their threads have until their end.
        unsafe { c::lee_bp.serve_inlined(&BP) };
        &c::lee_bp
    }
    fn gp() -> &'static Gp {
        &BP_GP
    }
    fn count() -> &'static AtomicU64 {
        let pointer = || BP_READER.with(|reader| reader.load(Ordering::Relaxed));
        if pointer().is_null() {
            let watched = Bp::raw().register_inlined();
            assert_eq!(watched, Ok(!IS_LATE.get()));
        }
        // SAFETY: the library's, which sets the pointer to null before the count goes.
        unsafe { &*pointer() }
    }
    fn light() {
        compiler_fence(Ordering::SeqCst);
    }
    fn enroll() {}
}

thread_local! {
    /// True on a thread on which the library's exit has run.
    pub static IS_LATE: Cell<bool> = const { Cell::new(false) };
}

/// Returns a closure that says if a grace period is over which begins now.
pub fn grace_period<F: Flavour>() -> impl Fn() -> bool {
    let cookie = F::start_poll();
    move || F::poll_state(&cookie)
}

/// Starts a thread that waits for a grace period.
pub fn waiting<F: Flavour>() -> thread::JoinHandle<()> {
    thread::spawn(|| assert_eq!(F::raw().synchronize(), Ok(())))
}

/// The number of the thread that was started last by [`holder`].
pub static HOLDER: AtomicU32 = AtomicU32::new(0);

/// Starts a thread that is inside `depth` sections, until something is sent to it.
pub fn holder<F: Flavour>(depth: u32) -> impl FnOnce() {
    let (inside, is_inside) = channel();
    let (leave, leaves) = channel();
    let thread = thread::spawn(move || {
        F::enroll();
        (0..depth).for_each(|_| F::lock());
        // SAFETY: takes no pointer.
        HOLDER.store(unsafe { libc::gettid() } as u32, Ordering::SeqCst);
        inside.send(()).unwrap();
        leaves.recv().unwrap();
        (0..depth).for_each(|_| F::unlock());
    });
    is_inside.recv().unwrap();
    move || {
        leave.send(()).unwrap();
        thread.join().unwrap();
    }
}

pub fn in_each_flavour(what: &'static str, works: [fn(); 3]) {
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new(what);
    for work in works {
        thread::spawn(work).join().unwrap();
    }
}
