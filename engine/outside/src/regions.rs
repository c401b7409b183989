//! Memory that this process may share with others: futex calls on it are the kernel's to serve,
//! since each process has an engine of its own. What is mapped at the start is read from the
//! system's list, and later mappings are noted as they are made; none is forgotten.

use core::sync::atomic::{AtomicUsize, Ordering};

/// The number of regions for which there is room.
const MOST: usize = 4096;

/// The bounds of each region; an end of 0: it is not noted yet.
static REGIONS: [[AtomicUsize; 2]; MOST] = [const { [AtomicUsize::new(0), AtomicUsize::new(0)] }; MOST];
/// The number of regions, of which the last may not be noted yet.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Returns true if the memory at an address may be other processes', too. With more regions than
/// there is room for, all memory may be.
pub fn is_shared(address: usize) -> bool {
    // Relaxed: the mapping was made before its address was known to the caller.
    let count = COUNT.load(Ordering::Relaxed);
    count > MOST
        || REGIONS[..count].iter().any(|[start, end]| {
            // Acquire: partner: the release in `add`.
            let end = end.load(Ordering::Acquire);
            address < end && start.load(Ordering::Relaxed) <= address
        })
}

/// Notes a region.
pub fn add(start: usize, len: usize) {
    let end = start.saturating_add(len);
    if is_shared(start) && is_shared(end.saturating_sub(1)) {
        return;
    }
    // Relaxed: a place of its own.
    if let Some([first, last]) = REGIONS.get(COUNT.fetch_add(1, Ordering::Relaxed)) {
        first.store(start, Ordering::Relaxed);
        // Release: the start; partner: the acquire in `is_shared`.
        last.store(end, Ordering::Release);
    }
}

/// Notes the regions that the system lists.
pub fn read() {
    let list = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    for line in list.lines() {
        let mut words = line.split_ascii_whitespace();
        let (Some(bounds), Some(access)) = (words.next(), words.next()) else { continue };
        let Some((start, end)) = bounds.split_once('-') else { continue };
        let [Ok(start), Ok(end)] = [start, end].map(|text| usize::from_str_radix(text, 16)) else { continue };
        if access.ends_with('s') {
            add(start, end - start);
        }
    }
}
