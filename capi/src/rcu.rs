//! Domains: the functions of `<leeward/rcu.h>`, which documents them.
//!
//! The inline functions there open and close sections by themselves; what they call where that does
//! not suffice is here, too.

use core::ffi::c_int;
use core::ptr::NonNull;
use core::time::Duration;

use leeward::rcu::c::{CStall, Head, RawDomain, Refused, SIZE, Served, Slot, wake_writer};
use leeward::rcu::{Limit, Policy};

use crate::report::{given, report};

/// A domain, as C passes it to the functions that are not inlined.
type Domain = Option<&'static RawDomain>;

/// A callback, as C passes it.
type Callback = unsafe extern "C-unwind" fn(NonNull<Head>);

/// A grace period that was asked for, `struct lee_cookie`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Cookie {
    ticket: u64,
}

/// What a domain has done, `struct lee_stats`.
#[repr(C)]
#[derive(Debug)]
pub struct Stats {
    grace_periods: u64,
    heavy_fences: u64,
    sleeps: u64,
    stalls: u64,
    readers: u64,
    callbacks_run: u64,
    callbacks_queued: u64,
    over_limit: u64,
    lost: u64,
    reserved: [u64; 7],
}

/// A bound on what is deferred, `struct lee_limit`.
#[repr(C)]
#[derive(Debug)]
pub struct CLimit {
    callbacks: u64,
    time: u64,
    policy: u32,
    reserved: u32,
}

// The sizes that <leeward/rcu.h> asserts.
const _: () = assert!(
    size_of::<RawDomain>() == SIZE
        && SIZE == 6144
        && size_of::<Slot>() == 128
        && size_of::<Head>() == 2 * size_of::<usize>()
        && size_of::<CStall>() == 16
        && size_of::<Stats>() == 128
        && size_of::<CLimit>() == 24
);

/// Returns the errno that stands for a refusal of `what`, and reports misuse.
fn refused(domain: &'static RawDomain, what: &str, why: Refused) -> c_int {
    let place = match why {
        Refused::Inside => "read section",
        Refused::InCallback => "callback",
        Refused::NoFence => return libc::ENOSYS,
    };
    let name = domain.name();
    report(format_args!("{name}_{what} called inside a {place} of the domain {name}: it would wait for itself"));
    libc::EDEADLK
}

/// Ends the process for what a domain's `function` was called with.
#[cold]
fn unfit(domain: &'static RawDomain, function: &str, what: &str) -> ! {
    report(format_args!("{}_{function} called with a {what}", domain.name()));
    // SAFETY: has no precondition.
    unsafe { libc::abort() }
}

/// Returns what is said of a kind of readers.
fn said_of(readers: u32) -> &'static str {
    match readers {
        0 => "readers without fences",
        1 => "readers with full fences",
        2 => "readers of QSBR",
        _ => "readers of an unknown kind",
    }
}

/// Ends the process if a definition of a domain that is loaded has another kind of readers than the
/// domain that its name stands for: two libraries define the name, and one's code would read without
/// the fences, or the announcements, that the other's writers rely on.
#[unsafe(no_mangle)]
pub extern "C" fn lee_1_defined(domain: &'static RawDomain, readers: u32) {
    if domain.readers() != readers {
        report(format_args!(
            "the domain {} is defined twice, for {} and for {}; LEE_DOMAIN keeps a name within its library",
            domain.name(),
            said_of(domain.readers()),
            said_of(readers),
        ));
        // SAFETY: has no precondition.
        unsafe { libc::abort() }
    }
}

/// Registers the calling thread.
#[unsafe(no_mangle)]
pub extern "C" fn lee_domain_register(domain: Domain) -> c_int {
    given!("lee_domain_register", domain: "domain");
    domain.register().map_or(libc::ENOMEM, |()| 0)
}

/// Unregisters the calling thread, and ends its sections.
#[unsafe(no_mangle)]
pub extern "C" fn lee_domain_unregister(domain: Domain) {
    given!("lee_domain_unregister", domain: "domain");
    domain.unregister();
}

/// Opens a section; does nothing in a domain of QSBR.
#[unsafe(no_mangle)]
pub extern "C" fn lee_domain_read_lock(domain: Domain) {
    given!("lee_domain_read_lock", domain: "domain");
    if !domain.is_qsbr() {
        domain.enter();
    }
}

/// Closes a section; does nothing in a domain of QSBR.
#[unsafe(no_mangle)]
pub extern "C" fn lee_domain_read_unlock(domain: Domain) {
    given!("lee_domain_read_unlock", domain: "domain");
    if !domain.is_qsbr() {
        domain.leave();
    }
}

/// Returns true inside a section, or while the thread is online.
#[unsafe(no_mangle)]
pub extern "C" fn lee_domain_is_inside(domain: Domain) -> bool {
    given!("lee_domain_is_inside", domain: "domain");
    domain.is_inside()
}

/// Announces a quiescent state of an online thread.
#[unsafe(no_mangle)]
pub extern "C" fn lee_domain_quiescent(domain: Domain) {
    given!("lee_domain_quiescent", domain: "domain");
    domain.quiesce();
}

/// Takes an online thread out of what grace periods wait for.
#[unsafe(no_mangle)]
pub extern "C" fn lee_domain_offline(domain: Domain) {
    given!("lee_domain_offline", domain: "domain");
    domain.go_offline();
}

/// Makes the calling thread an online reader of a domain of QSBR.
#[unsafe(no_mangle)]
pub extern "C" fn lee_domain_online(domain: Domain) {
    given!("lee_domain_online", domain: "domain");
    if domain.is_qsbr() {
        domain.go_online();
    }
}

/// Waits for a grace period.
#[unsafe(no_mangle)]
pub extern "C" fn lee_domain_synchronize(domain: Domain) -> c_int {
    given!("lee_domain_synchronize", domain: "domain");
    domain.synchronize().map_or_else(|why| refused(domain, "synchronize", why), |()| 0)
}

/// Asks for a grace period without waiting for it.
#[unsafe(no_mangle)]
pub extern "C" fn lee_domain_start_poll(domain: Domain) -> Cookie {
    given!("lee_domain_start_poll", domain: "domain");
    Cookie { ticket: domain.start_poll() }
}

/// Returns true if the grace period that a cookie stands for is over.
#[unsafe(no_mangle)]
pub extern "C" fn lee_domain_poll(domain: Domain, cookie: Cookie) -> bool {
    given!("lee_domain_poll", domain: "domain");
    domain.poll(cookie.ticket)
}

/// Queues a callback, which runs after a grace period. Ends the process for a function or a head that
/// is null, and for a head at an odd address, which no compiler gives it: the worker would fail much
/// later, when nothing tells who deferred it.
///
/// # Safety
/// The head is the caller's, and not queued.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lee_domain_defer(domain: Domain, head: Option<NonNull<Head>>, call: Option<Callback>) {
    given!("lee_domain_defer", domain: "domain");
    let Some(head) = head else { unfit(domain, "defer", "head that is NULL") };
    let Some(call) = call else { unfit(domain, "defer", "function that is NULL") };
    if head.addr().get() & 1 != 0 {
        unfit(domain, "defer", "head at an odd address");
    }
    // SAFETY: the caller's promise.
    unsafe { domain.defer(head, call) };
}

/// Waits until what was deferred before has run.
#[unsafe(no_mangle)]
pub extern "C" fn lee_domain_barrier(domain: Domain) -> c_int {
    given!("lee_domain_barrier", domain: "domain");
    domain.barrier().map_or_else(|why| refused(domain, "barrier", why), |()| 0)
}

/// Stores what the domain has done so far, and what it holds.
#[unsafe(no_mangle)]
pub extern "C" fn lee_domain_stats(domain: Domain, stats: Option<&mut Stats>) {
    given!("lee_domain_stats", domain: "domain");
    let Some(stats) = stats else { unfit(domain, "stats", "structure that is NULL") };
    let now = domain.stats();
    *stats = Stats {
        grace_periods: now.grace_periods,
        heavy_fences: now.heavy_fences,
        sleeps: now.sleeps,
        stalls: now.stalls,
        readers: now.readers,
        callbacks_run: now.callbacks_run,
        callbacks_queued: now.callbacks_queued,
        over_limit: now.over_limit,
        lost: now.lost,
        reserved: [0; 7],
    };
}

/// Sets when a reader in the way is reported, and to which function.
#[unsafe(no_mangle)]
pub extern "C" fn lee_domain_set_stall_limit(
    domain: Domain,
    after: u64,
    tell: Option<extern "C-unwind" fn(*const CStall)>,
) {
    given!("lee_domain_set_stall_limit", domain: "domain");
    domain.set_stall_limit((after != 0).then(|| Duration::from_nanos(after)), tell);
}

/// Bounds what is deferred and has not run.
#[unsafe(no_mangle)]
pub extern "C" fn lee_domain_set_limit(domain: Domain, limit: Option<&CLimit>) -> c_int {
    given!("lee_domain_set_limit", domain: "domain");
    const NONE: CLimit = CLimit { callbacks: u64::MAX, time: 0, policy: 0, reserved: 0 };
    let limit = limit.unwrap_or(&NONE);
    let time = Duration::from_nanos(limit.time);
    let policy = match limit.policy {
        0 => Policy::Wait(time),
        1 => Policy::WaitForever,
        2 => Policy::Expedite(time),
        _ => return libc::EINVAL,
    };
    let callbacks = usize::try_from(limit.callbacks).unwrap_or(usize::MAX);
    domain.set_limit(Limit { callbacks, bytes: usize::MAX, policy });
    0
}

/// Sets whether children of forks run the callbacks that they inherit.
#[unsafe(no_mangle)]
pub extern "C" fn lee_domain_set_child_adopts(domain: Domain, adopts: bool) {
    given!("lee_domain_set_child_adopts", domain: "domain");
    domain.set_child_adopts(adopts);
}

/// Opens a section of a thread that is not registered, or that exits.
#[unsafe(no_mangle)]
pub extern "C" fn lee_1_read_lock(domain: &'static RawDomain) {
    domain.enter();
}

/// Closes a section of a thread that exits.
#[unsafe(no_mangle)]
pub extern "C" fn lee_1_read_unlock(domain: &'static RawDomain) {
    domain.leave();
}

/// Announces a quiescent state of QSBR after a grace period has begun.
#[unsafe(no_mangle)]
pub extern "C" fn lee_1_quiescent(domain: &'static RawDomain) {
    domain.quiesce();
}

/// Wakes the writer that sleeps until this slot's reader leaves.
#[unsafe(no_mangle)]
pub extern "C" fn lee_1_wake(slot: &Slot) {
    wake_writer(slot);
}

/// Has a domain wait for readers whose sections were inlined from liburcu's headers. For the libraries
/// that stand in for liburcu's (`urcu/flavour/inlined.h`), as are the next two.
///
/// # Safety
/// What `served` points to is what it says, and lives as long as the process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lee_1_inlined_serve(domain: &'static RawDomain, served: &'static Served) {
    // SAFETY: the caller's promise.
    unsafe { domain.serve_inlined(served) };
}

/// Registers the calling thread, as such a reader, too. Stores false if the thread's exit, which has run
/// already, does not end that.
#[unsafe(no_mangle)]
pub extern "C" fn lee_1_inlined_register(domain: &'static RawDomain, is_watched: &mut bool) -> c_int {
    domain.register_inlined().map_or(libc::ENOMEM, |watched| {
        *is_watched = watched;
        0
    })
}

/// Ends that the calling thread is such a reader.
#[unsafe(no_mangle)]
pub extern "C" fn lee_1_inlined_leave(domain: &'static RawDomain) {
    domain.leave_inlined();
}
