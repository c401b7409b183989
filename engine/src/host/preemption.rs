//! The guard of a time without preemption, which ends also where a callback of the host panics (see
//! [`Host`], "Panics"). Held by `table::lock_word` with a bucket's lock.

use crate::Host;

/// A time without preemption: from when this is made until it is dropped, also by a panic of a
/// callback of the host.
pub(crate) struct PreemptionGuard<'a, H: Host>(&'a H);

impl<'a, H: Host> PreemptionGuard<'a, H> {
    #[inline(always)]
    pub(crate) fn new(host: &'a H) -> PreemptionGuard<'a, H> {
        host.preempt_off();
        PreemptionGuard(host)
    }
}

impl<H: Host> Drop for PreemptionGuard<'_, H> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.preempt_on();
    }
}
