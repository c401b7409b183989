//! Stalls: a grace period that has waited for longer than a limit reports the reader in its way.

use core::panic::Location;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use core::time::Duration;

use super::super::section::slot::Slot;
use super::stats::Counts;
use crate::futex::{self, Deadline, Timeout};
use crate::process;

/// A report of a reader that holds up a grace period; see
/// [`Domain::set_stall_limit`](super::super::Domain::set_stall_limit).
///
/// Its `Display` is one sentence, without a newline.
///
/// ```
/// use leeward::rcu::{Domain, Global, Stall};
/// use std::time::Duration;
/// fn tell(stall: &Stall) {
///     eprintln!("thread {}: {stall}", stall.thread);
/// }
/// Global::set_stall_limit(Some(Duration::from_secs(2)), Some(tell));
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Stall {
    /// The reader's thread, by the number that `ps -L` and `/proc` show; 0 where it is not known.
    pub thread: u32,
    /// How long the grace period has waited by now.
    pub waited: Duration,
    /// True if the report comes from a caller of [`defer`](super::super::Domain::defer) that went beyond
    /// the domain's limit because the grace period has not ended.
    pub is_beyond_limit: bool,
    /// Where the section began. Known in debug builds only.
    pub entered_at: Option<&'static Location<'static>>,
}

impl core::fmt::Display for Stall {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(
            f,
            "a grace period has waited {:.1?} for thread {}, which is still inside its read section",
            self.waited, self.thread
        )?;
        if let Some(place) = self.entered_at {
            write!(f, " (entered at {place})")?;
        }
        if self.is_beyond_limit { f.write_str("; callbacks are queued beyond the domain's limit") } else { Ok(()) }
    }
}

/// The default time after which a stall is reported, in milliseconds.
const DEFAULT_MS: u64 = 10_000;
/// `after` of a domain that never reports.
const NEVER: u64 = u64::MAX;

/// A domain's time after which a stall is reported, and the function that it is reported to.
pub(crate) struct Limit {
    /// The time in milliseconds; 0: the default; `NEVER`: none.
    after: AtomicU64,
    /// A `fn(&Stall)`, or null for the default.
    tell: AtomicPtr<()>,
    /// An `extern "C-unwind" fn(*const CStall)`, or null: `tell` counts.
    tell_c: AtomicPtr<()>,
}

/// A [`Stall`] as C programs know it: `struct lee_stall`.
#[doc(hidden)]
#[derive(Debug)]
#[repr(C)]
pub struct CStall {
    /// The reader's thread, as `gettid` returns it; 0 where it is not known.
    pub thread: u32,
    /// 1: a caller went beyond the domain's limit because of the reader.
    pub is_beyond_limit: u32,
    /// How long the grace period has waited by now, in nanoseconds.
    pub waited: u64,
}

impl Limit {
    pub(in crate::rcu) const fn new() -> Limit {
        Limit {
            after: AtomicU64::new(0),
            tell: AtomicPtr::new(core::ptr::null_mut()),
            tell_c: AtomicPtr::new(core::ptr::null_mut()),
        }
    }

    pub(in crate::rcu) fn set(&self, after: Option<Duration>, tell: Option<fn(&Stall)>) {
        let after = after.map_or(NEVER, |after| u64::try_from(after.as_millis()).unwrap_or(NEVER).clamp(1, NEVER - 1));
        // Relaxed, both: independent words; a stall that sees one of them old is reported so.
        self.after.store(after, Ordering::Relaxed);
        self.tell.store(tell.map_or(core::ptr::null_mut(), |tell| tell as *mut ()), Ordering::Relaxed);
        self.tell_c.store(core::ptr::null_mut(), Ordering::Relaxed);
    }

    /// Does what `set` does, for a function of C.
    #[cfg(feature = "c")]
    pub(in crate::rcu) fn set_for_c(&self, after: Option<Duration>, tell: Option<extern "C-unwind" fn(*const CStall)>) {
        self.set(after, None);
        // Relaxed: as in `set`.
        self.tell_c.store(tell.map_or(core::ptr::null_mut(), |tell| tell as *mut ()), Ordering::Relaxed);
    }

    pub(in crate::rcu) fn get(&self) -> Option<Duration> {
        // Relaxed: as in `set`.
        match self.after.load(Ordering::Relaxed) {
            0 => Some(Duration::from_millis(DEFAULT_MS)),
            NEVER => None,
            after => Some(Duration::from_millis(after)),
        }
    }

    pub(in crate::rcu) fn tell(&self, stall: &Stall) {
        // Relaxed, both: as in `set`.
        let tell_c = self.tell_c.load(Ordering::Relaxed);
        if !tell_c.is_null() {
            // SAFETY: only `set_for_c` stores here, from such a function.
            let tell = unsafe { core::mem::transmute::<*mut (), extern "C-unwind" fn(*const CStall)>(tell_c) };
            let waited = stall.waited.as_nanos() as u64;
            return tell(&CStall { thread: stall.thread, is_beyond_limit: stall.is_beyond_limit.into(), waited });
        }
        let tell = self.tell.load(Ordering::Relaxed);
        if tell.is_null() {
            return process::print_error(format_args!("leeward: {stall}\n"));
        }
        // SAFETY: only `set` stores here, from a `fn(&Stall)`.
        let tell = unsafe { core::mem::transmute::<*mut (), fn(&Stall)>(tell) };
        tell(stall);
    }
}

/// The time until a grace period that sleeps reports the next stall.
pub(crate) struct Watch<'a> {
    limit: &'a Limit,
    start: Duration,
    /// When the next report is due, as time since `start`.
    due: Option<Duration>,
}

impl<'a> Watch<'a> {
    pub(in crate::rcu) fn start(limit: &'a Limit) -> Watch<'a> {
        Watch { limit, start: futex::now(), due: limit.get() }
    }

    fn waited(&self) -> Duration {
        futex::now().saturating_sub(self.start)
    }

    /// Returns the time at which the next report is due.
    pub(in crate::rcu) fn timeout(&self) -> Timeout {
        self.due.map_or(Timeout::Never, |due| Timeout::At(Deadline::at(self.start.saturating_add(due))))
    }

    /// Reports the reader if a report is due and the reader is still inside. Looks at the clock, so
    /// that sleeps that signals cut short count.
    pub(in crate::rcu) fn report_if_due(&mut self, slot: &Slot, counts: &Counts) {
        if slot.is_inside() {
            self.report(slot, counts);
        }
    }

    /// Does what `report_if_due` does, for a reader that the caller has seen inside.
    pub(in crate::rcu) fn report(&mut self, slot: &Slot, counts: &Counts) {
        let waited = self.waited();
        if self.due.is_none_or(|due| waited < due) {
            return;
        }
        self.due = self.limit.get().map(|limit| waited.saturating_add(limit));
        counts.stalls.add(1);
        let (_, thread, entered_at) = slot.holder();
        self.limit.tell(&Stall { thread, waited, entered_at, is_beyond_limit: false });
    }
}
