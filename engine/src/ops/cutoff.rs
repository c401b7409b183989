//! Calls that take a bucket's lock several times: with whom they end.

use crate::Host;
use crate::mutant::mutated;
use crate::ops::call::{Held, HeldTwo};
use crate::table::key::Key;
use crate::table::locked::Locked;
use crate::table::space::TablePin;

/// Who was there when a call began that takes several holds of a lock: the waiters with numbers below it. Those that come meanwhile, and the same ones
/// again, are not the call's, so that none is without end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Horizon {
    pub(crate) below: u64,
    /// Whether that is a number of the space's own table. It goes on in a larger one; but a space gets its first table when nobody is left in the global
    /// one: then the call has nobody to look for any more.
    own: bool,
}

impl Horizon {
    fn new<H: Host>(locked: &mut Locked<'_, H>, pin: Option<&TablePin<'_, H>>, key: &Key) -> Horizon {
        let own = key.is_private() && matches!(pin, Some(TablePin::Private(_)));
        Horizon { below: locked.list().next_number, own: own && !mutated!(horizon_table) }
    }

    /// Whether numbers of this and of a later hold say the same.
    pub(crate) fn goes_on(self, now: Horizon) -> bool {
        self.own == now.own
    }
}

impl<H: Host> Held<'_, H> {
    pub(crate) fn horizon(&mut self, key: &Key) -> Horizon {
        Horizon::new(&mut self.locked, self.pin.as_ref(), key)
    }
}

impl<'a, H: Host> HeldTwo<'a, H> {
    pub(crate) fn horizon(&mut self, key: &Key) -> Horizon {
        Horizon::new(&mut self.first, self.pin.as_ref(), key)
    }

    /// The second key's bucket, and its horizon.
    pub(crate) fn second(&mut self, key: &Key) -> (&mut Locked<'a, H>, Horizon) {
        let locked = self.second.as_mut().unwrap_or(&mut self.first);
        let horizon = Horizon::new(locked, self.pin.as_ref(), key);
        (locked, horizon)
    }
}
