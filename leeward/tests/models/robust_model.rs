//! The protocol of `src/robust/lock.rs` and the kernel's part of it, searched completely: every
//! interleaving of threads each of which may be killed between any two accesses. Sequentially
//! consistent: all that is shared is one word, changed by read-modify-writes. And that of
//! `src/robust/sleepers.rs`, whose plain stores wait in a buffer until they are seen, and whose
//! heavy fence is executed by each thread at a time of its own.
//!
//! A small machine of its own: what is searched for here is not an ordering but a death.

#![allow(missing_docs)]

// Inline, so that the file lies in `tests/models/robust_model/` and is no test program of its own.
mod robust_model {
    pub mod light;
    mod light_tests;
    pub mod state;
    mod steps;
}

use std::collections::HashSet;

use robust_model::state::{At, BUFFERED, MOST, State, Thread, Word};

/// What is taken out of the protocol, or put in its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Cut {
    PendingLate,
    PendingBeforeLink,
    PendingBeforeRelease,
    PendingBeforeWake,
    LinkFirst,
    Wake,
    /// The release takes the waiters bit away.
    WaitersDropped,
    /// The release takes the waiters bit away, and a thread that has slept takes the lock with the
    /// bit: the classic protocol.
    Classic,
    SettleWithoutTaking,
    /// A waiter sleeps on a word that is being settled.
    SleepOnSettling,
    SettleWithoutAsking,
    /// The kernel does not wake a thread for a free word.
    OldKernel,
    /// Sleepers recheck by themselves, after a long time.
    LongLook,
    // Of the lock that is unlocked by a store:
    /// The owner does not say that it is leaving.
    Leaving,
    /// A sleeper does not count itself.
    Count,
    /// A sleeper issues no fence.
    Heavy,
    /// A sleeper says that it has issued the fence before it has.
    FencedBefore,
    /// A sleeper does not check whether the owner is leaving.
    LookAtOwner,
    /// The word is lowered while sleepers are counted.
    Lowering,
    /// A thread that fences do not reach unlocks by a store as well.
    Outsiders,
}

struct Machine<'a> {
    rounds: &'a [u8],
    deaths: u8,
    cuts: &'a [Cut],
    /// True if the lock is unlocked by a store.
    light: bool,
    /// The threads of processes that fences do not reach, a bit each.
    outsiders: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    Holds,
    TwoOwners,
    TwoLists,
    NobodyWasTold,
    /// The lock is held by a dead thread, or a thread sleeps forever.
    Lost,
}

impl Machine<'_> {
    fn cut(&self, cut: Cut) -> bool {
        self.cuts.contains(&cut)
    }

    fn start(&self) -> State {
        let mut threads = [Thread { at: At::Done, ..Thread::default() }; MOST];
        for (thread, rounds) in threads.iter_mut().zip(self.rounds) {
            *thread = Thread { rounds: *rounds, ..Thread::default() };
        }
        State { threads, deaths: self.deaths, ..State::default() }
    }

    /// Kills a thread; the kernel walks its list and checks its pending entry.
    fn die(&self, state: &State, me: usize) -> Option<State> {
        let name = me as u8 + 1;
        let thread = state.threads[me];
        if state.deaths == 0 || matches!(thread.at, At::Done | At::Dying | At::Dead) {
            return None;
        }
        let mut next = *state;
        // What it stored becomes visible before the kernel looks.
        (0..BUFFERED).for_each(|_| next.drain(me));
        next.deaths -= 1;
        let mut wakes = false;
        let is_listed = state.linked == Some(name);
        let word = next.word;
        if (is_listed || thread.pending) && word.owner == name {
            wakes = word.waiters;
            next.word = Word { owner: 0, died: true, ..word };
        } else if thread.pending && word.owner == 0 {
            wakes = !self.cut(Cut::OldKernel);
        }
        if is_listed {
            next.linked = None;
        }
        if state.inside == Some(name) {
            next.inside = None;
        }
        next.threads[me] = Thread { at: if wakes { At::Dying } else { At::Dead }, ..Thread::default() };
        Some(next)
    }

    fn search(&self) -> (Verdict, usize) {
        let start = self.start();
        let mut seen = HashSet::from([start]);
        let mut todo = vec![start];
        while let Some(state) = todo.pop() {
            let mut steps = Vec::new();
            for me in 0..state.threads.len() {
                if let Err(verdict) = self.step(&state, me, &mut steps) {
                    return (verdict, seen.len());
                }
                if !state.threads[me].has_stored_all() {
                    let mut next = state;
                    next.drain(me);
                    steps.push(next);
                }
            }
            let is_over = |thread: &Thread| matches!(thread.at, At::Done | At::Dead);
            if steps.is_empty() && !(state.threads.iter().all(is_over) && state.word.owner == 0) {
                return (Verdict::Lost, seen.len());
            }
            let owner = state.word.owner;
            if owner != 0 && state.threads[owner as usize - 1].at == At::Dead {
                return (Verdict::Lost, seen.len());
            }
            steps.extend((0..state.threads.len()).filter_map(|me| self.die(&state, me)));
            for next in steps {
                let next = if self.outsiders == 0 { next.sorted() } else { next };
                if seen.insert(next) {
                    todo.push(next);
                }
            }
            assert!(seen.len() < 20_000_000, "larger than its author believed");
        }
        (Verdict::Holds, seen.len())
    }
}

#[track_caller]
fn expect(rounds: &[u8], deaths: u8, cuts: &[Cut], expected: Verdict) {
    search(&Machine { rounds, deaths, cuts, light: false, outsiders: 0 }, expected);
}

#[track_caller]
fn search(machine: &Machine<'_>, expected: Verdict) {
    let Machine { rounds, deaths, cuts, light, outsiders } = machine;
    let kind = if *light { "robust, unlocked by a store" } else { "robust" };
    let what = format!("{kind}, rounds {rounds:?}, {deaths} deaths, outsiders {outsiders:#b}, without {cuts:?}");
    let (verdict, states) = machine.search();
    println!("{what}: {states} states, {verdict:?}");
    assert_eq!(verdict, expected, "{what}");
}

#[test]
fn deaths_at_every_step() {
    expect(&[2, 2], 0, &[], Verdict::Holds);
    expect(&[2, 2], 2, &[], Verdict::Holds);
    expect(&[2, 1, 1], 2, &[], Verdict::Holds);
}

#[test]
fn the_pending_entry() {
    for cut in [Cut::PendingLate, Cut::PendingBeforeLink, Cut::PendingBeforeRelease, Cut::PendingBeforeWake] {
        expect(&[1, 1], 0, &[cut], Verdict::Holds);
        expect(&[1, 1], 1, &[cut], Verdict::Lost);
    }
    expect(&[1, 1], 0, &[Cut::LinkFirst], Verdict::TwoLists);
}

/// The woken waiter is killed.
#[test]
fn the_waiters_bit() {
    expect(&[1, 1], 0, &[Cut::Wake], Verdict::Lost);
    expect(&[1, 1, 1], 0, &[Cut::WaitersDropped], Verdict::Lost);
    expect(&[2, 1, 1], 0, &[Cut::Classic], Verdict::Holds);
    expect(&[2, 1, 1], 1, &[Cut::Classic], Verdict::Lost);
    expect(&[2, 1, 1], 1, &[], Verdict::Holds);
}

/// Where the kernel does not wake another thread for a free lock, a sleeper has to recheck by
/// itself.
#[test]
fn kernels_before_6_2() {
    expect(&[1, 1, 1], 0, &[Cut::OldKernel], Verdict::Holds);
    expect(&[1, 1, 1], 1, &[Cut::OldKernel], Verdict::Lost);
    expect(&[1, 1, 1], 2, &[Cut::OldKernel, Cut::LongLook], Verdict::Holds);
}

/// No thread takes the bit away while another may sleep.
#[test]
fn taking_the_bit_away() {
    let four = &[2, 1, 1, 1];
    expect(four, 0, &[], Verdict::Holds);
    expect(four, 1, &[], Verdict::Holds);
    expect(four, 0, &[Cut::SettleWithoutTaking], Verdict::Lost);
    expect(&[1, 1, 1], 0, &[Cut::SleepOnSettling], Verdict::Lost);
    expect(four, 1, &[Cut::SettleWithoutAsking], Verdict::Lost);
}
