//! The further steps of a lock that is unlocked by a store: the protocol of
//! `src/robust/sleepers.rs`. Plain stores wait in a buffer, as on x86; read-modify-writes and
//! system calls wait for it to be empty.

use super::state::{At, MOST, State, Store, Word};
use crate::{Cut, Machine};

impl Machine<'_> {
    /// Returns true if the thread is of a process that heavy fences do not reach, and that may not
    /// issue them.
    fn is_outside(&self, me: usize) -> bool {
        self.outsiders >> me & 1 != 0
    }

    /// Returns true if the thread's next step waits for its own stores. Steps that only store or
    /// load do not.
    pub fn waits_for_its_stores(&self, state: &State, me: usize) -> bool {
        let at = state.threads[me].at;
        let plain = matches!(
            at,
            At::Begin
                | At::Stay
                | At::Link
                | At::EndTaking
                | At::Enter
                | At::Leave
                | At::Name
                | At::Unlink
                | At::SayLeaving
                | At::LookWhoIsCounted
                | At::LookAtOwnWord
                | At::StoreFree
                | At::EndGiving
        );
        !plain && !state.threads[me].has_stored_all()
    }

    /// Returns where a thread that found the lock held goes before it sets its mark, or sleeps on
    /// another's.
    pub fn before_the_mark(&self, state: &State, me: usize) -> At {
        let thread = state.threads[me];
        match () {
            () if !self.light || thread.seen => self.mark(state.word),
            () if thread.counted || self.cut(Cut::Count) => At::LookForFence,
            () => At::Count,
        }
    }

    fn mark(&self, found: Word) -> At {
        let announced = found.waiters && (!found.died || self.cut(Cut::SleepOnSettling));
        if announced { At::Wait(found) } else { At::Announce(found) }
    }

    /// Pushes the states after one of the steps that other locks do not have.
    pub fn light_step(&self, state: &State, me: usize, into: &mut Vec<State>) {
        match state.threads[me].at {
            At::Stay | At::SayLeaving | At::LookWhoIsCounted | At::LookAtOwnWord | At::StoreFree | At::Quieten => {
                self.own_step(state, me, into);
            }
            At::LookForFence | At::Fence(_) | At::SetFenced => self.fence_step(state, me, into),
            At::Count | At::LookAtOwner | At::Nap | At::Uncount => self.sleeper_step(state, me, into),
            other => unreachable!("{other:?} is a step of every lock"),
        }
    }

    /// The owner says whether it stays or leaves, and unlocks by a store where it may.
    fn own_step(&self, state: &State, me: usize, into: &mut Vec<State>) {
        let name = me as u8 + 1;
        let mut next = *state;
        let mine = &mut next.threads[me];
        match mine.at {
            At::Stay => {
                mine.store(Store::Leaving(false));
                mine.at = At::Link;
            }
            At::SayLeaving if self.is_outside(me) && !self.cut(Cut::Outsiders) => mine.at = At::Release,
            At::SayLeaving => {
                if !self.cut(Cut::Leaving) {
                    mine.store(Store::Leaving(true));
                }
                mine.at = At::LookWhoIsCounted;
            }
            At::LookWhoIsCounted => mine.at = if state.raised { At::Release } else { At::LookAtOwnWord },
            At::LookAtOwnWord => {
                let is_plain = state.word == Word { owner: name, ..Word::default() };
                mine.at = if is_plain { At::StoreFree } else { At::Release };
            }
            At::StoreFree => {
                mine.store(Store::Free);
                mine.at = At::EndGiving;
            }
            At::Quieten => {
                mine.at = At::EndGiving;
                if state.count == 0 || self.cut(Cut::Lowering) {
                    (next.raised, next.fenced) = (false, false);
                }
            }
            other => unreachable!("{other:?} is no step of this function"),
        }
        into.push(next);
    }

    /// A sleeper counts itself, and checks whether the owner is leaving.
    fn sleeper_step(&self, state: &State, me: usize, into: &mut Vec<State>) {
        let mut next = *state;
        let mine = &mut next.threads[me];
        match mine.at {
            At::Count => {
                (mine.at, mine.counted) = (At::LookForFence, true);
                (next.count, next.raised) = (state.count + 1, true);
            }
            At::LookAtOwner => {
                mine.seen = !state.leaving || self.cut(Cut::LookAtOwner);
                (mine.at, mine.found) = (self.mark(mine.found), Word::default());
            }
            // The time is up.
            At::Nap => mine.at = At::Look,
            At::Uncount => {
                (mine.at, mine.counted, mine.seen) = (At::Stay, false, false);
                next.count -= u8::from(state.threads[me].counted);
            }
            other => unreachable!("{other:?} is no step of this function"),
        }
        into.push(next);
    }

    /// A sleeper has every thread execute a heavy fence, unless that was done.
    fn fence_step(&self, state: &State, me: usize, into: &mut Vec<State>) {
        let mut next = *state;
        let mine = &mut next.threads[me];
        match mine.at {
            At::LookForFence if state.fenced || self.cut(Cut::Heavy) => mine.at = At::LookAtOwner,
            At::LookForFence if self.is_outside(me) => {
                (mine.at, mine.found) = (self.mark(mine.found), Word::default());
            }
            At::LookForFence => {
                if self.cut(Cut::FencedBefore) {
                    next.fenced = true;
                }
                // Threads that have come to their end need not execute it.
                let over = |other: &usize| *other == me || matches!(state.threads[*other].at, At::Dead);
                let done = (0..MOST).filter(over).fold(0, |done, other| done | 1 << other);
                next.threads[me].at = At::Fence(done);
            }
            At::Fence(done) if done.count_ones() as usize == state.threads.len() => mine.at = At::SetFenced,
            At::Fence(done) => {
                // Each thread at a time of its own; one of another process that has not joined is
                // passed over.
                for other in (0..state.threads.len()).filter(|other| done >> other & 1 == 0) {
                    if self.is_outside(other) || state.threads[other].has_stored_all() {
                        let mut next = *state;
                        next.threads[me].at = At::Fence(done | 1 << other);
                        into.push(next);
                    }
                }
                return;
            }
            At::SetFenced => (mine.at, next.fenced) = (At::LookAtOwner, true),
            other => unreachable!("{other:?} is no step of this function"),
        }
        into.push(next);
    }
}
