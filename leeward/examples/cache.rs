//! A cache of answers that expire, as a name server has: requests look answers up without a lock, and one
//! thread removes what has expired, in the order of a queue.
//!
//! `cargo run --release -p leeward --example cache`
//!
//! All answers live equally long, so the queue is in the order of their ends. An answer that was replaced
//! meanwhile is another one, with a place of its own in the queue, and is not removed in its stead.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use leeward::collect::{HashMap, Queue};
use leeward::rcu;

/// How long an answer is good.
const LIFE: Duration = Duration::from_millis(20);
/// The number of names that requests ask for.
const NAMES: u64 = 1000;

struct Answer {
    address: u32,
    /// Told apart from other answers to the same question.
    number: u64,
    end: Instant,
}

#[derive(Default)]
struct Cache {
    answers: HashMap<String, Answer>,
    /// The end of each answer, its name and its number, the earliest first.
    ends: Queue<(Instant, String, u64)>,
    numbers: AtomicU64,
}

impl Cache {
    /// Looks a name up: no lock, no allocation.
    fn get(&self, name: &str) -> Option<u32> {
        let guard = rcu::read();
        let answer = self.answers.get(name, &guard)?;
        (answer.end > Instant::now()).then_some(answer.address)
    }

    fn insert(&self, name: String, address: u32) {
        // Relaxed: only uniqueness matters.
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let end = Instant::now() + LIFE;
        // The answer before this one, if there is one, is dropped when no request reads it any more.
        drop(self.answers.insert(name.clone(), Answer { address, number, end }));
        self.ends.push((end, name, number));
    }

    /// Removes what has expired, until the queue is closed and empty. Returns how many answers it removed.
    fn expire(&self) -> u64 {
        let mut removed = 0;
        while let Some((end, name, number)) = self.ends.pop() {
            std::thread::sleep(end.saturating_duration_since(Instant::now()));
            let is_this_one = |_: &String, answer: &Answer| answer.number == number;
            removed += u64::from(self.answers.remove_if(&name, is_this_one).is_some());
        }
        removed
    }
}

/// Returns what the cache would be told by another server.
fn ask(name: &str) -> u32 {
    name.bytes().fold(0, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()))
}

/// Answers requests for half a second. Returns how many, and how many of them from the cache.
fn serve(cache: &Cache, seed: u64) -> (u64, u64) {
    let (start, mut served, mut found) = (Instant::now(), 0, 0);
    let mut random = seed;
    while start.elapsed() < Duration::from_millis(500) {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let name = format!("host{}.example", (random >> 33) % NAMES);
        let address = match cache.get(&name) {
            Some(address) => {
                found += 1;
                address
            }
            None => {
                let address = ask(&name);
                cache.insert(name.clone(), address);
                address
            }
        };
        assert_eq!(address, ask(&name));
        served += 1;
    }
    (served, found)
}

fn main() {
    let cache = Cache::default();
    std::thread::scope(|scope| {
        let janitor = scope.spawn(|| cache.expire());
        let servers = [1, 2, 3].map(|seed| {
            let cache = &cache;
            scope.spawn(move || serve(cache, seed))
        });
        let served = servers.map(|server| server.join().unwrap());
        cache.ends.close();
        let (all, found) = served.into_iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        let removed = janitor.join().unwrap();
        println!("{all} requests, {} % of them from the cache; {removed} answers expired", 100 * found / all);
    });
    assert!(cache.answers.is_empty());
}
