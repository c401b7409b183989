//! Sizes in bytes: of a function that consists of one section, with what it has out of line; and of
//! the shared libraries, stripped.

use std::fs;
use std::process::Command;

use super::against;
use super::flavour::Flavour;
use super::programs::{Programs, Side, run};
use crate::error::Error;
use crate::figure::{Figure, Target, Title};
use crate::plan::Plan;

pub fn figures(plan: &Plan, programs: &Programs) -> Vec<Figure> {
    let sections = Flavour::WITH_SECTIONS.into_iter().map(|flavour| (flavour, "code_section", flavour.name()));
    let functions = sections.chain([(Flavour::Qsbr, "code_quiescent", "quiescent")]);
    let mut figures: Vec<Figure> =
        functions.flat_map(|(flavour, symbol, end)| code(plan, programs, flavour, symbol, end)).collect();
    figures.extend(library(plan, programs));
    figures
}

/// The size of a function in a program and in a shared library. A compiler splits what is rarely
/// executed off: the sum is one figure, and what is left another.
fn code(plan: &Plan, programs: &Programs, flavour: Flavour, symbol: &str, end: &str) -> Vec<Figure> {
    let step = if flavour == Flavour::Qsbr { "a quiescent state" } else { "lock + load + unlock" };
    let title = |id: String, place: &str, part: &str| {
        let what = format!("C, {}: code of {step}, {place}{part}", flavour.name());
        Title::new(&id, what, "bytes", None, Target::Open)
    };
    let titles = vec![
        title(format!("code.{end}"), "in a program", ""),
        title(format!("code.{end}.hot"), "in a program", ", without what is out of line"),
        title(format!("code.library.{end}"), "in a shared library", ""),
        title(format!("code.library.{end}.hot"), "in a shared library", ", without what is out of line"),
    ];
    against(plan, programs, flavour, 1, titles, |side| {
        let (program, library) = (programs.program(side, flavour), programs.library(side, flavour));
        let listed = [run(nm().arg(program))?, run(nm().arg(library))?];
        Ok(listed.iter().flat_map(|list| size_of(list, symbol)).collect())
    })
}

fn nm() -> Command {
    let mut nm = Command::new("nm");
    nm.args(["--print-size", "--defined-only"]);
    nm
}

/// Returns the size of a function with its cold part, and without.
fn size_of(list: &str, symbol: &str) -> [f64; 2] {
    let sizes = |is_wanted: &dyn Fn(&str) -> bool| -> u64 {
        let size = |line: &str| {
            let mut words = line.split_whitespace().skip(1);
            let size = u64::from_str_radix(words.next()?, 16).ok()?;
            is_wanted(words.nth(1)?).then_some(size)
        };
        list.lines().filter_map(size).sum()
    };
    let hot = sizes(&|name| name == symbol);
    let cold = sizes(&|name| name.strip_prefix(symbol).is_some_and(|rest| rest.starts_with(".cold")));
    [(hot + cold) as f64, hot as f64]
}

/// The size of `libleeward.so`, which has every flavour, beside that of liburcu's library of memb.
fn library(plan: &Plan, programs: &Programs) -> Vec<Figure> {
    let title = Title::new("size", "C: the shared library, stripped", "kB", None, Target::Open);
    against(plan, programs, Flavour::Memb, 1, vec![title], |side| Ok(vec![stripped(programs, side)? / 1e3]))
}

/// Returns the size of a shared library without symbols that are not needed to link, in bytes.
fn stripped(programs: &Programs, side: Side) -> Result<f64, Error> {
    let copy = programs.program(side, Flavour::Memb).with_extension("stripped");
    run(Command::new("strip").arg("-o").arg(&copy).arg(programs.shared(side, Flavour::Memb)?))?;
    let size = fs::metadata(&copy)?.len();
    fs::remove_file(&copy)?;
    Ok(size as f64)
}

#[cfg(test)]
mod tests {
    use super::size_of;

    #[test]
    fn a_cold_part_is_counted() {
        let list =
            "0010 0000000000000040 T section\n0090 000000000000000a t section.cold\n00a0 0000000000000001 T sections\n";
        assert_eq!(size_of(list, "section"), [74.0, 64.0]);
        assert_eq!(size_of(list, "other"), [0.0, 0.0]);
    }
}
