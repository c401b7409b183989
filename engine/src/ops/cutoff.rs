//! The wake cutoff of calls that take a bucket's lock several times: it makes them end. Used by
//! `wake`, `wake_op` and `requeue`.

use crate::Host;
use crate::mutant::check;
use crate::ops::call::{HeldOne, HeldTwo};
use crate::table::key::Key;
use crate::table::locked::LockedBucket;
use crate::table::space::TablePin;

/// The waiters that were queued when a call began: those with a sequence number below the cutoff. A
/// waiter that comes later, or comes back, is not the call's, so that every call ends, however
/// often it takes the lock.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cutoff {
    pub(crate) below: u64,
    /// True if `below` is a sequence number of the space's private table. A larger private table
    /// goes on with its numbers. A space gets its first private table only when none of its waiters
    /// is in the global table: a call that began there has no waiter left to look for.
    own: bool,
}

impl Cutoff {
    fn new<H: Host>(locked: &mut LockedBucket<'_, H>, pin: Option<&TablePin<'_, H>>, key: &Key) -> Cutoff {
        let own = key.is_private() && matches!(pin, Some(TablePin::Private(_)));
        Cutoff { below: locked.list().next_sequence, own: check!(cutoff_table, own) }
    }

    /// Returns true if the sequence numbers of this hold and of a later one (`now`) can be
    /// compared.
    pub(crate) fn goes_on(self, now: Cutoff) -> bool {
        self.own == now.own
    }
}

impl<H: Host> HeldOne<'_, H> {
    /// Returns the cutoff after the waiters that are queued now.
    pub(crate) fn cutoff(&mut self, key: &Key) -> Cutoff {
        Cutoff::new(&mut self.locked, self.pin.as_ref(), key)
    }
}

impl<'a, H: Host> HeldTwo<'a, H> {
    /// Returns the cutoff after the waiters that are queued now in the first key's bucket.
    pub(crate) fn cutoff(&mut self, key: &Key) -> Cutoff {
        Cutoff::new(&mut self.first, self.pin.as_ref(), key)
    }

    /// Returns the second key's bucket, and its cutoff.
    pub(crate) fn second(&mut self, key: &Key) -> (&mut LockedBucket<'a, H>, Cutoff) {
        let locked = self.second.as_mut().unwrap_or(&mut self.first);
        let cutoff = Cutoff::new(locked, self.pin.as_ref(), key);
        (locked, cutoff)
    }
}
