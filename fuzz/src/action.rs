//! What threads do to the waiters of others: the engine and the model do the same, and must answer
//! the same.

use std::cell::RefCell;
use std::rc::Rc;

use leeward_engine::abi::FUTEX_WAITERS;
use leeward_engine::{Engine, Errno, ParkEnd, Requeue, RobustUnlock, Size, Word};

use crate::guest::Guest;
use crate::model::{Model, name};
use crate::sequences::Choices;

/// The ways in which a sleep may end by itself.
pub const ENDS: [ParkEnd; 4] = [ParkEnd::TimedOut, ParkEnd::Interrupted, ParkEnd::Unparked, ParkEnd::Recheck];

#[derive(Clone, Debug)]
pub enum Action {
    Wake {
        word: Word,
        count: u32,
        bits: u32,
    },
    Requeue {
        from: Word,
        to: Word,
        wake: u32,
        requeue: u32,
        /// If the value is compared: true if it is the one that the word holds.
        compares: Option<bool>,
    },
    /// Unlocks a robust lock, and clears the pending entry.
    Unlock {
        lock: Word,
        count: u32,
        bits: u32,
        pending: u64,
        entry: Size,
    },
}

/// Returns for how many waiters an action is.
pub fn count(choices: &mut Choices) -> u32 {
    choices.pick(&[0, 1, 2, 17, u32::MAX])
}

impl Action {
    /// Returns a wake of any waiters, or a requeue that does not compare, of words that `word` makes.
    pub fn of_queues(choices: &mut Choices, word: impl Fn(&mut Choices) -> Word) -> Action {
        choices.one_of(&[
            (2, &|choices| Action::Wake { word: word(choices), count: count(choices), bits: u32::MAX }),
            (1, &|choices| {
                let (from, to) = (word(choices), word(choices));
                Action::Requeue { from, to, wake: count(choices), requeue: count(choices), compares: None }
            }),
        ])
    }

    /// Does it, and asserts that the engine answers what the model does.
    pub fn act(&self, engine: &Engine<Guest>, guest: &Guest, model: &mut Model) {
        match *self {
            Action::Wake { word, count, bits } => {
                let expected = name(word).map(|key| model.wake(key, count, bits));
                assert_eq!(engine.wake(guest, word, count, bits), expected, "{self:x?}");
            }
            Action::Requeue { from, to, wake, requeue, compares } => {
                let value = compares.map(|same| guest.held(from).unwrap_or_default() ^ u64::from(!same));
                let expected = match (name(from), name(to)) {
                    _ if from.scope != to.scope => return,
                    (Ok(_), Ok(_)) if compares == Some(false) => Ok(Requeue::Changed),
                    (Ok(first), Ok(second)) => Ok(Requeue::Done(model.requeue(first, second, wake, requeue))),
                    (Err(errno), _) | (_, Err(errno)) => Err(errno),
                };
                assert_eq!(engine.requeue(guest, from, to, wake, requeue, value), expected, "{self:x?}");
            }
            Action::Unlock { lock, count, bits, pending, entry } => {
                let twin = Guest::default();
                twin.copy(guest);
                let expected = unlock(guest.unlock.get(), &twin, model, (lock, count, bits), (pending, entry));
                assert_eq!(engine.robust_unlock(guest, lock, count, bits, pending, entry), expected, "{self:x?}");
                assert_eq!(guest.difference(&twin), None, "{self:x?}: memory");
            }
        }
    }
}

/// Unlocks as the call's description says, in a guest of its own.
fn unlock(
    kind: RobustUnlock,
    guest: &Guest,
    model: &mut Model,
    (word, count, bits): (Word, u32, u32),
    (pending, entry): (u64, Size),
) -> Result<u32, Errno> {
    if kind == RobustUnlock::Absent {
        return Err(Errno::ENOSYS);
    }
    if bits == 0 || !matches!(entry, Size::U32 | Size::U64) || word.size != Size::U32 {
        return Err(Errno::EINVAL);
    }
    let key = name(word)?;
    if !Guest::is_writable(word.address) {
        return Err(Errno::EFAULT);
    }
    let is_kept = kind == RobustUnlock::KeepWaiters && model.count(key, u32::MAX) > model.count(key, bits).min(count);
    model.unlocks += 1;
    model.kept += u32::from(is_kept);
    guest.cell(word.address).expect("writable").set(if is_kept { FUTEX_WAITERS } else { 0 });
    let cleared = clear(guest, pending, entry.bytes());
    if kind == RobustUnlock::StoreZero {
        cleared?;
    }
    let woken = model.wake(key, count, bits);
    cleared.map(|()| woken)
}

/// Stores zeroes as far as memory may be written.
fn clear(guest: &Guest, pending: u64, bytes: u64) -> Result<(), Errno> {
    for place in (0..bytes).map(|byte| pending.wrapping_add(byte)) {
        let word = guest.cell(place).filter(|_| Guest::is_writable(place)).ok_or(Errno::EFAULT)?;
        let mut bytes = word.get().to_ne_bytes();
        bytes[place as usize % 4] = 0;
        word.set(u32::from_ne_bytes(bytes));
    }
    Ok(())
}

/// Has others act when the guest sleeps next, for words of these names. Returns the model, in which
/// each word's waiter has the word's place.
pub fn beside_a_sleep(
    engine: &Rc<Engine<Guest>>,
    guest: &Guest,
    keys: &[u64],
    others: &[Action],
) -> Rc<RefCell<Model>> {
    let model = Rc::new(RefCell::new(Model::of(keys)));
    let (engine, others, shared) = (engine.clone(), others.to_vec(), model.clone());
    *guest.sleep.borrow_mut() = Some(Box::new(move |guest| {
        others.iter().for_each(|other| other.act(&engine, guest, &mut shared.borrow_mut()));
    }));
    model
}
