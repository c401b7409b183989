//! The time in which callbacks run: those of a domain of QSBR expect an online thread, and those of
//! programs with inlined sections one whose sections count.

use super::super::backing::State;
use super::{inlined, reader, thread};

/// The time in which callbacks run on the calling thread: it is an inlined reader, where the domain
/// has such, and it is online, in a domain of QSBR.
pub(in crate::rcu) struct Callbacks {
    /// The domain, if the thread was offline before.
    online: Option<&'static State>,
    /// Declared after the other, and so dropped after it.
    _inlined: inlined::Callbacks,
}

impl Callbacks {
    /// Brings the calling thread into the state that callbacks of the domain expect.
    pub(in crate::rcu) fn begin(domain: &'static State) -> Callbacks {
        let inlined = inlined::Callbacks::begin(domain);
        let is_new =
            domain.grace.kind.is_qsbr() && !thread::slot(domain).is_some_and(|slot| reader::is_online(domain, slot));
        if is_new {
            reader::go_online(domain);
        }
        Callbacks { online: is_new.then_some(domain), _inlined: inlined }
    }
}

impl Drop for Callbacks {
    fn drop(&mut self) {
        if let Some(domain) = self.online {
            reader::go_offline(domain);
        }
    }
}
