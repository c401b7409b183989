//! Many waiters at one word, which one call wakes or moves.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::parker::{self, ALL, CORE, ENGINE, KERNEL, Open, Parker};
use crate::crew::{Post, Task, during};
use crate::error::Error;
use crate::figure::{Target, Title};
use crate::locks::contest::{Entrant, Outcome, contest};
use crate::plan::Plan;
use crate::rounds::median;

/// The number of wake-alls and requeues in one round, of which the median is taken.
const TURNS: usize = 5;

pub fn outcome(plan: &Plan) -> Outcome {
    let entrants: [Entrant<Open>; 3] =
        [Entrant::new(ENGINE, parker::engine), Entrant::new(KERNEL, parker::kernel), Entrant::new(CORE, parker::core)];
    let mut outcome = Outcome::default();
    for waiters in [10, 100, 1_000] {
        let quantities = [
            ("wake", format!("wake-all of {waiters} waiters, the call, a waiter")),
            ("come", format!("wake-all of {waiters} waiters, until all have run, a waiter")),
            ("requeue", format!("requeue of {waiters} waiters, a waiter")),
        ];
        let jobs = quantities.clone().map(|(_, what)| (what, "ns"));
        let boards = contest(plan, plan.rounds, &jobs, &entrants, |open| times(open()?.as_ref(), waiters));
        for (board, (id, what)) in boards.iter().zip(quantities) {
            outcome.add(board);
            let title = Title::new(&format!("{id}.{waiters}"), what, "ns", Some(KERNEL), Target::RatioAtMost(1.1));
            outcome.figures.push(board.figure(ENGINE, title));
        }
    }
    outcome
}

/// The words that the waiters share.
#[derive(Default)]
struct Crowd {
    /// The number of the turn. Waiters sleep while it is what they last read.
    turn: AtomicU32,
    /// The word to which waiters are moved.
    aside: AtomicU32,
    going_to_sleep: AtomicU64,
    come: AtomicU64,
}

fn wait_in_turn(parker: &dyn Parker, crowd: &Crowd, post: &Post<'_>) {
    post.ready();
    // Acquire, here and below: the waiter sees what was done before the turn ended.
    let mut mine = crowd.turn.load(Ordering::Acquire);
    while !post.stopped() {
        crowd.going_to_sleep.fetch_add(1, Ordering::Relaxed);
        while crowd.turn.load(Ordering::Acquire) == mine {
            parker.wait(&crowd.turn, mine);
        }
        crowd.come.fetch_add(1, Ordering::Release);
        mine = mine.wrapping_add(1);
    }
}

/// Returns the times of a wake-all's call, until all waiters have run, and of a requeue, in
/// nanoseconds a waiter.
fn times(parker: &dyn Parker, waiters: u64) -> Result<Vec<f64>, Error> {
    let crowd = Crowd::default();
    let tasks: Vec<Task<'_>> = (0..waiters).map(|_| Task::new(|post| wait_in_turn(parker, &crowd, post))).collect();
    let mut taken = [const { Vec::new() }; 3];
    during(&tasks, |crew| {
        let mut turns = 0;
        for turn in 0..2 * TURNS {
            turns += 1;
            all_asleep(&crowd, waiters * turns);
            let mine = crowd.turn.load(Ordering::Relaxed);
            let began = Instant::now();
            let count = if turn % 2 == 0 {
                crowd.turn.store(mine.wrapping_add(1), Ordering::Release);
                parker.wake(&crowd.turn, ALL)
            } else {
                parker.requeue(&crowd.turn, mine, &crowd.aside)
            };
            let call = began.elapsed();
            if turn % 2 == 1 {
                crowd.turn.store(mine.wrapping_add(1), Ordering::Release);
            }
            // Waiters that were moved have to be woken, and those that went to sleep after the move
            // with the old turn too. A wake-all wakes all of them; those that have come already are
            // not disturbed.
            let all_there = until_come(&crowd, began, waiters * turns, || {
                if turn % 2 == 1 {
                    parker.wake(&crowd.aside, ALL);
                    parker.wake(&crowd.turn, ALL);
                }
            });
            if turn % 2 == 0 {
                taken[1].push(all_there / waiters as f64);
            }
            taken[turn % 2 * 2].push(call.as_nanos() as f64 / f64::from(count.max(1)));
        }
        all_asleep(&crowd, waiters * (turns + 1));
        crew.dismiss();
        crowd.turn.fetch_add(1, Ordering::Release);
        parker.wake(&crowd.turn, ALL);
        until_come(&crowd, Instant::now(), waiters * (turns + 1), || ());
    })?;
    taken.iter().map(|times| median(times).ok_or_else(|| Error::new("nothing was measured"))).collect()
}

/// Waits until `count` waiters have announced their sleep, and then a while, in which they fall
/// asleep.
fn all_asleep(crowd: &Crowd, count: u64) {
    while crowd.going_to_sleep.load(Ordering::Relaxed) < count {
        thread::sleep(Duration::from_micros(200));
    }
    thread::sleep(Duration::from_millis(5));
}

/// Waits until `count` waiters have come, and calls `again` over and over meanwhile. Returns the
/// time since `began`, in nanoseconds.
fn until_come(crowd: &Crowd, began: Instant, count: u64, again: impl Fn()) -> f64 {
    // Acquire: partner of the waiters' release when they count themselves.
    while crowd.come.load(Ordering::Acquire) < count {
        thread::yield_now();
        again();
    }
    began.elapsed().as_nanos() as f64
}
