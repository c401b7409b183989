//! The steps of every robust lock: the protocol of `src/robust/lock.rs`. A function for each part of
//! a thread's way through the lock.

use super::state::{At, State, Word};
use crate::{Cut, Machine, Verdict};

impl Machine<'_> {
    /// Pushes the states after the thread's next step, if it can take one.
    pub fn step(&self, state: &State, me: usize, into: &mut Vec<State>) -> Result<(), Verdict> {
        if self.waits_for_its_stores(state, me) {
            return Ok(());
        }
        match state.threads[me].at {
            At::Done | At::Dead => return Ok(()),
            At::Asleep if !self.cut(Cut::LongLook) => return Ok(()),
            At::Begin => return self.begin(state, me, into),
            At::Fast | At::Look | At::Take(_) | At::Announce(_) | At::Wait(_) | At::Asleep => {
                self.take(state, me, into)
            }
            At::Link => return self.link(state, me, into),
            At::EndTaking | At::Enter | At::Leave => return self.hold(state, me, into),
            At::Name | At::Unlink | At::Release | At::EndGiving => self.give_up(state, me, into),
            At::WakeOne | At::Settle | At::SettleAsk | At::SettleClear | At::SettleRelease | At::SettleWake => {
                self.settle(state, me, into);
            }
            At::Dying => self.wake(state, me, At::Dead, At::Dead, into),
            _ => self.light_step(state, me, into),
        }
        Ok(())
    }

    /// A thread begins its next round, if it has one: it names the lock as the pending one.
    fn begin(&self, state: &State, me: usize, into: &mut Vec<State>) -> Result<(), Verdict> {
        let mut next = *state;
        let mine = &mut next.threads[me];
        if mine.rounds == 0 {
            mine.at = At::Done;
        } else {
            mine.pending = !self.cut(Cut::PendingLate);
            (mine.told, mine.slept) = (false, false);
            mine.at = At::Fast;
            if self.cut(Cut::LinkFirst) {
                if next.linked.is_some() {
                    return Err(Verdict::TwoLists);
                }
                next.linked = Some(me as u8 + 1);
            }
        }
        into.push(next);
        Ok(())
    }

    /// A thread takes the word, or marks it and sleeps.
    fn take(&self, state: &State, me: usize, into: &mut Vec<State>) {
        let name = me as u8 + 1;
        let word = state.word;
        let mut next = *state;
        let mine = &mut next.threads[me];
        match mine.at {
            At::Fast if word == Word::default() => {
                next.word.owner = name;
                mine.at = if self.light { At::Stay } else { At::Link };
            }
            At::Fast => mine.at = At::Look,
            At::Look if word.owner == 0 => mine.at = At::Take(word),
            At::Look => {
                mine.at = self.before_the_mark(state, me);
                if !matches!(mine.at, At::Announce(_) | At::Wait(_)) {
                    mine.found = word;
                }
            }
            At::Take(seen) if seen == word => {
                let waiters = word.waiters || self.cut(Cut::Classic) && mine.slept;
                (mine.at, mine.told) = (if self.light { At::Uncount } else { At::Link }, word.died);
                next.word = Word { owner: name, waiters, died: false };
            }
            At::Announce(seen) if seen == word => {
                next.word = Word { waiters: true, died: false, ..word };
                mine.at = At::Wait(next.word);
            }
            At::Wait(seen) if seen == word => {
                mine.at = if self.light && !mine.seen { At::Nap } else { At::Asleep };
                mine.slept = true;
            }
            At::Take(_) | At::Announce(_) | At::Wait(_) => mine.at = At::Look,
            // It rechecks by itself.
            At::Asleep => mine.at = At::Look,
            other => unreachable!("{other:?} is no step of this function"),
        }
        into.push(next);
    }

    /// A thread that has the word puts the node on its list.
    fn link(&self, state: &State, me: usize, into: &mut Vec<State>) -> Result<(), Verdict> {
        let mut next = *state;
        let mine = &mut next.threads[me];
        if self.cut(Cut::LinkFirst) {
            mine.at = At::EndTaking;
        } else if state.linked.is_some() {
            return Err(Verdict::TwoLists);
        } else if self.cut(Cut::PendingBeforeLink) && mine.pending {
            mine.pending = false;
        } else if self.cut(Cut::PendingLate) && !mine.pending {
            // A thread that names the lock late names it here.
            mine.pending = true;
        } else {
            mine.at = At::EndTaking;
            next.linked = Some(me as u8 + 1);
        }
        into.push(next);
        Ok(())
    }

    /// A thread that has the lock enters, where a lock that is not exclusive shows, and leaves.
    fn hold(&self, state: &State, me: usize, into: &mut Vec<State>) -> Result<(), Verdict> {
        let name = me as u8 + 1;
        let mut next = *state;
        let mine = &mut next.threads[me];
        match mine.at {
            At::EndTaking => (mine.pending, mine.at) = (false, At::Enter),
            At::Enter => {
                if state.inside.is_some() {
                    return Err(Verdict::TwoOwners);
                }
                if state.half_written && !mine.told {
                    return Err(Verdict::NobodyWasTold);
                }
                mine.at = At::Leave;
                (next.inside, next.half_written) = (Some(name), true);
            }
            At::Leave => {
                mine.at = At::Name;
                (next.inside, next.half_written) = (None, false);
            }
            other => unreachable!("{other:?} is no step of this function"),
        }
        into.push(next);
        Ok(())
    }

    /// A thread takes the node off its list and releases the word; or its round is over.
    fn give_up(&self, state: &State, me: usize, into: &mut Vec<State>) {
        let word = state.word;
        let mut next = *state;
        let mine = &mut next.threads[me];
        match mine.at {
            At::Name => (mine.pending, mine.at) = (true, At::Unlink),
            At::Unlink => {
                mine.at = if self.light { At::SayLeaving } else { At::Release };
                next.linked = None;
            }
            At::Release if self.cut(Cut::PendingBeforeRelease) && mine.pending => mine.pending = false,
            At::Release => {
                let keeps = !self.cut(Cut::WaitersDropped) && !self.cut(Cut::Classic);
                mine.at = if word.waiters { At::WakeOne } else { self.given() };
                next.word = Word { owner: 0, waiters: word.waiters && keeps, died: false };
            }
            At::EndGiving => {
                (mine.pending, mine.at) = (false, At::Begin);
                mine.rounds -= 1;
            }
            other => unreachable!("{other:?} is no step of this function"),
        }
        into.push(next);
    }

    /// A thread wakes a sleeper; or, where none was there, takes the waiters bit away.
    fn settle(&self, state: &State, me: usize, into: &mut Vec<State>) {
        let name = me as u8 + 1;
        let word = state.word;
        let mut next = *state;
        let mine = &mut next.threads[me];
        match mine.at {
            At::WakeOne if self.cut(Cut::PendingBeforeWake) && mine.pending => mine.pending = false,
            At::WakeOne => {
                self.wake(state, me, self.given(), At::Settle, into);
                return;
            }
            At::Settle => {
                let free = Word { waiters: true, ..Word::default() };
                mine.at = self.given();
                if word == free && self.cut(Cut::SettleWithoutTaking) {
                    next.word = Word::default();
                } else if word == free {
                    mine.at = if self.cut(Cut::SettleWithoutAsking) { At::SettleClear } else { At::SettleAsk };
                    next.word = Word { owner: name, waiters: true, died: true };
                }
            }
            At::SettleAsk => {
                self.wake(state, me, At::SettleRelease, At::SettleClear, into);
                return;
            }
            At::SettleClear => {
                mine.at = At::SettleRelease;
                if word == (Word { owner: name, waiters: true, died: true }) {
                    mine.at = self.given();
                    next.word = Word::default();
                }
            }
            At::SettleRelease => {
                mine.at = At::SettleWake;
                next.word = Word { waiters: true, ..Word::default() };
            }
            At::SettleWake => {
                self.wake(state, me, self.given(), self.given(), into);
                return;
            }
            other => unreachable!("{other:?} is no step of this function"),
        }
        into.push(next);
    }

    /// Returns where the owner is after the release.
    fn given(&self) -> At {
        if self.light { At::Quieten } else { At::EndGiving }
    }

    /// Wakes one sleeper, any of them: pushes a state for each, or one state if no thread sleeps.
    fn wake(&self, state: &State, me: usize, woken: At, nobody: At, into: &mut Vec<State>) {
        let mut found = false;
        for other in 0..state.threads.len() {
            if matches!(state.threads[other].at, At::Asleep | At::Nap) && !self.cut(Cut::Wake) {
                let mut next = *state;
                next.threads[other].at = At::Look;
                next.threads[me].at = woken;
                into.push(next);
                found = true;
            }
        }
        if !found {
            let mut next = *state;
            next.threads[me].at = nobody;
            into.push(next);
        }
    }
}
