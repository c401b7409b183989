//! One grace period for many callers.

use super::*;

/// Starts threads that wait for a grace period while another runs; returns when all sleep.
fn all_asleep<D: Domain>(count: usize) -> Vec<thread::JoinHandle<()>> {
    let (tell, told) = channel();
    let caller = |tell: std::sync::mpsc::Sender<_>| {
        // SAFETY: has no precondition.
        tell.send(unsafe { libc::gettid() }).unwrap();
        D::synchronize();
    };
    let spawn = |_| {
        let tell = tell.clone();
        thread::spawn(move || caller(tell))
    };
    let callers: Vec<_> = (0..count).map(spawn).collect();
    let ids: Vec<_> = told.iter().take(count).collect();
    eventually("all of them sleep", || ids.iter().all(|&id| is_asleep(id)));
    callers
}

/// All callers that come while a grace period runs are served by the next one, and all of them wake
/// up.
#[test]
fn sixteen_callers() {
    domain!();
    let _dog = Watchdog::new("sixteen_callers");
    for _ in 0..5 {
        let inside = Inside::new::<D>();
        let first = asleep::<D>();
        let before = D::stats().grace_periods;
        let others = all_asleep::<D>(16);
        assert!(others.iter().all(|other| !other.is_finished()));
        inside.leave();
        first.join().unwrap();
        others.into_iter().for_each(|other| other.join().unwrap());
        let grace_periods = D::stats().grace_periods - before;
        // One grace period each for the first caller and for all others; one more if a caller slept
        // on its way.
        assert!(grace_periods <= 4, "{grace_periods} grace periods for 17 callers");
    }
}

/// Runs callers that meet at any moment, in rounds, so that the next round misses a caller that is
/// not woken.
fn rounds<D: Domain>(callers: usize, time: Duration) {
    let (start, end) = (Barrier::new(callers), Instant::now() + time);
    let (stop, served) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        for caller in 0..callers {
            let (start, stop, served) = (&start, &stop, &served);
            scope.spawn(move || {
                let mut rng = Rng::new(caller as u64);
                loop {
                    if caller == 0 && Instant::now() > end {
                        stop.store(true, Ordering::Relaxed);
                    }
                    start.wait();
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                    for _ in 0..100 {
                        let before = served.fetch_add(1, Ordering::Relaxed);
                        // All arrive before any of them begins the next round.
                        while served.load(Ordering::Relaxed) / callers as u64 <= before / callers as u64 {
                            thread::yield_now();
                        }
                        compute(rng.below(2_000));
                        D::synchronize();
                    }
                }
            });
        }
    });
}

#[test]
fn two_callers_in_rounds() {
    domain!();
    let _dog = Watchdog::within("two_callers_in_rounds", patience());
    rounds::<D>(2, duration(1.0));
}

#[test]
fn three_callers_in_rounds() {
    domain!();
    let _dog = Watchdog::within("three_callers_in_rounds", patience());
    rounds::<D>(3, duration(1.0));
}

/// A reader holds every grace period up, so that followers certainly sleep.
#[test]
fn callers_beside_a_slow_reader() {
    domain!();
    let _dog = Watchdog::within("callers_beside_a_slow_reader", patience());
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let _stop = Raise(&stop);
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let guard = D::read();
                thread::sleep(Duration::from_micros(100));
                drop(guard);
            }
        });
        rounds::<D>(3, duration(0.5));
        stop.store(true, Ordering::Relaxed);
    });
}

/// A poll that answered yes never answers no again, whichever thread leads meanwhile.
#[test]
fn true_once_is_true_for_ever() {
    domain!();
    let _dog = Watchdog::new("true_once_is_true_for_ever");
    let stop = AtomicBool::new(false);
    let end = Instant::now() + duration(1.0);
    thread::scope(|scope| {
        let _stop = Raise(&stop);
        for _ in 0..3 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    D::synchronize();
                }
            });
        }
        let mut again = Vec::new();
        'all: while Instant::now() < end || again.is_empty() {
            let cookie = D::start_poll();
            while !D::poll_state(&cookie) {
                if Instant::now() > end && !again.is_empty() {
                    break 'all;
                }
            }
            let firm = (0..200).all(|_| D::poll_state(&cookie));
            again.push(firm);
            if !firm {
                break;
            }
        }
        stop.store(true, Ordering::Relaxed);
        assert!(again.iter().all(|firm| *firm), "a poll that said yes said no afterwards");
        assert!(!again.is_empty());
    });
}
