//! kovan as a scheme, given to the comparison as a table of functions (`../../src/rcu/table.rs`).
//! `pin`, a protected load and `retire` of a node that begins with kovan's header: what its
//! documentation gives for low-level control.

#[path = "../../src/alignment.rs"]
mod alignment;
#[path = "../../src/rcu/loops.rs"]
mod loops;
#[path = "../../src/rcu/scheme.rs"]
mod scheme;
#[path = "../../src/rcu/stage.rs"]
mod stage;
#[path = "../../src/rcu/table.rs"]
mod table;

use std::ffi::c_void;
use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use kovan::{Atomic, RetiredNode, Shared, pin, retire};
use loops::Running;
use scheme::{Node, Scheme};
use stage::Stage;
use table::{During, Table};

#[repr(C)]
struct Retirable {
    header: RetiredNode,
    node: Node,
}

impl Retirable {
    fn boxed() -> *mut Retirable {
        Box::into_raw(Box::new(Retirable { header: RetiredNode::new(), node: Node::new() }))
    }
}

struct Kovan(Atomic<Retirable>);

impl Scheme for Kovan {
    type Reader<'a> = ();
    type Writer<'a> = ();

    fn open() -> Self {
        Kovan(Atomic::new(Retirable::boxed()))
    }

    fn reader(&self) {}

    fn writer(&self) {}

    #[inline(always)]
    fn section(&self, _: &mut (), look: impl FnOnce(&Node)) {
        let guard = pin();
        let node = self.0.load(Ordering::Acquire, &guard);
        // SAFETY: the cell is never null, and the guard protects what was loaded.
        look(unsafe { &node.deref().node });
    }

    fn rest(&self, _: &mut (), during: &mut dyn FnMut()) {
        kovan::flush(); // as its documentation asks of a thread that idles
        during();
    }

    fn replace(&self, _: &mut ()) {
        let guard = pin();
        // SAFETY: a fresh box.
        let new = unsafe { Shared::from_raw(Retirable::boxed()) };
        let old = self.0.swap(new, Ordering::AcqRel, &guard);
        // SAFETY: the swap made it unreachable for new readers; it came from a box and begins with
        // the header.
        unsafe { retire(old.as_raw()) };
    }
}

impl Drop for Kovan {
    fn drop(&mut self) {
        let guard = pin();
        // SAFETY: null is what an empty cell holds.
        let none = unsafe { Shared::from_raw(std::ptr::null_mut()) };
        let last = self.0.swap(none, Ordering::AcqRel, &guard);
        // SAFETY: as in `replace`.
        unsafe { retire(last.as_raw()) };
    }
}

static OPEN: RwLock<Option<&'static Running<Kovan>>> = RwLock::new(None);

fn running() -> &'static Running<Kovan> {
    OPEN.read().unwrap_or_else(|poisoned| poisoned.into_inner()).expect("open")
}

extern "C" fn open() {
    *OPEN.write().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(Box::leak(Box::new(Running::open())));
}

/// Closes the table. The cell, of some hundred bytes, is leaked: a table's functions have no
/// lifetime that could prove that no thread uses it.
extern "C" fn close() {
    *OPEN.write().unwrap_or_else(|poisoned| poisoned.into_inner()) = None;
}

extern "C" fn section(n: u64, alignment: u32) -> u64 {
    running().section(n, alignment).as_nanos() as u64
}

/// Returns the flag and the tally that the arguments of a table's function point to.
unsafe fn seen<'a>(stop: *const u8, tally: *mut u64) -> (&'a AtomicBool, &'a AtomicU64) {
    // SAFETY: the caller's pointer is to an `AtomicBool` that outlives the call.
    let stop = unsafe { AtomicBool::from_ptr(stop.cast_mut().cast()) };
    // SAFETY: the caller's pointer is to an `AtomicU64` that outlives the call.
    let tally = unsafe { AtomicU64::from_ptr(tally) };
    (stop, tally)
}

unsafe extern "C" fn read(stop: *const u8, tally: *mut u64) {
    // SAFETY: the caller keeps the table's promise about both pointers.
    let (stop, tally) = unsafe { seen(stop, tally) };
    running().read(stop, tally);
}

unsafe extern "C" fn dwell(stop: *const u8, tally: *mut u64, inside_ns: u64) {
    // SAFETY: the caller keeps the table's promise about both pointers.
    let (stop, tally) = unsafe { seen(stop, tally) };
    running().dwell(stop, tally, Duration::from_nanos(inside_ns));
}

unsafe extern "C" fn write(stop: *const u8, tally: *mut u64) {
    // SAFETY: the caller keeps the table's promise about both pointers.
    let (stop, tally) = unsafe { seen(stop, tally) };
    running().write(stop, tally);
}

unsafe extern "C" fn retire_until(stop: *const u8, tally: *mut u64) {
    // SAFETY: the caller keeps the table's promise about both pointers.
    let (stop, tally) = unsafe { seen(stop, tally) };
    running().retire(stop, tally);
}

extern "C" fn retire_one() {
    running().retire_one();
}

unsafe extern "C" fn hold(during: During, arg: *mut c_void) {
    // SAFETY: `during` is the caller's function, and `arg` is the argument for it.
    running().hold(&mut || unsafe { during(arg) });
}

unsafe extern "C" fn rest(during: During, arg: *mut c_void) {
    // SAFETY: as in `hold`.
    running().rest(&mut || unsafe { during(arg) });
}

extern "C" fn synchronize() {
    running().synchronize();
}

extern "C" fn barrier() {
    running().barrier();
}

/// The table, which the comparison looks up by this name.
#[unsafe(no_mangle)]
pub static compare_kovan: Table = Table {
    open,
    close,
    section,
    read,
    dwell,
    write,
    retire: retire_until,
    retire_one,
    hold,
    rest,
    synchronize,
    barrier,
};
