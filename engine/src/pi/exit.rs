//! A thread's exit: the locks that it owns go to those that wait for them.

use crate::mutant::check;
use crate::pi::hand_off::{Notified, assign};
use crate::{Engine, Host, Inheritance};

impl<H: Host> Engine<H> {
    /// The calling thread exits, or becomes another program, and its robust list was walked: each
    /// lock that it owns and that somebody waits for is handed to the most urgent of those, which
    /// writes its own number into the word, with the waiters and the owner-died bit; how many. What
    /// the thread was lent is over. Locks that nobody waits for are not known here: those in the
    /// robust list are marked by its walk.
    ///
    /// The host sees to it beforehand that [`Inheritance::find`] does not answer the thread as an
    /// owner any more. Does not touch user memory.
    ///
    /// # Cost
    /// For each lock one hold of the engine's lock for inheritance, for as long as
    /// [`unlock_pi`](Self::unlock_pi) holds it.
    pub fn exit_pi(&self, host: &H) -> u32 {
        let Some(inheritance) = host.inheritance() else { return 0 };
        let me = inheritance.current();
        Exiting { engine: self, host, inheritance, me: me.id, done: false }.finish()
    }
}

/// A thread that exits, until its locks are handed off: all of them, also where a callback panics
/// meanwhile.
struct Exiting<'a, H: Host> {
    engine: &'a Engine<H>,
    host: &'a H,
    inheritance: &'a dyn Inheritance<H>,
    me: u64,
    done: bool,
}

impl<H: Host> Exiting<'_, H> {
    /// How many.
    fn finish(&mut self) -> u32 {
        let mut count = 0;
        loop {
            // One lock a hold: the graph's lock is given up in between, and the new owner unparked
            // without it.
            let mut notified = Notified::none(self.host);
            let mut waits = self.engine.graph().lock(self.host);
            // No thread waits for a lock of this thread any more, nor will one: `find` does not
            // answer it as an owner.
            let Some(key) = waits.lock_of(self.me) else {
                self.done = true;
                return count;
            };
            assign(&mut waits, self.me, &key, self.inheritance, &mut notified);
            count += 1;
        }
    }
}

impl<H: Host> Drop for Exiting<'_, H> {
    fn drop(&mut self) {
        // Does something where the host panicked; then a second panic aborts.
        if check!(exit_rest, !self.done) {
            self.finish();
        }
    }
}
