//! Inlined readers and real-time threads on one processor: a thread that waits sleeps, so that the thread
//! of lower priority that it waits for gets to run.

use super::*;

fn be_real_time() -> bool {
    let parameters = libc::sched_param { sched_priority: 1 };
    // SAFETY: parameters of ours, for the calling thread.
    let is_allowed = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameters) == 0 };
    if !is_allowed {
        println!("skipped: this process may have no real-time threads");
    }
    is_allowed
}

/// Returns how often the calling thread has left the processor by itself.
fn voluntary_switches() -> i64 {
    // SAFETY: zeroed is a value of it.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is ours to write.
    assert_eq!(unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) }, 0);
    usage.ru_nvcsw
}

/// An ordinary reader is inside its section when a real-time thread of the same processor asks for a
/// grace period. It stays inside until the grace period has begun, which takes the processor: so the
/// writer leaves it, by itself, or nothing ends. In half of the rounds a second reader comes and goes
/// meanwhile, whose wakes are not those that the writer waits for.
#[test]
fn a_real_time_writer_beside_an_ordinary_reader() {
    fn waits<F: Flavour>() {
        const ROUNDS: u64 = 20;
        let processor = processors()[0];
        let (rounds, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
        let (inside, is_inside) = channel();
        let era = || F::gp().copied.load(Ordering::SeqCst);
        thread::scope(|scope| {
            let (rounds, is_over) = (&rounds, &is_over);
            let _over = Raise(is_over);
            scope.spawn(move || {
                pin(processor);
                F::enroll();
                for _ in 0..ROUNDS {
                    F::lock();
                    let before = era();
                    if inside.send(()).is_err() {
                        break;
                    }
                    while era() == before && !is_over.load(Ordering::Relaxed) {
                        compute(100);
                    }
                    F::unlock();
                    rounds.fetch_add(1, Ordering::Relaxed);
                }
            });
            scope.spawn(move || {
                pin(processor);
                F::enroll();
                while !is_over.load(Ordering::Relaxed) {
                    if rounds.load(Ordering::Relaxed) < ROUNDS / 2 {
                        thread::sleep(Duration::from_millis(1));
                    }
                    F::lock();
                    F::unlock();
                }
            });
            let writer = scope.spawn(move || {
                let _over = Raise(is_over);
                pin(processor);
                if !be_real_time() {
                    return;
                }
                for round in 0..ROUNDS {
                    is_inside.recv().unwrap();
                    let before = voluntary_switches();
                    assert_eq!(F::raw().synchronize(), Ok(()));
                    assert_ne!(voluntary_switches(), before, "round {round}: the writer kept the processor");
                }
            });
            writer.join().unwrap();
        });
    }
    in_each_flavour("a real-time writer", [waits::<Memb>, waits::<Mb>, waits::<Bp>]);
}

/// A real-time reader exits while an ordinary leader of the same processor may be in the midst of a
/// look at its count: it waits for the end of the look, for which the leader needs the processor.
#[test]
fn real_time_readers_that_exit_beside_an_ordinary_leader() {
    fn exits<F: Flavour>() {
        const READERS: u64 = 200;
        let processor = processors()[0];
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            let is_over = &is_over;
            let _over = Raise(is_over);
            scope.spawn(move || {
                pin(processor);
                while !is_over.load(Ordering::Relaxed) {
                    assert_eq!(F::raw().synchronize(), Ok(()));
                }
            });
            let mut rng = Rng::new(3);
            for _ in 0..READERS {
                // The timer's interrupt comes at any instruction of the leader.
                let rest = Duration::from_nanos(10_000 + rng.below(50_000));
                let reader = move || {
                    pin(processor);
                    if !be_real_time() {
                        return false;
                    }
                    F::enroll();
                    F::lock();
                    F::unlock();
                    thread::sleep(rest);
                    true
                };
                if !thread::spawn(reader).join().unwrap() {
                    break;
                }
            }
        });
    }
    in_each_flavour("real-time readers that exit", [exits::<Memb>, exits::<Mb>, exits::<Bp>]);
}
