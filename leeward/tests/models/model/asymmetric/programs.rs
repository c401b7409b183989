//! The asymmetric locks' programs: `asym/{slots,drain,rwlock,mutex}.rs` step by step. The ordinary
//! lock underneath is a blocking one that one thread holds at a time.

use super::setup::{Cut, Role, Setup};
use crate::model::lang::{self, Acquire, Asm, Imm, Is, IsNot, Label, Op, Order, Plus, Program, Reg, Relaxed, Release};
use crate::model::layout::{X, Y, asked, bias, held, object, ordinary};
use crate::model::machine::Machine;
use crate::model::memory::Model;

/// What a thread reports that sees two words differ which a holder changes together: it was not
/// alone.
pub const TORN: &str = "two threads were inside";

const FREE: u8 = 0;
const NOBODY: u8 = 0;
/// The least number of a writer's closing.
const CLOSING: u8 = 8;
const T: Reg = 0;
const A: Reg = 1;
const B: Reg = 2;
/// 1 if a slot of those that are waited for was held.
const ANY: Reg = 3;

impl Setup {
    /// Returns the token of a writer of the lock.
    fn token(&self, lock: u8) -> u8 {
        if self.cut(Cut::OneToken) { 1 } else { name(lock) }
    }

    pub fn machine(&self, model: Model) -> Machine {
        let programs = (0u8..).zip(&self.roles).map(|(t, &role)| self.program(t, role)).collect();
        Machine {
            model,
            programs,
            memory: vec![(bias(0).base, name(0)), (bias(1).base, name(1))],
            window: if model == Model::Sc { 1 } else { 5 },
            spurious: self.spurious,
            plain: false,
            loose_wake: false,
        }
    }

    fn program(&self, slot: u8, role: Role) -> Program {
        let title = match role {
            Role::Reader { .. } | Role::ReaderOfBoth => "reader",
            Role::Writer { .. } => "writer",
            Role::Owner { .. } => "owner",
            Role::Revoker => "revoker",
            Role::Trier => "trier",
        };
        let mut a = Asm::new(title);
        match role {
            Role::Reader { reads, opens } => (0..reads).for_each(|_| self.read(&mut a, slot, 0, opens)),
            Role::ReaderOfBoth => [0, 1].into_iter().for_each(|lock| self.read(&mut a, slot, lock, false)),
            Role::Writer { lock, writes } => (0..writes).for_each(|_| self.close_and_write(&mut a, slot, lock)),
            Role::Owner { locks } => (0..locks).for_each(|_| self.own(&mut a, slot)),
            Role::Revoker => self.write(&mut a, 0, &self.owners()),
            Role::Trier => self.try_once(&mut a),
        }
        a.finish()
    }

    fn slots_of(&self, wanted: fn(&Role) -> bool) -> Vec<u8> {
        (0u8..).zip(&self.roles).filter(|(_, role)| wanted(role)).map(|(slot, _)| slot).collect()
    }

    fn readers(&self) -> Vec<u8> {
        self.slots_of(|role| matches!(role, Role::Reader { .. } | Role::ReaderOfBoth))
    }

    fn owners(&self) -> Vec<u8> {
        self.slots_of(|role| matches!(role, Role::Owner { .. }))
    }

    /// `slot = name; light(); if bias == name { inside }`, else leaves and jumps to `refused`.
    fn enter(&self, a: &mut Asm, slot: u8, lock: u8, look: Order, refused: Label) {
        let swapped = self.cut(Cut::NoLightOnEnter);
        if swapped {
            a.load(T, bias(lock), look);
        }
        a.store(held(slot), Imm(name(lock)), self.order(Cut::AnnounceRelaxed, Release));
        a.op(if self.cut(Cut::FullLight) { Op::Fence } else { Op::CompilerFence });
        if !swapped {
            a.load(T, bias(lock), look);
        }
        a.branch(T, IsNot, Imm(name(lock)), refused);
    }

    /// `slot = 0; light(); if asked != 0 { asked = 0; wake }`.
    fn leave(&self, a: &mut Asm, slot: u8) {
        let left = a.label();
        let swapped = self.cut(Cut::NoLightOnLeave);
        a.op(Op::CompilerFence);
        if swapped {
            a.load(T, asked(slot), Relaxed);
        }
        a.store(held(slot), Imm(FREE), self.order(Cut::LeaveRelaxed, Release));
        a.op(if self.cut(Cut::FullLight) { Op::Fence } else { Op::CompilerFence });
        if !swapped {
            a.load(T, asked(slot), Relaxed);
        }
        a.branch(T, Is, Imm(0), left);
        a.store(asked(slot), Imm(0), Relaxed);
        if !self.cut(Cut::NoWake) {
            a.op(Op::Wake { at: asked(slot), all: true });
        }
        a.place(left);
    }

    fn read(&self, a: &mut Asm, slot: u8, lock: u8, opens: bool) {
        let (refused, done) = (a.label(), a.label());
        self.enter(a, slot, lock, self.order(Cut::LookRelaxed, Acquire), refused);
        look(a, lock);
        self.leave(a, slot);
        a.jump(done);
        a.place(refused);
        self.leave(a, slot);
        a.op(Op::Lock { at: ordinary(lock) });
        if opens {
            let taken = a.label();
            a.load(T, bias(lock), Relaxed);
            a.branch(T, IsNot, Imm(NOBODY), taken);
            a.store(bias(lock), Imm(name(lock)), self.order(Cut::OpenRelaxed, Release));
            a.place(taken);
        }
        look(a, lock);
        a.store(ordinary(lock), Imm(0), Release);
        a.place(done);
    }

    /// Locks for writing, changes what the lock guards, unlocks: closes the lock before it takes
    /// the ordinary one, with a number of its own.
    fn close_and_write(&self, a: &mut Asm, writer: u8, lock: u8) {
        let (closed, unbiased, fenced) = (a.label(), a.label(), a.label());
        let closing = Imm(CLOSING + writer);
        a.op(Op::Cas { dst: T, at: bias(lock), old: Imm(name(lock)), new: closing, order: Relaxed });
        a.branch(T, Is, Imm(0), closed);
        if !self.cut(Cut::NoHeavy) {
            a.op(Op::Heavy);
        }
        a.place(closed);
        a.op(Op::Lock { at: ordinary(lock) });
        a.load(T, bias(lock), Relaxed);
        a.branch(T, Is, Imm(NOBODY), unbiased);
        a.store(bias(lock), Imm(NOBODY), Relaxed);
        a.branch(T, Is, closing, fenced);
        if !self.cut(Cut::NoHeavy) && !self.cut(Cut::NoHeavyForAnother) {
            a.op(Op::Heavy);
        }
        a.place(fenced);
        self.wait_for(a, lock, &self.readers());
        a.place(unbiased);
        change(a, lock);
        a.store(ordinary(lock), Imm(0), Release);
    }

    fn wait_for(&self, a: &mut Asm, lock: u8, slots: &[u8]) {
        if !self.cut(Cut::NoWait) {
            if self.sleep { self.sleep_until_left(a, lock, slots) } else { self.spin_until_left(a, lock, slots) }
        }
    }

    /// Locks as a thread that the lock is not biased to, changes what it guards, unlocks.
    fn write(&self, a: &mut Asm, lock: u8, slots: &[u8]) {
        let unbiased = a.label();
        a.op(Op::Lock { at: ordinary(lock) });
        a.load(T, bias(lock), Relaxed);
        a.branch(T, Is, Imm(NOBODY), unbiased);
        self.revoke(a, lock);
        self.wait_for(a, lock, slots);
        a.place(unbiased);
        change(a, lock);
        a.store(ordinary(lock), Imm(0), Release);
    }

    fn revoke(&self, a: &mut Asm, lock: u8) {
        a.store(bias(lock), Imm(NOBODY), Relaxed);
        if !self.cut(Cut::NoHeavy) {
            a.op(Op::Heavy);
        }
    }

    /// Jumps to `free` where the slot is not the lock's.
    fn branch_if_left(&self, a: &mut Asm, lock: u8, slot: u8, free: Label) {
        a.load(T, held(slot), self.order(Cut::ScanRelaxed, Acquire));
        a.branch(T, IsNot, Imm(name(lock)), free);
    }

    fn spin_until_left(&self, a: &mut Asm, lock: u8, slots: &[u8]) {
        for &slot in slots {
            let free = a.label();
            let again = a.mark();
            self.branch_if_left(a, lock, slot, free);
            a.jump(again);
            a.place(free);
        }
    }

    /// Writes down `drain::sleep`.
    fn sleep_until_left(&self, a: &mut Asm, lock: u8, slots: &[u8]) {
        let nothing = a.label();
        a.set(ANY, Imm(0));
        if self.cut(Cut::HeavyBeforeAsking) {
            a.op(Op::Heavy);
        }
        for &slot in slots {
            let free = a.label();
            self.branch_if_left(a, lock, slot, free);
            a.set(ANY, Imm(1));
            a.store(asked(slot), Imm(self.token(lock)), Relaxed);
            a.place(free);
        }
        a.branch(ANY, Is, Imm(0), nothing);
        self.sleep_heavy(a);
        a.place(nothing);
        for &slot in slots {
            self.sleep_on(a, lock, slot);
        }
    }

    fn sleep_on(&self, a: &mut Asm, lock: u8, slot: u8) {
        let (free, stands) = (a.label(), a.label());
        let again = a.mark();
        self.branch_if_left(a, lock, slot, free);
        if !self.cut(Cut::NoAskingAgain) {
            a.load(T, asked(slot), Relaxed);
            a.branch(T, Is, Imm(self.token(lock)), stands);
            a.store(asked(slot), Imm(self.token(lock)), Relaxed);
            self.sleep_heavy(a);
            a.place(stands);
        }
        if !self.cut(Cut::NoRecheck) {
            self.branch_if_left(a, lock, slot, free);
        }
        a.op(Op::Wait { at: asked(slot), val: Imm(self.token(lock)) });
        a.jump(again);
        a.place(free);
    }

    fn sleep_heavy(&self, a: &mut Asm) {
        if !self.cut(Cut::NoSleepHeavy) && !self.cut(Cut::HeavyBeforeAsking) {
            a.op(Op::Heavy);
        }
    }

    /// Locks as the owner: by its slot, or by the ordinary lock, after which it is the owner again.
    fn own(&self, a: &mut Asm, slot: u8) {
        let (refused, done) = (a.label(), a.label());
        self.enter(a, slot, 0, Relaxed, refused);
        change(a, 0);
        self.leave(a, slot);
        a.jump(done);
        a.place(refused);
        self.leave(a, slot);
        a.op(Op::Lock { at: ordinary(0) });
        change(a, 0);
        a.store(bias(0), Imm(name(0)), Release);
        a.store(ordinary(0), Imm(0), Release);
        a.place(done);
    }

    /// Takes the mutex if that is possible at once; gives the bias back where it is not.
    fn try_once(&self, a: &mut Asm) {
        let (unbiased, busy, done) = (a.label(), a.label(), a.label());
        let owner = self.owners()[0];
        a.op(Op::Cas { dst: T, at: ordinary(0), old: Imm(0), new: Imm(1), order: Acquire });
        a.branch(T, Is, Imm(0), done);
        a.load(T, bias(0), Relaxed);
        a.branch(T, Is, Imm(NOBODY), unbiased);
        self.revoke(a, 0);
        a.load(T, held(owner), self.order(Cut::ScanRelaxed, Acquire));
        a.branch(T, Is, Imm(name(0)), busy);
        a.place(unbiased);
        change(a, 0);
        a.store(ordinary(0), Imm(0), Release);
        a.jump(done);
        a.place(busy);
        if !self.cut(Cut::NotRestored) {
            a.store(bias(0), Imm(name(0)), Release);
        }
        a.store(ordinary(0), Imm(0), Release);
        a.place(done);
    }
}

const fn name(lock: u8) -> u8 {
    lock + 1
}

/// Returns the two words that a lock guards.
fn guarded(lock: u8) -> [lang::At; 2] {
    use crate::model::layout::Fixed;
    if lock == 0 { [X, Y] } else { [object(Fixed(0)), object(Fixed(1))] }
}

/// Reads both words, which must be the same.
fn look(a: &mut Asm, lock: u8) {
    let [first, second] = guarded(lock);
    a.load(A, first, Relaxed);
    a.load(B, second, Relaxed);
    a.check(A, Is, lang::Src::Reg(B), TORN);
}

/// Reads both words and adds one to each.
fn change(a: &mut Asm, lock: u8) {
    let [first, second] = guarded(lock);
    look(a, lock);
    a.store(first, Plus(A, 1), Relaxed);
    a.store(second, Plus(B, 1), Relaxed);
}
