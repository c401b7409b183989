//! A table that all threads read and that is written now and then: change one `use` line, and
//! reading is a store.
//!
//! `cargo run --release -p leeward --example read_mostly`

use leeward::asym::RwLock; // instead of parking_lot's, or of std's without its `unwrap()`s
use std::collections::HashMap;

static LIMITS: RwLock<Option<HashMap<&str, u32>>> = RwLock::new(None);

fn main() {
    *LIMITS.write() = Some(HashMap::from([("alice", 10), ("bob", 20)]));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..1_000_000).for_each(|_| assert!(LIMITS.read().as_ref().unwrap()["bob"] >= 20)));
        }
        scope.spawn(|| (20..40).for_each(|limit| _ = LIMITS.write().as_mut().unwrap().insert("bob", limit)));
    });
    println!("4,000,000 reads, 20 writes; bob's limit is {}", LIMITS.read().as_ref().unwrap()["bob"]);
}
