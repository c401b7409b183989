//! Locks for tasks: ours beside those of tokio and async-lock, on tokio's executors. Times are of
//! the processors, not of the clock: an executor's threads sleep and wake meanwhile.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use super::contest::{Entrant, Outcome, contest};
use crate::figure::{Target, Title};
use crate::plan::Plan;

/// How often a single task locks in one round, and how often all tasks together do.
const PAIRS: u64 = 1 << 20;
const TURNS: u64 = 64 * 1024;

const OURS: &str = "leeward task";
const TOKIO: &str = "tokio";
const ASYNC_LOCK: &str = "async-lock";

/// A round: returns the processor time of one lock and unlock in nanoseconds.
type Round = Box<dyn Fn() -> f64>;

/// Makes an async function that takes a lock some times, and with `HOLDS` keeps it across a yield.
macro_rules! work {
    ($name:ident, $lock:ty, |$it:ident| $take:expr) => {
        async fn $name<const HOLDS: bool>($it: Arc<$lock>, times: u64) {
            for _ in 0..times {
                let held = $take.await;
                if HOLDS {
                    tokio::task::yield_now().await;
                }
                drop(held);
            }
        }
    };
}

work!(our_mutex, leeward::task::Mutex<u64>, |lock| lock.lock());
work!(tokio_mutex, tokio::sync::Mutex<u64>, |lock| lock.lock());
work!(async_lock_mutex, async_lock::Mutex<u64>, |lock| lock.lock());
work!(our_permits, leeward::task::Semaphore, |lock| lock.acquire());
work!(tokio_permits, tokio::sync::Semaphore, |lock| lock.acquire());
work!(async_lock_permits, async_lock::Semaphore, |lock| lock.acquire());
work!(our_read, leeward::task::RwLock<u64>, |lock| lock.read());
work!(tokio_read, tokio::sync::RwLock<u64>, |lock| lock.read());
work!(async_lock_read, async_lock::RwLock<u64>, |lock| lock.read());
work!(our_write, leeward::task::RwLock<u64>, |lock| lock.write());
work!(tokio_write, tokio::sync::RwLock<u64>, |lock| lock.write());
work!(async_lock_write, async_lock::RwLock<u64>, |lock| lock.write());

/// Makes an async function that is told some times: with `WAITS` its future waits before, and else the
/// notification is kept.
macro_rules! told {
    ($name:ident, $notify:ty) => {
        async fn $name<const WAITS: bool>(notify: Arc<$notify>, times: u64) {
            for _ in 0..times {
                let mut told = pin!(notify.notified());
                if WAITS {
                    let is_early = poll_fn(|context| Poll::Ready(told.as_mut().poll(context).is_ready())).await;
                    assert!(!is_early, "nothing is kept");
                }
                notify.notify_one();
                told.await;
            }
        }
    };
}

told!(our_notify, leeward::task::Notify);
told!(tokio_notify, tokio::sync::Notify);

/// Returns the process's time on the processors, in nanoseconds.
fn processor_time() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes the time there.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    assert_eq!(failed, 0, "a process has a clock");
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

fn timed(times: u64, work: impl FnOnce()) -> f64 {
    let begin = processor_time();
    work();
    (processor_time() - begin) / times as f64
}

/// Runs a future that never waits.
fn at_once<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("nobody else has the lock"),
    }
}

/// An entrant whose single task takes a free lock.
fn alone<L: 'static, F: Future<Output = ()> + 'static>(
    name: &'static str,
    new: fn() -> L,
    work: fn(Arc<L>, u64) -> F,
) -> Entrant<Round> {
    Entrant::new(name, Box::new(move || timed(PAIRS, || at_once(work(Arc::new(new()), PAIRS)))))
}

/// An entrant whose tasks contend, on one thread of tokio's or on two.
fn contended<L: Send + Sync + 'static, F: Future<Output = ()> + Send + 'static>(
    name: &'static str,
    (threads, tasks): (usize, u64),
    new: fn() -> L,
    work: fn(Arc<L>, u64) -> F,
) -> Entrant<Round> {
    Entrant::new(
        name,
        Box::new(move || {
            let mut builder = match threads {
                1 => tokio::runtime::Builder::new_current_thread(),
                _ => tokio::runtime::Builder::new_multi_thread(),
            };
            let runtime = builder.worker_threads(threads).build().expect("tokio starts");
            timed(TURNS, || {
                runtime.block_on(async {
                    let lock = Arc::new(new());
                    let tasks: Vec<_> =
                        (0..tasks).map(|_| tokio::spawn(work(Arc::clone(&lock), TURNS / tasks))).collect();
                    for task in tasks {
                        task.await.expect("no task panics");
                    }
                });
            })
        }),
    )
}

/// Holds one contest, whose figure is beside tokio.
fn hold(plan: &Plan, outcome: &mut Outcome, id: &str, what: String, entrants: Vec<Entrant<Round>>, limit: f64) {
    let boards = contest(plan, plan.rounds, &[(what.clone(), "ns")], &entrants, |round| Ok(vec![round()]));
    outcome.add(&boards[0]);
    let title = Title::new(id, what, "ns", Some(TOKIO), Target::RatioAtMost(limit));
    outcome.figures.push(boards[0].figure(OURS, title));
}

/// Adds the contests of one kind of lock: alone, and contended on each executor.
macro_rules! kind {
    ($plan:expr, $outcome:expr, $id:literal, $what:literal, $([$name:expr, $new:expr, $work:ident]),*) => {{
        let entrants = vec![$(alone($name, || $new, $work::<false>)),*];
        let what = concat!("async ", $what, ", uncontended, processor time");
        hold($plan, $outcome, concat!($id, ".alone"), what.to_string(), entrants, 0.7);
        for (threads, tasks) in [(1, 8), (2, 2), (2, 8), (2, 64)] {
            let entrants = vec![$(contended($name, (threads, tasks), || $new, $work::<true>)),*];
            let what = format!("async {}, {tasks} tasks on {threads} threads, held over a yield", $what);
            hold($plan, $outcome, &format!("{}.{threads}.{tasks}", $id), what, entrants, 1.05);
        }
    }};
}

pub fn outcome(plan: &Plan) -> Outcome {
    let mut outcome = Outcome::default();
    kind!(
        plan,
        &mut outcome,
        "task.mutex",
        "Mutex",
        [OURS, leeward::task::Mutex::new(0), our_mutex],
        [TOKIO, tokio::sync::Mutex::new(0), tokio_mutex],
        [ASYNC_LOCK, async_lock::Mutex::new(0), async_lock_mutex]
    );
    kind!(
        plan,
        &mut outcome,
        "task.semaphore",
        "Semaphore of one",
        [OURS, leeward::task::Semaphore::new(1), our_permits],
        [TOKIO, tokio::sync::Semaphore::new(1), tokio_permits],
        [ASYNC_LOCK, async_lock::Semaphore::new(1), async_lock_permits]
    );
    kind!(
        plan,
        &mut outcome,
        "task.read",
        "RwLock, reading",
        [OURS, leeward::task::RwLock::new(0), our_read],
        [TOKIO, tokio::sync::RwLock::new(0), tokio_read],
        [ASYNC_LOCK, async_lock::RwLock::new(0), async_lock_read]
    );
    kind!(
        plan,
        &mut outcome,
        "task.write",
        "RwLock, writing",
        [OURS, leeward::task::RwLock::new(0), our_write],
        [TOKIO, tokio::sync::RwLock::new(0), tokio_write],
        [ASYNC_LOCK, async_lock::RwLock::new(0), async_lock_write]
    );
    macro_rules! notify {
        ($id:literal, $what:literal, $waits:literal) => {
            let ours = alone(OURS, leeward::task::Notify::new, our_notify::<$waits>);
            let entrants = vec![ours, alone(TOKIO, tokio::sync::Notify::new, tokio_notify::<$waits>)];
            let what = concat!("async Notify, ", $what, ", processor time");
            hold(plan, &mut outcome, $id, what.to_string(), entrants, 1.05);
        };
    }
    notify!("task.notify.kept", "a notification that is kept", false);
    notify!("task.notify.waits", "a future that waits", true);
    outcome
}
