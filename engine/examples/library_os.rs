//! A library OS in user space: guests whose threads are Linux threads, whose memory is a range of
//! addresses of their own, and whose futex calls the engine serves. The page "Library OS in user
//! space" explains it; each part is a file of `library_os_parts`:
//!
//! | part | what it shows |
//! |---|---|
//! | `memory.rs` | translation, pages that come when touched, the table behind `resolve_shared` |
//! | `threads.rs` | numbers, exits, signals that end a sleep; all in atomics |
//! | `host.rs` | the methods of `Host`, in the order in which to write them |
//! | `system.rs` | boot, the entry of system calls, the start and the exit of a thread |
//! | `guest.rs` | what the guests do |

#[path = "library_os_parts/guest.rs"]
mod guest;
#[path = "library_os_parts/host.rs"]
mod host;
#[path = "library_os_parts/memory.rs"]
mod memory;
#[path = "library_os_parts/system.rs"]
mod system;
#[path = "library_os_parts/threads.rs"]
mod threads;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::thread;

use host::Thread;
use leeward_engine::abi::{
    FUTEX_LOCK_PI, FUTEX_OWNER_DIED, FUTEX_PRIVATE_FLAG, FUTEX_TID_MASK, FUTEX_UNLOCK_PI, FUTEX_WAIT, FUTEX_WAITERS,
    FUTEX_WAKE, FUTEX2_PRIVATE, FUTEX2_SIZE_U32, ROBUST_HEAD_SIZE,
};
use memory::{END, Object, PAGE, START};
use system::{CALLS, EXIT, Process, System};

const PRIVATE: u32 = FUTEX_PRIVATE_FLAG;
/// The page of the guest's own memory, and where objects are mapped.
const OWN: u64 = START;
const SHARED: u64 = START + 4 * PAGE;
const READ_ONLY: u64 = START + 5 * PAGE;
const CUT: u64 = START + 6 * PAGE;

/// Four threads of a guest count under its mutex; returns what they counted.
fn mutex(process: &Arc<Process>) -> u32 {
    let (lock, count) = (OWN + 64, OWN + 128);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                process.run(|thread| {
                    for _ in 0..500 {
                        thread.lock(lock);
                        thread.set(count, thread.get(count) + 1);
                        thread.unlock(lock);
                    }
                });
            });
        }
    });
    process.run(|thread| thread.get(count))
}

/// Two guests take turns by a word of an object, which each has at another address.
fn turns(one: &Arc<Process>, other: &Arc<Process>) -> u32 {
    const TURNS: u32 = 1_000;
    let play = |process: &Arc<Process>, word: u64, me: u32| {
        process.run(|thread| {
            loop {
                let turn = thread.get(word);
                if turn >= TURNS {
                    return turn;
                }
                if turn % 2 == me {
                    thread.set(word, turn + 1);
                    thread.futex(word, FUTEX_WAKE, 1, 0);
                } else {
                    thread.futex(word, FUTEX_WAIT, turn, 0);
                }
            }
        })
    };
    thread::scope(|scope| {
        scope.spawn(|| play(other, SHARED + PAGE + 8, 1));
        play(one, SHARED + 8, 0)
    })
}

/// Waits for any of three words, of which the second is woken; returns the answer.
fn any_of_three(process: &Arc<Process>) -> i64 {
    let (words, list) = ([OWN + 256, SHARED + 256, OWN + 260], OWN + 512);
    let waits = AtomicU32::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            process.run(|thread| {
                while waits.load(SeqCst) == 0 || thread.futex(words[1], FUTEX_WAKE, 1, 0) == 0 {
                    thread::yield_now();
                }
            });
        });
        process.run(|thread| {
            for (place, word) in (list..).step_by(24).zip(words) {
                let scope = if word == words[1] { 0 } else { FUTEX2_PRIVATE };
                thread.write_all(place, &[0, word, (FUTEX2_SIZE_U32 | scope).into()]);
            }
            waits.store(1, SeqCst);
            thread.call(CALLS.futex_waitv, [list, 3, 0, 0, 0, 0])
        })
    })
}

/// A guest's signal ends a wait; returns the answer, and how often the handler has run.
fn signal(process: &Arc<Process>) -> (i64, u32) {
    let number = AtomicU32::new(0);
    let answer = thread::scope(|scope| {
        scope.spawn(|| {
            while number.load(SeqCst) == 0 {
                thread::yield_now();
            }
            process.system.threads.slot(number.load(SeqCst)).expect("a thread").signal();
        });
        process.run(|thread| {
            number.store(thread.number, SeqCst);
            thread.futex(OWN + 1024, FUTEX_WAIT | PRIVATE, 0, 0)
        })
    });
    (answer, process.handled.load(SeqCst))
}

/// Takes a robust lock and one with inheritance, as a C library does, and ends by `end` as soon as
/// threads wait for both.
fn own_and_end(thread: &Thread, robust: u64, lock: u64, end: impl FnOnce(&Thread)) {
    // The head of the list: its first entry, the distance from an entry to its word, no entry
    // pending. The first entry leads to the second, whose lock inherits (the lowest bit says so),
    // and that one back to the head.
    let (head, first, second) = (OWN + 2048, robust - 16, lock - 16);
    thread.write_all(head, &[first, 16, 0]);
    thread.write_all(first, &[second | 1]);
    thread.write_all(second, &[head]);
    assert_eq!(thread.call(CALLS.set_robust_list, [head, ROBUST_HEAD_SIZE, 0, 0, 0, 0]), 0);
    thread.set(robust, thread.number);
    assert_eq!(thread.futex(lock, FUTEX_LOCK_PI | PRIVATE, 0, 0), 0);
    while [robust, lock].iter().any(|word| thread.get(*word) & FUTEX_WAITERS == 0) {
        thread::yield_now();
    }
    end(thread);
}

/// A thread ends that owns two locks, for which others wait; asserts that they have them.
fn end_of_an_owner(process: &Arc<Process>, end: impl FnOnce(&Thread) + Send) {
    let (robust, lock) = (OWN + 3072, OWN + 3136);
    process.run(|thread| [robust, lock].iter().for_each(|word| thread.set(*word, 0)));
    thread::scope(|scope| {
        scope.spawn(|| {
            // A panic is an end like another.
            let _ = catch_unwind(AssertUnwindSafe(|| process.run(|thread| own_and_end(thread, robust, lock, end))));
        });
        scope.spawn(|| {
            process.run(|thread| {
                loop {
                    match thread.get(robust) {
                        0 => thread::yield_now(),
                        now if now & FUTEX_OWNER_DIED != 0 => break,
                        now => {
                            thread.exchange(robust, now, now | FUTEX_WAITERS);
                            // Robust lists wake by the shared key.
                            thread.futex(robust, FUTEX_WAIT, now | FUTEX_WAITERS, 0);
                        }
                    }
                }
            });
        });
        process.run(|thread| {
            while thread.get(lock) & FUTEX_TID_MASK == 0 {
                thread::yield_now();
            }
            assert_eq!(thread.futex(lock, FUTEX_LOCK_PI | PRIVATE, 0, 0), 0);
            assert_eq!(thread.get(lock) & FUTEX_TID_MASK, thread.number);
            assert_ne!(thread.get(lock) & FUTEX_OWNER_DIED, 0);
            assert_eq!(thread.futex(lock, FUTEX_UNLOCK_PI | PRIVATE, 0, 0), 0);
        });
    });
    process.run(|thread| assert_eq!(thread.get(robust) & FUTEX_TID_MASK, 0));
}

/// What calls answer, each with what Linux answers.
fn answers(process: &Arc<Process>) {
    process.run(|thread| {
        let wait = FUTEX_WAIT | PRIVATE;
        let time = OWN + 2 * PAGE;
        thread.write_all(time, &[0, 1_000_000]);
        let wake_op_on = |word| thread.call(CALLS.futex, [OWN, 5, 1, 1, word, 1 << 28]);
        for (what, answer, expected) in [
            ("wait, another value, on a page that no thread has touched", thread.futex(OWN + PAGE, wait, 1, 0), -11),
            ("wait for a millisecond", thread.futex(OWN, wait, 0, time), -110),
            ("wait where nothing is mapped", thread.futex(START + 9 * PAGE, wait, 0, 0), -14),
            ("wait behind the guest's addresses", thread.futex(END, wait, 0, 0), -14),
            ("wake-op on memory that may only be read", wake_op_on(READ_ONLY), -14),
            ("wait on it, another value", thread.futex(READ_ONLY, wait, 1, 0), -11),
            ("wait on what was cut from its object", thread.futex(CUT, wait, 0, 0), -14),
            ("a call that there is not", thread.call(1, [0; 6]), -38),
        ] {
            println!("{answer:>5}  {what}");
            assert_eq!(answer, expected, "{what}");
        }
    });
}

/// A guest with memory of its own, and two objects.
fn guest(system: &Arc<System>, shared: &Arc<Object>, place: u64) -> Arc<Process> {
    // In a system that is used: random numbers.
    let process = system.process(0x5eed);
    for page in 0..3 {
        process.memory.map_anonymous(OWN + page * PAGE);
    }
    process.memory.map(place, shared, 0, true);
    process
}

/// The child of a fork makes a system of its own: the copy of its parent's has the locks and the
/// waiters of threads that are not there.
fn child_of_a_fork() -> bool {
    // SAFETY: no other thread is there, so the child may do what a program does.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let system = System::boot(7);
        let process = guest(&system, &Object::new(1), SHARED);
        let fine = mutex(&process) == 2_000;
        // SAFETY: ends the process.
        unsafe { libc::_exit(i32::from(!fine)) };
    }
    let mut status = 0;
    // SAFETY: this process's child.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    status == 0
}

fn main() {
    let system = System::boot(0x5eed);
    let shared = Object::new(1);
    let one = guest(&system, &shared, SHARED);
    one.memory.map(READ_ONLY, &shared, 0, false);
    let cut = Object::new(1);
    one.memory.map(CUT, &cut, 0, true);
    cut.truncate(0);
    let other = guest(&system, &shared, SHARED + PAGE);

    assert_eq!(mutex(&one), 2_000);
    println!("four threads counted to 2000 under a mutex");
    assert_eq!(turns(&one, &other), 1_000);
    println!("two guests took 1000 turns by a word that each has at another address");
    assert_eq!(any_of_three(&one), 1);
    println!("a wait for any of three words was ended by the second");
    assert_eq!(signal(&one), (-4, 1));
    println!("a signal ended a wait, and its handler ran");
    end_of_an_owner(&one, |thread| assert_eq!(thread.call(EXIT, [0; 6]), 0));
    println!("a thread exited: the waiters for its two locks went on");
    end_of_an_owner(&one, |_| resume_unwind(Box::new("the guest's thread panics")));
    println!("a thread panicked: they went on, too");
    answers(&one);
    assert!(child_of_a_fork());
    println!("the child of a fork has a system of its own");
    let own = one.run(|thread| one.space.stats(thread));
    assert!(own.queued >= 1 && own.waiters == 0);
}
