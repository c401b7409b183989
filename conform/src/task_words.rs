//! The word of a thread that `set_tid_address` names, and `clone` with `CLONE_CHILD_CLEARTID`: when the thread ends the
//! kernel stores 0 there, and wakes one that waits for it. C libraries join threads so.

use crate::errno::{Answer, Errno};
use crate::futex::wait;
use crate::numbers;
use crate::scenario::{Outcome, Trouble};
use crate::text::Text;
use crate::world::{Body, Started, World, unfit, wrong};

/// The flags of the kernel's own wake: none. The word may be other processes' too.
pub(crate) const SHARED: u32 = 0;
/// The world's word that is a thread's, and what stands in it while the thread is there.
pub(crate) const WORD: usize = 0;
pub(crate) const THERE: u32 = 0x0123_4567;
/// The world's word that says to threads that they may end.
pub(crate) const MAY_END: usize = 8;

impl World<'_> {
    /// Names the calling thread's word: `set_tid_address`.
    pub(crate) fn set_tid_address(&self, address: usize) -> Answer {
        // SAFETY: a word of the scenario's, or an address where nothing of Rust's is.
        unsafe { self.call(numbers::SET_TID_ADDRESS, [address, 0, 0, 0, 0, 0]) }
    }

    /// Starts a thread that names its word by `names`, ends when it may, and answers what `names` did. Waits until it
    /// has named it; if the kernel lacks the call the scenario is absent.
    pub(crate) fn thread_with_word(&self, names: Body) -> Result<Started, Trouble> {
        self.set(WORD, THERE);
        self.set(MAY_END, 0);
        let thread = self.start(names)?;
        self.step(&"waits for a thread that calls set_tid_address");
        self.wait_until(|| self.get(MAY_END - 1) == self.number_of(thread) || self.has_ended(thread));
        if self.has_ended(thread) {
            self.ends_with_its_number(thread)?;
        }
        Ok(thread)
    }

    /// Says that the calling thread has named its word, and waits until it may end.
    pub(crate) fn named(&self, answered: Answer) -> Answer {
        answered?;
        self.set(MAY_END - 1, self.own_number().unwrap_or_default());
        self.may_go_on(MAY_END);
        answered
    }

    /// Lets the threads end.
    pub(crate) fn let_end(&self) {
        self.set(MAY_END, 1);
    }

    /// Lets a thread end; asserts that `set_tid_address` answered its number.
    pub(crate) fn end_thread(&self, thread: Started) -> Outcome {
        self.let_end();
        self.ends_with_its_number(thread)
    }

    fn ends_with_its_number(&self, thread: Started) -> Outcome {
        let number = self.number_of(thread) as usize;
        self.same("set_tid_address", self.end_of(thread), Ok(number))
    }

    /// Waits until the kernel has stored 0 in a thread's word.
    pub(crate) fn is_cleared(&self, at: usize) {
        self.step(&"waits until the word of a thread that has ended is 0");
        self.wait_until(|| self.get(at) == 0);
    }

    /// Waits until no thread has this one's number any more.
    pub(crate) fn is_gone(&self, thread: Started) -> Outcome {
        const NO_SIGNAL: usize = 0;
        let number = self.number_of(thread) as usize;
        self.step(&"waits until a thread that has ended is gone");
        while self.send_to(number, NO_SIGNAL).is_ok() {
            self.rest();
        }
        Ok(())
    }

    /// Asserts that a thread's word still holds what stood there.
    pub(crate) fn is_left(&self, at: usize, whose: &str) -> Outcome {
        self.holds(at, whose, THERE)
    }

    /// Asserts that a waiter for a thread's word was woken by the thread's end. One that found the word changed came
    /// too late, which tells nothing.
    pub(crate) fn is_joined(&self, waiter: Started) -> Outcome {
        self.step(&"waits for the end of a wait for the word of a thread that has ended");
        match self.end_of(waiter) {
            Err(Errno::AGAIN) => too_late(),
            answered => self.same("the wait for the word of a thread that ended", answered, Ok(0)),
        }
    }

    /// Starts a thread that waits, without the private flag, until the word is another than it is.
    pub(crate) fn joiner(&self) -> Result<Started, Trouble> {
        self.set(WORD + 1, self.get(WORD));
        self.start_asleep(|world| world.futex(wait(world.address(WORD), SHARED, world.get(WORD + 1), 0)))
    }

    /// Joins a thread as C libraries do: waits until its word is 0.
    pub(crate) fn join(&self) -> Outcome {
        loop {
            let value = self.get(WORD);
            if value == 0 {
                return Ok(());
            }
            match self.futex(wait(self.address(WORD), SHARED, value, 0)) {
                Ok(_) | Err(Errno::AGAIN | Errno::INTR) => {}
                answered => return self.same("a wait for the word of a thread", answered, Ok(0)),
            }
        }
    }
}

/// The waiter was not asleep when the thread ended.
pub(crate) fn too_late<T>() -> Result<T, Trouble> {
    Err(Trouble::Late(Text::of(format_args!("a waiter did not sleep yet when the thread ended"))))
}

/// Says which flags `clone` does not take, or asserts the number that it answered.
pub(crate) fn has_number(world: &World<'_>, thread: Started, number: usize) -> Outcome {
    match world.number_of(thread) as usize {
        0 => Err(unfit(format_args!("a thread cannot learn its number by gettid"))),
        own if own == number => Ok(()),
        own => wrong(format_args!("clone answered {number}, and the thread's number is {own}; on Linux they are one")),
    }
}
