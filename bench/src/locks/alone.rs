//! Lock and unlock in a single thread, nobody else there. Cheap to take, so more rounds than elsewhere.

use super::contest::{Board, Entrant, Outcome, contest};
use super::mutexes::{Mutex, PthreadInheriting, PthreadNormal, PthreadRobust, Ring, ring};
use crate::alignment::nanoseconds;
use crate::figure::{Figure, Target, Title};
use crate::plan::Plan;
use crate::rounds::min;

/// Pairs in one round: some milliseconds. A whole number of batches at each alignment.
const PAIRS: u64 = 512 * 1024;

/// How to open a mutex.
pub type Open = fn() -> Box<dyn Ring>;

/// A mutex that takes part.
pub const fn entrant<M: Mutex>(name: &'static str) -> Entrant<Open> {
    Entrant::new(name, ring::<M>)
}

pub const OURS: &str = "leeward Mutex";
pub const LIGHT: &str = "leeward LightMutex";
pub const BIASED: &str = "leeward asym::Mutex, its owner";
pub const PARKING_LOT: &str = "parking_lot";
pub const PTHREAD: &str = "pthread";
pub const PTHREAD_ROBUST: &str = "pthread robust, shared";

/// The peers of the plain mutexes.
pub fn peers() -> [Entrant<Open>; 4] {
    [
        entrant::<std::sync::Mutex<u64>>("std"),
        entrant::<parking_lot::Mutex<u64>>(PARKING_LOT),
        entrant::<usync::Mutex<u64>>("usync"),
        entrant::<PthreadNormal>(PTHREAD),
    ]
}

pub fn outcome(plan: &Plan) -> Outcome {
    let ours = [
        entrant::<leeward::sync::Mutex<u64>>(OURS),
        entrant::<leeward::sync::LightMutex<u64>>(LIGHT),
        entrant::<leeward::asym::Mutex<u64>>(BIASED),
    ];
    let special =
        [entrant::<PthreadRobust>(PTHREAD_ROBUST), entrant::<PthreadInheriting>("pthread, priority inheritance")];
    let entrants: Vec<Entrant<Open>> = ours.into_iter().chain(peers()).chain(special).collect();
    let boards = boards(plan, "lock + unlock, nobody else there", &entrants);
    let mut outcome = Outcome::default();
    outcome.add(&boards[0]);
    let title = |id, what| Title::new(id, what, "ns", None, Target::RatioAtMost(0.8));
    outcome.figures.push(figure(&boards, OURS, title("mutex.alone", "Mutex, lock + unlock, nobody else there")));
    outcome.figures.push(figure(&boards, LIGHT, title("light.alone", "LightMutex, lock + unlock, nobody else there")));
    let biased =
        Title::new("asym_mutex.alone", "asym::Mutex by its owner, lock + unlock", "ns", None, Target::RatioAtMost(0.2));
    outcome.figures.push(figure(&boards, BIASED, biased));
    outcome
}

/// The time of a pair, over all alignments of its loop and at the best one.
pub fn boards(plan: &Plan, job: &str, entrants: &[Entrant<Open>]) -> Vec<Board> {
    let quantities = [(job.to_string(), "ns"), (format!("{job}, the best alignment"), "ns")];
    contest(plan, 3 * plan.rounds, &quantities, entrants, |open| {
        let ring = open();
        let times = nanoseconds(PAIRS, |n, alignment| ring.alone(n, alignment));
        Ok(vec![times.mean, times.cheapest])
    })
}

/// The figure over all alignments, with the best one beside it.
pub fn figure(boards: &[Board], ours: &str, title: Title) -> Figure {
    let mut figure = boards[0].figure(ours, title);
    let least = |name: &str| min(&boards[1].score(name).unwrap_or_default());
    figure.best = (least(ours), figure.peer.and_then(least));
    figure
}
