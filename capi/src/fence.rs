//! Asymmetric fences: the functions of `<leeward/fence.h>`, which documents them. The light half is
//! inline there.

use core::ffi::{CStr, c_char, c_int};
use core::ptr;

use leeward::fence::{self, Error, Strategy};

/// The numbers of `enum lee_fence_strategy`, with their strategies and names.
const STRATEGIES: [(c_int, Strategy, &CStr); 4] = [
    (1, Strategy::MembarrierPrivate, c"membarrier"),
    (2, Strategy::MembarrierGlobal, c"membarrier-global"),
    (3, Strategy::Signal, c"signal"),
    (4, Strategy::Symmetric, c"symmetric"),
];

/// The number that means that no strategy was chosen yet.
const NONE: c_int = 0;

// The names are the library's own.
const _: () = {
    let mut index = 0;
    while index < STRATEGIES.len() {
        let (_, strategy, name) = STRATEGIES[index];
        let (ours, theirs) = (name.to_bytes(), strategy.name().as_bytes());
        assert!(ours.len() == theirs.len());
        let mut place = 0;
        while place < ours.len() {
            assert!(ours[place] == theirs[place]);
            place += 1;
        }
        index += 1;
    }
};

/// Returns the error of C for one of the library's.
fn number_of(error: Error) -> c_int {
    match error {
        Error::UnknownName => libc::EINVAL,
        // No strategy works here, or the one that was asked for.
        _ => libc::ENOTSUP,
    }
}

/// Returns the entry of a number.
fn entry(number: c_int) -> Option<&'static (c_int, Strategy, &'static CStr)> {
    STRATEGIES.iter().find(|entry| entry.0 == number)
}

/// Executes a heavy fence.
#[unsafe(no_mangle)]
pub extern "C" fn lee_heavy() -> c_int {
    fence::try_heavy().map_or_else(number_of, |()| 0)
}

/// Chooses and prepares the strategy.
#[unsafe(no_mangle)]
pub extern "C" fn lee_fence_init() -> c_int {
    fence::init().map_or_else(number_of, |_| 0)
}

/// Returns the number of the strategy in use.
#[unsafe(no_mangle)]
pub extern "C" fn lee_fence_strategy() -> c_int {
    let chosen = fence::strategy();
    STRATEGIES.iter().find(|entry| Some(entry.1) == chosen).map_or(NONE, |entry| entry.0)
}

/// Returns the name of a strategy, or null.
#[unsafe(no_mangle)]
pub extern "C" fn lee_fence_name(strategy: c_int) -> *const c_char {
    entry(strategy).map_or(ptr::null(), |entry| entry.2.as_ptr())
}

/// Makes a strategy the one in use.
#[unsafe(no_mangle)]
pub extern "C" fn lee_fence_force(strategy: c_int) -> c_int {
    match entry(strategy) {
        Some(entry) => fence::force(entry.1).map_or_else(number_of, |()| 0),
        None => libc::EINVAL,
    }
}
