//! Two threads that hand over to each other. Each sleeps until it is its turn.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use super::parker::{self, ALL, CORE, ENGINE, KERNEL, Open, Parker};
use crate::crew::{Post, Task, during};
use crate::error::Error;
use crate::figure::{Target, Title};
use crate::locks::contest::{Entrant, Outcome, contest};
use crate::locks::processors;
use crate::plan::Plan;

pub fn outcome(plan: &Plan) -> Outcome {
    let entrants: [Entrant<Open>; 3] =
        [Entrant::new(ENGINE, parker::engine), Entrant::new(KERNEL, parker::kernel), Entrant::new(CORE, parker::core)];
    let mut outcome = Outcome::default();
    for (count, id, on) in [(1, "park.1p", "one processor"), (2, "park.2p", "two processors")] {
        let job = format!("park and unpark: two threads pass a turn on, {on}");
        let board = contest(plan, plan.rounds, &[(job.clone(), "/s")], &entrants, |open| {
            Ok(vec![rate(plan, open()?.as_ref(), count)?])
        })
        .remove(0);
        outcome.add(&board);
        let title = Title::new(id, job, "/s", Some(CORE), Target::RatioAtLeast(1.0));
        outcome.figures.push(board.figure(ENGINE, title));
    }
    outcome
}

/// Returns the rate of hand-overs, per second.
fn rate(plan: &Plan, parker: &dyn Parker, processors: usize) -> Result<f64, Error> {
    let (turn, over) = (AtomicU32::new(0), AtomicBool::new(false));
    let tasks: Vec<Task<'_>> = [0, 1]
        .map(|me| {
            Task::counting({
                let (turn, over) = (&turn, &over);
                move |post| play(parker, turn, over, me, post)
            })
        })
        .into();
    let rates = processors::on(processors, || {
        during(&tasks, |crew| {
            let rates = crew.rates(plan.slice());
            over.store(true, Ordering::Relaxed);
            // Release: partner of the acquire in `play`: a thread that reads this value sees
            // `over`.
            turn.fetch_add(2, Ordering::Release);
            parker.wake(&turn, ALL);
            rates
        })
    })??;
    Ok(rates.iter().sum())
}

fn play(parker: &dyn Parker, turn: &AtomicU32, over: &AtomicBool, me: u32, post: &Post<'_>) {
    post.ready();
    let mut done = 0;
    loop {
        loop {
            // Acquire: partner of the two releases: what the other thread did before its hand-over,
            // and `over`.
            let now = turn.load(Ordering::Acquire);
            if over.load(Ordering::Relaxed) {
                return;
            }
            if now % 2 == me {
                break;
            }
            parker.wait(turn, now);
        }
        // Release: partner of the acquire above.
        turn.fetch_add(1, Ordering::Release);
        parker.wake(turn, 1);
        done += 1;
        post.tally.store(done, Ordering::Relaxed);
    }
}
