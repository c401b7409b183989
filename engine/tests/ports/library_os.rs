//! The library OS of the examples as a host: how much of its guests' stacks a call takes, and
//! signals that come whenever they like.

#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
#![allow(missing_docs)]
// The example uses all of it.
#![allow(dead_code)]

#[path = "../../examples/library_os_parts/guest.rs"]
mod guest;
#[path = "../../examples/library_os_parts/host.rs"]
mod host;
#[path = "../../examples/library_os_parts/memory.rs"]
mod memory;
#[path = "../common/painted.rs"]
mod painted;
#[path = "../../examples/library_os_parts/system.rs"]
mod system;
#[path = "../../examples/library_os_parts/threads.rs"]
mod threads;

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, OnceLock};
use std::thread;

use leeward_engine::abi::{
    FUTEX_LOCK_PI, FUTEX_PRIVATE_FLAG, FUTEX_TID_MASK, FUTEX_UNLOCK_PI, FUTEX_WAIT, FUTEX_WAITERS, FUTEX_WAKE,
    FUTEX2_PRIVATE, FUTEX2_SIZE_U32,
};
use leeward_engine::parking::user_memory;
use leeward_engine::{Address, Fault, Host};
use memory::{END, Object, PAGE, START};
use painted::depth;
use system::{CALLS, EXIT, Process, System};

const PRIVATE: u32 = FUTEX_PRIVATE_FLAG;
const WORD: Address = START + 64;
const LOCK: Address = START + 128;
const TIME: Address = START + 256;
const LIST: Address = START + PAGE;
/// The page of an object that is shorter than its mapping.
const CUT: Address = START + 4 * PAGE;

/// The bytes of its thread's stack that a call takes at most, in a build that is not optimized as
/// much as a release; the page "Library OS in user space" has those of one.
const MOST: usize = 8 << 10;

fn guest(system: &Arc<System>) -> Arc<Process> {
    let process = system.process(7);
    for page in 0..3 {
        process.memory.map_anonymous(START + page * PAGE);
    }
    let cut = Object::new(1);
    process.memory.map(CUT, &cut, 0, true);
    cut.truncate(0);
    process
}

/// A guest with one thread, so that a painted thread's calls are those of the second.
fn process() -> &'static Arc<Process> {
    static PROCESS: OnceLock<Arc<Process>> = OnceLock::new();
    PROCESS.get_or_init(|| {
        let process = guest(&System::boot(7));
        process.run(|thread| {
            thread.write_all(TIME, &[0, 1_000_000]);
            for place in 0..128 {
                let flags = (FUTEX2_SIZE_U32 | FUTEX2_PRIVATE).into();
                thread.write_all(LIST + 24 * place, &[0, WORD, flags]);
            }
        });
        process
    })
}

/// Makes a call as a thread of the guest.
fn call(answers: &[i64], number: u64, arguments: [u64; 6]) {
    let answer = process().run(|thread| thread.call(number, arguments));
    assert!(answers.contains(&answer), "{answer}");
}

#[test]
fn calls_take_so_much_of_a_guests_stack_and_no_more() {
    process();
    let begin: fn() = || process().run(|_| ());
    let wait: fn() = || call(&[-110], CALLS.futex, [WORD, (FUTEX_WAIT | PRIVATE).into(), 0, TIME, 0, 0]);
    let wake: fn() = || call(&[0], CALLS.futex, [WORD, (FUTEX_WAKE | PRIVATE).into(), 1, 0, 0, 0]);
    let fault: fn() = || call(&[-14], CALLS.futex, [CUT, (FUTEX_WAIT | PRIVATE).into(), 0, 0, 0, 0]);
    let any: fn() = || call(&[-11], CALLS.futex_waitv, [LIST, 128, 0, 0, 0, 0]);
    let lock: fn() = || {
        process().run(|thread| {
            assert_eq!(thread.futex(LOCK, FUTEX_LOCK_PI | PRIVATE, 0, 0), 0);
            assert_eq!(thread.futex(LOCK, FUTEX_UNLOCK_PI | PRIVATE, 0, 0), 0);
        });
    };
    let exit: fn() = || call(&[0], EXIT, [0; 6]);
    process().run(|thread| thread.set(LIST + 24 * 127, 1));
    let calls = [
        ("a thread's begin and end", begin),
        ("a wait that ends by time", wait),
        ("a wake", wake),
        ("a wait on 128 words", any),
        ("a lock with inheritance", lock),
        ("an exit", exit),
    ];
    let depths: Vec<_> = calls.into_iter().map(|(name, call)| (name, depth(call))).collect();
    for (name, depth) in &depths {
        println!("{depth:>6}  {name}");
    }
    // The signal's frame is as large as the processor's registers.
    println!("{:>6}  a wait on memory that is not there, without an alternative stack", depth(fault));
    assert!(depths.iter().all(|(_, depth)| *depth <= MOST), "{depths:?}");
}

#[test]
fn a_signal_ends_a_wait_whenever_it_comes() {
    let process = guest(&System::boot(8));
    let (number, rounds) = (AtomicU32::new(0), AtomicU32::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            for round in 1..=500 {
                while rounds.load(SeqCst) != round {
                    thread::yield_now();
                }
                // A little later each time: before the call, in it, in its spin, and asleep.
                for _ in 0..round * 20 {
                    std::hint::spin_loop();
                }
                process.system.threads.slot(number.load(SeqCst)).unwrap().signal();
            }
        });
        process.run(|thread| {
            number.store(thread.number, SeqCst);
            for round in 1..=500 {
                rounds.store(round, SeqCst);
                assert_eq!(thread.futex(WORD, FUTEX_WAIT | PRIVATE, 0, 0), -4);
                assert_eq!(process.handled.load(SeqCst), round);
            }
        });
    });
}

#[test]
fn a_wait_for_a_lock_begins_again_after_a_signal() {
    let process = guest(&System::boot(9));
    let number = AtomicU32::new(0);
    thread::scope(|scope| {
        let waits = process.run(|thread| {
            assert_eq!(thread.futex(LOCK, FUTEX_LOCK_PI | PRIVATE, 0, 0), 0);
            let waits = scope.spawn(|| {
                process.run(|thread| {
                    number.store(thread.number, SeqCst);
                    assert_eq!(thread.futex(LOCK, FUTEX_LOCK_PI | PRIVATE, 0, 0), 0);
                    assert_eq!(thread.get(LOCK) & FUTEX_TID_MASK, thread.number);
                    thread.futex(LOCK, FUTEX_UNLOCK_PI | PRIVATE, 0, 0)
                })
            });
            while thread.get(LOCK) & FUTEX_WAITERS == 0 {
                thread::yield_now();
            }
            // Each is taken and handled while the lock is this thread's.
            for round in 1..=20 {
                process.system.threads.slot(number.load(SeqCst)).unwrap().signal();
                while process.handled.load(SeqCst) != round {
                    thread::yield_now();
                }
            }
            assert_eq!(thread.futex(LOCK, FUTEX_UNLOCK_PI | PRIVATE, 0, 0), 0);
            waits
        });
        assert_eq!(waits.join().unwrap(), 0);
    });
}

#[test]
fn the_guest_reaches_its_own_memory_and_no_other() {
    let process = guest(&System::boot(10));
    let before = [0xa5_u8; 64];
    process.run(|thread| {
        for address in [0, START - 4, END, END + PAGE, u64::MAX - 3, before.as_ptr().expose_provenance() as u64] {
            assert_eq!(thread.load(address), Err(Fault), "{address:#x}");
            assert_eq!(thread.compare_exchange(address, 0, 1), Err(Fault), "{address:#x}");
            assert_eq!(thread.read(address, &mut [0; 8]), Err(Fault), "{address:#x}");
            assert_eq!(leeward_engine::RobustHost::write(thread, address, &[0; 8]), Err(Fault), "{address:#x}");
        }
        // The last bytes, and one more.
        assert_eq!(leeward_engine::RobustHost::write(thread, END - 8, &[0; 9]), Err(Fault));
        assert_eq!(thread.read(END - 8, &mut [0; 9]), Err(Fault));
    });
    assert_eq!(before, [0xa5; 64]);
    // The host's memory beside the guest's is not the guest's either.
    assert_eq!(user_memory::load_u8((&raw const before).expose_provenance() as u64), Ok(0xa5));
}
