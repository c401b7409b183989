//! Lock and unlock by a single thread. A round takes little time, so there are more rounds than
//! elsewhere.

use super::contest::{Board, Entrant, Outcome, contest};
use super::mutexes::{Mutex, MutexLoops, PthreadInheriting, PthreadNormal, PthreadRobust, mutex_loops};
use crate::alignment::nanoseconds;
use crate::figure::{Figure, Target, Title};
use crate::plan::Plan;
use crate::rounds::min;

/// The number of locks and unlocks in one round, which take some milliseconds: a whole number of
/// batches at each alignment.
const PAIRS: u64 = 512 * 1024;

/// A function that opens a mutex.
pub type Open = fn() -> Box<dyn MutexLoops>;

/// Returns the entrant of one kind of mutex.
pub const fn entrant<M: Mutex>(name: &'static str) -> Entrant<Open> {
    Entrant::new(name, mutex_loops::<M>)
}

pub const OURS: &str = "leeward Mutex";
pub const LIGHT: &str = "leeward LightMutex";
pub const BIASED: &str = "leeward asym::Mutex, its owner";
pub const PARKING_LOT: &str = "parking_lot";
pub const PTHREAD: &str = "pthread";
pub const PTHREAD_ROBUST: &str = "pthread robust, shared";

/// Returns the peers of `Mutex` and `LightMutex`.
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
    let boards = boards(plan, "lock + unlock, uncontended", &entrants);
    let mut outcome = Outcome::default();
    outcome.add(&boards[0]);
    let title = |id, what| Title::new(id, what, "ns", None, Target::RatioAtMost(0.8));
    outcome.figures.push(figure(&boards, OURS, title("mutex.alone", "Mutex, lock + unlock, uncontended")));
    outcome.figures.push(figure(&boards, LIGHT, title("light.alone", "LightMutex, lock + unlock, uncontended")));
    let biased =
        Title::new("asym_mutex.alone", "asym::Mutex by its owner, lock + unlock", "ns", None, Target::RatioAtMost(0.2));
    outcome.figures.push(figure(&boards, BIASED, biased));
    outcome
}

/// Measures a lock and unlock: the mean over all alignments of the loop, and the best one.
pub fn boards(plan: &Plan, job: &str, entrants: &[Entrant<Open>]) -> Vec<Board> {
    let quantities = [(job.to_string(), "ns"), (format!("{job}, the best alignment"), "ns")];
    contest(plan, 3 * plan.rounds, &quantities, entrants, |open| {
        let loops = open();
        let times = nanoseconds(PAIRS, |n, alignment| loops.alone(n, alignment));
        Ok(vec![times.mean, times.cheapest])
    })
}

/// Returns the figure of the mean over all alignments, whose best rounds are those of the best
/// alignment.
pub fn figure(boards: &[Board], ours: &str, title: Title) -> Figure {
    let mut figure = boards[0].figure(ours, title);
    let least = |name: &str| min(&boards[1].score(name).unwrap_or_default());
    figure.best = (least(ours), figure.peer.and_then(least));
    figure
}
