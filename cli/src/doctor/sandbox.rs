//! Questions that a sandbox may kill for: asked in a child where a filter is in force, directly where there is none.

use crate::sys;

/// What came of asking.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    Yes,
    No,
    /// Whoever asks is killed, or nobody could be sent to ask.
    Killed,
}

impl Answer {
    pub fn is_yes(self) -> bool {
        self == Answer::Yes
    }

    /// For people.
    pub fn text(self) -> &'static str {
        match self {
            Answer::Yes => "yes",
            Answer::No => "no",
            Answer::Killed => "forbidden",
        }
    }
}

/// Asks. The question makes system calls and nothing else. To be called while the process has one thread.
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
