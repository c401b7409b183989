//! Each public call of the engine on the smallest stack that a thread may have: 16 KiB. Fibres and
//! C programs have such ones. A call without a row fails.

#![cfg(all(target_os = "linux", target_pointer_width = "64"))]
#![allow(missing_docs)]

#[path = "../common/crowd.rs"]
mod crowd;
#[path = "../common/guest.rs"]
mod guest;
#[path = "../common/zeros.rs"]
#[macro_use]
mod zeros;
#[path = "../common/machine.rs"]
mod machine;
#[path = "../common/painted.rs"]
mod painted;
#[path = "small_stack/rows.rs"]
mod rows;

use std::collections::BTreeSet;
use std::path::Path;

use crowd::{LOCK, lot, waiting};
use leeward_engine::LockPi;
use leeward_engine::parking::user_memory;
use painted::depth;
use rows::{ROWS, WITHIN};

/// The bytes that a call may use of 16 KiB. The C library keeps the rest for the thread's own
/// variables, and for its first frames.
const MOST: usize = 12 << 10;

#[test]
fn each_call_has_room_on_the_smallest_stack() {
    user_memory::install().unwrap();
    assert_eq!(lot().lock_pi(&LOCK, None), Ok(LockPi::Acquired));
    let depths: Vec<_> = ROWS
        .iter()
        .map(|row| {
            let futures = waiting(row.waiters);
            let depth = depth(row.call);
            drop(futures);
            println!("{depth:>6}  {}", row.declared);
            (row.declared, depth)
        })
        .collect();
    assert_eq!(lot().unlock_pi(&LOCK), Ok(()));
    let deep: Vec<_> = depths.iter().filter(|(_, depth)| *depth > MOST).collect();
    assert!(deep.is_empty(), "{deep:?}");
}

/// Calls `each` with the file and the name of each public function in a folder.
fn declared(folder: &Path, within: &str, each: &mut dyn FnMut(String)) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        // The simulation is a program's of its own; models and unit tests are no program's.
        if within.is_empty() && ["simulation", "loom", "tests"].contains(&name.as_str()) {
            continue;
        }
        if path.is_dir() {
            declared(&path, &format!("{within}{name}/"), each);
            continue;
        }
        for line in std::fs::read_to_string(&path).unwrap().lines() {
            let function = ["pub fn ", "pub unsafe fn ", "pub async fn "]
                .iter()
                .find_map(|begin| line.trim_start().strip_prefix(begin));
            if let Some(function) = function {
                let function =
                    function.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next().unwrap();
                each(format!("{within}{name}: {function}"));
            }
        }
    }
}

#[test]
fn each_public_function_has_a_row() {
    let mut met = BTreeSet::new();
    declared(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../src"), "", &mut |name| _ = met.insert(name));
    let rows: BTreeSet<_> =
        ROWS.iter().map(|row| row.declared).chain(WITHIN.iter().copied()).map(str::to_owned).collect();
    assert_eq!(met, rows);
}
