//! fork: the one place where everything registers that the child of a fork has to mend.
//!
//! The child has one thread, and a copy of all memory as the other threads had it at some instruction.
//! Whatever they held, counted or were about to wake is not there. A part of this library that keeps
//! such state implements [`Mend`] and calls [`watch`] before it changes any of it; a handler
//! (`pthread_atfork`) then calls the part around each fork.
//!
//! A fork may come at any instruction of the registration itself, so that takes no lock: the list is
//! pushed to by compare-exchange, every thread that finds an item not listed lists it by itself, and
//! the handler is there before the first item is. A child whose copy has an item half listed lists it
//! again. Two threads that come first may both install the handler: it then runs twice, and the second
//! time it does nothing.
//!
//! Children of `vfork`, `_Fork` and the raw `clone` call run no handler. They may do what needs no
//! other thread: read, lock what is free. (`fork_mark.rs` tells a child apart without a handler.)

use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use crate::mutant::mutated;

/// What a child finds as other threads had left it, and mends. All functions run on the thread that
/// forks; they may not fork, and wait only where they say for how long.
pub(crate) trait Mend: Sync + Sized + 'static {
    /// The item's link, a part of it.
    fn hook(&self) -> &Hook;

    /// In the parent, before the fork. A fork that fails, or that another handler's fork interrupts,
    /// comes here as well: calls may be more than those of `in_parent` and `in_child` together.
    fn before(&'static self) {}

    /// In the parent, after the fork.
    fn in_parent(&'static self) {}

    /// In the child, on its only thread, before `fork` returns.
    fn in_child(&'static self) {}

    /// In the child, after everything that is registered was mended: threads may be started.
    fn resume(&'static self) {}

    /// The calling thread ends, and has handles that it did not give up.
    fn thread_ends(&'static self) {}
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Event {
    Before,
    InParent,
    InChild,
    Resume,
    ThreadEnds,
}

/// An item's place in the list.
pub(crate) struct Hook {
    /// The item that was listed before this one; null: none.
    next: AtomicPtr<Hook>,
    /// 1: in the list, and the handler is installed.
    is_listed: AtomicU32,
    /// The item, and what passes events to it (a `fn(*const (), Event)`).
    item: AtomicPtr<()>,
    pass: AtomicPtr<()>,
}

impl Hook {
    pub(crate) const fn new() -> Hook {
        Hook {
            next: AtomicPtr::new(core::ptr::null_mut()),
            is_listed: AtomicU32::new(0),
            item: AtomicPtr::new(core::ptr::null_mut()),
            pass: AtomicPtr::new(core::ptr::null_mut()),
        }
    }

    fn pass(&self, event: Event) {
        // Relaxed, both: stored before the hook was listed, which the reader of the list acquired.
        let (item, pass) = (self.item.load(Ordering::Relaxed), self.pass.load(Ordering::Relaxed));
        // SAFETY: `watch` stored a `fn(*const (), Event)` before it listed the hook.
        let pass = unsafe { core::mem::transmute::<*mut (), fn(*const (), Event)>(pass) };
        pass(item, event);
    }
}

/// Passes an event to an item of type `T`.
fn pass<T: Mend>(item: *const (), event: Event) {
    // SAFETY: `watch::<T>` stored this function together with a `&'static T`.
    let item: &'static T = unsafe { &*item.cast::<T>() };
    match event {
        Event::Before => item.before(),
        Event::InParent => item.in_parent(),
        Event::InChild => item.in_child(),
        Event::Resume => item.resume(),
        Event::ThreadEnds => item.thread_ends(),
    }
}

/// The items, newest first.
static ITEMS: AtomicPtr<Hook> = AtomicPtr::new(core::ptr::null_mut());
/// 1: the handler is installed.
static INSTALLED: AtomicU32 = AtomicU32::new(0);
/// 1: a fork was begun, and this process has not mended anything since.
static PENDING: AtomicU32 = AtomicU32::new(0);
/// Forks that this process and its ancestors went through.
static GENERATION: AtomicU64 = AtomicU64::new(0);

/// How many forks lie between the first process that watched for them and this one.
pub(crate) fn generation() -> u64 {
    // Relaxed: changes only where there is one thread.
    GENERATION.load(Ordering::Relaxed)
}

/// Returns true if `item` is told of forks.
#[inline]
pub(crate) fn is_watched<T: Mend>(item: &'static T) -> bool {
    // Acquire: partner of the release in `list`: the handler is installed.
    item.hook().is_listed.load(Ordering::Acquire) != 0
}

/// Has `item` told of every fork from now on. To be called before its state first changes. Lock-free;
/// async-signal-safe but for the first call of the process, which may allocate.
#[inline]
pub(crate) fn watch<T: Mend>(item: &'static T) {
    if !is_watched(item) {
        // Relaxed, both: ordered by the exchange that lists the hook. All threads store the same.
        item.hook().item.store(core::ptr::from_ref(item).cast_mut().cast(), Ordering::Relaxed);
        item.hook().pass.store(pass::<T> as fn(*const (), Event) as *mut (), Ordering::Relaxed);
        list(item.hook());
    }
}

#[cold]
#[inline(never)]
fn list(hook: &'static Hook) {
    install();
    let this = core::ptr::from_ref(hook).cast_mut();
    loop {
        // Acquire: read before the look at the list below. A thread that listed the hook meanwhile has
        // either changed the link, and the exchange of it fails, or is seen in the list.
        let link = hook.next.load(Ordering::Acquire);
        // Acquire: partner of the release below: the items' links.
        let head = ITEMS.load(Ordering::Acquire);
        if items(head).any(|item| core::ptr::eq(item, hook)) {
            break;
        }
        // The link of a listed hook is not changed any more: who gets here with a head from before that
        // fails at the list's head. AcqRel, both: as above; and what this thread does with the item
        // comes after it is listed.
        if hook.next.compare_exchange(link, head, Ordering::AcqRel, Ordering::Relaxed).is_ok()
            && ITEMS.compare_exchange(head, this, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        {
            break;
        }
    }
    // Release: partner of the acquire in `watch`.
    hook.is_listed.store(1, Ordering::Release);
}

/// The items from `head` on.
fn items(head: *mut Hook) -> impl Iterator<Item = &'static Hook> {
    // SAFETY: null, or the address of a static's part, which `list` stored.
    let first = unsafe { head.as_ref() };
    core::iter::successors(first, |item| {
        // Acquire: partner of the release in `list`.
        let next = item.next.load(Ordering::Acquire);
        // SAFETY: null, or the address of a static's part, which `list` stored.
        unsafe { next.as_ref() }
    })
}

fn install() {
    // Acquire: partner of the release below.
    if INSTALLED.load(Ordering::Acquire) == 0 {
        // SAFETY: handlers without arguments that live as long as the code does. It fails for lack of
        // memory only; then children are not mended, as after `vfork`.
        let _ = unsafe { libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child)) };
        // Release: a thread that sees it may list an item.
        INSTALLED.store(1, Ordering::Release);
    }
}

fn tell(event: Event) {
    // Acquire: partner of the release in `list`.
    items(ITEMS.load(Ordering::Acquire)).for_each(|item| item.pass(event));
}

/// Tells everything that is registered that the calling thread ends, so that a child tells what the
/// thread left behind from what a thread that is alive was doing.
pub(crate) fn thread_ends() {
    tell(Event::ThreadEnds);
}

extern "C" fn before() {
    // Relaxed: for the child, which has this thread.
    PENDING.store(1, Ordering::Relaxed);
    tell(Event::Before);
}

extern "C" fn in_parent() {
    tell(Event::InParent);
}

/// Runs in the child, on its only thread, before fork returns.
extern "C" fn in_child() {
    // Relaxed, both: one thread. The handler may be there more than once.
    if PENDING.swap(0, Ordering::Relaxed) == 0 || mutated!(fork_hook) {
        return;
    }
    GENERATION.fetch_add(1, Ordering::Relaxed);
    tell(Event::InChild);
    tell(Event::Resume);
}
