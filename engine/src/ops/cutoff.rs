//! Calls that take a bucket's lock several times: with whom they end.

use crate::Host;
use crate::mutant::mutated;
use crate::ops::call::{Held, HeldTwo};
use crate::table::key::Key;
use crate::table::locked::Locked;
use crate::table::space::TablePin;

/// Who was there when a call began that takes several holds of a lock: the waiters with sequence
/// numbers below it. Those that come meanwhile, and the same ones again, are not the call's, so
/// that none is without end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cutoff {
    pub(crate) below: u64,
    /// Whether that is a sequence number of the space's own table. It goes on in a larger one; but
    /// a space gets its first table when nobody is left in the global one: then the call has nobody
    /// to look for any more.
    own: bool,
}

impl Cutoff {
    fn new<H: Host>(locked: &mut Locked<'_, H>, pin: Option<&TablePin<'_, H>>, key: &Key) -> Cutoff {
        let own = key.is_private() && matches!(pin, Some(TablePin::Private(_)));
        Cutoff { below: locked.list().next_sequence, own: own && !mutated!(cutoff_table) }
    }

    /// Returns true if the sequence numbers of this and of a later hold can be compared.
    pub(crate) fn goes_on(self, now: Cutoff) -> bool {
        self.own == now.own
    }
}

impl<H: Host> Held<'_, H> {
    pub(crate) fn cutoff(&mut self, key: &Key) -> Cutoff {
        Cutoff::new(&mut self.locked, self.pin.as_ref(), key)
    }
}

impl<'a, H: Host> HeldTwo<'a, H> {
    pub(crate) fn cutoff(&mut self, key: &Key) -> Cutoff {
        Cutoff::new(&mut self.first, self.pin.as_ref(), key)
    }

    /// The second key's bucket, and its cutoff.
    pub(crate) fn second(&mut self, key: &Key) -> (&mut Locked<'a, H>, Cutoff) {
        let locked = self.second.as_mut().unwrap_or(&mut self.first);
        let cutoff = Cutoff::new(locked, self.pin.as_ref(), key);
        (locked, cutoff)
    }
}
