//! Signal handlers that come at any instruction of a wait or a wake, and change the word, or
//! wake.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(missing_docs)]

#[path = "../common/differential.rs"]
mod differential;
#[path = "../common/guest.rs"]
mod guest;
#[path = "../common/realtime.rs"]
mod realtime;
#[path = "../common/step.rs"]
mod step;

use std::ffi::c_int;
use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Waker};
use std::time::Duration;

use differential::sleep_in_a_wait;
use guest::{Guest, Page};
use leeward_engine::parking::{ParkingLot, now};
use leeward_engine::{Arithmetic, Clock, Comparison, Config, Deadline, Engine, Heap, LockPi, Wait, WakeOp, Word};
use realtime::until;
use step::{Ended, alone, stepped, stepped_or_asleep};

static WORD: AtomicU32 = AtomicU32::new(0);

fn change() {
    WORD.store(1, Ordering::SeqCst);
}

fn lot() -> &'static ParkingLot {
    static LOT: std::sync::OnceLock<ParkingLot> = std::sync::OnceLock::new();
    LOT.get_or_init(|| ParkingLot::new(4).unwrap())
}

/// One in so many instructions of a long call is stepped to, so that all of it takes seconds.
const STRIDE: usize = 7;

/// As with the kernel's wait, a handler that ran after the word was compared ends the wait.
#[test]
fn a_handler_that_changes_the_word_ends_the_wait() {
    let _alone = alone();
    let mut overslept = Vec::new();
    for at in (1..).step_by(STRIDE) {
        WORD.store(0, Ordering::SeqCst);
        let rouse = || _ = lot().wake(&WORD, 1);
        let (ended, end) = stepped_or_asleep(at, change, || lot().wait(&WORD, 0, None), rouse);
        match ended {
            Ended::ByItself => assert_eq!(end, Wait::Changed, "before instruction {at}"),
            Ended::Overslept => overslept.push(at),
            Ended::Unreached => {
                assert!(at > 100, "{at} instructions were stepped");
                break;
            }
        }
    }
    // Where the C library does not say where rseq's areas are, the last instructions before the
    // system call are left to luck.
    let most = if is_told_of_interruptions() { 0 } else { 80 / STRIDE };
    assert!(overslept.len() <= most, "before each of the instructions {overslept:?}");
}

static HANDLED: AtomicU32 = AtomicU32::new(0);

extern "C" fn count(_: c_int) {
    HANDLED.fetch_add(1, Ordering::SeqCst);
}

extern "C" fn count_and_change(_: c_int) {
    change();
    HANDLED.fetch_add(1, Ordering::SeqCst);
}

fn install(signal: c_int, handler: extern "C" fn(c_int), flags: c_int) {
    // SAFETY: zeroes are one.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler as *const () as usize;
    action.sa_flags = flags;
    // SAFETY: a handler that may be called at any time.
    assert_eq!(unsafe { libc::sigaction(signal, &action, std::ptr::null_mut()) }, 0);
}

/// Makes a wait of a thread that sleeps when it gets the signal, again and again; returns how it
/// ended.
fn wait_with_signals(signal: c_int) -> Wait {
    let thread = AtomicU32::new(0);
    WORD.store(0, Ordering::SeqCst);
    std::thread::scope(|threads| {
        let waiting = threads.spawn(|| {
            thread.store(realtime::me(), Ordering::SeqCst);
            lot().wait(&WORD, 0, None)
        });
        let is_asleep =
            || thread.load(Ordering::SeqCst) != 0 && sleep_in_a_wait(thread.load(Ordering::SeqCst) as i32).is_some();
        for _ in 0..2 {
            until(|| waiting.is_finished() || is_asleep());
            let before = HANDLED.load(Ordering::SeqCst);
            if !waiting.is_finished() {
                let (process, number) = (std::process::id(), thread.load(Ordering::SeqCst));
                // SAFETY: no memory is passed; a thread of this process that is not joined yet.
                assert_eq!(unsafe { libc::syscall(libc::SYS_tgkill, process, number, signal) }, 0);
                until(|| HANDLED.load(Ordering::SeqCst) != before);
            }
        }
        until(|| waiting.is_finished() || is_asleep());
        // If it sleeps still.
        lot().wake(&WORD, 1);
        waiting.join().unwrap()
    })
}

/// The wait ends also where the handler asks for calls to be restarted. The system restarts them by
/// itself where it can, and compares the word on which the host sleeps, not the futex word.
#[test]
fn a_handler_that_runs_while_its_thread_sleeps_and_changes_the_word_ends_the_wait() {
    let _alone = alone();
    install(libc::SIGUSR1, count_and_change, libc::SA_RESTART);
    install(libc::SIGUSR2, count, libc::SA_RESTART);
    install(libc::SIGURG, count_and_change, 0);
    assert!(matches!(wait_with_signals(libc::SIGUSR1), Wait::Changed | Wait::Interrupted));
    assert_eq!(wait_with_signals(libc::SIGURG), Wait::Interrupted);
    // A handler that changes nothing ends the wait where the system does not say whether it ran
    // before.
    assert!(matches!(wait_with_signals(libc::SIGUSR2), Wait::Woken | Wait::Interrupted));
}

#[test]
fn a_spin_in_vain_has_the_word_compared_again() {
    let guest = Guest::new();
    let engine = Engine::new(Config::small(1), Heap).unwrap();
    let soon = Deadline { clock: Clock::Monotonic, at: now(Clock::Monotonic) + 20_000_000 };
    let word = Word::private(guest.address(Page::Writable));
    assert_eq!(engine.wait(&guest, word, 0, u32::MAX, Some(soon)), Ok(Wait::TimedOut));
    assert_ne!(guest.rechecks.load(Ordering::SeqCst), 0);
}

/// Repeats the tests in a process to whose threads the C library does not say where the kernel
/// reports interruptions.
#[test]
fn the_same_where_interruptions_are_not_told() {
    let this = std::env::current_exe().unwrap();
    let mut again = std::process::Command::new(this);
    again.args(["a_", "--skip", "a_handlers", "--test-threads=1"]).env("GLIBC_TUNABLES", "glibc.pthread.rseq=0");
    let output = again.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

/// Returns true if the kernel reports to threads that they were interrupted (rseq, by glibc).
fn is_told_of_interruptions() -> bool {
    // SAFETY: a name.
    let size = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_size".as_ptr()) };
    // SAFETY: glibc's, and constant.
    !size.is_null() && unsafe { size.cast::<u32>().read() } != 0
}

/// Counts the steps of a test that goes on.
static FED: AtomicU32 = AtomicU32::new(0);

/// Ends a test that hangs, as a thread that waits for itself does: one that has not gone on for
/// longer than any single call takes, however busy the machine is.
struct Watchdog {
    _alive: mpsc::Sender<()>,
}

impl Watchdog {
    fn new() -> Watchdog {
        let (alive, gone) = mpsc::channel();
        std::thread::spawn(move || {
            let mut before = None;
            while gone.recv_timeout(Duration::from_secs(20)) == Err(mpsc::RecvTimeoutError::Timeout) {
                let now = FED.load(Ordering::SeqCst);
                if before.replace(now) == Some(now) {
                    eprintln!("a call that a handler interrupted hangs");
                    std::process::abort();
                }
            }
        });
        Watchdog { _alive: alive }
    }

    /// Says that the test goes on.
    fn feed(&self) {
        FED.fetch_add(1, Ordering::SeqCst);
    }
}

static OTHER: AtomicU32 = AtomicU32::new(0);

/// Does what `sem_post` does.
fn post() {
    WORD.store(1, Ordering::SeqCst);
    lot().wake(&WORD, 1);
}

#[test]
fn a_handler_that_changes_the_word_and_wakes_ends_the_wait() {
    let (_alone, watchdog) = (alone(), Watchdog::new());
    for at in (4..).step_by(STRIDE) {
        watchdog.feed();
        WORD.store(0, Ordering::SeqCst);
        let rouse = || _ = lot().wake(&WORD, 1);
        let (ended, end) = stepped_or_asleep(at, post, || lot().wait(&WORD, 0, None), rouse);
        assert!(matches!(end, Wait::Changed | Wait::Woken), "before instruction {at}: {end:?}");
        assert_ne!(ended, Ended::Overslept, "before instruction {at}");
        if ended == Ended::Unreached {
            assert!(at > 100, "{at} instructions were stepped");
            break;
        }
    }
}

fn wake_one() {
    lot().wake(&WORD, 1);
}

fn wake_many() {
    for word in &MANY {
        lot().wake(word, 1);
    }
}

/// More words than a thread remembers without a page, and than one page has room for.
static MANY: [AtomicU32; 60] = [const { AtomicU32::new(0) }; 60];

type Waiting = std::pin::Pin<Box<dyn Future<Output = Wait>>>;

/// Returns a future that waits.
fn waiting(word: &'static AtomicU32) -> Waiting {
    let mut future: Waiting = Box::pin(lot().wait_async(word, 0));
    assert!(!is_woken(&mut future));
    future
}

fn is_woken(future: &mut Waiting) -> bool {
    future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready()
}

/// A call that takes the lock of a bucket where three waiters wait, with how many of them it wakes
/// after it moved some.
struct Interruptible {
    name: &'static str,
    call: fn(),
    wakes: usize,
}

/// 1 if the wait that is interrupted was woken itself.
static WAS_WOKEN: AtomicU32 = AtomicU32::new(0);
static LOCK: AtomicU32 = AtomicU32::new(0);

const CALLS: [Interruptible; 7] = [
    Interruptible { name: "wake", call: || assert!(lot().wake(&WORD, 1) <= 1), wakes: 1 },
    Interruptible { name: "wake of two", call: || assert!(lot().wake(&WORD, 2) <= 2), wakes: 2 },
    Interruptible { name: "requeue", call: || _ = lot().requeue(&WORD, 0, 0, &OTHER, 1), wakes: 1 },
    Interruptible { name: "wake-op", call: wake_op, wakes: 1 },
    Interruptible { name: "a wait that ends", call: wait_in_vain, wakes: 0 },
    Interruptible { name: "a future that is dropped", call: || drop(waiting(&WORD)), wakes: 0 },
    Interruptible { name: "a lock that inherits", call: lock, wakes: 0 },
];

fn wake_op() {
    let op = WakeOp { arithmetic: Arithmetic::Add, argument: 0, comparison: Some(Comparison::Equal), against: 0 };
    lot().wake_op(&WORD, 1, &OTHER, op, 1);
}

fn wait_in_vain() {
    let end = lot().wait(&WORD, 0, Some(Deadline { clock: Clock::Monotonic, at: 1 }));
    assert!(matches!(end, Wait::TimedOut | Wait::Woken), "{end:?}");
    WAS_WOKEN.fetch_add(u32::from(end == Wait::Woken), Ordering::SeqCst);
}

fn lock() {
    assert_eq!(lot().lock_pi(&LOCK, None), Ok(LockPi::Acquired));
    assert_eq!(lot().unlock_pi(&LOCK), Ok(()));
}

/// A wake in a handler reaches a waiter whatever the thread was doing: no wake is lost, and none
/// waits for its own thread.
#[test]
fn a_handlers_wake_is_made_whatever_it_interrupts() {
    let (_alone, watchdog) = (alone(), Watchdog::new());
    WORD.store(0, Ordering::SeqCst);
    for Interruptible { name, call, wakes } in CALLS {
        for at in (1..).step_by(STRIDE) {
            watchdog.feed();
            WAS_WOKEN.store(0, Ordering::SeqCst);
            let mut waiters: Vec<_> = (0..3).map(|_| waiting(&WORD)).collect();
            let (acted, ()) = stepped(at, wake_one, call);
            lot().wake(&OTHER, u32::MAX);
            let woken = waiters.iter_mut().filter_map(|waiter| is_woken(waiter).then_some(())).count();
            let woken = woken + WAS_WOKEN.load(Ordering::SeqCst) as usize;
            assert_eq!(woken, wakes + usize::from(acted), "before instruction {at} of {name}");
            if !acted {
                assert!(at > 20, "{at} instructions of {name} were stepped");
                break;
            }
        }
    }
}

/// An executor's waker that panics, unless a handler calls it: no panic may pass through a handler.
struct Panicking;

impl std::task::Wake for Panicking {
    fn wake(self: Arc<Self>) {
        assert!(IN_HANDLER.load(Ordering::SeqCst), "an executor that panics");
    }
}

static IN_HANDLER: AtomicBool = AtomicBool::new(false);

fn wake_many_of_whom_one_panics() {
    IN_HANDLER.store(true, Ordering::SeqCst);
    wake_many();
    IN_HANDLER.store(false, Ordering::SeqCst);
}

/// One of several deferred wakes calls an executor that panics: the panic passes through the
/// interrupted call, and the other wakes are made; so are those that are deferred later.
#[test]
fn the_wakes_beside_one_whose_executor_panics_are_made() {
    let (_alone, watchdog) = (alone(), Watchdog::new());
    let panicking = Waker::from(Arc::new(Panicking));
    let mut panics = 0;
    for at in (1..).step_by(STRIDE) {
        watchdog.feed();
        let mut waiters: Vec<_> = MANY.iter().map(waiting).collect();
        assert!(waiters[1].as_mut().poll(&mut Context::from_waker(&panicking)).is_pending());
        let call = || std::panic::catch_unwind(|| lot().wake(&MANY[0], 1));
        let (acted, end) = stepped(at, wake_many_of_whom_one_panics, call);
        panics += u32::from(end.is_err());
        let woken = waiters.iter_mut().filter_map(|waiter| is_woken(waiter).then_some(())).count();
        assert_eq!(woken, if acted { MANY.len() } else { 1 }, "before instruction {at}");
        if !acted {
            assert!(at > 20, "{at} instructions were stepped");
            break;
        }
    }
    assert_ne!(panics, 0);
}

#[test]
fn as_many_wakes_as_a_handler_wants_are_made() {
    let (_alone, watchdog) = (alone(), Watchdog::new());
    WORD.store(0, Ordering::SeqCst);
    for at in (1..).step_by(3) {
        watchdog.feed();
        let mut waiters: Vec<_> = MANY.iter().map(waiting).collect();
        let (acted, _) = stepped(at, wake_many, || lot().wake(&MANY[0], 1));
        let woken = waiters.iter_mut().filter_map(|waiter| is_woken(waiter).then_some(())).count();
        if !acted {
            assert!(at > 20, "{at} instructions were stepped");
            assert_eq!(woken, 1);
            break;
        }
        assert_eq!(woken, MANY.len(), "before instruction {at}");
    }
}
