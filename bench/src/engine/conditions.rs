//! The benchmark of 2005 for WAKE_OP, over the engine and over the kernel: condition variables that
//! are signalled in three ways.

use leeward::raw::{Plain, Requeue, WakeOp};

use crate::figure::{Target, Title};
use crate::locks::conditions::{entrant, hand_overs, schemes};
use crate::locks::contest::Outcome;
use crate::locks::monitors::OnEngine;
use crate::plan::Plan;

const PLAIN: &str = "leeward plain, on the engine";
const REQUEUE: &str = "leeward requeue, on the engine";
const WAKE_OP: &str = "leeward wake-op, on the engine";

pub fn outcome(plan: &Plan) -> Outcome {
    let ours = [
        entrant::<OnEngine<Plain>>(PLAIN),
        entrant::<OnEngine<Requeue>>(REQUEUE),
        entrant::<OnEngine<WakeOp>>(WAKE_OP),
    ];
    let entrants: Vec<_> = ours.into_iter().chain(schemes()).collect();
    let what = "Condvar over Hosted, two threads hand over on one processor, the lock held while signalling";
    let board = hand_overs(plan, what, &entrants);
    let mut outcome = Outcome::default();
    outcome.add(&board);
    let pairs = [
        ("plain", "wake-op beside plain", WAKE_OP, PLAIN, Target::RatioAtMost(1.0)),
        ("requeue", "wake-op beside requeue", WAKE_OP, REQUEUE, Target::RatioAtMost(1.0)),
        ("kernel", "wake-op beside wake-op over the kernel", WAKE_OP, "leeward wake-op", Target::Open),
    ];
    for (id, against, ours, peer, target) in pairs {
        let title = Title::new(&format!("condvar.{id}"), format!("{what}: {against}"), "us", Some(peer), target);
        outcome.figures.push(board.figure(ours, title));
    }
    outcome
}
