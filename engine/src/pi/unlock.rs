//! UNLOCK_PI: gives a lock up, and hands it off to its top waiter.

use crate::abi::{FUTEX_TID_MASK as OWNER, FUTEX_WAITERS as WAITERS};
use crate::mutant::{check, mutated};
use crate::ops::call::Call;
use crate::pi::attempt::Stop;
use crate::pi::hand_off::{Notified, wake};
use crate::table::key::Key;
use crate::{Access, Address, Engine, Errno, Host, Inheritance, Thread, Word};

impl<H: Host> Engine<H> {
    /// Unlocks a lock that the calling thread owns. If threads wait for it, it is handed to the
    /// most urgent one, whose number the word then holds with the waiters bit (as on Linux, also
    /// where no other thread waits); otherwise the word becomes 0. The calling thread is no longer
    /// lent what it was lent through this lock.
    ///
    /// Memory ordering: what the calling thread did before happens before the next owner's
    /// [`lock_pi`](Self::lock_pi) returns.
    ///
    /// # Cost
    /// As [`lock_pi`](Self::lock_pi), whatever the number of waiters.
    ///
    /// # Errors
    /// - `ENOSYS`: the host has no [`Inheritance`].
    /// - `EPERM`: the word does not name the calling thread.
    /// - `EINVAL`: the word is misaligned or has not 32 bits; a waiter of another kind waits there,
    ///   or one for another owner; or the word came to name another thread meanwhile.
    /// - `EAGAIN`: the word changed, and no thread waits; or it changed in 10,000 attempts.
    /// - `EFAULT`: the word cannot be written.
    pub fn unlock_pi(&self, host: &H, word: Word) -> Result<(), Errno> {
        let inheritance = host.inheritance().ok_or(Errno::ENOSYS)?;
        let call = Call::new(self, host);
        let me = inheritance.current();
        let mut tries = 0;
        loop {
            // As on Linux, the owner is checked before the address.
            let mut bytes = [0; 4];
            self.read_user(host, word.address, &mut bytes)?;
            let value = u32::from_ne_bytes(bytes);
            if check!(unlock_owner, value & OWNER != me.number) {
                return Err(Errno::EPERM);
            }
            let key = call.key_of_u32(word, Access::Write)?;
            let mut notified = Notified::none(host);
            match call.unlock(&key, word.address, value, me, inheritance, &mut notified) {
                Ok(()) => return Ok(()),
                Err(stop) => call.serve(stop, word.address, &mut tries, inheritance)?,
            }
        }
    }
}

impl<H: Host> Call<'_, H> {
    /// Tries once to unlock a lock whose word held `value`, which names `me`.
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
        // `None`: the first waiter waits to be moved, a thread that exited assigned the lock to it,
        // or another thread owns the lock.
        let top = waits.top_waiter(me.id, key).filter(|_| waits.has(claim)).ok_or(Errno::EINVAL)?;
        // The top waiter is in another bucket if two spaces have one number.
        if check!(top_waiter_bucket, !waits.is_in(top, held.locked.bucket())) {
            return Err(Errno::EINVAL.into());
        }
        // The word changes hands before the claims do: if the exchange fails, nothing has happened.
        let waiters = if mutated!(hand_off_waiters) { 0 } else { WAITERS };
        let now = self.host.compare_exchange(address, value, waiters | waits.thread(top).number)?;
        if now != value {
            // The word had no waiters bit, and a waiter has set it meanwhile: the call begins
            // again. Anything else contradicts the claims.
            return Err(if now & OWNER == value { Stop::Changed } else { Errno::EINVAL.into() });
        }
        // From here on the top waiter owns the lock. It is woken under both locks, and unparked by
        // the caller without them.
        let new = waits.hand_off(top, true);
        notified.handle = new.handle;
        if let Some(node) = new.node {
            notified.spinning = wake(&mut held.locked, node);
        }
        // The old owner is no longer lent anything through this lock; the new owner is lent the
        // priority of those that go on waiting.
        waits.lend(me.id, inheritance);
        waits.lend(new.thread.id, inheritance);
        Ok(())
    }
}
