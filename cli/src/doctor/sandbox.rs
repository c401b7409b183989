//! Questions for which a sandbox may kill the asking process: asked in a child if a filter is in
//! force, else directly.

use crate::sys;

/// The answer to a question.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    Yes,
    No,
    /// The asking child was killed, or could not be started.
    Killed,
}

impl Answer {
    pub fn is_yes(self) -> bool {
        self == Answer::Yes
    }

    /// Returns the answer as text.
    pub fn text(self) -> &'static str {
        match self {
            Answer::Yes => "yes",
            Answer::No => "no",
            Answer::Killed => "forbidden",
        }
    }
}

/// Asks a question, which makes system calls and nothing else. Must be called while the process has
/// one thread.
pub fn ask(question: impl Fn() -> bool) -> Answer {
    if !sys::is_filtered() {
        return if question() { Answer::Yes } else { Answer::No };
    }
    // SAFETY: the question takes no lock.
    let child = unsafe { sys::fork(|| u8::from(question())) };
    match child.and_then(sys::wait_for) {
        Ok(sys::Ended::Exited(1)) => Answer::Yes,
        Ok(sys::Ended::Exited(0)) => Answer::No,
        _ => Answer::Killed,
    }
}
