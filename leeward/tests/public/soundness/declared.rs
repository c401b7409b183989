//! Each type that the library's sources declare `pub` has a row in the table of types.

use std::path::Path;

use super::types::TYPES;

/// Types that are `pub` in a module that is not, so that no program can name them, and what is for the
/// C face alone.
const UNREACHABLE: &[&str] = &[
    "collect::raw::map::",
    "raw::once::Begun",
    "raw::rwlock_state::TooManyReaders",
    "rcu::backing::State",
    "rcu::c::",
    "rcu::grace::stall::CStall",
    "rcu::kind::Kind",
    "rcu::section::inlined::",
    "rcu::section::slot::Slot",
    "rcu::section::thread_local::",
    "robust::lock::Refusal",
    "robust::raw::RawMutex",
    "shared::raw_region::",
];

/// Calls `each` with the modules and the name of each type that is declared `pub` in a folder's files.
fn declared(folder: &Path, modules: &[String], each: &mut dyn FnMut(&[String], &str)) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        let mut modules = modules.to_vec();
        if stem != "mod" && stem != "lib" {
            modules.push(stem);
        }
        if path.is_dir() {
            declared(&path, &modules, each);
            continue;
        }
        for line in std::fs::read_to_string(&path).unwrap().lines() {
            let declared = ["struct ", "enum ", "union "]
                .iter()
                .find_map(|kind| line.trim_start().strip_prefix("pub ")?.strip_prefix(kind));
            let is_in_a_name = |letter: char| letter.is_alphanumeric() || letter == '_';
            let Some(name) = declared.and_then(|rest| rest.split(|letter| !is_in_a_name(letter)).next()) else {
                continue;
            };
            // One that a macro names.
            if !name.is_empty() {
                each(&modules, name);
            }
        }
    }
}

/// The type of a row is that of a file if its module is the file's or one around it.
#[test]
fn each_public_type_is_in_the_table() {
    let rows: Vec<(Vec<&str>, &str)> = TYPES
        .iter()
        .map(|row| {
            let mut path: Vec<_> = row.name.split('<').next().unwrap().split("::").map(str::trim).collect();
            let name = path.pop().unwrap();
            path.remove(0);
            (path, name)
        })
        .collect();
    let (mut unknown, mut met) = (Vec::new(), Vec::new());
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../src");
    declared(&sources, &[], &mut |modules, name| {
        let is_its_row = |(path, known): &&(Vec<&str>, &str)| {
            *known == name && path.len() <= modules.len() && path.iter().zip(modules).all(|(row, file)| row == file)
        };
        if rows.iter().any(|row| is_its_row(&row)) {
            return;
        }
        let place = format!("{}::{name}", modules.join("::"));
        match UNREACHABLE.iter().find(|known| place.starts_with(**known)) {
            Some(known) => met.push(*known),
            None => unknown.push(place),
        }
    });
    assert!(unknown.is_empty(), "not in the table: {unknown:#?}");
    let stale: Vec<_> = UNREACHABLE.iter().filter(|known| !met.contains(known)).collect();
    assert!(stale.is_empty(), "no such types: {stale:?}");
}
