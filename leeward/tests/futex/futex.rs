//! The place to sleep against the kernel: WAKE_OP in all its combinations, deadlines, errno.

#![cfg(all(target_os = "linux", not(leeward_symmetric)))]
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;

use common::*;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use leeward::futex::{
    self, ALL, Argument, Changed, Comparison, Deadline, Futex, Operation, OutOfRange, Private, Shared, Timeout, Wait,
    WakeOp,
};

const OPERATIONS: [Operation; 5] = [Operation::Set, Operation::Add, Operation::Or, Operation::AndNot, Operation::Xor];
const COMPARISONS: [Comparison; 6] = [
    Comparison::Equal,
    Comparison::NotEqual,
    Comparison::Less,
    Comparison::LessOrEqual,
    Comparison::Greater,
    Comparison::GreaterOrEqual,
];
const EDGES: [i32; 7] = [-2048, -2047, -1, 0, 1, 2046, 2047];
const BITS: [u32; 4] = [0, 1, 30, 31];
const OLD: [u32; 12] = [
    0,
    1,
    2,
    2047,
    2048,
    i32::MAX as u32,
    i32::MIN as u32,
    u32::MAX,
    0u32.wrapping_sub(2),
    0u32.wrapping_sub(2048),
    0u32.wrapping_sub(2049),
    0x5555_5555,
];

fn arguments() -> impl Iterator<Item = Argument> {
    EDGES.into_iter().map(Argument::Value).chain(BITS.into_iter().map(Argument::Bit))
}

/// Computes what the word becomes, in 64 bits and by arithmetic, unlike the library.
fn expected(operation: Operation, argument: Argument, old: u32) -> u32 {
    let argument = match argument {
        Argument::Value(value) => i64::from(value).rem_euclid(1 << 32) as u64,
        Argument::Bit(bit) => 1u64 << bit,
    };
    let old = u64::from(old);
    let new = match operation {
        Operation::Set => argument,
        Operation::Add => (old + argument) % (1 << 32),
        Operation::Or => old | argument,
        Operation::AndNot => old - (old & argument),
        Operation::Xor => (old | argument) - (old & argument),
    };
    new as u32
}

fn compares(comparison: Comparison, old: u32, against: i32) -> bool {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let order = (old as i32).cmp(&against);
    match comparison {
        Comparison::Equal => order == Equal,
        Comparison::NotEqual => order != Equal,
        Comparison::Less => order == Less,
        Comparison::LessOrEqual => order != Greater,
        Comparison::Greater => order == Greater,
        Comparison::GreaterOrEqual => order != Less,
    }
}

/// Makes the kernel's call; returns its result, or its error.
fn raw_wake_op(word: &AtomicU32, on: &AtomicU32, encoded: u32) -> i64 {
    let operation = libc::FUTEX_WAKE_OP | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: two words of ours.
    let outcome = unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, 1, 1usize, on.as_ptr(), encoded) };
    if outcome < 0 { -i64::from(std::io::Error::last_os_error().raw_os_error().unwrap()) } else { outcome }
}

/// For each operation, kind of argument, comparison and edge value, the kernel does to the word
/// what the library says.
#[test]
fn the_kernel_stores_what_we_say() {
    let (word, on) = (AtomicU32::new(0), AtomicU32::new(0));
    let mut tried = 0;
    for operation in OPERATIONS {
        for argument in arguments() {
            for comparison in COMPARISONS {
                for against in EDGES {
                    let op = WakeOp::new(operation, argument, comparison, against).unwrap();
                    for old in OLD {
                        on.store(old, Ordering::Relaxed);
                        assert_eq!(raw_wake_op(&word, &on, op.encoded()), 0, "{op:?}");
                        let new = on.load(Ordering::Relaxed);
                        assert_eq!(new, expected(operation, argument, old), "{op:?} of {old:#x}");
                        assert_eq!(new, op.apply(old), "{op:?} of {old:#x}");
                        assert_eq!(op.holds(old), compares(comparison, old, against), "{op:?} of {old:#x}");
                        tried += 1;
                    }
                }
            }
        }
    }
    assert_eq!(tried, 5 * 11 * 6 * 7 * 12);
}

/// A thread that sleeps on a word until it is told to end, and counts how often it was woken.
struct Sleeper {
    word: Arc<AtomicU32>,
    woken: Arc<AtomicUsize>,
    end: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
    id: libc::pid_t,
}

impl Sleeper {
    fn new() -> Sleeper {
        let (word, woken) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicUsize::new(0)));
        let end = Arc::new(AtomicBool::new(false));
        let (tell, told) = std::sync::mpsc::channel();
        let thread = std::thread::spawn({
            let (word, woken, end) = (word.clone(), woken.clone(), end.clone());
            move || {
                // SAFETY: has no precondition.
                tell.send(unsafe { libc::gettid() }).unwrap();
                while !end.load(Ordering::Acquire) {
                    let value = word.load(Ordering::Relaxed);
                    if Private::wait(&word, value, Timeout::Never) == Wait::Woken {
                        woken.fetch_add(1, Ordering::Release);
                    }
                }
            }
        });
        let id = told.recv().unwrap();
        Sleeper { word, woken, end, thread: Some(thread), id }
    }

    fn count(&self) -> usize {
        self.woken.load(Ordering::Acquire)
    }

    fn sleeps(&self) {
        eventually("a thread sleeps", || is_asleep(self.id));
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Release);
        while !self.thread.as_ref().unwrap().is_finished() {
            self.word.fetch_add(1, Ordering::Relaxed);
            Private::wake(Arc::as_ptr(&self.word), 1);
            std::thread::yield_now();
        }
        let _ = self.thread.take().unwrap().join();
    }
}

/// Each comparison wakes the second word's sleeper exactly when it holds, as the number that the
/// call returns says.
#[test]
fn the_kernel_wakes_when_it_holds() {
    let _dog = Watchdog::new("the_kernel_wakes_when_it_holds");
    let sleeper = Sleeper::new();
    let nobody = AtomicU32::new(0);
    for comparison in COMPARISONS {
        for against in [-2048, 0, 2047] {
            for old in [against - 1, against, against + 1, i32::MIN, i32::MAX] {
                // The word keeps its value, so that the sleeper may sleep upon it.
                let op = WakeOp::new(Operation::Or, Argument::Value(0), comparison, against).unwrap();
                sleeper.word.store(old as u32, Ordering::Relaxed);
                Private::wake(Arc::as_ptr(&sleeper.word), 1);
                // It was woken, or was awake: if it sleeps now, then on this value.
                sleeper.sleeps();
                let before = sleeper.count();
                // SAFETY: the word is alive.
                let woken = unsafe { Private::wake_op(&nobody, 1, Arc::as_ptr(&sleeper.word), op, 1) };
                let holds = compares(comparison, old as u32, against);
                assert_eq!(woken, u32::from(holds), "{op:?} of {old}");
                if holds {
                    eventually("the sleeper is woken", || sleeper.count() > before);
                }
            }
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let make = |argument, against| WakeOp::new(Operation::Set, argument, Comparison::Equal, against);
    for value in [-2049, 2048, i32::MIN, i32::MAX] {
        assert_eq!(make(Argument::Value(value), 0), Err(OutOfRange::Value(value)));
        assert_eq!(make(Argument::Value(0), value), Err(OutOfRange::Value(value)));
        assert_eq!(make(Argument::Bit(0), value), Err(OutOfRange::Value(value)));
    }
    for bit in [32, 33, u32::MAX] {
        assert_eq!(make(Argument::Bit(bit), 0), Err(OutOfRange::Bit(bit)));
    }
    assert!(OutOfRange::Value(2048).to_string().contains("2048"));
    assert!(OutOfRange::Bit(32).to_string().contains("bit 32"));
}

macro_rules! both {
    ($($name:ident)*) => {
        mod private {
            $(#[test] fn $name() { super::$name::<super::Private>(); })*
        }
        mod shared {
            $(#[test] fn $name() { super::$name::<super::Shared>(); })*
        }
    };
}

both! {
    errno_stays
    nobody_sleeps
    deadlines
    counts_of_nothing
    a_changed_word
    a_word_that_is_gone
}

/// Every outcome leaves errno as it was.
fn errno_stays<F: Futex>() {
    let word = AtomicU32::new(1);
    let other = AtomicU32::new(0);
    // SAFETY: has no precondition.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: the calling thread's.
    unsafe { errno.write(12345) };
    assert_eq!(F::wait(&word, 0, Timeout::Never), Wait::Changed);
    assert_eq!(F::wait(&word, 1, Timeout::At(Deadline::at(Duration::ZERO))), Wait::TimedOut);
    F::wake(&word, 1);
    F::wake(std::ptr::null(), 1);
    // SAFETY: two words of ours.
    assert_eq!(unsafe { F::requeue(&word, 0, 1, &other, 1) }, Err(Changed));
    let op = WakeOp::new(Operation::Add, Argument::Value(1), Comparison::Equal, 0).unwrap();
    // SAFETY: two words of ours.
    unsafe { F::wake_op(&word, 1, &other, op, 1) };
    F::yield_now();
    F::now();
    // SAFETY: as above.
    assert_eq!(unsafe { errno.read() }, 12345);
}

fn nobody_sleeps<F: Futex>() {
    let (word, other) = (AtomicU32::new(7), AtomicU32::new(7));
    assert_eq!(F::wake(&word, ALL), 0);
    assert_eq!(F::wake(&word, u32::MAX), 0);
    // SAFETY: two words of ours.
    assert_eq!(unsafe { F::requeue(&word, 7, ALL, &other, u32::MAX) }, Ok(0));
    assert_eq!((word.into_inner(), other.into_inner()), (7, 7));
}

fn deadlines<F: Futex>() {
    let _dog = Watchdog::new("deadlines");
    let word = AtomicU32::new(0);
    assert_eq!(F::wait(&word, 0, Timeout::At(Deadline::at(Duration::ZERO))), Wait::TimedOut);
    assert_eq!(F::wait(&word, 0, Timeout::after::<F>(Duration::ZERO)), Wait::TimedOut);
    let soon = Deadline::after::<F>(Duration::from_millis(3));
    assert!(!Deadline::after::<F>(Duration::from_secs(3600)).has_passed::<F>());
    while F::wait(&word, 0, Timeout::At(soon)) != Wait::TimedOut {}
    assert!(soon.has_passed::<F>());
    // Times that no clock reaches, some of which the kernel cannot express, are as good as none.
    for absurd in [Duration::MAX, Duration::from_secs(i64::MAX as u64), Duration::from_secs(i64::MAX as u64 + 1)] {
        for deadline in [Deadline::at(absurd), Deadline::after::<F>(absurd)] {
            assert_eq!(F::wait(&word, 1, Timeout::At(deadline)), Wait::Changed);
            let (word, woken) = (AtomicU32::new(0), AtomicBool::new(false));
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    while word.load(Ordering::Relaxed) == 0 {
                        assert_ne!(F::wait(&word, 0, Timeout::At(deadline)), Wait::TimedOut, "{absurd:?}");
                    }
                    woken.store(true, Ordering::Release);
                });
                never("a sleeper without an end was woken", || woken.load(Ordering::Acquire));
                word.store(1, Ordering::Relaxed);
                F::wake(&word, 1);
            });
        }
    }
}

/// Calls that wake no thread beside a sleeper return 0.
fn counts_of_nothing<F: Futex>() {
    let _dog = Watchdog::new("counts_of_nothing");
    let (word, other, done) = (AtomicU32::new(0), AtomicU32::new(0), AtomicBool::new(false));
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // SAFETY: has no precondition.
            tell.send(unsafe { libc::gettid() }).unwrap();
            while word.load(Ordering::Relaxed) == 0 {
                F::wait(&word, 0, Timeout::Never);
            }
            done.store(true, Ordering::Release);
        });
        let id = told.recv().unwrap();
        eventually("the thread sleeps", || is_asleep(id));
        assert_eq!(F::wake(&word, 0), 0);
        // SAFETY: two words of ours.
        assert_eq!(unsafe { F::requeue(&word, 0, 0, &other, 0) }, Ok(0));
        let op = WakeOp::new(Operation::Add, Argument::Value(1), Comparison::GreaterOrEqual, 0).unwrap();
        // SAFETY: as above.
        assert_eq!(unsafe { F::wake_op(&word, 0, &other, op, 0) }, 0);
        assert_eq!(other.load(Ordering::Relaxed), 1, "the operation is done though nobody is woken");
        never("it was woken", || done.load(Ordering::Acquire));
        word.store(1, Ordering::Relaxed);
        assert_eq!(F::wake(&word, 1), 1);
    });
}

fn a_changed_word<F: Futex>() {
    let (word, other) = (AtomicU32::new(1), AtomicU32::new(0));
    assert_eq!(F::wait(&word, 2, Timeout::Never), Wait::Changed);
    // SAFETY: two words of ours.
    assert_eq!(unsafe { F::requeue(&word, 2, 1, &other, 1) }, Err(Changed));
    assert!(Changed.to_string().contains("expected value"));
}

/// A wake may come after the word was freed, and its page given back.
fn a_word_that_is_gone<F: Futex>() {
    // SAFETY: a page of our own.
    let page = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            4096,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    assert_ne!(page, libc::MAP_FAILED);
    // SAFETY: our page, which is not in use.
    unsafe { libc::munmap(page, 4096) };
    assert_eq!(F::wake(page.cast(), ALL), 0);
}

/// Private and shared words are found differently: a shared wake finds no private sleeper.
#[test]
fn private_and_shared_are_apart() {
    let _dog = Watchdog::new("private_and_shared_are_apart");
    let sleeper = Sleeper::new();
    sleeper.sleeps();
    assert_eq!(Shared::wake(Arc::as_ptr(&sleeper.word), ALL), 0);
    assert_eq!(futex::Private::wake(Arc::as_ptr(&sleeper.word), ALL), 1);
}
