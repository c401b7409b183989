//! The watchdog, which finds lost wake-ups and hangs: a thread that checks the crew fifty times a
//! second.
//!
//! It counts its own checks and not time, so that its limit stands still where the whole machine
//! does. Checks do not count if a heavy fence has lasted since the last one: the fence that waits
//! for the kernel's own grace period (`membarrier-global`) has taken seven seconds on a busy
//! machine.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use leeward::fence;

use super::crew;
use super::violation::{Kind, report};

/// The time between two checks.
const LOOK: Duration = Duration::from_millis(20);
/// The time after which the library reports the reader that it waits for. Deliberately stuck
/// readers stay for a tenth of it.
pub const STALL_LIMIT: Duration = Duration::from_millis(500);
/// The number of checks at which every reader is outside while a thread waits, after which its
/// wake-up counts as lost.
const LONELY_LOOKS: u32 = 75;

/// The number of checks that a call may last.
static PATIENCE: AtomicU32 = AtomicU32::new(0);

/// Returns the seconds that a call may last before it is reported as stalled.
pub fn patience() -> u32 {
    // Relaxed: the word is set before any thread starts.
    PATIENCE.load(Ordering::Relaxed) * LOOK.as_millis() as u32 / 1000
}

/// Starts the watchdog, which ends with the process.
pub fn start(patience: u32) -> std::io::Result<()> {
    PATIENCE.store(patience * 1000 / LOOK.as_millis() as u32, Ordering::Relaxed);
    std::thread::Builder::new().name("watchdog".into()).spawn(watch).map(drop)
}

fn watch() {
    let mut before = 0;
    loop {
        crate::sys::sleep(LOOK);
        let fences = fence::counters().total();
        if fences == before && crate::sys::is_anybody_in_membarrier() {
            continue;
        }
        before = fences;
        let (mut longest, mut everybody_is_outside) = ((0, 0), true);
        for member in crew::members() {
            let (activity, inside) = member.activity();
            everybody_is_outside &= look(&member.seen_quiet, activity, !inside) >= LONELY_LOOKS;
            let (call, waiting) = member.call();
            longest = longest.max((look(&member.seen_call, call, waiting), member.thread()));
        }
        let (looks, thread) = longest;
        let details = [u64::from(thread), u64::from(looks) * LOOK.as_millis() as u64];
        if everybody_is_outside && looks >= LONELY_LOOKS {
            report(Kind::LostWake, details);
        }
        // Relaxed: the word was set before.
        if looks > PATIENCE.load(Ordering::Relaxed) {
            report(Kind::Stalled, details);
        }
    }
}

/// Returns for how many checks the word has been the same and `so` true. Relaxed, all: only the
/// watchdog writes these words.
fn look((word, looks): &(AtomicU64, AtomicU32), now: u64, so: bool) -> u32 {
    let same = word.swap(now, Ordering::Relaxed) == now && so;
    let count = if same { looks.load(Ordering::Relaxed) + 1 } else { 0 };
    looks.store(count, Ordering::Relaxed);
    count
}
