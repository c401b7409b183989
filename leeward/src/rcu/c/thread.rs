//! Threads that register with domains of C, and their exit.
//!
//! A thread's slots form a list, so that its exit finds them: sections that are still open end
//! there (liburcu's users rely on it), unless Rust's guards keep them open, and all slots are given
//! back. A thread that unregisters keeps its slot, idle, until then: registering again costs next to
//! nothing. Registering allocates nothing by the C library's allocator, so that a thread's first
//! section may be a signal handler's.
//!
//! A handler may register at any instruction, also of a registration. So the words of the thread
//! change by exchanges, and what a handler did in between stands. After its exit a thread takes
//! slots for single sections.

use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use super::super::backing::State;
use super::super::fork::watch;
use super::super::no_memory::NoMemory;
use super::super::section::local;
use super::super::section::slot::{Slot, UNREGISTERED};
use super::{count, words};
use crate::fence::{Asymmetric, Full};
use crate::process::local::c::exit;
use crate::process::thread;

exit! {
    /// Gives the slots of a thread back that exits.
    static AT_EXIT = leave_all
}

/// A slot of the calling thread.
#[derive(Clone, Copy)]
pub(super) enum OwnSlot {
    /// The thread has it, as it was.
    Kept(&'static Slot),
    /// It was taken just now for one section, which is open, on a thread that has run its exit.
    ForOneSection(&'static Slot),
}

impl OwnSlot {
    pub(super) fn slot(self) -> &'static Slot {
        match self {
            OwnSlot::Kept(slot) | OwnSlot::ForOneSection(slot) => slot,
        }
    }
}

/// Returns the calling thread's variable of the domain.
fn variable<'a>(domain: &State) -> &'a AtomicPtr<Slot> {
    let place = domain.grace.kind.place();
    let variable = place.expect("every domain of C says where its variable is")();
    // SAFETY: the variable is the calling thread's, which has it until its end, and no other thread
    // accesses it.
    unsafe { AtomicPtr::from_ptr(variable.cast()) }
}

/// Returns the address in the variable of a thread that is not registered.
fn unregistered() -> *mut Slot {
    (&raw const UNREGISTERED).cast_mut()
}

/// Returns the calling thread's slot of the domain; `None` if it is not registered.
pub(super) fn slot(domain: &State) -> Option<&'static Slot> {
    // Relaxed: the thread's own word.
    let slot = variable(domain).load(Ordering::Relaxed);
    // SAFETY: it holds addresses of slots, which live forever.
    let slot: &'static Slot = unsafe { &*slot };
    (!ptr::eq(slot, &UNREGISTERED)).then_some(slot)
}

/// Returns the calling thread's slot of the domain, which it takes if it has none. Async-signal-safe,
/// also within another call of the same thread.
pub(super) fn register(domain: &'static State) -> Result<OwnSlot, NoMemory> {
    match slot(domain).or_else(|| resume(domain)) {
        Some(slot) => Ok(OwnSlot::Kept(slot)),
        None if AT_EXIT.arm() => take(domain).map(OwnSlot::Kept),
        None => take_for_one_section(domain).map(OwnSlot::ForOneSection),
    }
}

/// Does what `register` does, but takes no slot on a thread that has run its exit, where no section
/// would give it back.
pub(super) fn register_early(domain: &'static State) -> Result<&'static Slot, NoMemory> {
    match slot(domain) {
        Some(slot) => Ok(slot),
        None => Ok(keep(domain)?.unwrap_or(&UNREGISTERED)),
    }
}

/// Returns the calling thread's slot of the domain, which it takes if it has none, and which its exit
/// gives back. `None` on a thread that has run its exit.
pub(super) fn keep(domain: &'static State) -> Result<Option<&'static Slot>, NoMemory> {
    match slot(domain).filter(|slot| !slot.is_transient()).or_else(|| resume(domain)) {
        Some(slot) => Ok(Some(slot)),
        None if AT_EXIT.arm() => take(domain).map(Some),
        None => Ok(None),
    }
}

/// Returns the first of the calling thread's slots.
fn first() -> &'static AtomicPtr<Slot> {
    // SAFETY: the word is the calling thread's, which has it until its end, and no other thread
    // accesses it.
    unsafe { AtomicPtr::from_ptr(words::slots()) }
}

/// Iterates over a list of slots.
fn slots(first: *mut Slot) -> impl Iterator<Item = &'static Slot> {
    // SAFETY: null, or the address of a slot, which lives forever.
    let first: Option<&'static Slot> = unsafe { first.as_ref() };
    // SAFETY: as above.
    core::iter::successors(first, |slot| unsafe { slot.for_c.next().cast::<Slot>().as_ref() })
}

/// Makes the slot that the thread has kept since it unregistered its slot again.
fn resume(domain: &'static State) -> Option<&'static Slot> {
    // Relaxed, both: the thread's own words.
    let slot = slots(first().load(Ordering::Relaxed)).find(|slot| ptr::eq(slot.for_c.home().cast(), domain))?;
    slot.for_c.set_idle(false);
    variable(domain).store(ptr::from_ref(slot).cast_mut(), Ordering::Relaxed);
    Some(slot)
}

/// Takes a slot, which the thread's exit gives back.
fn take(domain: &'static State) -> Result<&'static Slot, NoMemory> {
    let slot = claim(domain, thread::current())?;
    let this = ptr::from_ref(slot).cast_mut();
    // Relaxed, all: the thread's own words.
    let own = variable(domain).compare_exchange(unregistered(), this, Ordering::Relaxed, Ordering::Relaxed);
    if let Err(own) = own {
        // A signal handler has registered the thread meanwhile.
        domain.grace.release(slot);
        // SAFETY: the variable holds addresses of slots, which live forever.
        return Ok(unsafe { &*own });
    }
    let mut next = first().load(Ordering::Relaxed);
    loop {
        slot.for_c.set_next(next.cast());
        match first().compare_exchange(next, this, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => return Ok(slot),
            Err(other) => next = other,
        }
    }
}

/// Takes a slot for one section, which is open when this returns: only then may a signal handler
/// find the slot, since the end of the outermost section gives it back.
fn take_for_one_section(domain: &'static State) -> Result<&'static Slot, NoMemory> {
    let slot = claim(domain, thread::current() | thread::ENDED)?;
    slot.make_transient();
    enter_outermost(domain, slot);
    // Relaxed: the thread's own word. (A handler that came before has put back what it found.)
    variable(domain).store(ptr::from_ref(slot).cast_mut(), Ordering::Relaxed);
    Ok(slot)
}

/// Claims a slot of the domain.
pub(super) fn claim(domain: &'static State, owner: u64) -> Result<&'static Slot, NoMemory> {
    watch(domain);
    let (grace, number) = (&domain.grace, thread::number());
    let slot = if grace.kind.is_qsbr() { grace.claim_fenced(owner, number) } else { grace.claim(owner, number) };
    let slot = slot.map_err(|_| NoMemory)?;
    slot.for_c.set_home(ptr::from_ref(domain).cast_mut().cast());
    Ok(slot)
}

/// Opens a section on a slot whose reader is outside.
pub(super) fn enter_outermost(domain: &State, slot: &Slot) {
    if domain.grace.kind.is_asymmetric() {
        slot.enter_outermost::<Asymmetric>(domain.grace.epoch());
    } else {
        slot.enter_outermost::<Full>(domain.grace.epoch());
    }
}

/// Unregisters the calling thread: its sections end, and its slot is idle. Does nothing if it is not
/// registered.
pub(super) fn unregister(domain: &'static State) {
    let Some(slot) = slot(domain) else { return };
    let is_for_one_section = slot.is_transient();
    end_sections(domain, slot);
    if slot.for_c.guards() != 0 {
        // A guard of Rust is open, and what it protects stays protected.
        return;
    }
    if is_for_one_section {
        return local::give_back(domain, slot);
    }
    slot.for_c.set_idle(true);
    // Relaxed: the thread's own word.
    variable(domain).store(unregistered(), Ordering::Relaxed);
}

/// Ends the sections of a slot of the calling thread, but for those of Rust's guards.
fn end_sections(domain: &State, slot: &Slot) {
    match slot.for_c.guards() {
        0 if domain.grace.kind.is_asymmetric() => slot.end_all::<Asymmetric>(),
        0 => slot.end_all::<Full>(),
        guards => slot.keep(guards),
    }
}

/// Gives the slots of the calling thread back, which exits.
fn leave_all() {
    // Relaxed: the thread's own word. `AT_EXIT` cannot be armed any more, so none is added.
    let mut next = slots(first().swap(ptr::null_mut(), Ordering::Relaxed)).next();
    while let Some(slot) = next {
        // SAFETY: null, or the address of a slot, which lives forever.
        next = unsafe { slot.for_c.next().cast::<Slot>().as_ref() };
        // SAFETY: `claim` stored the address of a domain, which lives forever.
        give_back(unsafe { &*slot.for_c.home().cast::<State>().cast_const() }, slot);
    }
}

/// Gives a slot of the calling thread back, which exits.
fn give_back(domain: &'static State, slot: &'static Slot) {
    end_sections(domain, slot);
    if slot.for_c.guards() != 0 && slot.is_inside() {
        // A guard of Rust was leaked, and with it references that other threads may hold; or a
        // thread-local destructor will drop it.
        slot.outlive_thread();
        count::end(domain, slot);
        domain.grace.counts.leaked.add(1);
        return;
    }
    // Relaxed: the thread's own word. Before the release: a signal handler in between must not find
    // a slot that another thread has claimed.
    variable(domain).store(unregistered(), Ordering::Relaxed);
    count::end(domain, slot);
    domain.grace.release(slot);
}
