//! Who runs what with the asymmetric locks, and which part is cut out.

use crate::model::lang::{Order, Relaxed};

/// What is taken out of the algorithm.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cut {
    /// G, I: the heavy fence between taking the bias away and the scan of the slots.
    NoHeavy,
    /// G: that fence of a writer which finds the lock half closed by another, or open again.
    NoHeavyForAnother,
    /// G, I: the light fence, as the compiler's swap of the announcement and the load.
    NoLightOnEnter,
    /// A full fence in the light fence's place: what a model without remote fences would see.
    /// Sound.
    FullLight,
    AnnounceRelaxed,
    /// The release with which a reader gives the bias back to all readers.
    OpenRelaxed,
    /// The acquire of a reader's load of whether the lock is open.
    LookRelaxed,
    LeaveRelaxed,
    ScanRelaxed,
    NoWait,
    /// H, J: the heavy fence between the request and the recheck.
    NoSleepHeavy,
    HeavyBeforeAsking,
    /// H, J: the light fence, as the compiler's swap of the leaving store and the load.
    NoLightOnLeave,
    NoWake,
    NoRecheck,
    /// Asking again: one request a slot, although waits return and other writers overwrite it.
    NoAskingAgain,
    /// Tokens of their own: a request is 1 for every lock, also that of another lock's writer.
    OneToken,
    /// Putting the bias back: a revoker that gives up leaves it taken away.
    NotRestored,
}

#[derive(Clone, Copy)]
pub enum Role {
    /// Reads lock 0 `reads` times by its slots; if refused, reads by the ordinary lock, and gives
    /// the bias back where `opens`.
    Reader { reads: u8, opens: bool },
    /// Reads lock 0, then lock 1, by the same slot.
    ReaderOfBoth,
    /// Writes that lock `writes` times.
    Writer { lock: u8, writes: u8 },
    /// The thread that lock 0 is biased to, as a mutex. It locks it `locks` times; where the bias
    /// was taken away by the ordinary lock, after which it is the owner again.
    Owner { locks: u8 },
    /// Locks the mutex as another thread.
    Revoker,
    /// Tries to lock the mutex as another thread, once and without waiting.
    Trier,
}

#[derive(Clone)]
pub struct Setup {
    pub name: &'static str,
    pub roles: Vec<Role>,
    pub cuts: Vec<Cut>,
    /// True if writers and revokers sleep where they are blocked; else they spin.
    pub sleep: bool,
    pub spurious: bool,
}

pub fn setup(name: &'static str, roles: &[Role]) -> Setup {
    Setup { name, roles: roles.to_vec(), cuts: Vec::new(), sleep: false, spurious: false }
}

impl Setup {
    pub fn sleeping(mut self) -> Setup {
        self.sleep = true;
        self
    }

    pub fn cut(&self, cut: Cut) -> bool {
        self.cuts.contains(&cut)
    }

    pub fn order(&self, cut: Cut, order: Order) -> Order {
        if self.cut(cut) { Relaxed } else { order }
    }
}
