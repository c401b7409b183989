//! What is done also where a callback of the host's panics: see [`Host`], "Panics".

use crate::Host;

/// Turns preemption off, and on again when it is dropped, also where a callback of the host's
/// panics.
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
