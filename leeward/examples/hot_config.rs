//! A configuration that is reloaded while requests are served: each request sees one whole version,
//! and pays nothing for it.
//!
//! `cargo run --release -p leeward --example hot_config [FILE]`: FILE has `key = value` lines.
//! Without FILE the program writes a file of its own and keeps changing it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use leeward::rcu::{self, RcuCell};

/// A version of the configuration: what the file says, and what is derived from it once, at load
/// time rather than at each request.
struct Config {
    version: u64,
    values: HashMap<String, String>,
    /// The checksum of all values. A request that saw half of one version and half of another would
    /// find it wrong.
    checksum: u64,
}

impl Config {
    fn load(path: &Path, version: u64) -> std::io::Result<Config> {
        let text = std::fs::read_to_string(path)?;
        let pair =
            |line: &str| line.split_once('=').map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned()));
        let values: HashMap<_, _> = text.lines().filter_map(pair).collect();
        let checksum = checksum(&values);
        Ok(Config { version, values, checksum })
    }
}

fn checksum(values: &HashMap<String, String>) -> u64 {
    values.iter().map(|(key, value)| (key.len() as u64) << 32 ^ value.bytes().map(u64::from).sum::<u64>()).sum()
}

fn write(path: &Path, version: u64) -> std::io::Result<()> {
    // Written to another file and renamed: a reader of the file never sees half of it either.
    let beside = path.with_extension("new");
    std::fs::write(
        &beside,
        format!(
            "listen = {}\nworkers = {}\nbanner = {}\n",
            8000 + version,
            version % 16,
            "x".repeat(version as usize % 50)
        ),
    )?;
    std::fs::rename(beside, path)
}

/// Serves requests until told to stop. Returns how many, and counts those that saw a torn
/// configuration.
fn serve(config: &RcuCell<Config>, stop: &AtomicBool, torn: &AtomicU64) -> u64 {
    let mut served = 0;
    while !stop.load(Ordering::Relaxed) {
        // A request: everything that it reads through the guard is of one version.
        let guard = rcu::read();
        let now = config.load(&guard);
        let whole = checksum(&now.values) == now.checksum;
        torn.fetch_add(u64::from(!whole), Ordering::Relaxed);
        served += 1;
    }
    served
}

fn main() -> std::io::Result<()> {
    let given = std::env::args_os().nth(1).map(PathBuf::from);
    let path = given.clone().unwrap_or(std::env::temp_dir().join(format!("leeward-hot-config-{}", std::process::id())));
    if given.is_none() {
        write(&path, 0)?;
    }
    let config = RcuCell::new(Config::load(&path, 0)?);
    let stop = AtomicBool::new(false);
    let (requests, torn) = (AtomicU64::new(0), AtomicU64::new(0));
    let mut reloads = 0;

    std::thread::scope(|scope| -> std::io::Result<()> {
        for _ in 0..4 {
            scope.spawn(|| requests.fetch_add(serve(&config, &stop, &torn), Ordering::Relaxed));
        }
        for version in 1..=200 {
            if given.is_none() {
                write(&path, version)?;
            }
            // Published at once. The worker drops the old version when its last request has ended.
            config.replace(Config::load(&path, version)?).defer();
            reloads += 1;
            std::thread::sleep(Duration::from_millis(5));
        }
        stop.store(true, Ordering::Relaxed);
        Ok(())
    })?;
    rcu::barrier();
    if given.is_none() {
        std::fs::remove_file(&path)?;
    }
    println!(
        "{} requests over {reloads} reloads, {} of them saw a torn configuration",
        requests.into_inner(),
        torn.load(Ordering::Relaxed)
    );
    println!("the last version is {}; {:?}", config.read(|now| now.version), rcu::stats());
    assert_eq!(torn.into_inner(), 0);
    Ok(())
}
