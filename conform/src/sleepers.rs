//! Threads that sleep on a word, and how they are woken: what most scenarios set up.

use core::sync::atomic::Ordering;

use crate::errno::{Answer, Errno};
use crate::futex::{PRIVATE, Time, wait, wake};
use crate::scenario::{Outcome, Trouble};
use crate::text::Text;
use crate::world::{Body, Started, World, wrong};

impl World<'_> {
    /// Waits on a word while it holds 0: `FUTEX_WAIT`, private, without a time.
    pub(crate) fn sleep_on(&self, at: usize) -> Answer {
        self.futex(wait(self.address(at), PRIVATE, 0, 0))
    }

    /// Waits 100 times on word 0 while it holds 0, with a relative time of 100 us. Counts in word 2 the
    /// waits that a wake ended; at last answers ETIMEDOUT.
    pub(crate) fn wait_briefly(&self) -> Answer {
        let time = Time { seconds: 0, nanoseconds: 100_000 };
        for _ in 0..100 {
            match self.futex(wait(self.address(0), PRIVATE, 0, time.address())) {
                Ok(_) => drop(self.word(2).fetch_add(1, Ordering::SeqCst)),
                Err(Errno::TIMEDOUT) => {}
                Err(errno) => return Err(errno),
            }
        }
        Err(Errno::TIMEDOUT)
    }

    /// Wakes up to `count` at a word: `FUTEX_WAKE`, private.
    pub(crate) fn wake_at(&self, at: usize, count: u32) -> Answer {
        self.futex(wake(self.address(at), PRIVATE, count))
    }

    /// Starts a thread, and lets it go to sleep. If the kernel lacks the operation that it calls, the
    /// scenario is absent.
    pub(crate) fn sleeper(&self, body: Body) -> Result<Started, Trouble> {
        let started = self.start_asleep(body)?;
        self.is_served(started).map(|()| started)
    }

    /// Starts threads, and lets all of them go to sleep, in any order.
    pub(crate) fn asleep<const N: usize>(&self, body: Body) -> Result<[Started; N], Trouble> {
        let started = self.each(|| self.start(body))?;
        self.rest();
        started.iter().try_for_each(|&thread| self.is_served(thread)).map(|()| started)
    }

    /// Starts threads, each of which goes to sleep before the next starts.
    pub(crate) fn in_order<const N: usize>(&self, body: Body) -> Result<[Started; N], Trouble> {
        self.each(|| self.sleeper(body))
    }

    fn each<const N: usize>(&self, start: impl Fn() -> Result<Started, Trouble>) -> Result<[Started; N], Trouble> {
        let mut started = [None; N];
        for place in &mut started {
            *place = Some(start()?);
        }
        Ok(started.map(|thread| thread.expect("each was started")))
    }

    fn is_served(&self, thread: Started) -> Outcome {
        if self.has_ended(thread) && self.end_of(thread) == Err(Errno::NOSYS) {
            return Err(Trouble::Absent(Text::of(format_args!("the sleeper's call"))));
        }
        Ok(())
    }

    /// Waits until one of the threads has ended; returns which.
    pub(crate) fn first_to_end(&self, threads: &[Started]) -> usize {
        loop {
            let ended = threads.iter().position(|&thread| self.has_ended(thread));
            if let Some(at) = ended {
                return at;
            }
            self.wait_until(|| threads.iter().any(|&thread| self.has_ended(thread)));
        }
    }

    /// Asserts that all threads end, with answer 0: they were woken.
    pub(crate) fn all_end(&self, threads: &[Started]) -> Outcome {
        self.step(&"waits for the end of the sleepers' calls");
        threads.iter().try_for_each(|&thread| self.ends(thread, "a sleeper", Ok(0)))
    }

    /// Asserts that these threads, asleep on a word, are woken there one by one in this order.
    pub(crate) fn wakes_in_order(&self, at: usize, threads: &[Started]) -> Outcome {
        for from in 0..threads.len() {
            self.same("FUTEX_WAKE of one", self.wake_at(at, 1), Ok(1))?;
            self.step(&"waits until the one that was woken has ended its call");
            let ended = from + self.first_to_end(&threads[from..]);
            if ended != from {
                return wrong(format_args!(
                    "wake {} woke the thread that was number {} to wait; on Linux the first is the first to be woken",
                    from + 1,
                    ended + 1
                ));
            }
            self.same("the sleeper's call", self.end_of(threads[from]), Ok(0))?;
        }
        Ok(())
    }
}
