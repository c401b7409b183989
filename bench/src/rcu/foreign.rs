//! Schemes that come as a table of functions: liburcu's flavours from `c/urcu.c`, linked in if
//! build.rs has found their headers, and kovan from `kovan/`, a library that is loaded if build.rs
//! could build it.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;

use crate::rcu::stage::Stage;
use crate::rcu::table::Table;

/// A table whose cell is open. The cell is a static of the other side, so only one of each table
/// may exist at a time.
pub struct Foreign(&'static Table);

impl Foreign {
    pub fn open(table: &'static Table) -> Foreign {
        // SAFETY: the tables are those of the schemes named above, and no other `Foreign` of this
        // one is open: one thread makes stages, one after the other.
        unsafe { (table.open)() };
        Foreign(table)
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        // SAFETY: `open` has opened the table, and no loop runs any more: loops borrow `self`.
        unsafe { (self.0.close)() };
    }
}

fn flag(stop: &AtomicBool) -> *const u8 {
    stop.as_ptr().cast_const().cast()
}

fn count(tally: &AtomicU64) -> *mut u64 {
    tally.as_ptr()
}

/// Calls the closure that `arg` points to.
unsafe extern "C" fn call_back(arg: *mut c_void) {
    // SAFETY: `arg` is the address of a live `&mut dyn FnMut()`, as `hold` and `rest` below pass
    // it.
    let during = unsafe { &mut *arg.cast::<&mut dyn FnMut()>() };
    during();
}

impl Stage for Foreign {
    fn section(&self, n: u64, alignment: u32) -> Duration {
        // SAFETY: the table is open.
        Duration::from_nanos(unsafe { (self.0.section)(n, alignment) })
    }

    fn read(&self, stop: &AtomicBool, tally: &AtomicU64) {
        // SAFETY: the table is open; both pointers are to atomics that outlive the call.
        unsafe { (self.0.read)(flag(stop), count(tally)) };
    }

    fn dwell(&self, stop: &AtomicBool, tally: &AtomicU64, inside: Duration) {
        let inside = inside.as_nanos() as u64;
        // SAFETY: as in `read`.
        unsafe { (self.0.dwell)(flag(stop), count(tally), inside) };
    }

    fn write(&self, stop: &AtomicBool, tally: &AtomicU64) {
        // SAFETY: as in `read`.
        unsafe { (self.0.write)(flag(stop), count(tally)) };
    }

    fn retire(&self, stop: &AtomicBool, tally: &AtomicU64) {
        // SAFETY: as in `read`.
        unsafe { (self.0.retire)(flag(stop), count(tally)) };
    }

    fn retire_one(&self) {
        // SAFETY: the table is open, and the calling thread is no reader.
        unsafe { (self.0.retire_one)() };
    }

    fn hold(&self, mut during: &mut dyn FnMut()) {
        // SAFETY: the table is open, and `call_back` gets the argument that it requires.
        unsafe { (self.0.hold)(call_back, (&raw mut during).cast()) };
    }

    fn rest(&self, mut during: &mut dyn FnMut()) {
        // SAFETY: as in `hold`.
        unsafe { (self.0.rest)(call_back, (&raw mut during).cast()) };
    }

    fn synchronize(&self) {
        // SAFETY: as in `retire_one`.
        unsafe { (self.0.synchronize)() };
    }

    fn barrier(&self) {
        // SAFETY: as in `retire_one`.
        unsafe { (self.0.barrier)() };
    }
}

/// The tables of the liburcu flavours whose headers were found.
pub mod liburcu {
    use crate::rcu::table::Table;

    macro_rules! flavours {
        ($($flavour:literal $symbol:ident $function:ident),*) => {
            $(
                #[cfg(liburcu = $flavour)]
                pub fn $function() -> Option<&'static Table> {
                    unsafe extern "C" {
                        safe static $symbol: Table;
                    }
                    Some(&$symbol)
                }

                #[cfg(not(liburcu = $flavour))]
                pub fn $function() -> Option<&'static Table> {
                    None
                }
            )*
        };
    }

    flavours! {
        "memb" compare_urcu_memb memb,
        "mb" compare_urcu_mb mb,
        "bp" compare_urcu_bp bp,
        "qsbr" compare_urcu_qsbr qsbr,
        "signal" compare_urcu_signal signal
    }
}

/// kovan's table, if the library was built and this processor has the instruction that it needs.
pub mod kovan {
    use crate::rcu::table::Table;

    #[cfg(kovan)]
    pub fn table() -> Option<&'static Table> {
        use std::sync::OnceLock;
        static LOADED: OnceLock<Option<&'static Table>> = OnceLock::new();

        #[cfg(target_arch = "x86_64")]
        if !std::arch::is_x86_feature_detected!("cmpxchg16b") {
            return None;
        }
        *LOADED.get_or_init(load)
    }

    #[cfg(not(kovan))]
    pub fn table() -> Option<&'static Table> {
        None
    }

    #[cfg(kovan)]
    fn load() -> Option<&'static Table> {
        let path = std::ffi::CString::new(env!("COMPARE_KOVAN")).ok()?;
        // SAFETY: the path ends in a zero. The library is the one that build.rs has built, and is
        // never unloaded.
        let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if library.is_null() {
            return None;
        }
        // SAFETY: the handle is live, and the name ends in a zero.
        let symbol = unsafe { libc::dlsym(library, c"compare_kovan".as_ptr()) };
        // SAFETY: the symbol is a `static Table` in kovan/src/lib.rs, which is compiled with the
        // same table.rs.
        unsafe { symbol.cast::<Table>().as_ref() }
    }
}
