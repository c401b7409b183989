//! What the members of a crew do to locks with priority inheritance.

// Each test program uses its part.
#![allow(dead_code)]

use std::thread::JoinHandle;

use leeward_engine::{Errno, LockPi, Owner, Requeue, WaitPi, Word};

use crate::crew::{Crew, LATER};

pub type Locking = JoinHandle<Result<LockPi, Errno>>;

pub fn word(i: u64) -> Word {
    Word::private(4 * i)
}

impl Crew {
    pub fn lock(&self, number: u32, i: u64) -> Result<LockPi, Errno> {
        self.at_once(number, |engine, member| engine.lock_pi(member, word(i), LATER))
    }

    pub fn own(&self, number: u32, i: u64) {
        assert_eq!(self.lock(number, i), Ok(LockPi::Acquired));
        assert_eq!(self.get(4 * i), number);
    }

    pub fn unlock(&self, number: u32, i: u64) -> Result<(), Errno> {
        self.engine.unlock_pi(&self.member(number), word(i))
    }

    pub fn wait_for(&self, number: u32, i: u64) -> Locking {
        self.sleeper(number, move |engine, member| engine.lock_pi(member, word(i), LATER))
    }

    pub fn wait_requeue(&self, number: u32, i: u64, lock: u64) -> JoinHandle<Result<WaitPi, Errno>> {
        self.sleeper(number, move |engine, member| engine.wait_requeue_pi(member, word(i), 0, LATER, word(lock)))
    }

    pub fn requeue(&self, i: u64, lock: u64, requeue: u32) -> Result<Requeue, Errno> {
        self.engine.requeue_pi(&self.member(99), word(i), word(lock), requeue, 0)
    }

    pub fn exit(&self, number: u32) -> u32 {
        self.set_owner(number, Owner::Exiting);
        let count = self.engine.exit_pi(&self.member(number));
        self.set_owner(number, Owner::Nobody);
        count
    }
}

pub fn end(locking: Locking) -> LockPi {
    locking.join().unwrap().unwrap()
}
