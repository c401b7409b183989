//! What comes of a scenario.

use crate::text::Text;

/// What comes of a scenario, when it is not what Linux does.
pub(crate) type Outcome = Result<(), Trouble>;

/// Why a scenario did not pass.
#[derive(Clone, Copy)]
pub(crate) enum Trouble {
    Absent(Text<TEXT>),
    /// The answer is another, or a thread did not yet sleep: it is asked again, with longer whiles.
    Wrong(Text<TEXT>),
    /// The answer is another, whatever the time that was let pass.
    Proven(Text<TEXT>),
    Unfit(Text<TEXT>),
    /// A time was up before the scenario came to its question: it is asked again, with longer times,
    /// and unfit in the end.
    Late(Text<TEXT>),
}

/// The most bytes of what is said about a scenario.
pub const TEXT: usize = 240;

/// What became of a scenario.
#[derive(Clone, Copy, Debug)]
pub enum Verdict {
    /// The kernel answers as Linux does.
    Pass,
    /// The kernel does not have the operation, and says so (`ENOSYS`): which one.
    Absent(Text<TEXT>),
    /// The kernel answers otherwise: what, and what Linux does.
    Wrong(Text<TEXT>),
    /// The scenario could not be set up (no thread, no memory): nothing is known.
    Unfit(Text<TEXT>),
}

impl Verdict {
    /// Returns the word for it in tables: `pass`, `absent`, `wrong` or `unfit`.
    pub const fn word(&self) -> &'static str {
        match self {
            Verdict::Pass => "pass",
            Verdict::Absent(_) => "absent",
            Verdict::Wrong(_) => "wrong",
            Verdict::Unfit(_) => "unfit",
        }
    }

    /// Returns what is said about it, if it did not pass.
    pub fn text(&self) -> Option<&str> {
        match self {
            Verdict::Pass => None,
            Verdict::Absent(text) | Verdict::Wrong(text) | Verdict::Unfit(text) => Some(text.as_str()),
        }
    }
}

impl From<Outcome> for Verdict {
    fn from(outcome: Outcome) -> Verdict {
        match outcome {
            Ok(()) => Verdict::Pass,
            Err(Trouble::Absent(text)) => Verdict::Absent(text),
            Err(Trouble::Wrong(text) | Trouble::Proven(text)) => Verdict::Wrong(text),
            Err(Trouble::Unfit(text) | Trouble::Late(text)) => Verdict::Unfit(text),
        }
    }
}
