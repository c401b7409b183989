//! A routing table: longest-prefix match under live updates.
//!
//! The table is an ordered map of prefixes, by their first address and then by their length. The last
//! prefix that is not after an address matches it, or says how many bits of the address the longest
//! match can have: then that is looked for. Lookups walk the map without a lock, a fence or a reference
//! count; an update copies one leaf of it.
//!
//! `cargo run --release -p leeward --example routing_table [FILE] [SECONDS]`: FILE has one
//! `address/length next-hop` a line.

use std::net::Ipv4Addr;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use leeward::collect::OrderedMap;
use leeward::rcu::{Domain, Guard};

leeward::rcu_domain! {
    /// The domain of the routes: its grace periods wait for no other readers.
    struct Routes;
}

/// Prefixes are in the order of their fields.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Prefix {
    bits: u32,
    length: u32,
}

impl Prefix {
    /// Returns the prefix of an address that has this length.
    fn of(address: u32, length: u32) -> Prefix {
        Prefix { bits: address & u32::MAX.checked_shl(32 - length).unwrap_or(0), length }
    }

    fn matches(&self, address: u32) -> bool {
        Prefix::of(address, self.length) == *self
    }
}

/// The hop of each prefix.
type Table = OrderedMap<Prefix, Arc<str>, Routes>;

/// Returns the hop of the longest prefix that the address matches.
fn lookup<'g>(table: &'g Table, address: u32, guard: &'g Guard<'_, Routes>) -> Option<&'g str> {
    let mut wanted = Prefix::of(address, 32);
    loop {
        let (prefix, hop) = table.floor(&wanted, guard)?;
        if prefix.matches(address) {
            return Some(hop);
        }
        // A prefix that the address matches begins before this one, so this one matches it too: it has
        // no bits but those that both have.
        wanted = Prefix::of(address, (prefix.bits ^ address).leading_zeros());
    }
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
    Some((Prefix::of(address.parse::<Ipv4Addr>().ok()?.into(), length), hop.trim().into()))
}

/// Looks `address` up by a linear search, with which the map must agree.
fn naive(routes: &[(Prefix, Arc<str>)], address: u32) -> Option<&str> {
    routes
        .iter()
        .filter(|(prefix, _)| prefix.matches(address))
        .max_by_key(|(prefix, _)| prefix.length)
        .map(|(_, hop)| &**hop)
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
fn forward(table: &Table, stop: &AtomicBool, seed: u64) -> (u64, u64) {
    let mut state = seed;
    let (mut looked, mut hits) = (0, 0);
    while !stop.load(Ordering::Relaxed) {
        // One section for a burst of packets.
        let guard = Routes::read();
        for _ in 0..64 {
            hits += u64::from(lookup(table, random(&mut state) as u32, &guard).is_some());
            looked += 1;
        }
    }
    (looked, hits)
}

/// Withdraws random routes and announces them again until told to stop, as a neighbour does.
/// Returns how many updates that were. What they take out is freed when its readers have left.
fn announce(table: &Table, stop: &AtomicBool, routes: &[(Prefix, Arc<str>)]) -> u64 {
    let mut state = 7;
    let mut updates = 0;
    while !stop.load(Ordering::Relaxed) {
        let (prefix, hop) = &routes[random(&mut state) as usize % routes.len()];
        if let Some(old) = table.remove(prefix) {
            old.defer();
        }
        table.insert(*prefix, hop.clone());
        updates += 2;
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

    let table = Table::with_copied_keys();
    (&table).extend(routes.iter().cloned());
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

    let rate = |count: &AtomicU64| count.load(Ordering::Relaxed) as f64 / seconds;
    println!("{} prefixes, 2 readers, 1 updater, {seconds} s", routes.len());
    println!("{:.1} million lookups/s, {:.0} updates/s", rate(&lookups) / 1e6, rate(&updates));
    println!("{:.0} % of random addresses had a route", 100.0 * rate(&found) / rate(&lookups));
    check(&table, &routes)
}

/// Checks the table against a linear search: after all the updates it is the file's again.
fn check(table: &Table, routes: &[(Prefix, Arc<str>)]) -> Result<(), String> {
    let start = Instant::now();
    let mut state = 42;
    for _ in 0..20_000 {
        let address = random(&mut state) as u32;
        let guard = Routes::read();
        let (ours, theirs) = (lookup(table, address, &guard), naive(routes, address));
        if ours != theirs {
            return Err(format!("{}: the map says {ours:?}, a linear search {theirs:?}", Ipv4Addr::from(address)));
        }
    }
    println!("20000 addresses agree with a linear search ({:.0?})", start.elapsed());
    for well_known in ["1.1.1.1", "17.5.7.8", "193.0.14.129", "192.168.1.1"] {
        let address: Ipv4Addr = well_known.parse().map_err(|_| "an address")?;
        println!("{well_known} -> {}", lookup(table, address.into(), &Routes::read()).unwrap_or("nowhere"));
    }
    Ok(())
}
