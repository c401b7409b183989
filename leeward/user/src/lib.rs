//! A server's directory of names, as a user of leeward writes one: it is read by many threads, changed
//! by few, and its tests are run under miri, ThreadSanitizer and cargo careful. `tests/parts.rs` does the
//! same with each part of the library.

use leeward::collect::{HashMap, Queue};
use leeward::rcu::{self, RcuCell};
use leeward::sync::Mutex;

/// What an operator may change while the server runs.
pub struct Limits {
    pub names: usize,
}

/// Names, and the addresses that they stand for.
pub struct Directory {
    limits: RcuCell<Limits>,
    names: HashMap<String, [u8; 4]>,
    changes: Queue<String>,
    log: Mutex<Vec<String>>,
}

impl Directory {
    /// Makes a directory that has no names, and takes as many as `limits` says.
    pub fn new(limits: Limits) -> Directory {
        Directory {
            limits: RcuCell::new(limits),
            names: HashMap::new(),
            changes: Queue::new(),
            log: Mutex::new(Vec::new()),
        }
    }

    /// Returns the address of a name. No lock, no fence.
    pub fn look_up(&self, name: &str) -> Option<[u8; 4]> {
        self.names.get(name, &rcu::read()).copied()
    }

    /// Adds a name or changes its address. Returns false if there are too many.
    pub fn set(&self, name: &str, address: [u8; 4]) -> bool {
        let has_room = self.names.len() < self.limits.get().names;
        if has_room {
            drop(self.names.insert(name.to_string(), address));
            self.changes.push(name.to_string());
        }
        has_room
    }

    /// Changes the limits, which readers see at once.
    pub fn limit(&self, limits: Limits) {
        self.limits.replace(limits).defer();
    }

    /// Writes the names that have changed since the last call to the log, and returns how many.
    pub fn note_changes(&self) -> usize {
        let mut log = self.log.lock();
        let before = log.len();
        log.extend(std::iter::from_fn(|| self.changes.try_pop().value()));
        log.len() - before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_beside_writers() {
        let directory = Directory::new(Limits { names: 2 });
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for turn in 0..8 {
                    assert!(directory.set("one", [10, 0, 0, turn]));
                    directory.limit(Limits { names: 2 + usize::from(turn) });
                }
            });
            for _ in 0..2 {
                scope.spawn(|| {
                    for _ in 0..8 {
                        let address = directory.look_up("one");
                        assert!(address.is_none_or(|[first, .., last]| first == 10 && last < 8));
                    }
                });
            }
        });
        assert_eq!(directory.note_changes(), 8);
    }
}
