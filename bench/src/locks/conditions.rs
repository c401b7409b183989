//! Condition variables, notified with the lock held: one waiter, eight waiters, and none.

use std::hint::black_box;
use std::sync::atomic::Ordering;
use std::time::Instant;

use leeward::raw::{Plain, Requeue, WakeOp};

use super::contest::{Board, Entrant, Outcome, contest};
use super::monitors::{FIRST, Monitor, Ours, ParkingLot, Pthread, SECOND, Std, Usync};
use super::no_syscalls::makes_no_syscalls;
use super::processors;
use crate::crew::{Post, Task, during};
use crate::error::Error;
use crate::figure::{Target, Title};
use crate::plan::Plan;

/// The number of the broadcast's waiters.
const WAITERS: u64 = 8;
/// The number of notifications without waiters in one round, and of those that are checked for
/// system calls.
const NOTIFICATIONS: u32 = 1_000_000;
const LOOKED_AT: u32 = 1_000;

/// The measurements, compiled for one kind of monitor.
#[derive(Clone, Copy)]
pub struct Jobs {
    ping_pong: fn(&Plan, processors: usize) -> Result<f64, Error>,
    broadcast: fn(&Plan) -> Result<f64, Error>,
    nobody: fn() -> Result<Vec<f64>, Error>,
}

pub const fn entrant<M: Monitor>(name: &'static str) -> Entrant<Jobs> {
    let jobs = Jobs { ping_pong: ping_pong::<M>, broadcast: broadcast::<M>, nobody: nobody::<M> };
    Entrant::new(name, jobs)
}

const OURS: &str = "leeward Condvar";

/// Returns ours with its default scheme, and the peers.
fn all() -> Vec<Entrant<Jobs>> {
    vec![
        entrant::<Ours<Requeue>>(OURS),
        entrant::<Std>("std"),
        entrant::<ParkingLot>("parking_lot"),
        entrant::<Usync>("usync"),
        entrant::<Pthread>("pthread"),
    ]
}

/// Returns ours with each scheme. The first one is the baseline.
pub fn schemes() -> [Entrant<Jobs>; 3] {
    [
        entrant::<Ours<Plain>>("leeward plain"),
        entrant::<Ours<Requeue>>("leeward requeue"),
        entrant::<Ours<WakeOp>>("leeward wake-op"),
    ]
}

pub fn outcome(plan: &Plan) -> Outcome {
    let mut outcome = Outcome::default();
    let one = "Condvar, two threads hand over to each other: notify_one with the lock held, wait".to_string();
    let board = rates(plan, &one, &all(), |jobs| (jobs.ping_pong)(plan, 2));
    outcome.add(&board);
    let title = |id, what, unit, target| Title::new(id, what, unit, None, target);
    outcome.figures.push(board.figure(OURS, title("condvar.one", one, "/s", Target::RatioAtLeast(1.0))));
    let every = format!("Condvar, {WAITERS} waiters: notify_all with the lock held, until all have come");
    let board = rates(plan, &every, &all(), |jobs| (jobs.broadcast)(plan));
    outcome.add(&board);
    outcome.figures.push(board.figure(OURS, title("condvar.all", every, "/s", Target::RatioAtLeast(1.0))));
    in_three_ways(plan, &mut outcome);
    let nobody = "Condvar, notify_one without waiters".to_string();
    let calls = format!("{nobody}: whether it makes a system call (0: no)");
    let quantities = [(nobody.clone(), "ns"), (calls.clone(), CALLS)];
    let boards = contest(plan, plan.rounds, &quantities, &all(), |jobs| (jobs.nobody)());
    boards.iter().for_each(|board| outcome.add(board));
    outcome.figures.push(boards[0].figure(OURS, title("condvar.nobody", nobody, "ns", Target::AtMost(2.0))));
    outcome.figures.push(boards[1].figure(OURS, title("condvar.nobody.calls", calls, CALLS, Target::AtMost(0.0))));
    outcome
}

/// The unit of the figure that says if there was a system call: 1 or 0.
const CALLS: &str = "calls";

fn rates(plan: &Plan, job: &str, entrants: &[Entrant<Jobs>], rate: impl Fn(&Jobs) -> Result<f64, Error>) -> Board {
    contest(plan, plan.rounds, &[(job.to_string(), "/s")], entrants, |jobs| Ok(vec![rate(jobs)?])).remove(0)
}

/// Measures the three schemes as the benchmark of 2005 did: on one processor, with the lock held
/// while signalling. Hand-overs took 1 : 0.79 : 0.58 then.
pub fn in_three_ways(plan: &Plan, outcome: &mut Outcome) {
    let what = "Condvar, two threads hand over on one processor, the lock held while signalling";
    let board = hand_overs(plan, what, &schemes());
    outcome.add(&board);
    for (scheme, then) in [("requeue", 0.79), ("wake-op", 0.58)] {
        let (id, what) = (format!("condvar.scheme.{scheme}"), format!("{what}: {scheme} beside plain (2005: {then})"));
        let title = Title::new(&id, what, "us", Some("leeward plain"), Target::Open);
        outcome.figures.push(board.figure(&format!("leeward {scheme}"), title));
    }
}

/// Measures the time of a hand-over on one processor.
pub fn hand_overs(plan: &Plan, what: &str, entrants: &[Entrant<Jobs>]) -> Board {
    let job = [(what.to_string(), "us")];
    contest(plan, 3 * plan.rounds, &job, entrants, |jobs| Ok(vec![1e6 / (jobs.ping_pong)(plan, 1)?])).remove(0)
}

/// Returns the rate, per second, at which two threads hand over to each other, each waiting at a
/// condition variable of its own.
fn ping_pong<M: Monitor>(plan: &Plan, processors: usize) -> Result<f64, Error> {
    let monitor = M::open();
    let players = [FIRST, SECOND].map(|me| {
        Task::counting({
            let monitor = &monitor;
            move |post| play(monitor, me, post)
        })
    });
    let rates = processors::on(processors, || {
        during(&players, |crew| {
            let rates = crew.rates(plan.slice());
            go_home(&monitor);
            rates
        })
    })??;
    Ok(rates.iter().sum())
}

fn play<M: Monitor>(monitor: &M, me: usize, post: &Post<'_>) {
    post.ready();
    let (mut done, mut state) = (0, monitor.lock());
    loop {
        while state.turn % 2 != me as u64 && !state.over {
            state = monitor.wait(me, state);
        }
        if state.over {
            return;
        }
        state.turn += 1;
        monitor.notify_one(1 - me);
        done += 1;
        post.tally.store(done, Ordering::Relaxed);
    }
}

/// Returns the rate, per second, at which one thread calls all others and waits until they have
/// come.
fn broadcast<M: Monitor>(plan: &Plan) -> Result<f64, Error> {
    let monitor = M::open();
    let caller = Task::counting(|post| call(&monitor, post));
    let waiters = (0..WAITERS).map(|_| Task::new(|post| come(&monitor, post)));
    let tasks: Vec<Task<'_>> = [caller].into_iter().chain(waiters).collect();
    let rates = processors::on(2, || {
        during(&tasks, |crew| {
            let rates = crew.rates(plan.slice());
            go_home(&monitor);
            rates
        })
    })??;
    Ok(rates[0])
}

fn call<M: Monitor>(monitor: &M, post: &Post<'_>) {
    post.ready();
    let (mut done, mut state) = (0, monitor.lock());
    while !state.over {
        state.arrived = 0;
        state.turn += 1;
        monitor.notify_all(FIRST);
        while state.arrived < WAITERS && !state.over {
            state = monitor.wait(SECOND, state);
        }
        done += 1;
        post.tally.store(done, Ordering::Relaxed);
    }
}

fn come<M: Monitor>(monitor: &M, post: &Post<'_>) {
    post.ready();
    let (mut heard, mut state) = (0, monitor.lock());
    loop {
        while state.turn == heard && !state.over {
            state = monitor.wait(FIRST, state);
        }
        if state.over {
            return;
        }
        heard = state.turn;
        state.arrived += 1;
        if state.arrived == WAITERS {
            monitor.notify_one(SECOND);
        }
    }
}

fn go_home<M: Monitor>(monitor: &M) {
    let mut state = monitor.lock();
    state.over = true;
    monitor.notify_all(FIRST);
    monitor.notify_all(SECOND);
}

/// Returns the time of a notification without waiters, in nanoseconds, and 1 if a thousand of them
/// make a system call, else 0.
fn nobody<M: Monitor>() -> Result<Vec<f64>, Error> {
    let monitor = M::open();
    let notify = |times| (0..times).for_each(|_| black_box(&monitor).notify_one(FIRST));
    let began = Instant::now();
    notify(NOTIFICATIONS);
    let each = began.elapsed().as_nanos() as f64 / f64::from(NOTIFICATIONS);
    Ok(vec![each, f64::from(u8::from(!makes_no_syscalls(|| notify(LOOKED_AT))?))])
}
