//! The exit of a thread, by the destructor of a key of the C library's: one for all of this
//! library.
//!
//! Each thread has a list of what it has armed, in words of its own, so that arming takes no lock,
//! allocates nothing, and leaves nothing to repair in the child of a fork. The C library runs the
//! destructors of keys after those of C++ and of Rust's standard library; other keys' destructors
//! may come later. Once the list has run, nothing can be armed: what comes later on the thread is
//! told that the exit is over.
//!
//! Two threads have no exit here: the main thread that returns from `main`, with which the process
//! ends; and one that arms its first function in the last of the four rounds in which the C library
//! runs destructors.

use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use super::super::access::Word;

/// A function that runs when a thread exits that has armed it.
pub(crate) struct Exit {
    run: fn(),
    /// Returns the address of the calling thread's link: null before the function is armed, then
    /// the exit that was armed before this one, or [`LAST`].
    link: fn() -> *mut *mut (),
}

/// Declares what is done when a thread exits, `static NAME = FUNCTION`, as an [`Exit`] called
/// `NAME`. `NAME` is unique in the crate, and the function does not panic.
macro_rules! exit {
    ($(#[$meta:meta])* $vis:vis static $name:ident = $run:expr) => {
        // The link.
        $crate::process::local::c::word! {
            @@ $crate::process::local::c::symbol!($name), ".hidden ", ".tbss", "nobits", "8", ".zero 8", ()
        }

        $(#[$meta])*
        $vis static $name: $crate::process::local::c::Exit = $crate::process::local::c::Exit::new($run, || {
            $crate::process::local::c::place!($crate::process::local::c::symbol!($name)).address()
        });
    };
}
pub(crate) use exit;

super::word! {
    /// The exit that the thread has armed last; null: none yet; [`LAST`]: they have run.
    static EXITS: *const Exit = 0
}

/// The end of a thread's list.
static LAST: Exit = Exit { run: || (), link: || core::ptr::null_mut() };

impl Exit {
    pub(crate) const fn new(run: fn(), link: fn() -> *mut *mut ()) -> Exit {
        Exit { run, link }
    }

    /// Has the function run once when the calling thread exits; the calls after the first change
    /// nothing. Returns false if the exit is running or has run. Async-signal-safe, and allocates
    /// nothing, unless the program made 32 keys before this library made its own.
    pub(crate) fn arm(&'static self) -> bool {
        if EXITS.get() == &raw const LAST {
            return false;
        }
        let link = word((self.link)());
        // Relaxed: the thread's own word.
        if !link.load(Ordering::Relaxed).is_null() {
            return true;
        }
        // Relaxed, all: the thread's own words; exchanges, because a signal handler may arm exits
        // between any two instructions. The first that changes the link does the rest: the handler
        // that finds it changed leaves that to the code that it interrupted.
        if link.compare_exchange(core::ptr::null_mut(), end(), Ordering::Relaxed, Ordering::Relaxed).is_err() {
            return true;
        }
        if !watch_thread() {
            link.store(core::ptr::null_mut(), Ordering::Relaxed);
            return false;
        }
        let exits = word(EXITS::place().address());
        let this = core::ptr::from_ref(self).cast_mut().cast();
        let mut head = exits.load(Ordering::Relaxed);
        loop {
            link.store(if head.is_null() { end() } else { head }, Ordering::Relaxed);
            match exits.compare_exchange(head, this, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(other) => head = other,
            }
        }
    }
}

/// Returns a word of the calling thread's.
fn word<'a>(address: *mut *mut ()) -> &'a AtomicPtr<()> {
    // SAFETY: the address of a word that this thread has until its end, and that no other thread
    // accesses.
    unsafe { AtomicPtr::from_ptr(address) }
}

/// Returns the end of a list as a link holds it.
fn end() -> *mut () {
    (&raw const LAST).cast_mut().cast()
}

/// The key, once it is made.
static KEY: AtomicU64 = AtomicU64::new(NO_KEY);
const NO_KEY: u64 = u64::MAX;

/// The key is made when the program or library is loaded: glibc and musl need no memory for the
/// values of early keys. An [`Exit`] that is armed before that makes it.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = {
    extern "C" fn at_load() {
        let _ = key();
    }
    at_load
};

/// Returns the key; makes it if it is not made yet. Returns none if there are too many.
fn key() -> Option<libc::pthread_key_t> {
    // Acquire: partner of the release below: the key is made.
    let known = KEY.load(Ordering::Acquire);
    if known != NO_KEY {
        return Some(known as libc::pthread_key_t);
    }
    let mut key = 0;
    // SAFETY: a local variable, and a destructor that lives as long as the code does.
    if unsafe { libc::pthread_key_create(&mut key, Some(at_exit)) } != 0 {
        return None;
    }
    // AcqRel: partner of the acquire above; on failure, the acquire for the other thread's key.
    match KEY.compare_exchange(NO_KEY, u64::from(key), Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => Some(key),
        Err(other) => {
            // SAFETY: made above, and nobody else knows it.
            unsafe { libc::pthread_key_delete(key) };
            Some(other as libc::pthread_key_t)
        }
    }
}

/// Has [`at_exit`] run when the calling thread exits. Returns false if that is impossible.
fn watch_thread() -> bool {
    // SAFETY: a key that is never deleted, and a value that is not null, nor ever followed.
    key().is_some_and(|key| unsafe { libc::pthread_setspecific(key, end().cast_const().cast()) } == 0)
}

/// Runs what the calling thread has armed, the last first.
extern "C" fn at_exit(_: *mut libc::c_void) {
    let mut next = EXITS.get();
    EXITS.set(&raw const LAST);
    while !next.is_null() && next != &raw const LAST {
        // SAFETY: `arm` links statics only.
        let exit = unsafe { &*next };
        // Relaxed: the thread's own word.
        next = word((exit.link)()).load(Ordering::Relaxed).cast_const().cast();
        (exit.run)();
    }
}
