//! UNLOCK_PI.

use crate::abi::{FUTEX_TID_MASK as OWNER, FUTEX_WAITERS as WAITERS};
use crate::mutant::{check, mutated};
use crate::ops::call::Call;
use crate::pi::attempt::Stop;
use crate::pi::hand_off::{Notified, wake};
use crate::table::key::Key;
use crate::{Access, Address, Engine, Errno, Host, Inheritance, Thread, Word};

impl<H: Host> Engine<H> {
    /// Gives a lock up that the calling thread owns: to the most urgent thread that waits for it,
    /// whose number the word holds then, with the waiters bit (as on Linux, also where nobody else
    /// waits); or the word becomes 0. What the thread was lent through it is over.
    ///
    /// Memory ordering: as [`lock_pi`](Self::lock_pi). Cost: as there, whatever the number of
    /// waiters.
    ///
    /// # Errors
    /// `ENOSYS`: the host has no [`Inheritance`]. `EPERM`: the word names another. `EINVAL`: a
    /// misaligned word; somebody waits for it otherwise, or for another owner; the word changed to
    /// another's meanwhile. `EAGAIN`: it changed, and nobody waits. `EFAULT`: it cannot be written.
    pub fn unlock_pi(&self, host: &H, word: Word) -> Result<(), Errno> {
        let inheritance = host.inheritance().ok_or(Errno::ENOSYS)?;
        let call = Call::new(self, host);
        let me = inheritance.current();
        let mut tries = 0;
        loop {
            // As on Linux: who may unlock is asked before the address is.
            let mut bytes = [0; 4];
            self.read_user(host, word.address, &mut bytes)?;
            let value = u32::from_ne_bytes(bytes);
            if check!(unlock_owner, value & OWNER != me.number) {
                return Err(Errno::EPERM);
            }
            let key = call.key(word, Access::Write)?;
            let mut notified = Notified::none(host);
            match call.unlock(&key, word.address, value, me, inheritance, &mut notified) {
                Ok(()) => return Ok(()),
                Err(stop) => call.serve(stop, word.address, &mut tries, inheritance)?,
            }
        }
    }
}

impl<H: Host> Call<'_, H> {
    /// One try to give a lock up whose word held `value`, which names `me`.
    fn unlock(
        &self,
        key: &Key,
        address: Address,
        value: u32,
        me: Thread,
        inheritance: &dyn Inheritance<H>,
        notified: &mut Notified<'_, H>,
    ) -> Result<(), Stop> {
        let mut held = self.lock(key);
        // No thread waits: the word becomes 0.
        let Some(first) = held.locked.list().first(key) else {
            return match self.host.compare_exchange(address, value, 0)? == value {
                true => Ok(()),
                // The word changed meanwhile.
                false => Err(Errno::EAGAIN.into()),
            };
        };
        let claim = self.engine.graph().claim_of(&first)?;
        let mut waits = self.waits();
        // None: the first waits to be moved, or a thread that exited assigned the lock to it, or
        // the lock is another's.
        let top = waits.top_waiter(me.id, key).filter(|_| waits.has(claim)).ok_or(Errno::EINVAL)?;
        // In another bucket it is where two spaces have one number.
        if check!(top_waiter_bucket, !waits.is_in(top, held.locked.bucket())) {
            return Err(Errno::EINVAL.into());
        }
        // The word is handed over before the claims are: if the exchange fails, nothing has
        // happened.
        let waiters = if mutated!(hand_off_waiters) { 0 } else { WAITERS };
        let now = self.host.compare_exchange(address, value, waiters | waits.thread(top).number)?;
        if now != value {
            // The word had no waiters bit, and a waiter has set it meanwhile: once more. Anything
            // else contradicts the claims.
            return Err(if now & OWNER == value { Stop::Changed } else { Errno::EINVAL.into() });
        }
        // From here on the top waiter owns the lock. It is woken under both locks, and unparked by
        // the caller without them.
        let new = waits.hand_off(top, true);
        notified.handle = new.handle;
        if let Some(node) = new.node {
            notified.spinning = wake(&mut held.locked, node);
        }
        // What the old owner was lent through this lock ends, and the new owner is lent what those
        // that go on waiting have.
        waits.lend(me.id, inheritance);
        waits.lend(new.thread.id, inheritance);
        Ok(())
    }
}
