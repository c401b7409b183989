//! Performing: which pending accesses may be performed now, and what one does to memory.

use super::lang::Op;
use super::machine::{Act, Machine};
use super::memory::{self, Kind, Rule};
use super::state::{State, Val};

/// What performing a pending access does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Reads memory or the thread's own pending store.
    Read(u8),
    Write(u8),
    /// Reads, modifies and writes: the old value, the new one, what the register gets.
    Modify(u8, u8, u8),
    Sleep,
    /// A futex wait that found another value, a wake, an `AwaitAsleep`.
    Pass,
}

impl Machine {
    pub fn ways_to_perform(&self, state: &State, t: usize, at: u8, add: &mut impl FnMut(Act)) {
        if self.effect(state, t, usize::from(at)).is_none() {
            return;
        }
        let entry = &state.threads[t].window[usize::from(at)];
        let Op::Wake { all: false, .. } = self.op(t, entry.pc) else {
            return add(Act::Perform { at, sleeper: 0 });
        };
        let word = self.word(t, entry).expect("known");
        let sleepers = (0u8..).zip(&state.threads).filter(|(_, s)| s.asleep == word + 1);
        let mut any = false;
        for (sleeper, _) in sleepers {
            any = true;
            add(Act::Perform { at, sleeper });
        }
        if !any {
            add(Act::Perform { at, sleeper: 0 });
        }
    }

    /// Returns what performing this access would do, if it may be performed now.
    pub fn effect(&self, state: &State, t: usize, at: usize) -> Option<Effect> {
        let thread = &state.threads[t];
        let entry = &thread.window[at];
        let later = self.access(t, entry);
        let mut forwarded = None;
        if matches!(later.kind, Kind::Branch | Kind::Check) || later.len > 1 {
            return None;
        }
        for earlier in &thread.window[..at] {
            match memory::rule(self.model, self.access(t, earlier), later) {
                Rule::Wait => return None,
                Rule::Forward => forwarded = Some(earlier.val),
                Rule::Swallow | Rule::Pass => {}
            }
        }
        if let Some(val) = forwarded {
            return val.get().map(Effect::Read);
        }
        self.on_memory(state, t, at)
    }

    fn on_memory(&self, state: &State, t: usize, at: usize) -> Option<Effect> {
        let entry = &state.threads[t].window[at];
        let now = self.word(t, entry).map_or(0, |word| state.memory[usize::from(word)]);
        Some(match self.op(t, entry.pc) {
            Op::Load { .. } => Effect::Read(now),
            Op::Store { .. } => Effect::Write(entry.val.get()?),
            Op::Swap { .. } => Effect::Modify(now, entry.val.get()?, now),
            Op::Add { n, .. } => Effect::Modify(now, now.wrapping_add(n), now),
            Op::Cas { .. } if now == entry.val.get()? => Effect::Modify(now, entry.other.get()?, 1),
            Op::Cas { .. } => Effect::Modify(now, now, 0),
            Op::Lock { .. } if now == 0 => Effect::Modify(0, 1, 0),
            Op::Wait { .. } if now == entry.val.get()? => Effect::Sleep,
            Op::Wait { .. } | Op::Wake { .. } => Effect::Pass,
            Op::AwaitAsleep { thread } => {
                let other = usize::from(thread);
                if state.threads[other].asleep == 0 && !self.finished(state, other) {
                    return None;
                }
                Effect::Pass
            }
            _ => return None,
        })
    }

    /// Performs the access; returns the threads that it woke, as bits.
    pub fn perform(&self, state: &mut State, t: usize, at: usize, sleeper: u8) -> u8 {
        let effect = self.effect(state, t, at).expect("an access that may be performed");
        let entry = state.threads[t].window[at];
        let word = self.word(t, &entry);
        let woken = match self.op(t, entry.pc) {
            Op::Wake { all, .. } => wake(state, word.expect("known"), all, sleeper),
            _ => 0,
        };
        let thread = &mut state.threads[t];
        let result = match effect {
            Effect::Read(n) => n,
            Effect::Write(new) | Effect::Modify(_, new, _) => {
                state.memory[usize::from(word.expect("known"))] = new;
                if let Effect::Modify(_, _, result) = effect { result } else { 0 }
            }
            Effect::Sleep => {
                thread.asleep = word.expect("known") + 1;
                0
            }
            Effect::Pass => 0,
        };
        let mut at = at;
        if let Effect::Write(_) = effect {
            at -= self.swallow(state, t, at);
        }
        let thread = &mut state.threads[t];
        thread.passed = thread.passed.max(u8::try_from(at).expect("a small window"));
        thread.retire(at, result);
        woken
    }

    /// Takes away the thread's earlier pending stores to the word that the store at `at` goes to;
    /// returns how many there were.
    fn swallow(&self, state: &mut State, t: usize, at: usize) -> usize {
        let later = self.access(t, &state.threads[t].window[at]);
        let mut gone = 0;
        for earlier in (0..at).rev() {
            let access = self.access(t, &state.threads[t].window[earlier]);
            if memory::rule(self.model, access, later) == Rule::Swallow {
                state.threads[t].retire(earlier, 0);
                gone += 1;
            }
        }
        gone
    }
}

fn wake(state: &mut State, word: u8, all: bool, sleeper: u8) -> u8 {
    let mut woken = 0;
    for (t, thread) in (0u8..).zip(&mut state.threads) {
        if thread.asleep == word + 1 && (all || t == sleeper) {
            thread.asleep = 0;
            woken |= 1 << t;
        }
    }
    woken
}

impl Val {
    /// Returns the effect as text, for schedules.
    pub fn show(self) -> String {
        self.get().map_or_else(|| "?".to_string(), |n| n.to_string())
    }
}
