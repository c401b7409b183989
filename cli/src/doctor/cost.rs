//! The strategy that serves heavy fences, and the cost of one: by each strategy that works, alone
//! and beside a running thread.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use leeward::fence::{self, Error, Strategy};
use leeward::{asym, sync};
use serde_json::Value;

use super::advice::Advice;
use super::finding::Finding;

/// The number of calls of each kind, at most.
const CALLS: usize = 301;
/// The time of the calls of each kind, at most.
const LIMIT: Duration = Duration::from_millis(50);
/// The median from which a heavy fence counts as slow.
const SLOW: Duration = Duration::from_micros(100);

pub fn findings(picked: Result<Strategy, Error>) -> Vec<Finding> {
    let mut findings = vec![in_use(picked)];
    for &strategy in Strategy::ALL {
        findings.extend(costs(strategy, picked == Ok(strategy)));
    }
    if let Ok(strategy) = picked {
        // The strategy worked when it was picked. If it is refused by now, heavy fences fall back
        // to the next one by themselves.
        let _ = fence::force(strategy);
        findings.push(break_even());
    }
    findings
}

/// Finds the number of reads of `asym::RwLock` that pay for one write, compared with
/// `sync::RwLock`.
fn break_even() -> Finding {
    static ORDINARY: sync::RwLock<u32> = sync::RwLock::new(0);
    static ASYMMETRIC: asym::RwLock<u32> = asym::RwLock::new(0);
    let ordinary = each(|| *ORDINARY.read());
    let asymmetric = each(|| *ASYMMETRIC.read());
    let (fence, saved) = (beside_a_sibling(median).as_secs_f64() * 1e9, ordinary - asymmetric);
    let id = "asym.reads_a_write";
    let what = "reads that pay for one write of asym::RwLock";
    if saved <= 0.0 {
        return Finding::new(
            id,
            what,
            "none",
            Value::Null,
            "a read by asym::RwLock saves nothing here: use sync::RwLock",
        );
    }
    let reads = (fence / saved).ceil() as u64;
    let means = format!(
        "a read takes {asymmetric:.1} ns where sync::RwLock takes {ordinary:.1}: use asym where \
         writes are rarer than that"
    );
    Finding::new(id, what, reads.to_string(), reads, means)
}

/// Returns the time of one of many calls, in nanoseconds: the best of some rounds.
fn each(read: impl Fn() -> u32) -> f64 {
    const READS: u32 = 20_000;
    let round = |_| {
        let start = Instant::now();
        (0..READS).for_each(|_| {
            std::hint::black_box(read());
        });
        start.elapsed().as_secs_f64() * 1e9 / f64::from(READS)
    };
    (0..5).map(round).fold(f64::INFINITY, f64::min)
}

fn in_use(picked: Result<Strategy, Error>) -> Finding {
    let forced = std::env::var_os("LEEWARD_FENCE").is_some_and(|name| !name.is_empty() && name != "auto");
    let (found, value, means) = match picked {
        Ok(strategy) => (strategy.name(), Value::from(strategy.name()), meaning(strategy)),
        Err(_) => ("none", Value::Null, "grace periods are possible only in domains declared `: Full`"),
    };
    Finding::new("fence.strategy", "strategy in use", found, value, means)
        .advise(picked == Ok(Strategy::MembarrierGlobal), Advice::FenceByGlobal)
        .advise(picked == Ok(Strategy::Signal), Advice::FenceBySignal)
        .advise(picked.is_err(), Advice::NoFence)
        .advise(forced, Advice::ForcedStrategy)
}

fn meaning(strategy: Strategy) -> &'static str {
    match strategy {
        Strategy::MembarrierPrivate => "the best one: readers execute no fence, writers make a system call",
        Strategy::MembarrierGlobal => "readers execute no fence, each grace period takes milliseconds",
        Strategy::Signal => "readers execute no fence, each grace period signals every thread",
        _ => "readers and writers both pay for a full fence",
    }
}

fn costs(strategy: Strategy, picked: bool) -> Vec<Finding> {
    let id = |siblings: usize| format!("fence.{}.{siblings}_running", strategy.name());
    if let Err(refusal) = fence::force(strategy) {
        let means = refusal.to_string();
        return vec![Finding::new(&id(0), &format!("heavy fence by {strategy}"), "refused", Value::Null, means)];
    }
    let costs = [(0, median()), (1, beside_a_sibling(median))];
    let finding = |(siblings, cost): (usize, Duration)| {
        let what = format!("heavy fence by {strategy}, {siblings} running");
        let means =
            if siblings == 0 { "the cost when no other thread runs" } else { "the cost beside one running thread" };
        Finding::new(&id(siblings), &what, text(cost), cost.as_nanos() as u64, means)
            .advise(picked && strategy == Strategy::MembarrierPrivate && cost > SLOW, Advice::SlowHeavyFence)
    };
    costs.into_iter().map(finding).collect()
}

/// Returns the median cost of a bounded number of heavy fences by the strategy in use.
fn median() -> Duration {
    let start = Instant::now();
    let mut prices = Vec::with_capacity(CALLS);
    while prices.is_empty() || (prices.len() < CALLS && start.elapsed() < LIMIT) {
        let call = Instant::now();
        fence::heavy();
        prices.push(call.elapsed());
    }
    prices.sort();
    prices[prices.len() / 2]
}

/// Measures while another thread runs, on another processor if there is one.
fn beside_a_sibling(measure: fn() -> Duration) -> Duration {
    let (runs, stop) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Relaxed, all four: no data depends on these flags.
            runs.store(true, Ordering::Relaxed);
            while !stop.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        while !runs.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        let price = measure();
        stop.store(true, Ordering::Relaxed);
        price
    })
}

fn text(price: Duration) -> String {
    match price.as_nanos() {
        0..10_000 => format!("{:.2} \u{b5}s", price.as_secs_f64() * 1e6),
        10_000..1_000_000 => format!("{:.0} \u{b5}s", price.as_secs_f64() * 1e6),
        _ => format!("{:.1} ms", price.as_secs_f64() * 1e3),
    }
}
