//! Grace periods that unwind, because the handler of a stall panics: on the worker, on a caller
//! that helps, on one that waits. No callback is lost, the room within the limit comes back, and
//! the waiting caller learns of the panic.

use super::*;

/// True while the handlers panic.
static PANICKING: AtomicBool = AtomicBool::new(true);
/// How often a handler panicked.
static PANICKED: AtomicU64 = AtomicU64::new(0);

fn panic_at_stalls<D: Domain>() {
    D::set_stall_limit(
        Some(Duration::from_millis(1)),
        Some(|_| {
            if PANICKING.load(Ordering::SeqCst) {
                PANICKED.fetch_add(1, Ordering::SeqCst);
                panic!("the handler of a stall panics");
            }
        }),
    );
}

/// Held by each case: the handlers are the program's.
static ALONE: Mutex<()> = Mutex::new(());

fn begin() -> std::sync::MutexGuard<'static, ()> {
    let alone = alone(&ALONE);
    PANICKING.store(true, Ordering::SeqCst);
    PANICKED.store(0, Ordering::SeqCst);
    alone
}

fn counting(ran: &Arc<AtomicU64>) -> impl FnOnce() + Send + use<> {
    let ran = Arc::clone(ran);
    move || {
        ran.fetch_add(1, Ordering::SeqCst);
    }
}

/// The worker ends. A barrier says why, and the callbacks run when the handler panics no more.
#[test]
fn on_the_worker_and_in_a_barrier() {
    domain!();
    let _alone = begin();
    let _dog = Watchdog::new("on_the_worker_and_in_a_barrier");
    let ran = Arc::new(AtomicU64::new(0));
    panic_at_stalls::<D>();
    let inside = limits::Inside::begin::<D>();
    D::defer(counting(&ran));
    eventually("the worker's grace period unwinds", || PANICKED.load(Ordering::SeqCst) > 0);
    D::defer(counting(&ran));
    assert!(panic_of(D::barrier).contains("handler of a stall"));
    assert_eq!((ran.load(Ordering::SeqCst), D::stats().callbacks_queued), (0, 2));
    // Nor does a barrier wait for a worker that ends while it waits.
    assert!(panic_of(D::barrier).contains("handler of a stall"));
    PANICKING.store(false, Ordering::SeqCst);
    inside.end();
    D::barrier();
    let stats = D::stats();
    assert_eq!(
        (ran.load(Ordering::SeqCst), stats.callbacks_run, stats.callbacks_queued, stats.bytes_queued),
        (2, 2, 0, 0)
    );
}

/// A caller that helps has queued its callback already.
#[test]
fn on_a_caller_that_helps() {
    domain!();
    let _alone = begin();
    let _dog = Watchdog::new("on_a_caller_that_helps");
    let ran = Arc::new(AtomicU64::new(0));
    panic_at_stalls::<D>();
    D::set_limit(Limit { callbacks: 1, policy: Policy::Expedite(Duration::from_secs(3_600)), ..Limit::default() });
    let inside = limits::Inside::begin::<D>();
    D::defer(counting(&ran));
    for _ in 0..3 {
        let call = counting(&ran);
        assert!(panic_of(|| D::defer(call)).contains("handler of a stall"));
    }
    assert_eq!((ran.load(Ordering::SeqCst), D::stats().callbacks_queued), (0, 4));
    PANICKING.store(false, Ordering::SeqCst);
    inside.end();
    D::barrier();
    assert_eq!((ran.load(Ordering::SeqCst), D::stats().callbacks_queued), (4, 0));
}

/// There is room again: a caller that waits forever goes on.
#[test]
fn beside_a_caller_that_waits_for_ever() {
    domain!();
    let _alone = begin();
    let _dog = Watchdog::new("beside_a_caller_that_waits_for_ever");
    let ran = Arc::new(AtomicU64::new(0));
    panic_at_stalls::<D>();
    D::set_limit(Limit { callbacks: 1, policy: Policy::WaitForever, ..Limit::default() });
    let inside = limits::Inside::begin::<D>();
    D::defer(counting(&ran));
    let call = counting(&ran);
    // It is woken when the worker ends, and starts another, or helps; in the latter case the panics
    // are its own.
    let waits =
        thread::spawn(move || std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| D::defer(call))).is_ok());
    eventually("grace periods unwind", || PANICKED.load(Ordering::SeqCst) > 1);
    PANICKING.store(false, Ordering::SeqCst);
    inside.end();
    waits.join().unwrap();
    D::defer(counting(&ran));
    D::barrier();
    assert_eq!((ran.load(Ordering::SeqCst), D::stats().callbacks_queued), (3, 0));
}

/// Grace periods that callers ask for, and poll for.
#[test]
fn in_those_who_ask_for_grace_periods() {
    domain!();
    let _alone = begin();
    let _dog = Watchdog::new("in_those_who_ask_for_grace_periods");
    panic_at_stalls::<D>();
    let inside = limits::Inside::begin::<D>();
    assert!(panic_of(D::synchronize).contains("handler of a stall"));
    let cookie = D::start_poll();
    let seen = PANICKED.load(Ordering::SeqCst);
    eventually("the worker's grace period unwinds", || PANICKED.load(Ordering::SeqCst) > seen);
    assert!(!D::poll_state(&cookie));
    PANICKING.store(false, Ordering::SeqCst);
    inside.end();
    eventually("the grace period ends", || D::poll_state(&cookie));
    D::synchronize();
}
