//! Thread-local storage by the standard library.

use std::thread::LocalKey;

/// Declares a word of the calling thread's, `static NAME: TYPE = VALUE`, as a [`Word`](super::access::Word)
/// called `NAME`. `TYPE` is `u64`, `usize` or a pointer, and `VALUE`, which each thread has first, a
/// constant: for a pointer, `0` (null) or `&raw const STATIC`. Or it is a pair of words,
/// `(u64, *const TYPE)`, with the value `(NUMBER, 0)`; a signal handler may find half of a new one.
///
/// `NAME` is unique in the crate. With `#[symbol = "NAME"]` before all else, the word has an
/// exported symbol of that name, by which C code reads it.
macro_rules! word {
    (#[symbol = $symbol:literal] $($declaration:tt)+) => {
        $crate::process::local::c::word! { #[symbol = $symbol] $($declaration)+ }
    };
    ($(#[$meta:meta])* $vis:vis static $name:ident: *const $target:ty = 0) => {
        $crate::process::local::word! { @ $(#[$meta])* $vis $name: *const $target = core::ptr::null() }
    };
    ($(#[$meta:meta])* $vis:vis static $name:ident: $type:ty = ($first:expr, 0)) => {
        $crate::process::local::word! { @ $(#[$meta])* $vis $name: $type = ($first, core::ptr::null()) }
    };
    ($(#[$meta:meta])* $vis:vis static $name:ident: $type:ty = $value:expr) => {
        $crate::process::local::word! { @ $(#[$meta])* $vis $name: $type = $value }
    };
    (@ $(#[$meta:meta])* $vis:vis $name:ident: $type:ty = $value:expr) => {
        $(#[$meta])*
        #[derive(Clone, Copy)]
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        $vis struct $name;

        impl $name {
            #[inline(always)]
            fn key() -> &'static std::thread::LocalKey<core::cell::Cell<$type>> {
                std::thread_local! {
                    static WORD: core::cell::Cell<$type> = const { core::cell::Cell::new($value) };
                }
                &WORD
            }
        }

        impl $crate::process::local::access::Word for $name {
            type Value = $type;

            #[inline(always)]
            fn get(self) -> $type {
                $name::key().get()
            }

            #[inline(always)]
            fn set(self, value: $type) {
                $name::key().set(value);
            }
        }
    };
}
pub(crate) use word;

/// Declares what is done when a thread exits, `static NAME = FUNCTION`, as an [`Exit`] called
/// `NAME`. `NAME` is unique in the crate, and the function does not panic.
macro_rules! exit {
    ($(#[$meta:meta])* $vis:vis static $name:ident = $run:expr) => {
        $(#[$meta])*
        $vis static $name: $crate::process::local::Exit = {
            std::thread_local! {
                static AT_EXIT: $crate::process::local::AtExit =
                    const { $crate::process::local::AtExit::new($run) };
            }
            $crate::process::local::Exit::new(&AT_EXIT)
        };
    };
}
pub(crate) use exit;

/// The variable whose destructor calls a function at the thread's exit.
pub(crate) struct AtExit(fn());

impl AtExit {
    pub(crate) const fn new(run: fn()) -> AtExit {
        AtExit(run)
    }
}

impl Drop for AtExit {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// A function that runs when a thread exits that has armed it.
pub(crate) struct Exit(&'static LocalKey<AtExit>);

impl Exit {
    pub(crate) const fn new(key: &'static LocalKey<AtExit>) -> Exit {
        Exit(key)
    }

    /// Has the function run once when the calling thread exits; the calls after the first change
    /// nothing. Returns false if it runs, or has run, already. The first call of a thread may
    /// allocate.
    pub(crate) fn arm(&'static self) -> bool {
        self.0.try_with(|_| ()).is_ok()
    }
}
