//! The protocol of `src/robust/rwlock/words.rs`, searched completely: every interleaving of readers
//! and writers each of which may be killed between any two steps.
//!
//! Sequentially consistent: a reader's taking and look, and a writer's fence, are in one total
//! order. The robust locks that it is made of are taken, waited for and given up in one step each:
//! that they lose nothing is what `robust_model` searches.

#![allow(missing_docs)]

// Inline, so that the file lies in `tests/models/robust_rwlock_model/` and is no test program of its
// own.
mod robust_rwlock_model {
    mod steps;
}

use std::collections::HashSet;

const THREADS: usize = 3;
const SLOTS: usize = 2;

/// What is taken out of the protocol, or put in its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Cut {
    /// A reader does not look whether a writer is there.
    Look,
    /// A reader looks before it has its slot.
    LookFirst,
    /// A reader takes the mark of a death for a free lock.
    DiedIsOpen,
    /// A reader leaves the turnstile before it has its slot.
    TurnstileEarly,
    /// A writer that becomes a reader gives the writers' lock up before it has its slot.
    DowngradeEarly,
    /// A writer that becomes a reader says that the data is whole after it has given the writers' lock
    /// up.
    DowngradeWholeLate,
    /// A writer does not wait for readers.
    Drain,
    /// A writer does not say that it may have changed the data.
    Writing,
    /// A writer says so before it has the data to itself.
    WritingBeforeDrain,
    /// A writer says that the data is whole before it is.
    WholeEarly,
    /// The mark of a death is the news.
    NewsByMark,
    /// A reader that does not repair gives the lock up as usual.
    LeaveAsFree,
    /// The kernel does not reach a dead reader's slot.
    SlotNotReached,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    Holds,
    /// A writer is inside beside another thread.
    NotAlone,
    /// A thread that was not told is inside, and the data is half-written.
    NobodyWasTold,
    /// A thread was told, and no writer died inside.
    FalseNews,
    /// A reader came in although a writer had the writers' lock.
    Overtaken,
    /// A thread waits forever.
    Lost,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
enum At {
    #[default]
    Begin,
    /// A reader, on the quick way in; and out again.
    Look(u8),
    TakeLooked,
    GiveWay(u8),
    /// At the writers' lock.
    Queue,
    Turnstile,
    UnderTurnstile,
    /// Having left the turnstile too early.
    BehindTurnstile,
    EndTurnstile(u8),
    Reading(u8),
    Drain(u8),
    SayWriting,
    WriteHalf,
    WriteRest,
    SayWhole,
    EndWriting,
    /// A writer that becomes a reader: it takes a slot, says that the data is whole, and gives the
    /// writers' lock up.
    DownSlot,
    DownWhole(u8),
    DownEnd(u8),
    /// A writer that becomes a reader and has given the writers' lock up before it has its slot.
    DownSlotLate,
    DownWholeLate(u8),
    Leave,
    Done,
    Dead,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
struct Thread {
    at: At,
    is_reader: bool,
    rounds: u8,
    told: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
struct State {
    threads: [Thread; THREADS],
    /// Who has the writers' lock, by number from 1; and whether the last owner died.
    owner: u8,
    died: bool,
    writing: bool,
    slots: [u8; SLOTS],
    half_written: bool,
    /// A writer died inside, and no thread has repaired since.
    is_news: bool,
    deaths: u8,
}

struct Machine<'a> {
    cuts: &'a [Cut],
}

impl Machine<'_> {
    fn cut(&self, cut: Cut) -> bool {
        self.cuts.contains(&cut)
    }

    fn is_open(&self, state: &State) -> bool {
        state.owner == 0 && (!state.died || self.cut(Cut::DiedIsOpen))
    }

    /// Checks what holds when this thread comes in, and says so.
    fn comes_in(&self, state: &State, me: usize) -> Result<(), Verdict> {
        let is_reader = matches!(state.threads[me].at, At::Reading(_));
        let writes = |at: At| {
            matches!(at, At::WriteHalf | At::WriteRest | At::SayWhole | At::DownSlot | At::DownWhole(_) | At::Leave)
        };
        for (other, thread) in state.threads.iter().enumerate() {
            if other != me && (writes(thread.at) || !is_reader && matches!(thread.at, At::Reading(_))) {
                return Err(Verdict::NotAlone);
            }
        }
        let told = state.threads[me].told;
        match (told, state.half_written, state.is_news) {
            (false, true, _) => Err(Verdict::NobodyWasTold),
            (true, _, false) => Err(Verdict::FalseNews),
            _ => Ok(()),
        }
    }

    /// Kills a thread; the kernel gives away what it holds.
    fn die(&self, state: &State, me: usize) -> Option<State> {
        let name = me as u8 + 1;
        let at = state.threads[me].at;
        if state.deaths == 0 || matches!(at, At::Done | At::Dead) {
            return None;
        }
        let mut next = *state;
        next.deaths -= 1;
        if state.owner == name {
            (next.owner, next.died) = (0, true);
        }
        if !self.cut(Cut::SlotNotReached) {
            next.slots = state.slots.map(|owner| if owner == name { 0 } else { owner });
        }
        next.is_news |=
            matches!(at, At::WriteHalf | At::WriteRest | At::SayWhole | At::DownSlot | At::DownWhole(_) | At::Leave);
        next.threads[me] = Thread { at: At::Dead, ..Thread::default() };
        Some(next)
    }

    fn search(&self, start: State) -> (Verdict, usize) {
        let mut seen = HashSet::from([start]);
        let mut todo = vec![start];
        while let Some(state) = todo.pop() {
            let mut steps = Vec::new();
            for me in 0..THREADS {
                if let Err(verdict) = self.step(&state, me, &mut steps) {
                    return (verdict, seen.len());
                }
            }
            let is_over = |thread: &Thread| matches!(thread.at, At::Done | At::Dead);
            if steps.is_empty() && !state.threads.iter().all(is_over) {
                return (Verdict::Lost, seen.len());
            }
            steps.extend((0..THREADS).filter_map(|me| self.die(&state, me)));
            todo.extend(steps.into_iter().filter(|next| seen.insert(*next)));
            assert!(seen.len() < 20_000_000, "larger than its author believed");
        }
        (Verdict::Holds, seen.len())
    }
}

/// Searches with these threads: how often each reads (`r`) or writes (`w`).
#[track_caller]
fn expect(threads: [(char, u8); THREADS], deaths: u8, cuts: &[Cut], expected: Verdict) {
    let threads = threads.map(|(kind, rounds)| Thread { is_reader: kind == 'r', rounds, ..Thread::default() });
    let (verdict, states) = Machine { cuts }.search(State { threads, deaths, ..State::default() });
    let what = format!("{threads:?}, {deaths} deaths, without {cuts:?}");
    println!("{states} states, {verdict:?}: {what}");
    assert_eq!(verdict, expected, "{what}");
}

#[test]
fn deaths_at_every_step() {
    for deaths in 0..=3 {
        expect([('r', 2), ('r', 2), ('w', 2)], deaths, &[], Verdict::Holds);
        expect([('r', 2), ('w', 2), ('w', 2)], deaths, &[], Verdict::Holds);
        expect([('r', 3), ('r', 3), ('r', 3)], deaths, &[], Verdict::Holds);
        expect([('w', 3), ('w', 3), ('w', 3)], deaths, &[], Verdict::Holds);
    }
}

#[test]
fn the_order_of_slot_and_look() {
    for cut in [Cut::Look, Cut::LookFirst, Cut::Drain] {
        expect([('r', 1), ('w', 1), ('w', 0)], 0, &[cut], Verdict::NotAlone);
    }
}

#[test]
fn the_turnstile() {
    expect([('r', 1), ('w', 2), ('w', 0)], 0, &[Cut::TurnstileEarly], Verdict::NotAlone);
}

/// A writer that becomes a reader has its slot before another writer can have the lock, and has said
/// that the data is whole: else the next one is told of a death that did not come.
#[test]
fn a_writer_becomes_a_reader() {
    expect([('w', 1), ('w', 1), ('w', 0)], 0, &[Cut::DowngradeEarly], Verdict::NotAlone);
    expect([('w', 1), ('r', 1), ('r', 0)], 0, &[Cut::DowngradeWholeLate], Verdict::FalseNews);
}

/// A slot that stays taken holds a writer up, and all that come after it.
#[test]
fn the_slots_of_the_dead() {
    let both = [('r', 1), ('w', 1), ('r', 1)];
    expect(both, 0, &[Cut::SlotNotReached], Verdict::Holds);
    expect(both, 1, &[Cut::SlotNotReached], Verdict::Lost);
}

/// What tells a half-written record, and nothing else, from what other deaths leave.
#[test]
fn the_news() {
    let both = [('r', 1), ('w', 1), ('w', 1)];
    for cut in [Cut::Writing, Cut::WholeEarly] {
        expect(both, 0, &[cut], Verdict::Holds);
        expect(both, 1, &[cut], Verdict::NobodyWasTold);
    }
    expect(both, 1, &[Cut::DiedIsOpen], Verdict::NobodyWasTold);
    expect(both, 1, &[Cut::LeaveAsFree], Verdict::Holds);
    expect([('r', 1), ('w', 1), ('r', 1)], 1, &[Cut::LeaveAsFree], Verdict::NobodyWasTold);
    expect(both, 1, &[Cut::NewsByMark], Verdict::FalseNews);
    expect(both, 1, &[Cut::WritingBeforeDrain], Verdict::FalseNews);
    expect([('r', 2), ('w', 1), ('r', 2)], 2, &[Cut::NewsByMark], Verdict::FalseNews);
}
