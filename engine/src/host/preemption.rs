//! What is done also where a callback of the host's panics: see [`Host`], "Panics".

use crate::Host;

/// Preemption is off; on again when this goes.
pub(crate) struct Off<'a, H: Host>(&'a H);

impl<'a, H: Host> Off<'a, H> {
    #[inline(always)]
    pub(crate) fn new(host: &'a H) -> Off<'a, H> {
        host.preempt_off();
        Off(host)
    }
}

impl<H: Host> Drop for Off<'_, H> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.preempt_on();
    }
}
