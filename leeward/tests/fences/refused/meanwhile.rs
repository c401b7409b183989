//! A thread that is started between the listing of the threads and its end is missing from that
//! listing, and the next one must find it. A filter traps the listing's end; the thread that is
//! started there blocks all signals, so that finding it shows as a visit of the processors.

use super::*;
use std::sync::atomic::AtomicU32;

static ARMED: AtomicBool = AtomicBool::new(false);
/// 0: nothing; 1: the thread is to be started; 2: it runs.
static START: AtomicU32 = AtomicU32::new(0);

/// Runs at the end of the first listing, once.
fn listing_ended() {
    if ARMED.swap(false, Ordering::SeqCst) {
        START.store(1, Ordering::SeqCst);
        while START.load(Ordering::SeqCst) != 2 {
            std::hint::spin_loop();
        }
    }
}

pub fn run() {
    fence::force(Strategy::Signal).unwrap();
    if !seccomp::trap_the_end_of_listings(listing_ended) {
        println!("skipped: this machine's registers are not known to the test");
        return;
    }
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let _stop = Raise(&stop);
        scope.spawn(|| {
            while START.load(Ordering::SeqCst) != 1 {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                compute(100);
            }
            // The new thread inherits the mask; this one answers as soon as it may.
            block_signals(libc::SIG_BLOCK);
            let running = &AtomicBool::new(false);
            thread::scope(|inner| {
                inner.spawn(|| {
                    running.store(true, Ordering::SeqCst);
                    while !stop.load(Ordering::Relaxed) {
                        compute(100);
                    }
                });
                while !running.load(Ordering::SeqCst) {
                    compute(100);
                }
                block_signals(libc::SIG_UNBLOCK);
                START.store(2, Ordering::SeqCst);
            });
        });
        thread::sleep(Duration::from_millis(5));
        let mut quiet = fence::counters();
        // No thread blocks the signal; but one that gets no processor in time does not answer
        // either.
        eventually("every thread answers", || {
            let before = quiet;
            fence::heavy();
            quiet = fence::counters();
            quiet.visits == before.visits
        });
        ARMED.store(true, Ordering::SeqCst);
        fence::heavy();
        let after = fence::counters();
        assert_eq!(START.load(Ordering::SeqCst), 2, "the listing's end was not seen");
        assert!(after.visits > quiet.visits, "a thread that was started during the fence was not reached");
    });
}
