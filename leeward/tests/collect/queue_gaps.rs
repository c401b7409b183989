//! Consumers that wait for slots which were claimed and not filled; in bounded queues, producers too that wait
//! for slots which were claimed and not emptied. The other thread is stopped between its two steps by a page of
//! its slot that may not be touched: it stands in the handler of that fault.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;

use common::*;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, Once, PoisonError};
use std::thread::{self, JoinHandle};

use leeward::collect::{Bounded, Queue, TryPop};
use leeward::futex::{Changed, Deadline, Futex, Private, Timeout, Wait, WakeOp};

const PAGE: usize = 4096;

/// A value that fills pages. A block has four slots for such values.
type Value = [u8; 4 * PAGE];

/// Remembers where the calling thread's last block lies.
struct Remembering;

thread_local! {
    static BLOCK: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: the system's allocator.
unsafe impl GlobalAlloc for Remembering {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        let memory = unsafe { System.alloc(layout) };
        if layout.size() > 4 * size_of::<Value>() {
            BLOCK.set(memory.addr());
        }
        memory
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Remembering = Remembering;

/// How many kinds of futex there are: more than the library has places for.
const KINDS: usize = 12;

/// A place to sleep of the test's own, which no other kind's wake reaches.
#[derive(Debug)]
struct Lot<const KIND: usize>;

/// How many threads sleep in each lot, and where.
static LOTS: [(Mutex<u32>, Condvar); KINDS] = [const { (Mutex::new(0), Condvar::new()) }; KINDS];

fn asleep(kind: usize) -> u32 {
    *LOTS[kind].0.lock().unwrap()
}

// SAFETY: the comparison and the sleep are one step under the lot's lock, which a wake takes.
unsafe impl<const KIND: usize> Futex for Lot<KIND> {
    const SHARED: bool = false;

    fn wait(word: &AtomicU32, expected: u32, timeout: Timeout) -> Wait {
        let mut sleepers = LOTS[KIND].0.lock().unwrap_or_else(PoisonError::into_inner);
        // Relaxed: the lock orders it with the wake.
        if word.load(Ordering::Relaxed) != expected {
            return Wait::Changed;
        }
        *sleepers += 1;
        let (mut sleepers, is_late) = match timeout.deadline() {
            None => (LOTS[KIND].1.wait(sleepers).unwrap(), false),
            Some(deadline) => {
                let left = deadline.since_beginning().saturating_sub(Self::now().since_beginning());
                let (sleepers, ended) = LOTS[KIND].1.wait_timeout(sleepers, left).unwrap();
                (sleepers, ended.timed_out())
            }
        };
        *sleepers -= 1;
        if is_late { Wait::TimedOut } else { Wait::Woken }
    }

    fn wake(_: *const AtomicU32, _: u32) -> u32 {
        let sleepers = LOTS[KIND].0.lock().unwrap_or_else(PoisonError::into_inner);
        LOTS[KIND].1.notify_all();
        *sleepers
    }

    unsafe fn requeue(_: *const AtomicU32, _: u32, _: u32, _: *const AtomicU32, _: u32) -> Result<u32, Changed> {
        Err(Changed)
    }

    unsafe fn wake_op(word: *const AtomicU32, wake: u32, on: *const AtomicU32, op: WakeOp, _: u32) -> u32 {
        // SAFETY: the caller's promise.
        op.apply_to(unsafe { &*on });
        Self::wake(word, wake)
    }

    fn yield_now() {
        thread::yield_now();
    }

    fn now() -> Deadline {
        Private::now()
    }
}

/// A page at which a producer is stopped; 0: none.
struct Stop {
    page: AtomicUsize,
    /// The producer stands there.
    is_met: AtomicBool,
    is_open: AtomicBool,
}

static STOPS: [Stop; KINDS] =
    [const { Stop { page: AtomicUsize::new(0), is_met: AtomicBool::new(false), is_open: AtomicBool::new(false) } };
        KINDS];

/// Stops a producer at the page of its slot until the test opens it.
extern "C" fn faulted(signal: c_int, info: *mut libc::siginfo_t, _: *mut c_void) {
    // SAFETY: installed with SA_SIGINFO, so the kernel passes valid information.
    let info = unsafe { &*info };
    // SAFETY: it is a fault's.
    let page = unsafe { info.si_addr() }.addr() / PAGE * PAGE;
    match STOPS.iter().find(|stop| page != 0 && stop.page.load(Ordering::SeqCst) == page) {
        Some(stop) => {
            stop.is_met.store(true, Ordering::SeqCst);
            while !stop.is_open.load(Ordering::SeqCst) {
                // SAFETY: takes no pointer.
                unsafe { libc::sched_yield() };
            }
        }
        // The access is tried again, and ends the process.
        // SAFETY: sets the signal's action.
        None => _ = unsafe { libc::signal(signal, libc::SIG_DFL) },
    }
}

fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: zeroed is a valid sigaction.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = faulted;
        action.sa_sigaction = handler as usize;
        action.sa_flags = libc::SA_SIGINFO;
        // SAFETY: the handler makes async-signal-safe calls only.
        assert_eq!(unsafe { libc::sigaction(libc::SIGSEGV, &action, std::ptr::null_mut()) }, 0);
    });
}

fn protect(page: usize, protection: c_int) {
    // SAFETY: the page lies in a slot that no thread uses but those that the handler stops.
    let outcome = unsafe { libc::mprotect(page as *mut c_void, PAGE, protection) };
    assert_eq!(outcome, 0, "mprotect");
}

/// A producer that stands between claiming its slot and filling it, and a consumer that sleeps for
/// that slot; the queue's kind of futex is the test's `KIND`.
struct Pair {
    kind: usize,
    producer: JoinHandle<()>,
    consumer: JoinHandle<Option<u8>>,
}

fn pair<const KIND: usize>() -> Pair {
    let queue = Arc::new(Queue::<Value, Lot<KIND>>::new_in());
    // The first slot's value brings the block.
    queue.push([0; size_of::<Value>()]);
    assert!(queue.try_pop().value().is_some());
    // The second slot's value lies around the block's middle.
    let page = (BLOCK.get() + 2 * size_of::<Value>() - PAGE) / PAGE * PAGE;
    let stop = &STOPS[KIND];
    stop.is_met.store(false, Ordering::SeqCst);
    stop.is_open.store(false, Ordering::SeqCst);
    stop.page.store(page, Ordering::SeqCst);
    protect(page, libc::PROT_NONE);
    let pushed = Arc::clone(&queue);
    let producer = thread::spawn(move || pushed.push([1; size_of::<Value>()]));
    eventually("the producer stands", || stop.is_met.load(Ordering::SeqCst));
    let consumer = thread::spawn(move || queue.pop().map(|value| value[PAGE]));
    eventually("the consumer sleeps", || asleep(KIND) == 1);
    Pair { kind: KIND, producer, consumer }
}

/// Lets the producer go on, and waits for the consumer.
fn go_on(pair: Pair) {
    let stop = &STOPS[pair.kind];
    protect(stop.page.load(Ordering::SeqCst), libc::PROT_READ | libc::PROT_WRITE);
    stop.is_open.store(true, Ordering::SeqCst);
    pair.producer.join().unwrap();
    assert_eq!(pair.consumer.join().unwrap(), Some(1));
    stop.page.store(0, Ordering::SeqCst);
}

/// Returns a bounded queue of five slots, and a page in the value of the second.
fn bounded<const KIND: usize>() -> (Arc<Bounded<Value, Lot<KIND>>>, usize) {
    let queue = Arc::new(Bounded::with_capacity_in(5));
    // The value lies behind the slot's state.
    let slot = size_of::<Value>() + size_of::<u64>();
    (queue, (BLOCK.get() + slot + size_of::<Value>() / 2) / PAGE * PAGE)
}

/// Has the thread that does `work` stand at the page.
fn stands<R: Send + 'static>(kind: usize, page: usize, work: impl FnOnce() -> R + Send + 'static) -> JoinHandle<R> {
    let stop = &STOPS[kind];
    stop.is_met.store(false, Ordering::SeqCst);
    stop.is_open.store(false, Ordering::SeqCst);
    stop.page.store(page, Ordering::SeqCst);
    protect(page, libc::PROT_NONE);
    let thread = thread::spawn(work);
    eventually("the thread stands", || stop.is_met.load(Ordering::SeqCst));
    thread
}

fn open(kind: usize) {
    let stop = &STOPS[kind];
    protect(stop.page.load(Ordering::SeqCst), libc::PROT_READ | libc::PROT_WRITE);
    stop.is_open.store(true, Ordering::SeqCst);
}

/// Held by each test: a kind serves one at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// The first producer finds that several slots are awaited. Its own kind of futex wakes one consumer
/// only, and nothing says any more that the other slot is awaited.
#[test]
fn consumers_on_two_kinds_of_futex_are_woken() {
    let _alone = alone(&ALONE);
    let _watchdog = Watchdog::new("consumers on two kinds of futex");
    install();
    let (first, second) = (pair::<0>(), pair::<1>());
    go_on(first);
    go_on(second);
    let (first, second) = (pair::<0>(), pair::<1>());
    go_on(second);
    go_on(first);
}

/// A consumer whose kind of futex the library has no place for looks again by itself.
#[test]
fn consumers_on_more_kinds_of_futex_than_there_are_places_for() {
    let _alone = alone(&ALONE);
    let _watchdog = Watchdog::new("consumers on many kinds of futex");
    install();
    let pairs = [
        pair::<0>, pair::<1>, pair::<2>, pair::<3>, pair::<4>, pair::<5>, pair::<6>, pair::<7>, pair::<8>, pair::<9>,
        pair::<10>, pair::<11>,
    ];
    let pairs = pairs.map(|pair| pair());
    pairs.into_iter().for_each(go_on);
}

/// Two consumers sleep for a slot of a bounded queue whose producer stands, and a `try_pop` says so.
#[test]
fn consumers_of_a_bounded_queue_whose_producer_stands() {
    let _alone = alone(&ALONE);
    let _watchdog = Watchdog::new("a producer that stands");
    install();
    let (queue, page) = bounded::<0>();
    queue.push([0; size_of::<Value>()]).unwrap();
    assert!(queue.pop().is_some());
    let pushed = queue.clone();
    let producer = stands(0, page, move || pushed.push([1; size_of::<Value>()]).unwrap());
    queue.push([2; size_of::<Value>()]).unwrap();
    assert!(matches!(queue.try_pop(), TryPop::Busy) && queue.len() == 2);
    let consumers = [(); 2].map(|()| {
        let queue = queue.clone();
        thread::spawn(move || queue.pop().unwrap()[PAGE])
    });
    eventually("the consumers sleep", || asleep(0) == 2);
    open(0);
    producer.join().unwrap();
    let mut popped = consumers.map(|consumer| consumer.join().unwrap());
    popped.sort_unstable();
    assert_eq!(popped, [1, 2]);
}

/// A producer sleeps for a slot of a bounded queue whose consumer stands, a lap later.
#[test]
fn a_producer_of_a_bounded_queue_whose_consumer_stands() {
    let _alone = alone(&ALONE);
    let _watchdog = Watchdog::new("a consumer that stands");
    install();
    let (queue, page) = bounded::<0>();
    queue.push([0; size_of::<Value>()]).unwrap();
    assert!(queue.pop().is_some());
    (1..=5).for_each(|number| queue.push([number; size_of::<Value>()]).unwrap());
    let popped = queue.clone();
    let consumer = stands(0, page, move || popped.pop().unwrap()[PAGE]);
    assert!(queue.try_push([6; size_of::<Value>()]).unwrap_err().is_busy());
    let pushed = queue.clone();
    let producer = thread::spawn(move || pushed.push([6; size_of::<Value>()]).unwrap());
    eventually("the producer sleeps", || asleep(0) == 1);
    open(0);
    assert_eq!(consumer.join().unwrap(), 1);
    producer.join().unwrap();
    assert!((2..=6).all(|number| queue.pop().unwrap()[PAGE] == number));
}
