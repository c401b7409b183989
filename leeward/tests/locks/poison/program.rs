//! A program that was written for std, twice: with std's locks, and with the `use` line changed.

macro_rules! program {
    ($name:ident, $($sync:ident)::+) => {
        pub mod $name {
            use $($sync)::+::atomic::{AtomicUsize, Ordering};
            use $($sync)::+::mpsc::{self, Receiver};
            use $($sync)::+::{Arc, Condvar, LazyLock, Mutex, Once, OnceLock, PoisonError, RwLock};
            use std::thread;

            static MADE: LazyLock<usize> = LazyLock::new(|| 2);
            static NAMED: OnceLock<usize> = OnceLock::new();
            static STARTED: Once = Once::new();

            struct Queue {
                jobs: Mutex<Vec<usize>>,
                more: Condvar,
                limit: RwLock<usize>,
                done: AtomicUsize,
            }

            fn work(queue: &Queue) -> usize {
                let mut sum = 0;
                loop {
                    let mut jobs = queue.more.wait_while(queue.jobs.lock().unwrap(), |jobs| jobs.is_empty()).unwrap();
                    let Some(job) = jobs.pop().filter(|job| *job < *queue.limit.read().unwrap()) else {
                        return sum;
                    };
                    drop(jobs);
                    STARTED.call_once(|| NAMED.set(3).unwrap());
                    queue.done.fetch_add(1, Ordering::Relaxed);
                    sum += job;
                }
            }

            pub fn run() -> String {
                let queue = Arc::new(Queue {
                    jobs: Mutex::default(),
                    more: Condvar::new(),
                    limit: RwLock::new(0),
                    done: AtomicUsize::new(0),
                });
                *queue.limit.write().unwrap() = 7;
                let (sums, results): (_, Receiver<usize>) = mpsc::channel();
                let workers = [(); 2].map(|()| {
                    let (queue, sums) = (Arc::clone(&queue), sums.clone());
                    thread::spawn(move || sums.send(work(&queue)).unwrap())
                });
                for job in (0..7).chain([7, 7]) {
                    // The last ones, which end the workers, lie at the bottom.
                    let mut jobs = queue.jobs.lock().unwrap();
                    if job < 7 { jobs.push(job) } else { jobs.insert(0, job) }
                    queue.more.notify_one();
                }
                for worker in workers {
                    worker.join().unwrap();
                }
                drop(sums);
                let sum: usize = results.iter().sum();
                let poisons = Arc::clone(&queue);
                let is_noticed = thread::spawn(move || {
                    poisons.jobs.lock().unwrap().push(1);
                    let _jobs = poisons.jobs.lock().unwrap();
                    panic!("in the middle of a change");
                });
                let is_noticed = is_noticed.join().is_err() && queue.jobs.lock().is_err();
                let jobs = queue.jobs.lock().unwrap_or_else(PoisonError::into_inner).len();
                let done = queue.done.load(Ordering::Relaxed);
                let made = *MADE + NAMED.get().unwrap();
                format!("{done} jobs, {sum} in sum; a panic was noticed: {is_noticed}, {jobs}; made once: {made}")
            }
        }
    };
}

program! { with_std, std::sync }
program! { with_ours, leeward::sync::poison }
