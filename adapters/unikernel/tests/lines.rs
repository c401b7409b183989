//! The page about this adapter names what it costs in lines; this counts them.

#![allow(missing_docs)]

use std::fs;

/// Counts the lines of a file that are neither empty nor comments.
fn lines(file: &str) -> usize {
    let text = fs::read_to_string(format!("{}/{file}", env!("CARGO_MANIFEST_DIR"))).expect("a file of this crate");
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")).count()
}

#[test]
fn the_page_names_the_lines_that_there_are() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/engine/unikernel.md");
    let page = fs::read_to_string(page).expect("the page of this adapter");
    for file in ["src/system.rs", "src/local.rs", "src/lib.rs", "tests/sim/system.rs"] {
        let row = format!("| `{file}` | {} |", lines(file));
        assert!(page.contains(&row), "docs/engine/unikernel.md should have: {row}");
    }
}
