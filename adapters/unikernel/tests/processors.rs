//! The adapter on a machine of several processors: tasks are threads of the test, which run at
//! once. A task blocks on a condition variable of its own, and is marked as blocked under the lock
//! that stands for its run queue's.

#![allow(missing_docs)]

use std::cell::RefCell;
use std::num::NonZeroU64;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use leeward_engine::Config;
use leeward_engine::abi::Numbers;
use leeward_unikernel::{BlockEnd, Futexes, System};

const TIMED_OUT: i64 = -110;

#[derive(Default)]
struct Task {
    is_blocked: Mutex<bool>,
    ready: Condvar,
}

thread_local! {
    static CURRENT: RefCell<Arc<Task>> = RefCell::default();
}

struct Machine {
    /// Words 0 to 3 are the program's; a time of 16 bytes begins at word 4.
    memory: [AtomicU32; 8],
    ticks: AtomicU64,
    /// The tasks that are blocked with a tick.
    timers: Mutex<Vec<(u64, Arc<Task>)>>,
}

impl Machine {
    /// The handler of the timer's interrupt.
    fn tick(&self) {
        let now = self.ticks.fetch_add(1, SeqCst) + 1;
        let due: Vec<_> = self.timers.lock().unwrap().extract_due(now);
        due.into_iter().for_each(|task| make_ready(&task));
    }
}

trait Timers {
    fn extract_due(&mut self, now: u64) -> Vec<Arc<Task>>;
}

impl Timers for Vec<(u64, Arc<Task>)> {
    fn extract_due(&mut self, now: u64) -> Vec<Arc<Task>> {
        let (due, later) = self.drain(..).partition(|(tick, _)| *tick <= now);
        *self = later;
        due.into_iter().map(|(_, task): (u64, Arc<Task>)| task).collect()
    }
}

fn make_ready(task: &Task) {
    let mut is_blocked = task.is_blocked.lock().unwrap();
    if core::mem::take(&mut *is_blocked) {
        task.ready.notify_one();
    }
}

// SAFETY: the memory is the machine's, which lives as long as this; a thread's stack goes after its
// program has ended.
unsafe impl System for Machine {
    type Task = Arc<Task>;

    fn current(&self) -> Arc<Task> {
        CURRENT.with_borrow(Arc::clone)
    }

    fn thread_id(&self) -> u32 {
        1
    }

    fn threads(&self) -> u32 {
        4
    }

    fn block_current(&self, still_waiting: &dyn Fn() -> bool, until: Option<u64>) -> BlockEnd {
        let me = self.current();
        let mut is_blocked = me.is_blocked.lock().unwrap();
        *is_blocked = true;
        if let Some(tick) = until {
            self.timers.lock().unwrap().push((tick, Arc::clone(&me)));
        }
        // The tick is looked at after the timer is in the list: a tick in between is seen here or
        // finds the timer.
        if !still_waiting() || until.is_some_and(|tick| tick <= self.ticks()) {
            *is_blocked = false;
        }
        while *is_blocked {
            is_blocked = me.ready.wait(is_blocked).unwrap();
        }
        drop(is_blocked);
        self.timers.lock().unwrap().retain(|(_, task)| !Arc::ptr_eq(task, &me));
        BlockEnd::Ready
    }

    fn make_ready(&self, task: Arc<Task>) {
        make_ready(&task);
    }

    fn ticks(&self) -> u64 {
        self.ticks.load(SeqCst)
    }

    fn tick_nanos(&self) -> NonZeroU64 {
        NonZeroU64::new(1_000).unwrap()
    }

    fn disable_preemption(&self) {}

    fn enable_preemption(&self) {}

    fn user_range(&self) -> Range<u64> {
        let start = self.memory.as_ptr().expose_provenance() as u64;
        start..start + 32
    }

    fn robust_head(&self, _: u32) -> Option<u64> {
        Some(0)
    }

    fn set_robust_head(&self, _: u64) {}
}

struct Kernel(Futexes<Machine>);

impl Kernel {
    fn new() -> Kernel {
        let machine = Machine { memory: Default::default(), ticks: AtomicU64::new(0), timers: Mutex::new(Vec::new()) };
        let config = Config::small(7).with_private_tables();
        Kernel(Futexes::new(machine, config, 0x5eed).unwrap())
    }

    fn word(&self, number: usize) -> &AtomicU32 {
        &self.0.local().system().memory[number]
    }

    fn futex(&self, number: usize, operation: u64, value: u32, time: bool) -> i64 {
        let address = |number| self.0.local().system().user_range().start + 4 * number as u64;
        let time = if time { address(4) } else { 0 };
        let arguments = [address(number), operation | 128, value.into(), time, 0, 0];
        self.0.syscall(&Numbers::X86_64, 202, arguments).unwrap()
    }

    /// A mutex of three states, as a C library has it.
    fn lock(&self, number: usize) {
        let word = self.word(number);
        if word.compare_exchange(0, 1, SeqCst, SeqCst).is_ok() {
            return;
        }
        while word.swap(2, SeqCst) != 0 {
            self.futex(number, 0, 2, false);
        }
    }

    fn unlock(&self, number: usize) {
        if self.word(number).swap(0, SeqCst) == 2 {
            self.futex(number, 1, 1, false);
        }
    }
}

#[test]
fn four_threads_on_several_processors_exclude_one_another() {
    let kernel = Kernel::new();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..5_000 {
                    kernel.lock(0);
                    // Lost if two are inside.
                    let count = kernel.word(1).load(SeqCst);
                    kernel.word(1).store(count + 1, SeqCst);
                    kernel.unlock(0);
                }
            });
        }
    });
    assert_eq!(kernel.word(1).load(SeqCst), 20_000);
}

#[test]
fn ticks_on_another_processor_end_waits_and_lose_no_wake() {
    let kernel = Kernel::new();
    // Two ticks.
    kernel.word(6).store(2_000, SeqCst);
    let woken = AtomicU32::new(0);
    let left = AtomicU32::new(3);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..500 {
                    match kernel.futex(0, 0, 0, true) {
                        0 => _ = woken.fetch_add(1, SeqCst),
                        end => assert_eq!(end, TIMED_OUT),
                    }
                }
                left.fetch_sub(1, SeqCst);
            });
        }
        let mut counted = 0;
        while left.load(SeqCst) > 0 {
            kernel.0.local().system().tick();
            counted += kernel.futex(0, 1, 1, false);
        }
        // Each that was counted was woken, and no other.
        assert_eq!(counted, i64::from(woken.load(SeqCst)));
    });
}
