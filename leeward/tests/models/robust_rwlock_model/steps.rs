//! What each thread does next, and what comes of it: a function for each part of a thread's way
//! through the lock.

use super::super::{At, Cut, Machine, SLOTS, State, Verdict};

impl Machine<'_> {
    /// Pushes the states after the thread's next step, if it can take one.
    pub fn step(&self, state: &State, me: usize, into: &mut Vec<State>) -> Result<(), Verdict> {
        match state.threads[me].at {
            At::Done | At::Dead => Ok(()),
            At::Begin | At::TakeLooked | At::Look(_) | At::GiveWay(_) => self.begin(state, me, into),
            At::Queue | At::Turnstile | At::UnderTurnstile | At::BehindTurnstile | At::EndTurnstile(_) => {
                self.queue(state, me, into)
            }
            At::Drain(_) | At::SayWriting => self.keep_readers_out(state, me, into),
            At::WriteHalf | At::WriteRest | At::SayWhole => self.write(state, me, into),
            At::DownSlot | At::DownWhole(_) | At::DownEnd(_) | At::DownSlotLate | At::DownWholeLate(_) => {
                self.downgrade(state, me, into)
            }
            At::Reading(_) | At::Leave | At::EndWriting => self.end(state, me, into),
        }
    }

    /// A thread begins its next round, if it has one: a reader takes its own slot and checks that no
    /// writer is there. Writers go to the writers' lock, and so do readers that may not enter.
    fn begin(&self, state: &State, me: usize, into: &mut Vec<State>) -> Result<(), Verdict> {
        let name = me as u8 + 1;
        let home = me % SLOTS;
        let mut next = *state;
        let mine = &mut next.threads[me];
        match mine.at {
            At::Begin if mine.rounds == 0 => mine.at = At::Done,
            At::Begin if !mine.is_reader => (mine.at, mine.told) = (At::Queue, false),
            At::Begin if self.cut(Cut::LookFirst) => {
                mine.at = if self.is_open(state) { At::TakeLooked } else { At::Queue };
            }
            At::TakeLooked if state.slots[home] == 0 => {
                next.slots[home] = name;
                mine.at = At::Reading(home as u8);
                self.comes_in(&next, me)?;
            }
            At::TakeLooked => mine.at = At::Queue,
            At::Begin if state.slots[home] == 0 => {
                next.slots[home] = name;
                (mine.at, mine.told) = (At::Look(home as u8), false);
            }
            At::Begin => (mine.at, mine.told) = (At::Queue, false),
            At::Look(slot) if self.is_open(state) || self.cut(Cut::Look) => {
                mine.at = At::Reading(slot);
                self.comes_in(&next, me)?;
                // The writer has the lock, and was not inside yet.
                let writer = state.owner != 0 && !state.threads[state.owner as usize - 1].is_reader;
                if writer && !self.cut(Cut::Look) {
                    return Err(Verdict::Overtaken);
                }
            }
            At::Look(slot) => mine.at = At::GiveWay(slot),
            At::GiveWay(slot) => {
                next.slots[slot as usize] = 0;
                mine.at = At::Queue;
            }
            other => unreachable!("{other:?} is no step of this function"),
        }
        into.push(next);
        Ok(())
    }

    /// A thread takes the writers' lock; a reader takes a slot under it, and gives it up again.
    fn queue(&self, state: &State, me: usize, into: &mut Vec<State>) -> Result<(), Verdict> {
        let name = me as u8 + 1;
        let mut next = *state;
        let mine = &mut next.threads[me];
        match mine.at {
            At::Queue if state.owner != 0 => return Ok(()),
            At::Queue => {
                let news = if self.cut(Cut::NewsByMark) { state.died } else { state.writing };
                mine.told = news;
                mine.at = match (mine.is_reader, news) {
                    (true, false) => At::Turnstile,
                    _ if self.cut(Cut::WritingBeforeDrain) => At::SayWriting,
                    _ => At::Drain(0),
                };
                (next.owner, next.died) = (name, false);
            }
            At::Turnstile if self.cut(Cut::TurnstileEarly) => {
                mine.at = At::BehindTurnstile;
                next.owner = 0;
            }
            At::Turnstile => mine.at = At::UnderTurnstile,
            // Any slot; it waits if none is free.
            at @ (At::UnderTurnstile | At::BehindTurnstile) => {
                for slot in (0..SLOTS).filter(|slot| state.slots[*slot] == 0) {
                    let mut next = *state;
                    next.slots[slot] = name;
                    if at == At::UnderTurnstile {
                        next.threads[me].at = At::EndTurnstile(slot as u8);
                    } else {
                        next.threads[me].at = At::Reading(slot as u8);
                        self.comes_in(&next, me)?;
                    }
                    into.push(next);
                }
                return Ok(());
            }
            At::EndTurnstile(slot) => {
                next.owner = 0;
                mine.at = At::Reading(slot);
                self.comes_in(&next, me)?;
            }
            other => unreachable!("{other:?} is no step of this function"),
        }
        into.push(next);
        Ok(())
    }

    /// A writer waits for each slot to be free, and says that it may change the data.
    fn keep_readers_out(&self, state: &State, me: usize, into: &mut Vec<State>) -> Result<(), Verdict> {
        let mut next = *state;
        let mine = &mut next.threads[me];
        match mine.at {
            At::Drain(slot) if (slot as usize) < SLOTS && !self.cut(Cut::Drain) => {
                if state.slots[slot as usize] != 0 {
                    return Ok(());
                }
                mine.at = At::Drain(slot + 1);
            }
            At::Drain(_) if self.cut(Cut::WritingBeforeDrain) => {
                mine.at = At::WriteHalf;
                self.comes_in(&next, me)?;
            }
            At::Drain(_) => mine.at = At::SayWriting,
            At::SayWriting => {
                next.writing |= !self.cut(Cut::Writing);
                if self.cut(Cut::WritingBeforeDrain) {
                    mine.at = At::Drain(0);
                } else {
                    mine.at = At::WriteHalf;
                    self.comes_in(&next, me)?;
                    // A reader that does not repair.
                    if next.threads[me].is_reader {
                        let mut leaves = next;
                        leaves.threads[me].at = At::Leave;
                        into.push(leaves);
                    }
                }
            }
            other => unreachable!("{other:?} is no step of this function"),
        }
        into.push(next);
        Ok(())
    }

    /// A writer changes the data, in two steps, and says that it is whole.
    fn write(&self, state: &State, me: usize, into: &mut Vec<State>) -> Result<(), Verdict> {
        let mut next = *state;
        let mine = &mut next.threads[me];
        match mine.at {
            At::WriteHalf => {
                next.half_written = true;
                mine.at = if self.cut(Cut::WholeEarly) { At::SayWhole } else { At::WriteRest };
            }
            At::WriteRest => {
                (next.half_written, next.is_news) = (false, false);
                mine.at = if self.cut(Cut::WholeEarly) { At::EndWriting } else { At::SayWhole };
                // Another writer becomes a reader then.
                if !self.cut(Cut::WholeEarly) {
                    let mut becomes = next;
                    becomes.threads[me].at = At::DownSlot;
                    into.push(becomes);
                }
            }
            At::SayWhole => {
                next.writing = false;
                mine.at = if self.cut(Cut::WholeEarly) { At::WriteRest } else { At::EndWriting };
            }
            other => unreachable!("{other:?} is no step of this function"),
        }
        into.push(next);
        Ok(())
    }

    /// A writer becomes a reader.
    fn downgrade(&self, state: &State, me: usize, into: &mut Vec<State>) -> Result<(), Verdict> {
        let name = me as u8 + 1;
        let mut next = *state;
        let mine = &mut next.threads[me];
        match mine.at {
            At::DownSlot if self.cut(Cut::DowngradeEarly) => {
                (next.writing, next.owner) = (false, 0);
                mine.at = At::DownSlotLate;
            }
            // Any slot; it waits if none is free.
            at @ (At::DownSlot | At::DownSlotLate) => {
                for slot in (0..SLOTS).filter(|slot| state.slots[*slot] == 0) {
                    let mut next = *state;
                    next.slots[slot] = name;
                    let slot = slot as u8;
                    next.threads[me].at = match at {
                        At::DownSlot if self.cut(Cut::DowngradeWholeLate) => At::DownEnd(slot),
                        At::DownSlot => At::DownWhole(slot),
                        _ => At::Reading(slot),
                    };
                    if at == At::DownSlotLate {
                        self.comes_in(&next, me)?;
                    }
                    into.push(next);
                }
                return Ok(());
            }
            At::DownWhole(slot) => {
                next.writing = false;
                mine.at = At::DownEnd(slot);
            }
            At::DownEnd(slot) => {
                (next.owner, mine.told) = (0, false);
                mine.at = if self.cut(Cut::DowngradeWholeLate) { At::DownWholeLate(slot) } else { At::Reading(slot) };
                if let At::Reading(_) = mine.at {
                    self.comes_in(&next, me)?;
                }
            }
            At::DownWholeLate(slot) => {
                next.writing = false;
                mine.at = At::Reading(slot);
            }
            other => unreachable!("{other:?} is no step of this function"),
        }
        into.push(next);
        Ok(())
    }

    /// A thread gives the lock up, and its round is over.
    fn end(&self, state: &State, me: usize, into: &mut Vec<State>) -> Result<(), Verdict> {
        let mut next = *state;
        let mine = &mut next.threads[me];
        match mine.at {
            At::Reading(slot) => next.slots[slot as usize] = 0,
            At::Leave => (next.owner, next.died) = (0, !self.cut(Cut::LeaveAsFree)),
            At::EndWriting => next.owner = 0,
            other => unreachable!("{other:?} is no step of this function"),
        }
        mine.at = At::Begin;
        mine.rounds -= 1;
        into.push(next);
        Ok(())
    }
}
