//! Instructions of the loops, counted by callgrind: repeatable where times are noisy. A locked
//! instruction counts as one here, whatever it costs. Without valgrind the figures have no values.

use std::process::Command;

use super::against;
use super::flavour::Flavour;
use super::programs::{Programs, Side, run};
use crate::error::Error;
use crate::figure::{Figure, Target, Title};
use crate::plan::Plan;

/// A loop: its id, the words, the flavour, the program's figure and arguments, the function whose
/// instructions are counted, and the steps that it makes in all.
struct Loop {
    id: &'static str,
    what: &'static str,
    flavour: Flavour,
    figure: &'static str,
    args: &'static [u64],
    function: &'static str,
    steps: u64,
}

/// The first alignment's loop of `sections.c` makes its batch twice: once to warm up.
const SECTIONS: u64 = 2 * 1024;
const fn section(id: &'static str, what: &'static str, flavour: Flavour) -> Loop {
    batch(id, what, flavour, "section", "batch_section_0*")
}
const fn batch(
    id: &'static str,
    what: &'static str,
    flavour: Flavour,
    figure: &'static str,
    function: &'static str,
) -> Loop {
    Loop { id, what, flavour, figure, args: &[4 * 1024], function, steps: SECTIONS }
}

const LOOPS: [Loop; 9] = [
    section("section.memb", "C, memb: lock + dereference + unlock", Flavour::Memb),
    section("section.bp", "C, bp: lock + dereference + unlock", Flavour::Bp),
    section("section.mb", "C, mb: lock + dereference + unlock", Flavour::Mb),
    batch("nested.memb", "C, memb: lock + unlock within a section", Flavour::Memb, "nested", "batch_nested_0*"),
    batch("nested.bp", "C, bp: lock + unlock within a section", Flavour::Bp, "nested", "batch_nested_0*"),
    batch("nested.mb", "C, mb: lock + unlock within a section", Flavour::Mb, "nested", "batch_nested_0*"),
    batch("quiescent", "C, qsbr: a quiescent state", Flavour::Qsbr, "quiescent", "batch_quiescent_0*"),
    Loop {
        id: "register.memb",
        what: "C, memb: register + unregister",
        flavour: Flavour::Memb,
        figure: "register",
        args: &[4000, 1],
        function: "register_pairs*",
        steps: 4000 + 4000 / 8 + 1,
    },
    Loop {
        id: "defer",
        what: "C, call_rcu, one producer without pause: to hand one over",
        flavour: Flavour::Memb,
        figure: "defer",
        args: &[1, 10_000, 1],
        function: "hand_over*",
        steps: 10_000,
    },
];

pub fn figures(plan: &Plan, programs: &Programs) -> Vec<Figure> {
    let is_there = run(Command::new("valgrind").arg("--version")).is_ok();
    LOOPS.iter().flat_map(|each| figure(plan, programs, each, is_there)).collect()
}

fn figure(plan: &Plan, programs: &Programs, each: &Loop, is_there: bool) -> Vec<Figure> {
    let id = format!("instructions.{}", each.id);
    let title = Title::new(&id, format!("{}: instructions", each.what), "instructions", None, Target::Open);
    against(plan, programs, each.flavour, usize::from(is_there), vec![title], |side| {
        Ok(vec![count(programs, side, each)? as f64 / each.steps as f64])
    })
}

/// Returns the instructions of the loop's function, and of what it calls.
fn count(programs: &Programs, side: Side, each: &Loop) -> Result<u64, Error> {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--log-fd=1"]);
    valgrind.arg(format!("--toggle-collect={}", each.function)).arg(programs.program(side, each.flavour));
    let text = run(valgrind.arg(each.figure).args(each.args.iter().map(u64::to_string)))?;
    let collected = text.lines().find_map(|line| line.split_once("Collected :")?.1.trim().parse().ok());
    collected.ok_or_else(|| Error::new(format!("callgrind counted nothing: `{}`", text.trim())))
}

#[cfg(test)]
mod tests {
    use super::LOOPS;

    #[test]
    fn every_loop_has_an_id_of_its_own() {
        for (number, each) in LOOPS.iter().enumerate() {
            assert!(LOOPS[..number].iter().all(|other| other.id != each.id), "{}", each.id);
        }
    }
}
