//! Scripts as programs in C: whole ones, not only those that were shrunk.

extern crate std;

use std::format;
use std::process::Command;
use std::string::String;
use std::vec::Vec;

use super::arena::Arena;
use super::generate;
use super::model::foresee;
use super::operations::Operations;
use super::program;
use super::script::{Page, Script, Step};

/// Compiles a script's program and runs it; panics if it does not agree on this Linux.
fn agrees(seed: u64, script: &Script) {
    let mut source = String::new();
    program::write(&mut source, script, &foresee(script, &mut Arena::new()), seed).unwrap();
    let folder = std::env::temp_dir().join(format!("leeward-conform-{}-{seed}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (file, binary) = (folder.join("script.c"), folder.join("script"));
    std::fs::write(&file, &source).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-Wall", "-Wextra", "-Werror", "-pthread", "-o"]).arg(&binary).arg(&file);
    if let Ok(status) = compiler.status() {
        assert!(status.success(), "seed {seed}: {source}");
        let ran = Command::new(&binary).output().unwrap();
        let said = String::from_utf8_lossy(&ran.stdout).into_owned();
        assert!(ran.status.success() && said.ends_with("agrees\n"), "seed {seed}: {said}\n{source}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn whole_scripts_are_programs_that_agree_on_linux() {
    // Those of futex2 are not on every Linux that this test runs on.
    let lacks = Operations::of(0b111_1000_0000);
    let scripts: Vec<_> = (1..400).map(|seed| (seed, generate::script(seed, &lacks, &mut Arena::new()))).collect();
    let names = |page| scripts.iter().find(|(_, script)| script.names(page)).expect("some script names each page");
    let dies_of_all: fn(&Step) -> bool =
        |step| matches!(step, Step::Death(death) if !death.is_torn && death.held.iter().all(Option::is_some));
    let is_torn: fn(&Step) -> bool = |step| matches!(step, Step::Death(death) if death.is_torn);
    let locks: fn(&Step) -> bool = |step| matches!(step, Step::Call(asked) if asked.command() == Some(6));
    let has = |is_it: fn(&Step) -> bool| scripts.iter().find(|(_, script)| script.steps().iter().any(is_it));
    let with = [dies_of_all, is_torn, locks].map(|is_it| has(is_it).expect("some script has such a step"));
    let mut chosen: Vec<_> = Page::ALL.map(names).into_iter().chain(with).chain(&scripts[..8]).collect();
    chosen.sort_by_key(|(seed, _)| *seed);
    chosen.dedup_by_key(|(seed, _)| *seed);
    std::thread::scope(|threads| {
        for (seed, script) in chosen {
            threads.spawn(move || agrees(*seed, script));
        }
    });
}

#[test]
fn the_model_foresees_the_same_each_time() {
    let mut arena = Arena::new();
    for seed in 1..2000 {
        let script = generate::script(seed, &Operations::default(), &mut arena);
        let (once, again) = (foresee(&script, &mut arena), foresee(&script, &mut arena));
        assert!(!script.steps().is_empty());
        for at in 0..script.steps().len() {
            assert_eq!(once.steps[at].answer, again.steps[at].answer);
            assert_eq!(once.steps[at].ends, again.steps[at].ends);
            assert!(!once.steps[at].is_left_out, "seed {seed} step {at}: what is left out is not in the script");
        }
        // At its end all that sleep were woken.
        assert_eq!(once.waited_on, 0, "seed {seed}: {:?}", script.steps());
    }
}
