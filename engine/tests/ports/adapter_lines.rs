//! The pages about green threads and about tasks name what each part of an adapter costs in lines;
//! this counts them.

#![allow(missing_docs)]

use std::fs;

/// What the examples of both pages use.
const OWN_WORDS: &str = "common_parts/own_words.rs";

fn read(file: &str) -> String {
    fs::read_to_string(format!("{}/../{file}", env!("CARGO_MANIFEST_DIR"))).expect("a file of the crate")
}

/// Fails unless the page has a row for each file, with the lines that are neither empty nor
/// comments.
fn check(page: &str, files: &[&str]) {
    let text = read(&format!("docs/{page}"));
    for file in files {
        let is_code = |line: &&str| !line.is_empty() && !line.starts_with("//");
        let lines = read(&format!("examples/{file}")).lines().map(str::trim).filter(is_code).count();
        let row = format!("| `{file}` | {lines} |");
        assert!(text.contains(&row), "docs/engine/{page} should have: {row}");
    }
}

#[test]
fn the_page_about_green_threads_names_the_lines_that_there_are() {
    let files = [OWN_WORDS, "green_parts/host.rs", "green_parts/scheduler.rs", "green_parts/lock.rs"];
    check("green-threads.md", &files);
}

/// The page about waits, wakes and requeues names the lines of each module, and how many are unsafe.
#[test]
fn the_page_about_the_first_three_names_the_lines_that_there_are() {
    let page = read("docs/first-three.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    let mut all = [0, 0];
    for (file, numbers) in rows {
        let text = read(&format!("src/{file}"));
        let code = || text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//"));
        let [lines, unsafes] = [code().count(), code().filter(|line| line.contains("unsafe ")).count()];
        assert_eq!(numbers, format!("{lines} | {unsafes} |"), "{file}");
        all = [all[0] + lines, all[1] + unsafes];
    }
    assert!(page.contains(&format!("| all | {} | {} |", all[0], all[1])), "{all:?}");
}

#[test]
fn the_page_about_tasks_names_the_lines_that_there_are() {
    check("async-only.md", &[OWN_WORDS, "async_parts/host.rs", "async_parts/executor.rs", "async_parts/locks.rs"]);
}
