//! The fork registry: the one place where every part registers that the child of a fork has to
//! repair.
//!
//! The child has one thread, and a copy of all memory as the other threads had it at some
//! instruction. What those threads held, counted or were about to wake is not there. A part of this
//! library that keeps such state implements [`Watched`] and calls [`watch`] before it changes any
//! of it; a handler (`pthread_atfork`) then calls the part around each fork.
//!
//! A fork may come at any instruction of the registration itself, so that takes no lock: items are
//! pushed to the list by compare-exchange, every thread that finds an item not listed lists it by
//! itself, and the handler is installed before the first item is listed. A child whose copy has an
//! item half listed lists it again. Two threads that come first may both install the handler: it
//! then runs twice, and does nothing the second time.
//!
//! Children of `vfork`, `_Fork` and the raw `clone` call run no handler. They may do what needs no
//! other thread: read, and lock what is free. (`fork_mark.rs` recognizes a child without a
//! handler.)

use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use crate::mutant::mutated;

/// State that a child finds as other threads left it, and has to repair. All functions but
/// `thread_ends` run on the thread that forks; none may fork, and they wait only where they say for
/// how long.
pub(crate) trait Watched: Sync + Sized + 'static {
    /// Returns the item's link, which is a part of the item.
    fn hook(&self) -> &Hook;

    /// Runs in the parent, before the fork. A fork that fails, or that another handler's fork
    /// interrupts, calls it as well: it may run more often than `in_parent` and `in_child`
    /// together.
    fn before(&'static self) {}

    /// Runs in the parent, after the fork.
    fn in_parent(&'static self) {}

    /// Runs in the child, on its only thread, before `fork` returns.
    fn in_child(&'static self) {}

    /// Runs in the child, after everything that is registered was repaired: threads may be started.
    fn resume(&'static self) {}

    /// Runs when the calling thread exits and has handles that it did not give up.
    fn thread_ends(&'static self) {}
}

/// The event that an item is told of: which function of [`Watched`] runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Event {
    Before,
    InParent,
    InChild,
    Resume,
    ThreadEnds,
}

/// The link of an item in the list.
pub(crate) struct Hook {
    /// The link of the item that was listed before this one; null: none.
    next: AtomicPtr<Hook>,
    /// 1: the item is in the list, and the handler is installed.
    is_listed: AtomicU32,
    /// The address of the item.
    item: AtomicPtr<()>,
    /// The function that passes events to the item (a `fn(*const (), Event)`).
    pass: AtomicPtr<()>,
}

impl Hook {
    /// Returns the link of an item that is not listed.
    pub(crate) const fn new() -> Hook {
        Hook {
            next: AtomicPtr::new(core::ptr::null_mut()),
            is_listed: AtomicU32::new(0),
            item: AtomicPtr::new(core::ptr::null_mut()),
            pass: AtomicPtr::new(core::ptr::null_mut()),
        }
    }

    /// Passes an event to the item.
    fn pass(&self, event: Event) {
        // Relaxed, both: stored before the hook was listed, which the reader of the list acquired.
        let (item, pass) = (self.item.load(Ordering::Relaxed), self.pass.load(Ordering::Relaxed));
        // SAFETY: `watch` stored a `fn(*const (), Event)` before it listed the hook.
        let pass = unsafe { core::mem::transmute::<*mut (), fn(*const (), Event)>(pass) };
        pass(item, event);
    }
}

/// Passes an event to an item of type `T`.
fn pass<T: Watched>(item: *const (), event: Event) {
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

/// The list of the items, newest first.
static ITEMS: AtomicPtr<Hook> = AtomicPtr::new(core::ptr::null_mut());
/// 1: the handler is installed.
static INSTALLED: AtomicU32 = AtomicU32::new(0);
/// 1: a fork was begun, and this process has not repaired anything since.
static PENDING: AtomicU32 = AtomicU32::new(0);
/// The number of forks that this process and its ancestors went through.
static GENERATION: AtomicU64 = AtomicU64::new(0);

/// Returns how many forks lie between the first process that watched for them and this one.
#[inline]
pub(crate) fn generation() -> u64 {
    // Relaxed: it changes only where there is one thread.
    GENERATION.load(Ordering::Relaxed)
}

/// Returns true if `item` is told of forks.
#[inline]
pub(crate) fn is_watched<T: Watched>(item: &'static T) -> bool {
    // Acquire: partner of the release in `list`: the handler is installed.
    item.hook().is_listed.load(Ordering::Acquire) != 0
}

/// Registers `item`, so that it is told of every fork from now on. Must be called before the item's
/// state first changes. Lock-free, and async-signal-safe except for the first call of the process,
/// which may allocate.
#[inline]
pub(crate) fn watch<T: Watched>(item: &'static T) {
    if !is_watched(item) {
        // Relaxed, both: ordered by the exchange that lists the hook. All threads store the same.
        item.hook().item.store(core::ptr::from_ref(item).cast_mut().cast(), Ordering::Relaxed);
        item.hook().pass.store(pass::<T> as fn(*const (), Event) as *mut (), Ordering::Relaxed);
        list(item.hook());
    }
}

/// Installs the handler and pushes the item to the list, unless it is there.
#[cold]
#[inline(never)]
fn list(hook: &'static Hook) {
    install();
    let this = core::ptr::from_ref(hook).cast_mut();
    loop {
        // Acquire: this load comes before the search of the list below. If another thread lists the
        // hook meanwhile, it has either changed the link, and the exchange of it fails, or the
        // search finds the hook.
        let link = hook.next.load(Ordering::Acquire);
        // Acquire: partner of the release below: the items' links.
        let head = ITEMS.load(Ordering::Acquire);
        if items(head).any(|item| core::ptr::eq(item, hook)) {
            break;
        }
        // The link of a listed hook is not changed any more: a thread that comes here with a head
        // from before that fails at the list's head. AcqRel, both: as above; and what this thread
        // does with the item comes after it is listed.
        if hook.next.compare_exchange(link, head, Ordering::AcqRel, Ordering::Relaxed).is_ok()
            && ITEMS.compare_exchange(head, this, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        {
            break;
        }
    }
    // Release: partner of the acquire in `watch`.
    hook.is_listed.store(1, Ordering::Release);
}

/// Iterates over the items from `head` on.
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

/// Installs the handler, unless that was done.
fn install() {
    // Acquire: partner of the release below.
    if INSTALLED.load(Ordering::Acquire) == 0 {
        // SAFETY: handlers without arguments that live as long as the code does. The call fails for
        // lack of memory only; then children repair nothing, as after `vfork`.
        let _ = unsafe { libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child)) };
        // Release: partner of the acquire above; a thread that sees it may list an item.
        INSTALLED.store(1, Ordering::Release);
    }
}

/// Tells all items of an event, newest first.
fn tell(event: Event) {
    // Acquire: partner of the release in `list`.
    items(ITEMS.load(Ordering::Acquire)).for_each(|item| item.pass(event));
}

/// Tells all items that the calling thread exits, so that a child distinguishes what the thread
/// left from what a living thread was doing.
pub(crate) fn thread_ends() {
    tell(Event::ThreadEnds);
}

/// Runs in the parent, on the thread that forks, before the fork.
extern "C" fn before() {
    // Relaxed: read in the child, by this same thread.
    PENDING.store(1, Ordering::Relaxed);
    tell(Event::Before);
}

/// Runs in the parent, after the fork.
extern "C" fn in_parent() {
    tell(Event::InParent);
}

/// Runs in the child, on its only thread, before `fork` returns.
extern "C" fn in_child() {
    // Relaxed, both: the child has one thread. The handler may be installed more than once.
    if PENDING.swap(0, Ordering::Relaxed) == 0 || mutated!(fork_hook) {
        return;
    }
    GENERATION.fetch_add(1, Ordering::Relaxed);
    tell(Event::InChild);
    tell(Event::Resume);
}
