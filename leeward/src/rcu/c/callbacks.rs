//! The time in which callbacks run: those of a domain of QSBR expect an online thread.
//!
//! Called by `defer/`; calls `reader.rs`.

use super::super::backing::State;
use super::{reader, thread};

/// The time in which callbacks run on the calling thread: it is online, in a domain of QSBR.
pub(in super::super) struct Callbacks(Option<&'static State>);

impl Callbacks {
    /// Brings the calling thread online, if callbacks of the domain expect that.
    pub(in super::super) fn begin(domain: &'static State) -> Callbacks {
        let is_new =
            domain.grace.kind.is_qsbr() && !thread::slot(domain).is_some_and(|slot| reader::is_online(domain, slot));
        if is_new {
            reader::go_online(domain);
        }
        Callbacks(is_new.then_some(domain))
    }
}

impl Drop for Callbacks {
    fn drop(&mut self) {
        if let Some(domain) = self.0 {
            reader::go_offline(domain);
        }
    }
}
