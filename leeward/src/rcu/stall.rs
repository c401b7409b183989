//! Stalls: a grace period that is older than a limit says which reader holds it up.

use core::panic::Location;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use core::time::Duration;

use super::slot::Slot;
use super::stats::Counts;
use crate::futex::{self, Deadline, Timeout};
use crate::process;

/// What is known of a reader that holds up a grace period.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Stall {
    /// The thread's number, as `ps -L` and `/proc` show it; 0 where it is not known.
    pub thread: u32,
    /// How long the grace period has waited by now.
    pub waited: Duration,
    /// True if a caller of [`defer`](super::Domain::defer) reports it, which went beyond the domain's limit because the
    /// grace period has not ended.
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

/// After how long the default limit reports.
const DEFAULT_MS: u64 = 10_000;

/// A domain's limit, and whom to tell.
pub(crate) struct Limit {
    /// Milliseconds; 0: never report.
    after: AtomicU64,
    /// A `fn(&Stall)`, or null for the default.
    tell: AtomicPtr<()>,
}

impl Limit {
    pub(super) const fn new() -> Limit {
        Limit { after: AtomicU64::new(DEFAULT_MS), tell: AtomicPtr::new(core::ptr::null_mut()) }
    }

    pub(super) fn set(&self, after: Option<Duration>, tell: Option<fn(&Stall)>) {
        let after = after.map_or(0, |after| u64::try_from(after.as_millis()).unwrap_or(u64::MAX).max(1));
        // Relaxed, both: independent words; a stall that sees one of them old is reported so.
        self.after.store(after, Ordering::Relaxed);
        self.tell.store(tell.map_or(core::ptr::null_mut(), |tell| tell as *mut ()), Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> Option<Duration> {
        // Relaxed: as in `set`.
        match self.after.load(Ordering::Relaxed) {
            0 => None,
            after => Some(Duration::from_millis(after)),
        }
    }

    pub(super) fn tell(&self, stall: &Stall) {
        // Relaxed: as in `set`.
        let tell = self.tell.load(Ordering::Relaxed);
        if tell.is_null() {
            return process::print_error(format_args!("leeward: {stall}\n"));
        }
        // SAFETY: only `set` stores here, from a `fn(&Stall)`.
        let tell = unsafe { core::mem::transmute::<*mut (), fn(&Stall)>(tell) };
        tell(stall);
    }
}

/// One grace period's time until the next report.
pub(crate) struct Watch<'a> {
    limit: &'a Limit,
    start: Duration,
    /// When the next report is due, since `start`.
    due: Option<Duration>,
}

impl<'a> Watch<'a> {
    pub(super) fn start(limit: &'a Limit) -> Watch<'a> {
        Watch { limit, start: futex::now(), due: limit.get() }
    }

    fn waited(&self) -> Duration {
        futex::now().saturating_sub(self.start)
    }

    /// When a report is due.
    pub(super) fn timeout(&self) -> Timeout {
        self.due.map_or(Timeout::Never, |due| Timeout::At(Deadline::at(self.start.saturating_add(due))))
    }

    /// Reports the reader if one is due and it is still there. By the clock: a sleep that signals cut short counts.
    pub(super) fn report_if_due(&mut self, slot: &Slot, counts: &Counts) {
        let waited = self.waited();
        if !slot.is_inside() || self.due.is_none_or(|due| waited < due) {
            return;
        }
        self.due = self.limit.get().map(|limit| waited.saturating_add(limit));
        counts.stalls.add(1);
        let (_, thread, entered_at) = slot.holder();
        self.limit.tell(&Stall { thread, waited, entered_at, is_beyond_limit: false });
    }
}
