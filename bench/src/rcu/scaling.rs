//! The scaling: read rate and grace-period time by the number of readers, 1 to 64 busy ones and 1
//! to 10,000 idle ones, ours beside liburcu-memb.

use std::fmt::Write as _;

use serde::Serialize;

use crate::error::Error;
use crate::plan::Plan;
use crate::rcu::figures::grace::mean_synchronize;
use crate::rcu::jobs::{Job, during};
use crate::rcu::roster::{self, AUTOMATIC, Contender, MEMB};
use crate::report::short;
use crate::rounds::{max, median, min};

const BUSY: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];
const IDLE: [usize; 9] = [1, 10, 30, 100, 300, 1_000, 2_000, 5_000, 10_000];

/// One point of one curve. Its fields are the JSON's; the numbers are medians over the rounds.
#[derive(Serialize)]
pub struct Point {
    pub scheme: &'static str,
    pub ours: bool,
    /// What the readers do: `busy` ones enter empty sections, `idle` ones are registered and
    /// asleep.
    pub readers_are: &'static str,
    pub readers: usize,
    /// The rate of all busy readers together, taken without a writer. Idle ones have none.
    pub reads_per_second: Option<f64>,
    pub grace_us: Option<f64>,
    pub grace_min_us: Option<f64>,
    pub grace_max_us: Option<f64>,
    #[serde(skip)]
    pub error: Option<Error>,
}

/// One round of one point: the reads per second, of busy readers, and the time of a grace period.
struct Sample(Option<f64>, f64);

/// Measures every point of both panels; an absent peer has none.
pub fn all(plan: &Plan) -> Vec<Point> {
    let here = |name| roster::get(name).ok().filter(|row: &&Contender| row.absent().is_none());
    let rows: Vec<&Contender> = [AUTOMATIC, MEMB].into_iter().filter_map(here).collect();
    plan.expect(BUSY.len() + IDLE.len());
    let busy = BUSY.iter().flat_map(|&readers| point(plan, &rows, Job::Read, readers));
    let idle = IDLE.iter().flat_map(|&readers| point(plan, &rows, Job::Rest, readers));
    busy.chain(idle).collect()
}

/// Measures every scheme, interleaved, with one number of readers.
fn point(plan: &Plan, rows: &[&'static Contender], job: Job, readers: usize) -> Vec<Point> {
    let what = if matches!(job, Job::Read) { "busy" } else { "idle" };
    plan.now(&format!("{readers} {what} readers"));
    // Thousands of threads take longer to start than to measure.
    let rounds = if readers >= 1_000 { plan.rounds.min(3) } else { plan.rounds };
    let mut taken: Vec<Result<Vec<Sample>, Error>> = rows.iter().map(|_| Ok(Vec::new())).collect();
    for _ in 0..rounds {
        for (row, taken) in rows.iter().zip(&mut taken) {
            if let Ok(samples) = taken {
                match sample(plan, row, job, readers) {
                    Ok(sample) => samples.push(sample),
                    Err(error) => *taken = Err(error),
                }
            }
        }
    }
    plan.step();
    rows.iter().zip(taken).map(|(row, taken)| conclude(row, what, readers, taken)).collect()
}

fn sample(plan: &Plan, row: &Contender, job: Job, readers: usize) -> Result<Sample, Error> {
    let stage = row.open()?;
    let time = plan.slice() / 2;
    during(&*stage, &vec![job; readers], |crew| {
        let reads = matches!(job, Job::Read).then(|| crew.rates(time).iter().sum());
        Sample(reads, mean_synchronize(&*stage, time))
    })
}

fn conclude(
    row: &'static Contender,
    readers_are: &'static str,
    readers: usize,
    taken: Result<Vec<Sample>, Error>,
) -> Point {
    let (samples, error) = match taken {
        Ok(samples) => (samples, None),
        Err(error) => (Vec::new(), Some(error)),
    };
    let reads: Vec<f64> = samples.iter().filter_map(|sample| sample.0).collect();
    let grace: Vec<f64> = samples.iter().map(|sample| sample.1).collect();
    Point {
        scheme: row.name,
        ours: row.ours,
        readers_are,
        readers,
        reads_per_second: median(&reads),
        grace_us: median(&grace),
        grace_min_us: min(&grace),
        grace_max_us: max(&grace),
        error,
    }
}

/// Returns the points as text.
pub fn text(plan: &Plan, points: &[Point]) -> String {
    let mut text = format!("more than {} busy threads are a benchmark of the scheduler too\n\n", plan.cores);
    let _ =
        writeln!(text, "{:>7} {:<5} {:<17} {:>8} {:>16}  min .. max", "readers", "", "", "reads/s", "grace period, us");
    for point in points {
        let number = |value: Option<f64>| value.map_or_else(|| "-".to_string(), short);
        let _ = match &point.error {
            Some(error) => writeln!(
                text,
                "{:>7} {:<5} {:<17} could not be measured: {error}",
                point.readers, point.readers_are, point.scheme
            ),
            None => writeln!(
                text,
                "{:>7} {:<5} {:<17} {:>8} {:>16}  {} .. {}",
                point.readers,
                point.readers_are,
                point.scheme,
                number(point.reads_per_second),
                number(point.grace_us),
                number(point.grace_min_us),
                number(point.grace_max_us)
            ),
        };
    }
    text
}
