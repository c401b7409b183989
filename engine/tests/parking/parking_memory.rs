//! A process as a host in a memory of its own: no call uses the heap, and each goes on where the
//! memory has run out.

#![cfg(all(target_os = "linux", target_pointer_width = "64"))]
#![allow(missing_docs)]

#[path = "../common/bounded.rs"]
mod bounded;
#[path = "../common/mod.rs"]
mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::task::{Context, Waker};

use bounded::Bounded;
use common::until;
use leeward_engine::abi::{FUTEX_OWNER_DIED as DIED, Numbers};
use leeward_engine::parking::Process;
use leeward_engine::{
    Arithmetic, Clock, Comparison, Config, Deadline, Engine, Errno, Host, LockPi, Requeue, RobustHost, Wait, WaitEntry,
    WakeOp, WalkEnd, Word,
};

thread_local! {
    /// True while the calling thread is in a call of the engine.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// The system's heap, which ends the process where a thread uses it in a call of the engine.
struct Heap;

#[global_allocator]
static HEAP: Heap = Heap;

fn check() {
    // Where mutants are built in, each asks the environment for its name.
    if INSIDE.get() && !cfg!(leeward_mutants) {
        let line = b"the heap was used in a call of the engine\n";
        // SAFETY: a line of ours.
        unsafe { libc::write(2, line.as_ptr().cast(), line.len()) };
        std::process::abort();
    }
}

// SAFETY: the system's heap.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        check();
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        check();
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(block, layout) };
    }
}

/// Makes a call of the engine, in which the heap must not be used.
fn inside<T>(call: impl FnOnce() -> T) -> T {
    INSIDE.set(true);
    let answer = call();
    INSIDE.set(false);
    answer
}

struct Case {
    process: Process<Bounded>,
    engine: Engine<Process<Bounded>>,
    memory: Bounded,
    words: [AtomicU32; 4],
}

impl Case {
    /// Makes a process of which `blocks` blocks may be allocated; the engine has memory enough.
    fn new(blocks: usize) -> Case {
        let (memory, engines) = (Bounded::new(blocks), Bounded::new(8));
        inside(|| Case {
            // SAFETY: the case outlives its calls; one engine serves.
            process: unsafe { Process::new_in(4, 7, memory) },
            engine: Engine::new(Config::small(7).with_private_tables(), engines).unwrap(),
            memory,
            words: Default::default(),
        })
    }

    fn word(&self, index: usize) -> Word {
        Word::private(at(&self.words[index]))
    }

    fn waiters(&self) -> u64 {
        inside(|| self.engine.stats(&self.process).waiters + self.process.space().stats(&self.process).waiters)
    }

    fn wake(&self, count: u32) -> u32 {
        inside(|| self.engine.wake(&self.process, self.word(0), count, u32::MAX)).unwrap()
    }
}

fn at<T>(of: &T) -> u64 {
    std::ptr::from_ref(of).expose_provenance() as u64
}

fn past() -> Option<Deadline> {
    Some(Deadline { clock: Clock::Monotonic, at: 0 })
}

/// The kernel's `struct futex_waitv`.
#[repr(C)]
struct Element {
    value: u64,
    address: u64,
    flags: u64,
}

/// A robust list of one lock: the head's three words, then the entry and its lock's word.
#[derive(Default)]
#[repr(C)]
struct List {
    head: [AtomicU64; 3],
    entry: AtomicU64,
    word: AtomicU32,
}

/// Has the calling thread own the list's lock, and sets its head.
fn own(list: &List, process: &Process<Bounded>) {
    list.head[0].store(at(&list.entry), Ordering::SeqCst);
    list.head[1].store(8, Ordering::SeqCst);
    list.entry.store(at(list), Ordering::SeqCst);
    list.word.store(inside(|| process.thread_id()), Ordering::SeqCst);
    inside(|| process.set_robust_head(at(list)));
}

/// Waits, wakes, moves and locks, alone and with another thread.
fn use_all(case: &Case) {
    let (engine, process) = (&case.engine, &case.process);
    let wait = |until| inside(|| engine.wait(process, case.word(0), 0, u32::MAX, until));
    assert_eq!(wait(past()), Ok(Wait::TimedOut));
    let mut context = Context::from_waker(Waker::noop());
    let mut future = pin!(engine.wait_async(process, case.word(0), 0, u32::MAX));
    assert!(inside(|| future.as_mut().poll(&mut context)).is_pending());
    let moved = inside(|| engine.requeue(process, case.word(0), case.word(1), 0, 1, Some(0)));
    assert_eq!(moved, Ok(Requeue::Done(1)));
    let op = WakeOp { arithmetic: Arithmetic::Set, argument: 0, comparison: Some(Comparison::Equal), against: 0 };
    assert_eq!(inside(|| engine.wake_op(process, case.word(1), 1, case.word(2), op, 1)), Ok(1));
    assert!(inside(|| future.as_mut().poll(&mut context)).is_ready());
    let lock = || inside(|| engine.lock_pi(process, case.word(3), None));
    assert_eq!(lock(), Ok(LockPi::Acquired));
    std::thread::scope(|threads| {
        threads.spawn(|| {
            assert_eq!(wait(None), Ok(Wait::Woken));
            assert_eq!(lock(), Ok(LockPi::Acquired));
            inside(|| engine.unlock_pi(process, case.word(3))).unwrap();
        });
        until(|| case.wake(1) == 1);
        until(|| case.waiters() == 1);
        inside(|| engine.unlock_pi(process, case.word(3))).unwrap();
    });
}

/// Waits for `count` words by the system call, and by the call with room of the caller's.
fn wait_for_many(case: &Case, count: usize) -> [Result<u32, Errno>; 2] {
    let array: Vec<Element> =
        (0..count).map(|_| Element { value: 0, address: at(&case.words[0]), flags: 2 | 128 }).collect();
    let time = [0_u64; 2];
    let arguments = [at(&array[0]), count as u64, 0, at(&time), libc::CLOCK_MONOTONIC as u64, 0];
    let mut room: Box<[_]> = (0..count).map(|_| WaitEntry::new(Word::private(0), 0)).collect();
    let (engine, process) = (&case.engine, &case.process);
    let numbers = Numbers::X86_64;
    inside(|| {
        let by_number = engine.futex2(process, &numbers, numbers.futex_waitv, arguments).unwrap();
        [by_number, engine.futex_waitv_in(process, &mut room, arguments)]
    })
}

#[test]
fn no_call_uses_the_heap_where_the_host_has_memory_of_its_own() {
    let case = Case::new(1000);
    use_all(&case);
    for count in [1, 4, 5, 128] {
        assert_eq!(wait_for_many(&case, count), [Err(Errno::ETIMEDOUT); 2]);
    }
    std::thread::scope(|threads| {
        threads.spawn(|| {
            let list = List::default();
            own(&list, &case.process);
            let (walked, handed_on) = inside(|| case.process.exit_thread(&case.engine));
            assert_eq!((walked.marked, walked.end, handed_on), (1, WalkEnd::Whole, 0));
            assert_eq!(list.word.load(Ordering::SeqCst), DIED);
        });
    });
    assert_eq!(inside(|| case.process.exits().unrecorded()), 0);
    assert!(inside(|| case.process.exits().reserve(&case.process, 100)));
}

/// With no block, with one, and so on, until none is missing.
#[test]
fn calls_go_on_wherever_the_memory_runs_out() {
    for blocks in 0.. {
        let case = Case::new(blocks);
        use_all(&case);
        let few = wait_for_many(&case, 4);
        assert_eq!(few, [Err(Errno::ETIMEDOUT); 2], "4 words are waited for without memory");
        let unrecorded = std::thread::scope(|threads| {
            let thread = threads.spawn(|| {
                let list = List::default();
                own(&list, &case.process);
                let (walked, _) = inside(|| case.process.exit_thread(&case.engine));
                assert_eq!((walked.marked, walked.end), (1, WalkEnd::Whole), "{blocks} blocks");
                assert_eq!(inside(|| case.process.robust_head(0)), Ok(0));
                // What it owns by its word alone, it owns no more: others are told so, if there was
                // memory for the record.
                let unrecorded = inside(|| case.process.exits().unrecorded());
                case.words[3].store(case.process.thread_id(), Ordering::SeqCst);
                let asked = std::thread::scope(|threads| {
                    let ask = || inside(|| case.engine.lock_pi(&case.process, case.word(3), past()));
                    threads.spawn(ask).join().unwrap()
                });
                let expected = if unrecorded == 0 { Err(Errno::ESRCH) } else { Ok(LockPi::TimedOut) };
                assert_eq!(asked, expected, "{blocks} blocks");
                unrecorded
            });
            thread.join().unwrap()
        });
        let is_spent = case.memory.is_spent();
        let memory = case.memory;
        drop(case);
        // The dead thread's life is freed too, or was never allocated.
        assert!(memory.live() <= 1, "{blocks} blocks");
        if !is_spent {
            assert!(blocks > 4 && unrecorded == 0);
            return;
        }
    }
}

#[test]
fn a_head_that_there_was_no_room_for_is_not_the_childs() {
    let case = Case::new(0);
    let list = List::default();
    own(&list, &case.process);
    assert_eq!(inside(|| case.process.robust_head(0)), Ok(at(&list)));
    // SAFETY: the child asks one question, for which nothing is allocated, and ends.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let has_none = inside(|| case.process.robust_head(0)) == Ok(0);
        // SAFETY: ends the child.
        unsafe { libc::_exit(i32::from(!has_none)) };
    }
    let mut status = 1;
    // SAFETY: our child.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0);
    inside(|| case.process.set_robust_head(0));
    assert_eq!(inside(|| case.process.robust_head(0)), Ok(0));
}

static LAST: std::sync::OnceLock<Case> = std::sync::OnceLock::new();
static SERVED: AtomicBool = AtomicBool::new(false);

/// Runs after the destructors of the thread's variables, as libc's own do.
extern "C" fn at_the_end(_: *mut libc::c_void) {
    let case = LAST.get().unwrap();
    let list = List::default();
    own(&list, &case.process);
    let (engine, process) = (&case.engine, &case.process);
    let waited = inside(|| engine.wait(process, case.word(0), 0, u32::MAX, past()));
    let woken = inside(|| engine.wake(process, case.word(0), 1, u32::MAX));
    let locked = inside(|| engine.lock_pi(process, case.word(3), None));
    let unlocked = inside(|| engine.unlock_pi(process, case.word(3)));
    let (walked, _) = inside(|| process.exit_thread(engine));
    let is_right = (waited, woken, locked) == (Ok(Wait::TimedOut), Ok(0), Ok(LockPi::Acquired));
    SERVED.store(is_right && unlocked.is_ok() && walked.marked == 1, Ordering::SeqCst);
}

#[test]
fn a_thread_that_first_comes_after_its_destructors_is_served() {
    assert!(LAST.set(Case::new(1000)).is_ok());
    std::thread::spawn(|| {
        let mut key = 0;
        // SAFETY: fills ours, with a function of the program's.
        assert_eq!(unsafe { libc::pthread_key_create(&mut key, Some(at_the_end)) }, 0);
        // SAFETY: a key of ours; the value is only compared with null.
        assert_eq!(unsafe { libc::pthread_setspecific(key, std::ptr::without_provenance(1)) }, 0);
    })
    .join()
    .unwrap();
    assert!(SERVED.load(Ordering::SeqCst));
}

#[test]
fn a_waitv_that_is_woken_leaves_its_room_empty_for_the_next() {
    let case = Case::new(0);
    let array = [0, 1].map(|index: usize| Element { value: 0, address: at(&case.words[index]), flags: 2 | 128 });
    let arguments = [at(&array), 2, 0, 0, 0, 0];
    std::thread::scope(|threads| {
        let waiting = threads.spawn(|| {
            let mut room = [const { WaitEntry::new(Word::private(0), 0) }; 3];
            [0; 2].map(|_| inside(|| case.engine.futex_waitv_in(&case.process, &mut room, arguments)))
        });
        for _ in 0..2 {
            until(|| case.waiters() == 2);
            assert_eq!(case.wake(1), 1);
            until(|| case.waiters() == 0 || waiting.is_finished() || case.waiters() == 2);
        }
        assert_eq!(waiting.join().unwrap(), [Ok(0); 2]);
    });
}
