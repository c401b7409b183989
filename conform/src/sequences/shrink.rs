//! Makes a script on which the kernel is wrong as short as it gets.

use core::ops::Range;

use super::arena::Arena;
use super::model::foresee;
use super::script::Script;
use super::shorten::{Steps, shortened};
use crate::run::RESTS;
use crate::text::Text;
use crate::verdict::{TEXT, Verdict};

/// How many whiles of [`RESTS`] a shorter script is asked with.
const SHORT: usize = 3;

/// How a script is asked: with these whiles. Wrong if it is wrong with each.
type Asks<'a> = &'a dyn Fn(&Script, &[u64]) -> Verdict;

impl Steps for Script {
    fn count(&self) -> usize {
        self.steps().len()
    }

    fn without(&self, places: Range<usize>) -> Script {
        self.filtered(|at| !places.contains(&at))
    }
}

/// Returns the script with as few steps as show that the kernel is wrong, and what is wrong. It is asked once
/// more with all whiles: if it is right then, the script as it was.
pub(super) fn shrunk(script: &Script, text: Text<TEXT>, asks: Asks<'_>, arena: &mut Arena) -> (Script, Text<TEXT>) {
    let shorter = shortened(*script, &mut |fewer: &Script| matches!(asks(fewer, &RESTS[..SHORT]), Verdict::Wrong(_)));
    let foreseen = foresee(&shorter, arena);
    let shorter = shorter.filtered(|at| !foreseen.steps[at].is_left_out);
    match asks(&shorter, RESTS) {
        Verdict::Wrong(text) => (shorter, text),
        _ => (*script, text),
    }
}
