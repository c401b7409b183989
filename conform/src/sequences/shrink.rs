//! Makes a script on which the kernel is wrong as short as it gets.

use super::arena::Arena;
use super::model::foresee;
use super::script::Script;
use crate::run::RESTS;
use crate::text::Text;
use crate::verdict::{TEXT, Verdict};

/// How many whiles of [`RESTS`] a shorter script is asked with.
const SHORT: usize = 3;

/// How a script is asked: with these whiles. Wrong if it is wrong with each.
type Asks<'a> = &'a dyn Fn(&Script, &[u64]) -> Verdict;

/// Returns the script with as few steps as show that the kernel is wrong, and what is wrong. It is asked once
/// more with all whiles: if it is right then, the script as it was.
pub(super) fn shrunk(script: &Script, text: Text<TEXT>, asks: Asks<'_>, arena: &mut Arena) -> (Script, Text<TEXT>) {
    let mut shorter = *script;
    // First several steps at once, then one.
    for size in [12, 6, 3, 2, 1] {
        while let Some(fewer) = without(&shorter, size, asks) {
            shorter = fewer;
        }
    }
    let foreseen = foresee(&shorter, arena);
    let shorter = shorter.filtered(|at| !foreseen.steps[at].is_left_out);
    match asks(&shorter, RESTS) {
        Verdict::Wrong(text) => (shorter, text),
        _ => (*script, text),
    }
}

/// Returns the script without `size` steps that stand together, if the kernel is still wrong.
fn without(script: &Script, size: usize, asks: Asks<'_>) -> Option<Script> {
    let len = script.steps().len();
    // From the end on: what comes after the disagreement goes first.
    (0..(len + 1).saturating_sub(size)).rev().find_map(|from| {
        let fewer = script.filtered(|at| !(from..from + size).contains(&at));
        matches!(asks(&fewer, &RESTS[..SHORT]), Verdict::Wrong(_)).then_some(fewer)
    })
}
