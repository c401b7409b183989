//! A real-time thread and an ordinary one write the same keys on one processor. The real-time one
//! preempts the other in the midst of its calls, so it must sleep where it waits.

use super::*;

use std::time::Duration;

static VALUES: AtomicI64 = AtomicI64::new(0);

leeward::rcu_domain! { struct D; }

fn be_real_time() -> bool {
    let parameters = libc::sched_param { sched_priority: 1 };
    // SAFETY: parameters of ours, for the calling thread.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameters) == 0 }
}

/// Writes all containers, by a few keys.
fn write(containers: &Containers<D>, rng: &mut Rng) {
    let (key, more) = (rng.below(8), 100 + rng.below(100));
    let new = || Value::new(&VALUES);
    match rng.below(6) {
        0 => {
            drop(containers.map.insert(key, new()));
            drop(containers.ordered.insert(key, new()));
        }
        1 => {
            drop(containers.map.remove(&key));
            drop(containers.ordered.remove(&key));
        }
        2 => {
            drop(containers.map.update(key, |_| new()));
            drop(containers.ordered.update(key, |_| new()));
        }
        3 => {
            // The table grows and shrinks.
            (100..more).for_each(|key| drop(containers.map.insert(key, new())));
            (100..more).for_each(|key| drop(containers.map.remove(&key)));
        }
        4 => {
            containers.queue.push(new());
            containers.stack.push(new());
        }
        _ => {
            drop(containers.queue.try_pop());
            drop(containers.stack.pop());
            containers.map.reclaim();
        }
    }
}

#[test]
fn a_real_time_writer_beside_an_ordinary_one() {
    const TURNS: u64 = 3000;
    let _dog = Watchdog::new("a_real_time_writer_beside_an_ordinary_one");
    let containers = Containers::<D>::new();
    let (is_over, preempted) = (AtomicBool::new(false), Cell::new(0));
    let processor = processors()[0];
    thread::scope(|scope| {
        let (containers, is_over) = (&containers, &is_over);
        let ordinary = scope.spawn(move || {
            pin(processor);
            let mut rng = Rng::new(1);
            while !is_over.load(Relaxed) {
                write(containers, &mut rng);
            }
        });
        let real_time = scope.spawn(move || {
            let _ends = Raise(is_over);
            pin(processor);
            if !be_real_time() {
                println!("skipped: this process may have no real-time threads");
                return 0;
            }
            let mut rng = Rng::new(2);
            for _ in 0..TURNS {
                // The timer's interrupt comes at any instruction of the other thread.
                thread::sleep(Duration::from_nanos(10_000 + rng.below(50_000)));
                write(containers, &mut rng);
            }
            TURNS
        });
        preempted.set(real_time.join().unwrap());
        ordinary.join().unwrap();
    });
    println!("{} preemptions", preempted.get());
    drop(containers);
    assert_eq!(VALUES.load(Relaxed), 0);
}
