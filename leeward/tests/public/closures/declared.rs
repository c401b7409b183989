//! The public functions of the library's sources that take a closure, and that each has a row.

use std::path::Path;

use super::rows;

/// Functions without a row: what they call is not the caller's, or runs on another thread.
const OTHERS: &[(&str, &str)] = &[
    ("collect::Map::", "unsafe, for the C face: the comparison may not unwind"),
    ("rcu::defer", "the closure is a callback: `own_callback` and `defer`"),
    ("rcu::Guard::defer", "the closure is a callback: `epochs`"),
    ("rcu::Guard::defer_unchecked", "the closure is a callback: `epochs`"),
];

/// Calls `each` with the top module, the type or "", and the name of each public function with a
/// closure among its parameters.
fn declared(path: &Path, top: &str, each: &mut dyn FnMut(String)) {
    if path.is_dir() {
        for entry in std::fs::read_dir(path).unwrap() {
            let path = entry.unwrap().path();
            let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
            declared(&path, if top.is_empty() { &stem } else { top }, each);
        }
        return;
    }
    let text = std::fs::read_to_string(path).unwrap();
    let mut owner = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let mut item = line.trim_start().to_owned();
        if line == "}" {
            owner.clear();
        }
        let is_function = ["pub fn ", "pub const fn ", "pub unsafe fn "].iter().any(|start| item.starts_with(start));
        if !is_function && !item.starts_with("impl") {
            continue;
        }
        while !item.ends_with(['{', '}', ';']) {
            let Some(more) = lines.next() else { break };
            item.push_str(more);
        }
        if is_function {
            let name = item.split("fn ").nth(1).and_then(|rest| rest.split(['(', '<']).next()).unwrap();
            if ["Fn(", "FnOnce(", "FnMut("].iter().any(|bound| item.contains(bound)) {
                let of = if owner.is_empty() { String::new() } else { format!("{owner}::") };
                each(format!("{top}::{of}{name}"));
            }
        } else {
            owner = implemented(&item);
        }
    }
}

/// Returns the name of the type that a block `impl ... {` is for.
fn implemented(block: &str) -> String {
    let mut depth = 0_i32;
    // Without what stands between angle brackets; the arrow of a function is none.
    let outside: String = block
        .replace("->", "")
        .chars()
        .filter(|letter| {
            depth += i32::from(*letter == '<');
            let is_outside = depth == 0;
            depth -= i32::from(*letter == '>');
            is_outside
        })
        .collect();
    let of = outside.trim_start_matches("impl").split(" where").next().unwrap().trim_end_matches('{').trim();
    of.rsplit([' ', ':']).next().unwrap().to_owned()
}

#[test]
fn each_public_function_with_a_closure_has_a_row() {
    let rows: Vec<_> = rows::all().map(|row| row.name).collect();
    let (mut unknown, mut met) = (Vec::new(), Vec::new());
    declared(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../src"), "", &mut |name| {
        let is_other = |other: &&(&str, &str)| name == other.0 || other.0.ends_with("::") && name.starts_with(other.0);
        if let Some(other) = OTHERS.iter().find(is_other) {
            met.push(other.0.to_owned());
        } else if rows.contains(&&*name) {
            met.push(name);
        } else {
            unknown.push(name);
        }
    });
    assert!(unknown.is_empty(), "without a row: {unknown:#?}");
    let known = rows.iter().copied().chain(OTHERS.iter().map(|(name, _)| *name));
    let stale: Vec<_> = known.filter(|known| !met.iter().any(|met| met == known)).collect();
    assert!(stale.is_empty(), "rows of functions that are not there: {stale:#?}");
}
