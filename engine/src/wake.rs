//! WAKE and WAKE_BITSET.

use crate::atomic::{Ordering, fence};
use crate::batch::Batch;
use crate::engine::Call;
use crate::key::Key;
use crate::mutant::mutated;
use crate::{Access, Engine, Errno, Host, Word};

impl<H: Host> Engine<H> {
    /// Wakes up to `count` of the word's waiters that have a bit of `bitset` in common, the most urgent first, and the
    /// longest waiting among equals; how many. The word is not read, and may be gone.
    ///
    /// Memory ordering: a full fence comes first, also where nobody waits.
    ///
    /// # Cost
    /// Nobody waits in the bucket: a fence and a load, no lock. Else one lock for each 16 woken; a lock is held for at
    /// most one pass over its bucket's waiters. Waiters that come after it began are not woken.
    ///
    /// # Errors
    /// `EINVAL`: a bitset of 0, a misaligned word, one that is a lock with priority inheritance for which threads wait. `EFAULT`: a shared word where nothing is. A private word where nothing is has no
    /// waiters.
    pub fn wake(&self, host: &H, word: Word, count: u32, bitset: u32) -> Result<u32, Errno> {
        if bitset == 0 {
            return Err(Errno::EINVAL);
        }
        let call = Call::new(self, host);
        let key = call.key(word, Access::Read)?;
        call.wake(&key, count, bitset)
    }
}

impl<H: Host> Call<'_, H> {
    /// Wakes by key.
    #[inline]
    pub(crate) fn wake(&self, key: &Key, count: u32, bits: u32) -> Result<u32, Errno> {
        // Pair W, the waker's half: the word was stored to; `waiters` is read next.
        if !mutated!(wake_fence) {
            fence(Ordering::SeqCst);
        }
        if self.bucket(key).is_empty() {
            return Ok(0);
        }
        self.wake_some(key, count, bits, None, 0)
    }

    /// Wakes until `count` were, `woken` of them before; those below `horizon`, or that are there now.
    #[cold]
    #[inline(never)]
    pub(crate) fn wake_some(
        &self,
        key: &Key,
        count: u32,
        bits: u32,
        horizon: Option<u64>,
        woken: u32,
    ) -> Result<u32, Errno> {
        let mut horizon = horizon;
        let mut woken = woken;
        let mut batch = Batch::new();
        while woken < count {
            let mut held = self.lock(key);
            let below = *horizon.get_or_insert(held.locked.chain().next_number);
            let more = held.locked.wake(key, bits, count - woken, below, &mut batch);
            if mutated!(unpark_inside) {
                batch.unpark(self.host);
            }
            drop(held);
            let full = batch.unpark(self.host);
            woken += more?;
            if !full {
                break;
            }
        }
        Ok(woken)
    }
}
