//! Threads that register with domains of C, and their exit.
//!
//! A thread's slots form a list, so that its exit finds them: sections that are still open end
//! there (liburcu's users rely on it), unless Rust's guards keep them open, and all slots are given
//! back. A thread that unregisters keeps its slot, idle, until then: registering again costs next to
//! nothing. Registering allocates nothing by the C library's allocator, so that a thread's first
//! section may be a signal handler's.
//!
//! Called by `mod.rs`, `reader.rs` and `types.rs`.

use core::ptr;

use super::super::backing::State;
use super::super::fork::watch;
use super::super::no_memory::NoMemory;
use super::super::slot::{Slot, UNREGISTERED};
use super::RawDomain;
use super::words::{BUSY, SLOTS};
use crate::fence::{Asymmetric, Full};
use crate::process::local::Word;
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
/// also within another call of the same thread.
pub(super) fn register(domain: &'static State) -> Result<&'static Slot, NoMemory> {
    match slot(domain).or_else(|| resume(domain)) {
        Some(slot) => Ok(slot),
        None => take(domain, BUSY.get() == 0 && AT_EXIT.arm()),
    }
}

/// Does what `register` does, but takes no slot on a thread that has run its exit, where no section
/// would give it back.
pub(super) fn register_early(domain: &'static State) -> Result<&'static Slot, NoMemory> {
    match slot(domain).or_else(|| resume(domain)) {
        Some(slot) => Ok(slot),
        None if BUSY.get() == 0 && AT_EXIT.arm() => take(domain, true),
        None => Ok(&UNREGISTERED),
    }
}

/// Returns the slots of the calling thread.
fn slots() -> impl Iterator<Item = &'static Slot> {
    // SAFETY: null, or the address of a slot, which lives forever.
    let first = unsafe { SLOTS.get().as_ref() };
    // SAFETY: as above.
    core::iter::successors(first, |slot| unsafe { slot.for_c.next().cast::<Slot>().as_ref() })
}

/// Makes the slot that the thread has kept since it unregistered its slot again.
fn resume(domain: &'static State) -> Option<&'static Slot> {
    let slot = slots().find(|slot| ptr::eq(slot.for_c.home().cast(), domain))?;
    slot.for_c.set_idle(false);
    // SAFETY: the variable is the calling thread's.
    unsafe { variable(domain).write(slot) };
    Some(slot)
}

/// Takes a slot: for good, if the thread's exit gives it back; else for one section.
fn take(domain: &'static State, is_told: bool) -> Result<&'static Slot, NoMemory> {
    watch(domain);
    let owner = if is_told { thread::current() } else { thread::current() | thread::ENDED };
    let number = thread::number();
    let _busy = is_told.then(Busy::begin);
    let grace = &domain.grace;
    let slot = if grace.kind.is_qsbr() { grace.claim_fenced(owner, number) } else { grace.claim(owner, number) };
    let slot = slot.map_err(|_| NoMemory)?;
    slot.for_c.set_home(ptr::from_ref(domain).cast_mut().cast());
    if is_told {
        slot.for_c.set_next(SLOTS.get().cast_mut().cast());
        SLOTS.set(slot);
    } else {
        slot.make_transient();
    }
    // SAFETY: the variable is the calling thread's.
    unsafe { variable(domain).write(slot) };
    Ok(slot)
}

/// The time in which the thread adds to its list of slots. A signal handler that reads meanwhile
/// takes slots for single sections, as a thread does after its exit.
struct Busy;

impl Busy {
    fn begin() -> Busy {
        BUSY.set(1);
        Busy
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        BUSY.set(0);
    }
}

/// Unregisters the calling thread: its sections end, and its slot is idle. Does nothing if it is not
/// registered.
pub(super) fn unregister(domain: &'static State) {
    let Some(slot) = slot(domain) else { return };
    if slot.for_c.has_guards() {
        // A guard of Rust is open, and what it protects stays protected.
        return;
    }
    let is_kept = !slot.is_transient();
    end_sections(domain, slot);
    slot.for_c.set_idle(is_kept);
    // SAFETY: the variable is the calling thread's.
    unsafe { variable(domain).write(&UNREGISTERED) };
    if !is_kept {
        domain.grace.release(slot);
    }
}

/// Ends the sections of a slot of the calling thread.
fn end_sections(domain: &State, slot: &Slot) {
    slot.for_c.set_online(false);
    if domain.grace.kind.is_asymmetric() {
        slot.end_all::<Asymmetric>();
    } else {
        slot.end_all::<Full>();
    }
}

/// Gives the slots of the calling thread back, which exits.
fn leave_all() {
    // For good: what comes later on this thread takes slots for single sections.
    BUSY.set(1);
    let mut next = slots().next();
    SLOTS.set(ptr::null());
    while let Some(slot) = next {
        // SAFETY: null, or the address of a slot, which lives forever.
        next = unsafe { slot.for_c.next().cast::<Slot>().as_ref() };
        // SAFETY: `take` stored the address of a domain, which lives forever.
        give_back(unsafe { &*slot.for_c.home().cast::<State>().cast_const() }, slot);
    }
}

/// Gives a slot of the calling thread back, which exits.
fn give_back(domain: &'static State, slot: &'static Slot) {
    if slot.for_c.has_guards() && slot.is_inside() {
        // A guard of Rust was leaked, and with it references that other threads may hold; or a
        // thread-local destructor will drop it.
        slot.outlive_thread();
        domain.grace.counts.leaked.add(1);
        return;
    }
    end_sections(domain, slot);
    // Before the release: a signal handler in between must not find a slot that another thread has
    // claimed.
    // SAFETY: the variable is the calling thread's.
    unsafe { variable(domain).write(&UNREGISTERED) };
    slot.for_c.set_idle(false);
    domain.grace.release(slot);
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
