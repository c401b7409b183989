//! Threads that register with domains of C, and their exit.
//!
//! A thread's slots form a list, so that its exit finds them: sections that are still open end
//! there (liburcu's users rely on it), unless Rust's guards keep them open, and all slots are given
//! back. Registering allocates nothing by the C library's allocator, so that a thread's first
//! section may be a signal handler's.
//!
//! Called by `mod.rs`, `reader.rs` and `types.rs`.

use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, Ordering};

use super::super::backing::State;
use super::super::fork::watch;
use super::super::no_memory::NoMemory;
use super::super::slot::{Slot, UNREGISTERED};
use super::{RawDomain, words};
use crate::fence::{Asymmetric, Full};
use crate::process::local::c::exit;
use crate::process::thread;

exit! {
    /// Gives the slots of a thread back that exits.
    static AT_EXIT = leave_all
}

/// Returns the calling thread's variable of the domain.
pub(super) fn variable(domain: &State) -> *mut *const Slot {
    let place = domain.grace.kind.place();
    place.expect("every domain of C says where its variable is")()
}

/// Returns the calling thread's slot of the domain; `None` if it is not registered.
pub(super) fn slot(domain: &State) -> Option<&'static Slot> {
    // SAFETY: the variable is the calling thread's, and always initialized.
    let slot = unsafe { variable(domain).read() };
    // SAFETY: it holds addresses of slots, which live forever.
    let slot: &'static Slot = unsafe { &*slot };
    (!ptr::eq(slot, &UNREGISTERED)).then_some(slot)
}

/// Returns the calling thread's slot of the domain, which it takes if it has none. Async-signal-safe,
/// also within another call of the same thread: at worst the thread has two slots then, one of which
/// stays idle until its exit.
pub(super) fn register(domain: &'static State) -> Result<&'static Slot, NoMemory> {
    if let Some(slot) = slot(domain) {
        return Ok(slot);
    }
    watch(domain);
    let is_told = AT_EXIT.arm();
    let owner = if is_told { thread::current() } else { thread::current() | thread::ENDED };
    let grace = &domain.grace;
    let slot = if grace.kind.is_qsbr() {
        grace.claim_fenced(owner, thread::number())
    } else {
        grace.claim(owner, thread::number())
    };
    let slot = slot.map_err(|_| NoMemory)?;
    slot.for_c.set_home(ptr::from_ref(domain).cast_mut().cast());
    if is_told {
        link(slot);
    } else {
        slot.make_transient();
    }
    // SAFETY: the variable is the calling thread's.
    unsafe { variable(domain).write(slot) };
    Ok(slot)
}

/// Does what `register` does, but takes no slot on a thread that has run its exit, where no section
/// would give it back.
pub(super) fn register_early(domain: &'static State) -> Result<&'static Slot, NoMemory> {
    if AT_EXIT.arm() { register(domain) } else { Ok(&UNREGISTERED) }
}

/// Returns the head of the list of the calling thread's slots.
fn slots() -> &'static AtomicPtr<Slot> {
    // SAFETY: the word is the calling thread's, which has it until its end and lends it to no other.
    unsafe { AtomicPtr::from_ptr(words::slots()) }
}

/// Puts the slot into the thread's list.
fn link(slot: &'static Slot) {
    let this = ptr::from_ref(slot).cast_mut();
    loop {
        // Relaxed, all: own words. An exchange, because a signal handler may link a slot between the
        // load and it.
        let first = slots().load(Ordering::Relaxed);
        slot.for_c.set_next(first.cast());
        if slots().compare_exchange(first, this, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            return;
        }
    }
}

/// Takes the slot out of the thread's list. A signal handler that registers meanwhile puts its slot
/// in front, and changes nothing behind.
fn unlink(slot: &'static Slot) {
    let this = ptr::from_ref(slot).cast_mut();
    let next = slot.for_c.next();
    // Relaxed, all: own words.
    if slots().compare_exchange(this, next.cast(), Ordering::Relaxed, Ordering::Relaxed).is_ok() {
        return;
    }
    let mut before = NonNull::new(slots().load(Ordering::Relaxed));
    while let Some(slot_before) = before {
        // SAFETY: slots live forever.
        let slot_before = unsafe { slot_before.as_ref() };
        let after: *mut Slot = slot_before.for_c.next().cast();
        if ptr::eq(after, this) {
            return slot_before.for_c.set_next(next);
        }
        before = NonNull::new(after);
    }
}

/// Gives the calling thread's slot of the domain back, and ends its sections. Does nothing if it has
/// none.
pub(super) fn unregister(domain: &'static State) {
    let Some(slot) = slot(domain) else { return };
    if slot.for_c.has_guards() {
        // A guard of Rust is open: the slot stays, and is given back at the thread's exit.
        return;
    }
    unlink(slot);
    give_back(domain, slot);
}

/// Ends the sections of a slot, and gives it back.
fn give_back(domain: &State, slot: &'static Slot) {
    slot.for_c.set_online(false);
    if domain.grace.kind.is_asymmetric() {
        slot.end_all::<Asymmetric>();
    } else {
        slot.end_all::<Full>();
    }
    // Before the release: a signal handler in between must not find a slot that another thread has
    // claimed.
    let variable = variable(domain);
    // SAFETY: the variable is the calling thread's.
    if ptr::eq(unsafe { variable.read() }, slot) {
        // SAFETY: as above.
        unsafe { variable.write(&UNREGISTERED) };
    }
    domain.grace.release(slot);
}

/// Gives the slots of the calling thread back, which exits.
fn leave_all() {
    // Relaxed: own word.
    let mut next = NonNull::new(slots().swap(ptr::null_mut(), Ordering::Relaxed));
    while let Some(slot) = next {
        // SAFETY: slots live forever.
        let slot: &'static Slot = unsafe { slot.as_ref() };
        next = NonNull::new(slot.for_c.next().cast());
        // SAFETY: `register` stored the address of a domain, which lives forever.
        let domain: &'static State = unsafe { &*slot.for_c.home().cast::<State>().cast_const() };
        if slot.for_c.has_guards() && slot.is_inside() {
            // A guard of Rust was leaked, and with it references that other threads may hold.
            slot.outlive_thread();
            domain.grace.counts.leaked.add(1);
        } else {
            give_back(domain, slot);
        }
    }
}

/// Runs when the program, or the library, is loaded: what allocates is done before the first section.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = {
    extern "C" fn at_start() {
        for domain in RawDomain::all() {
            watch(domain.state());
        }
        // Registers what a thread's number needs.
        thread::number();
    }
    at_start
};
