//! Garbage in shared memory: words at the edges of any field, tried in a child, because the failure
//! to be found is that the process ends or hangs.

#![allow(dead_code, missing_docs)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use leeward::shared::Region;

use super::processes::{child, status_of};
use super::seccomp::{Action, Rule, When, refuse};
use super::{Rng, alone, patience};

/// Returns for each bit: that bit alone, all bits below it, all bits from it up, and one less than
/// those below it; each with every choice of the three highest bits, which are marks in most words;
/// and some random words.
pub fn words() -> Vec<u32> {
    let edges = (0..32).flat_map(|bit| {
        let alone = 1_u32 << bit;
        [alone, alone - 1, !(alone - 1), alone.wrapping_sub(2)]
    });
    let marked = edges.flat_map(|edge| (0..8_u32).map(move |marks| edge ^ marks << 29));
    let mut random = Rng::new(11);
    let mut words: Vec<_> = marked.chain((0..200).map(|_| random.next() as u32)).collect();
    words.sort_unstable();
    words.dedup();
    words
}

/// Runs `work` in a child with each of the words; it may panic, and nothing worse.
#[track_caller]
pub fn is_survived(what: &str, work: impl FnMut(u32)) {
    is_survived_with(what, &words(), work);
}

/// Runs `work` in a child with each of these words; it may panic, and nothing worse.
///
/// The child has [`patience`] for each word, not for all of them. Its yields return at once: some
/// calls yield a hundred times before they give up, and a busy machine may run other programs for
/// milliseconds at each.
#[track_caller]
pub fn is_survived_with(what: &str, words: &[u32], mut work: impl FnMut(u32)) {
    // Held by each test: a child that was forked while another thread reported a panic would wait
    // for that thread's locks.
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = alone(&ALONE);
    let progress = Region::<AtomicU64>::create(1, |value| *value.get_mut() = u64::MAX).unwrap();
    let child = child(|| {
        // A thousand panics are not printed.
        std::panic::set_hook(Box::new(|_| ()));
        refuse(&[Rule::new(libc::SYS_sched_yield, When::Always, Action::Errno(0))]);
        words.iter().for_each(|&word| {
            // SAFETY: ends a child that hangs.
            unsafe { libc::alarm(patience().as_secs() as u32) };
            progress.store(u64::from(word), Ordering::SeqCst);
            let _ = catch_unwind(AssertUnwindSafe(|| work(word)));
        });
        true
    });
    let status = status_of(child);
    assert_eq!(status, 0, "{what}: the word {:#x} ended the process", progress.load(Ordering::SeqCst));
}

/// Writes to the first `N` words of something shared, as any process that maps it can.
pub fn overwrite<T, const N: usize>(place: &T, words: [u32; N]) {
    assert!(size_of::<T>() >= 4 * N && align_of::<T>() >= 4);
    let place: *const AtomicU32 = core::ptr::from_ref(place).cast();
    for (at, word) in words.into_iter().enumerate() {
        // SAFETY: within `place`, whose words are atomic ones.
        let place = unsafe { &*place.wrapping_add(at) };
        place.store(word, Ordering::SeqCst);
    }
}

/// Writes to the word of this index of something shared, which is an atomic one.
pub fn overwrite_at<T>(place: &T, at: usize, word: u32) {
    assert!(size_of::<T>() >= 4 * (at + 1) && align_of::<T>() >= 4);
    let place: *const AtomicU32 = core::ptr::from_ref(place).cast();
    // SAFETY: within `place`.
    let place = unsafe { &*place.wrapping_add(at) };
    place.store(word, Ordering::SeqCst);
}
