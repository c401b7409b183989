//! Wakes that signal handlers asked for while the thread that they interrupted held a lock of
//! the engine's: remembered, and made as soon as the thread has given the lock up. So a handler's
//! wake never waits for its own thread, as the kernel's does not. `Process::defer_wake` calls
//! [`put`]; each lock's release calls [`leave`], which calls `Engine::wake`.
//!
//! Only the thread itself and handlers on it come here, and each handler is over before what it
//! interrupted goes on. Nothing is allocated but pages, straight from the kernel, for more wakes
//! than a thread remembers by itself: a handler may call this.

use core::cell::{Cell, UnsafeCell};
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicPtr, Ordering};

use super::{Process, held, thread};
use crate::mutant::{check, step};
use crate::{Engine, Memory, Word};

/// The number of wakes that a thread remembers without a page.
const FEW: usize = 4;
/// The bytes of a page.
const PAGE: usize = 4096;
/// The number of wakes that a page has room for.
const MANY: usize = 48;

/// A wake that a handler asked for.
#[derive(Clone, Copy)]
struct Wake {
    /// The function that makes it, of the host's type.
    make: unsafe fn(*const (), Wake),
    /// The engine, which serves the host, and is borrowed by the call that was interrupted.
    engine: *const (),
    word: Word,
    count: u32,
    bits: u32,
}

/// A place for one wake, of the thread and its handlers.
struct Slot {
    /// | host | from | by |
    /// |---|---|---|
    /// | null: free | | |
    /// | [`TAKEN`] | null | a handler that is writing the wake, and may be interrupted |
    /// | an address: the wake is that host's, and to be made | taken | the same handler |
    /// | [`TAKEN`] | an address | the thread, which is about to make the wake |
    /// | null | taken | the thread, having read the wake |
    host: AtomicPtr<()>,
    wake: UnsafeCell<MaybeUninit<Wake>>,
}

/// A slot's word while its wake is written or read: the address of no host.
const TAKEN: *mut () = core::ptr::without_provenance_mut(1);

impl Slot {
    const fn free() -> Slot {
        Slot { host: AtomicPtr::new(core::ptr::null_mut()), wake: UnsafeCell::new(MaybeUninit::uninit()) }
    }

    /// Takes the slot if its word is `from`; returns true if it did, and the slot is the caller's
    /// then.
    fn take(&self, from: *const ()) -> bool {
        // Acquire: what was written there; partner: the stores in `put` and `take_one`. Relaxed on
        // failure: nothing learnt. All of this is between a thread and its handlers.
        self.host.compare_exchange(from.cast_mut(), TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }
}

/// A page of more slots; all zeroes is a page without wakes. A thread keeps its pages, and leaves
/// them when it ends: a second one is needed only where handlers want some fifty wakes within one
/// hold of a lock.
struct Page {
    next: AtomicPtr<Page>,
    slots: [Slot; MANY],
}

const _: () = assert!(size_of::<Page>() <= PAGE);

/// The calling thread's deferred wakes.
struct Own {
    slots: [Slot; FEW],
    pages: AtomicPtr<Page>,
    /// The host whose wakes are being made.
    making: Cell<*const ()>,
}

std::thread_local! {
    static OWN: Own = const {
        Own {
            slots: [const { Slot::free() }; FEW],
            pages: AtomicPtr::new(core::ptr::null_mut()),
            making: Cell::new(core::ptr::null()),
        }
    };
}

impl Own {
    /// Returns all slots, of which there may be more with each handler that comes.
    fn slots(&self) -> impl Iterator<Item = &Slot> {
        // Relaxed, here and below: one thread, and handlers on it.
        let first = self.pages.load(Ordering::Relaxed);
        // SAFETY: pages stay, and were zeroed.
        let mut page = unsafe { first.as_ref() };
        let pages = core::iter::from_fn(move || {
            let current = page?;
            // SAFETY: as above.
            page = unsafe { current.next.load(Ordering::Relaxed).as_ref() };
            Some(&current.slots)
        });
        self.slots.iter().chain(pages.flatten())
    }

    /// Adds a page.
    #[cold]
    fn extend(&self) {
        let page = thread::map(PAGE).unwrap_or_else(|| no_memory()).cast::<Page>();
        let mut first = self.pages.load(Ordering::Relaxed);
        loop {
            // SAFETY: new, zeroed, and large enough.
            unsafe { &(*page).next }.store(first, Ordering::Relaxed);
            match self.pages.compare_exchange(first, page, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return,
                // A handler has added a page of its own.
                Err(now) => first = now,
            }
        }
    }

    /// Writes a wake of a host's into a free slot, and adds a page if there is none.
    fn put(&self, host: *const (), wake: Wake) {
        loop {
            if let Some(slot) = self.slots().find(|slot| slot.take(core::ptr::null())) {
                // SAFETY: the slot is taken, so no other code touches it.
                unsafe { slot.wake.get().cast::<Wake>().write(wake) };
                // Release: partner: the exchange in `take`.
                slot.host.store(host.cast_mut(), Ordering::Release);
                held::count_deferred(true);
                return;
            }
            self.extend();
        }
    }

    /// Takes a wake of a host's out of its slot, if there is one.
    fn take_one(&self, host: *const ()) -> Option<Wake> {
        let slot = self.slots().find(|slot| slot.take(host))?;
        // SAFETY: the slot named a host, so the wake was written; and it is read once.
        let wake = unsafe { slot.wake.get().cast::<Wake>().read() };
        // Release: as in `put`.
        slot.host.store(core::ptr::null_mut(), Ordering::Release);
        held::count_deferred(false);
        Some(wake)
    }

    /// Returns true if a wake of a host's is to be made.
    fn has(&self, host: *const ()) -> bool {
        self.slots().any(|slot| core::ptr::eq(slot.host.load(Ordering::Relaxed), host))
    }
}

/// Remembers a wake if the calling thread holds a lock of the host's; returns false if it holds
/// none of that host's, and the caller makes the wake itself.
#[cold]
#[inline(never)]
pub(super) fn put<M: Memory + 'static>(
    host: &Process<M>,
    engine: &Engine<Process<M>>,
    word: Word,
    count: u32,
    bits: u32,
) -> bool {
    let at = core::ptr::from_ref(host).cast();
    let is_held = check!(defer_wake, held::is_held(at));
    if is_held {
        let engine = core::ptr::from_ref(engine).cast();
        OWN.with(|own| own.put(at, Wake { make: wake::<M>, engine, word, count, bits }));
    }
    is_held
}

/// Makes a deferred wake.
///
/// # Safety
/// The host is a `Process<M>` and the wake's engine is one for it; both are borrowed by the caller.
unsafe fn wake<M: Memory + 'static>(host: *const (), wake: Wake) {
    // SAFETY: the caller's promise.
    let host = unsafe { &*host.cast::<Process<M>>() };
    // SAFETY: as above.
    let engine = unsafe { &*wake.engine.cast::<Engine<Process<M>>>() };
    // An error is ignored: a thread waits there for a lock with priority inheritance, and no wake is
    // for it.
    let _ = engine.wake(host, wake.word, wake.count, wake.bits);
}

/// Notes that the calling thread has given up a lock of the host's. If that was its last one, the
/// wakes are made that were put off meanwhile.
#[inline(always)]
pub(super) fn leave<M: Memory + 'static>(host: &Process<M>) {
    let host = core::ptr::from_ref(host).cast();
    if check!(defer_made, held::leave(host)) {
        make(host);
    }
}

/// Makes the host's deferred wakes, when the calling thread has given up its last lock of that
/// host's.
#[cold]
#[inline(never)]
fn make(host: *const ()) {
    OWN.with(|own| {
        // Wakes that are put off while one is made are left to the loop in `Making`, and not made
        // one within the other.
        if !core::ptr::eq(own.making.get(), host) {
            Making { own, host }.make_all();
        }
    });
}

/// A guard while wakes are made. All of them are made when it is dropped, also where an executor
/// that one of them called panics; a second panic aborts.
struct Making<'a> {
    own: &'a Own,
    /// A host that the caller of [`leave`] has borrowed.
    host: *const (),
}

impl Making<'_> {
    /// Makes the host's deferred wakes until there are none.
    fn make_all(&self) {
        let Making { own, host } = *self;
        while own.has(host) {
            let _round = Round { own, before: own.making.replace(host) };
            while let Some(wake) = own.take_one(host) {
                // SAFETY: the wake was put off for this host, which is of that type. The call that
                // was interrupted borrows its engine until it ends, and gave a lock of its host up
                // just now. All calls with one host at one time are by the same engine, as the
                // caller of `Process::new` promised.
                unsafe { (wake.make)(host, wake) };
            }
            // A handler that comes between the last check and the round's end leaves its wakes to
            // the next round.
        }
    }
}

impl Drop for Making<'_> {
    fn drop(&mut self) {
        step!(deferred_rest, self.make_all());
    }
}

/// A guard while the thread's note says that wakes of a host are being made.
struct Round<'a> {
    own: &'a Own,
    before: *const (),
}

impl Drop for Round<'_> {
    fn drop(&mut self) {
        self.own.making.set(self.before);
    }
}

/// Ends the process: the wake must not be lost, and its caller must not wait for itself.
#[cold]
fn no_memory() -> ! {
    let line = b"leeward-engine: mmap: no memory to remember a wake of a signal's handler\n";
    let place = core::ptr::from_ref(line).expose_provenance();
    let _ = thread::call(libc::SYS_write, [2, place, line.len(), 0, 0, 0]);
    std::process::abort();
}
