//! Fetching: the next instruction of a thread, in program order, into its window, or done at once
//! where no other thread can see it.

use super::lang::{At, Loc, Op, Order};
use super::machine::Machine;
use super::memory::{Access, Kind};
use super::state::{Entry, State, Thread, Val};

impl Machine {
    /// Returns true if the thread stands at a branch whose registers wait for pending accesses.
    pub fn at_undecided_branch(&self, state: &State, t: usize) -> bool {
        let thread = &state.threads[t];
        match self.op(t, thread.pc) {
            Op::Branch { a, b, .. } => {
                !self.holds_back(thread, t) && (thread.read(a).get().is_none() || thread.read(b).get().is_none())
            }
            _ => false,
        }
    }

    /// Returns true if nothing may be fetched now: an acquire, a lock or a wait is pending (nothing
    /// may pass those, so nothing need be fetched), or the thread is inside a system call.
    fn holds_back(&self, thread: &Thread, t: usize) -> bool {
        thread.asleep != 0
            || thread.heavy != 0
            || thread.entries().iter().any(|e| match self.op(t, e.pc) {
                Op::Load { order, .. } | Op::Cas { order, .. } | Op::Add { order, .. } | Op::Swap { order, .. } => {
                    order == Order::Acquire
                }
                Op::Lock { .. } | Op::Wait { .. } | Op::AwaitAsleep { .. } => true,
                _ => false,
            })
    }

    /// Fetches one instruction; returns true if it could.
    pub fn fetch(&self, state: &mut State, t: usize) -> bool {
        if self.holds_back(&state.threads[t], t) {
            return false;
        }
        let State { memory, threads } = state;
        let thread = &mut threads[t];
        let op = self.op(t, thread.pc);
        match op {
            Op::Jump { .. } | Op::Branch { .. } | Op::SigReturn | Op::End => return go(thread, op),
            Op::Fence | Op::Heavy | Op::Wait { .. } | Op::AwaitAsleep { .. } if thread.len != 0 => {
                return false;
            }
            Op::Fence | Op::CompilerFence => {}
            Op::Heavy => thread.heavy = ((1 << self.threads()) - 1) & !(1 << t),
            Op::Set { dst, src } => thread.regs[usize::from(dst)] = thread.read(src),
            Op::Load { dst, at, .. } if self.is_own(t, at, false) => {
                thread.regs[usize::from(dst)] = self.own_value(thread, t, at, memory);
            }
            Op::Store { at, val, .. } if self.is_own(t, at, true) => {
                let Some(n) = thread.read(val).get() else {
                    return false;
                };
                memory[usize::from(at.base)] = n;
            }
            _ if thread.len == self.window => return false,
            _ => enter(thread, op),
        }
        thread.pc += 1;
        true
    }

    /// Returns true if no other thread can notice the access: the word is private, or it is a load
    /// of a word that only this thread writes.
    fn is_own(&self, t: usize, at: At, writes: bool) -> bool {
        let program = &self.programs[t];
        at.index.is_none()
            && !self.plain
            && (program.private.contains(&at.base) || (!writes && program.owned.contains(&at.base)))
    }

    /// Returns what the thread last stored there, pending or performed.
    fn own_value(&self, thread: &Thread, t: usize, at: At, memory: &[u8]) -> Val {
        let pending = thread.entries().iter().rev().find(|e| match self.op(t, e.pc) {
            Op::Store { at: there, .. } => there.base == at.base && there.index.is_none(),
            _ => false,
        });
        pending.map_or(Val::known(memory[usize::from(at.base)]), |e| e.val)
    }

    /// Returns the word that a pending access goes to, if its index is known.
    pub fn word(&self, t: usize, entry: &Entry) -> Option<Loc> {
        let at = self.place(t, entry)?;
        match at.index {
            None => Some(at.base),
            Some(_) => entry.index.get().map(|i| {
                assert!(i < at.len, "an index outside its row");
                at.base + i
            }),
        }
    }

    fn place(&self, t: usize, entry: &Entry) -> Option<At> {
        match self.op(t, entry.pc) {
            Op::Load { at, .. }
            | Op::Store { at, .. }
            | Op::Swap { at, .. }
            | Op::Add { at, .. }
            | Op::Cas { at, .. }
            | Op::Lock { at }
            | Op::Wait { at, .. }
            | Op::Wake { at, .. } => Some(at),
            _ => None,
        }
    }

    /// Returns the pending access as the table of the memory models sees it.
    pub fn access(&self, t: usize, entry: &Entry) -> Access {
        let op = self.op(t, entry.pc);
        let (kind, order) = match op {
            Op::Load { order, .. } => (Kind::Load, order),
            Op::Store { order, .. } => (Kind::Store, order),
            Op::Swap { order, .. } | Op::Add { order, .. } | Op::Cas { order, .. } => (Kind::Rmw, order),
            Op::Wake { .. } => (Kind::Wake, Order::Relaxed),
            Op::Branch { .. } => (Kind::Branch, Order::Relaxed),
            Op::Check { .. } => (Kind::Check, Order::Relaxed),
            _ => (Kind::Rmw, Order::Acquire),
        };
        let release = order == Order::Release;
        let (base, len) = match (self.word(t, entry), self.place(t, entry)) {
            _ if kind == Kind::Wake && self.loose_wake => (0, 0),
            (Some(word), _) => (word, 1),
            (None, Some(at)) => (at.base, at.len),
            (None, None) => (0, 0),
        };
        Access { kind, release, base, len }
    }
}

/// Goes to where a jump, a decided branch or the end of a handler leads; returns true if it could.
fn go(thread: &mut Thread, op: Op) -> bool {
    thread.pc = match op {
        Op::Jump { to } => to,
        Op::Branch { a, cond, b, to } => match (thread.read(a).get(), thread.read(b).get()) {
            (Some(a), Some(b)) if cond.holds(a, b) => to,
            (Some(_), Some(_)) => thread.pc + 1,
            _ => return false,
        },
        Op::SigReturn => {
            thread.depth -= 1;
            thread.frames[usize::from(thread.depth)]
        }
        _ => return false,
    };
    true
}

/// Puts an instruction into the window and makes its result what its register waits for.
fn enter(thread: &mut Thread, op: Op) {
    let index = |at: At| at.index.map_or(Val::default(), |r| thread.regs[usize::from(r)]);
    let none = Val::default();
    let (dst, index, val, other) = match op {
        Op::Load { dst, at, .. } | Op::Add { dst, at, .. } => (Some(dst), index(at), none, none),
        Op::Store { at, val, .. } | Op::Wait { at, val } => (None, index(at), thread.read(val), none),
        Op::Swap { dst, at, val, .. } => (Some(dst), index(at), thread.read(val), none),
        Op::Cas { dst, at, old, new, .. } => (Some(dst), index(at), thread.read(old), thread.read(new)),
        Op::Lock { at } | Op::Wake { at, .. } => (None, index(at), none, none),
        Op::Check { a, b, .. } => (None, none, thread.read(a), thread.read(b)),
        _ => (None, none, none, none),
    };
    thread.push(Entry { pc: thread.pc, index, val, other, guess: false });
    if let Some(dst) = dst {
        thread.regs[usize::from(dst)] = Val { tag: thread.len, n: 0 };
    }
}
