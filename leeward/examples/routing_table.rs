//! A routing table: longest-prefix match under live updates.
//!
//! The table is a binary trie that is never changed: an update copies the nodes on one path and
//! shares the rest (`Arc`), and the new root is published in an `RcuCell`. Lookups walk the trie
//! without a lock, a fence or a reference count.
//!
//! `cargo run --release -p leeward --example routing_table [FILE] [SECONDS]`: FILE has one
//! `address/length next-hop` a line.

use std::net::Ipv4Addr;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use leeward::rcu::{Domain, RcuCell};

leeward::rcu_domain! {
    /// The domain of the routes: its grace periods wait for no other readers.
    struct Routes;
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Prefix {
    bits: u32,
    length: u32,
}

#[derive(Clone, Default)]
struct Node {
    hop: Option<Arc<str>>,
    children: [Option<Arc<Node>>; 2],
}

impl Node {
    /// Returns this trie with `hop` at the prefix: the nodes on the way are new, all others shared.
    fn with(&self, prefix: Prefix, depth: u32, hop: Option<Arc<str>>) -> Node {
        let mut node = self.clone();
        if depth == prefix.length {
            node.hop = hop;
            return node;
        }
        let side = bit(prefix.bits, depth);
        let empty = Node::default();
        let child = self.children[side].as_deref().unwrap_or(&empty);
        node.children[side] = Some(Arc::new(child.with(prefix, depth + 1, hop)));
        node
    }

    /// Returns the hop of the longest prefix that the address matches.
    fn lookup(&self, address: u32) -> Option<&str> {
        let (mut node, mut best) = (self, self.hop.as_deref());
        for depth in 0..32 {
            let Some(child) = &node.children[bit(address, depth)] else { break };
            node = child;
            best = node.hop.as_deref().or(best);
        }
        best
    }
}

fn bit(address: u32, depth: u32) -> usize {
    (address >> (31 - depth) & 1) as usize
}

fn parse(text: &str) -> Result<Vec<(Prefix, Arc<str>)>, String> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    lines
        .map(|(number, line)| {
            parse_line(line).ok_or(format!("line {}: `{line}` is not `address/length hop`", number + 1))
        })
        .collect()
}

fn parse_line(line: &str) -> Option<(Prefix, Arc<str>)> {
    let (prefix, hop) = line.split_once(char::is_whitespace)?;
    let (address, length) = prefix.split_once('/')?;
    let length = length.parse().ok().filter(|length| *length <= 32)?;
    Some((Prefix { bits: address.parse::<Ipv4Addr>().ok()?.into(), length }, hop.trim().into()))
}

/// Looks `address` up by a linear search, with which the trie must agree.
fn naive(routes: &[(Prefix, Arc<str>)], address: u32) -> Option<&str> {
    let matches = |prefix: &Prefix| prefix.length == 0 || (prefix.bits ^ address) >> (32 - prefix.length) == 0;
    routes.iter().filter(|(prefix, _)| matches(prefix)).max_by_key(|(prefix, _)| prefix.length).map(|(_, hop)| &**hop)
}

/// Returns the next number of the generator splitmix64.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed ^ (mixed >> 31)
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("routing_table: {error}");
            ExitCode::from(2)
        }
    }
}

/// Looks random addresses up until told to stop. Returns how many, and how many had a route.
fn forward(table: &RcuCell<Node, Routes>, stop: &AtomicBool, seed: u64) -> (u64, u64) {
    let mut state = seed;
    let (mut looked, mut hits) = (0, 0);
    while !stop.load(Ordering::Relaxed) {
        // One section for a burst of packets, which all see the same table.
        let guard = Routes::read();
        let now = table.load(&guard);
        for _ in 0..64 {
            hits += u64::from(now.lookup(random(&mut state) as u32).is_some());
            looked += 1;
        }
    }
    (looked, hits)
}

/// Withdraws random routes and announces them again until told to stop, as a neighbour does.
/// Returns how many updates that were. The old tables are freed when their readers have left.
fn announce(table: &RcuCell<Node, Routes>, stop: &AtomicBool, routes: &[(Prefix, Arc<str>)]) -> u64 {
    let mut state = 7;
    let mut updates = 0;
    while !stop.load(Ordering::Relaxed) {
        let (prefix, hop) = &routes[random(&mut state) as usize % routes.len()];
        for hop in [None, Some(hop.clone())] {
            table.update(|now| now.with(*prefix, 0, hop.clone())).defer();
            updates += 1;
        }
        std::thread::sleep(Duration::from_micros(100));
    }
    updates
}

fn run() -> Result<(), String> {
    let mut arguments = std::env::args().skip(1);
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/data/prefixes.txt");
    let file = arguments.next().unwrap_or(default.into());
    let seconds: f64 = arguments.next().map_or(Ok(1.0), |text| text.parse()).map_err(|_| "SECONDS is a number")?;
    let routes = parse(&std::fs::read_to_string(&file).map_err(|error| format!("{file}: {error}"))?)?;

    let full = routes.iter().fold(Node::default(), |table, (prefix, hop)| table.with(*prefix, 0, Some(hop.clone())));
    let table = RcuCell::<Node, Routes>::new_in(full);
    let stop = AtomicBool::new(false);
    let (lookups, found, updates) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));

    std::thread::scope(|scope| {
        for seed in 0..2 {
            let (table, stop, lookups, found) = (&table, &stop, &lookups, &found);
            scope.spawn(move || {
                let (looked, hits) = forward(table, stop, seed);
                lookups.fetch_add(looked, Ordering::Relaxed);
                found.fetch_add(hits, Ordering::Relaxed);
            });
        }
        scope.spawn(|| updates.fetch_add(announce(&table, &stop, &routes), Ordering::Relaxed));
        std::thread::sleep(Duration::from_secs_f64(seconds));
        stop.store(true, Ordering::Relaxed);
    });
    Routes::barrier();

    let rate = |count: &AtomicU64| count.load(Ordering::Relaxed) as f64 / seconds;
    println!("{} prefixes, 2 readers, 1 updater, {seconds} s", routes.len());
    println!("{:.1} million lookups/s, {:.0} updates/s", rate(&lookups) / 1e6, rate(&updates));
    println!("{:.0} % of random addresses had a route", 100.0 * rate(&found) / rate(&lookups));
    check(&table, &routes)
}

/// Checks the table against a linear search: after all the updates it is the file's again.
fn check(table: &RcuCell<Node, Routes>, routes: &[(Prefix, Arc<str>)]) -> Result<(), String> {
    let start = Instant::now();
    let mut state = 42;
    for _ in 0..20_000 {
        let address = random(&mut state) as u32;
        let (ours, theirs) = table.read(|now| (now.lookup(address).map(String::from), naive(routes, address)));
        if ours.as_deref() != theirs {
            return Err(format!("{}: the trie says {ours:?}, a linear search {theirs:?}", Ipv4Addr::from(address)));
        }
    }
    println!("20000 addresses agree with a linear search ({:.0?})", start.elapsed());
    for well_known in ["1.1.1.1", "17.5.7.8", "193.0.14.129", "192.168.1.1"] {
        let address: Ipv4Addr = well_known.parse().map_err(|_| "an address")?;
        println!("{well_known} -> {}", table.read(|now| now.lookup(address.into()).unwrap_or("nowhere").to_owned()));
    }
    Ok(())
}
