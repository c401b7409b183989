//! A thread's exit: each lock that it owns is handed to its top waiter.

use crate::mutant::check;
use crate::pi::hand_off::{Notified, assign};
use crate::{Engine, Host, Inheritance};

impl<H: Host> Engine<H> {
    /// Hands off the locks of the calling thread, which exits or becomes another program, and whose
    /// robust list was walked ([`exit_robust`](crate::Engine::exit_robust)). Each lock that it owns
    /// and that threads wait for is handed to the most urgent of them, which writes its own number
    /// into the word, with the waiters bit and the owner-died bit. Returns how many locks were
    /// handed off. The calling thread is no longer lent anything.
    ///
    /// The engine does not know locks that no thread waits for: the walk of the robust list marks
    /// those that are in it. User memory is not touched. Before the call the host sees to it that
    /// [`Inheritance::find`] no longer answers the thread as an owner.
    ///
    /// Memory ordering: what the calling thread did before happens before the new owners' calls
    /// return.
    ///
    /// # Cost
    /// For each lock one hold of the engine's lock for inheritance, as long as
    /// [`unlock_pi`](Self::unlock_pi) holds it.
    ///
    /// # Panics
    /// Where a callback panics, the other locks are handed off all the same.
    pub fn exit_pi(&self, host: &H) -> u32 {
        let Some(inheritance) = host.inheritance() else { return 0 };
        let me = inheritance.current();
        Exiting { engine: self, host, inheritance, me: me.id, done: false }.finish()
    }
}

/// A guard for the exit of a thread: hands the rest of its locks off when dropped, where a callback
/// panicked.
struct Exiting<'a, H: Host> {
    engine: &'a Engine<H>,
    host: &'a H,
    inheritance: &'a dyn Inheritance<H>,
    me: u64,
    done: bool,
}

impl<H: Host> Exiting<'_, H> {
    /// Hands all locks off; returns how many.
    fn finish(&mut self) -> u32 {
        let mut count = 0;
        loop {
            // One lock for each hold of the graph's lock: in between it is released, and the new
            // owner is unparked without it.
            let mut notified = Notified::none(self.host);
            let mut waits = self.engine.graph().lock(self.host);
            // No thread waits for a lock of this thread any more, and none will: `find` no longer
            // answers it as an owner.
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
        // Runs only when a host callback unwound. A panic here is a double panic and aborts.
        if check!(exit_rest, !self.done) {
            self.finish();
        }
    }
}
