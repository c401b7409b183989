//! Slots that come and go: the list that a scan walks, registration (taking a slot over or
//! pushing a new one), unregistration, and a guard that outlives its thread.

use super::grace::{G, load_epoch};
use super::lang::{Acquire, Asm, Imm, Is, Op, Plus, Reg, Relaxed, Release, Src};
use super::layout::{self, By, FENCED, Fixed, HEAD, SECTIONS};
use super::reader::{branch_if_free, dereference, enter, section};
use super::setup::{Cut, Flavour, Setup};

/// The register of the writer's place in the list.
const AT: Reg = 7;
/// The register of a reader's slot, where the slot is only known after registering.
const SLOT: Reg = 6;
const T: Reg = 0;

/// Acquire: pairs with the push, the slot's fields are written.
pub fn load_head(a: &mut Asm, s: &Setup) {
    a.load(AT, HEAD, if s.cut(Cut::HeadRelaxed) { Relaxed } else { Acquire });
}

/// Waits for every slot in the list, as it was after the heavy fence.
pub fn scan_list(a: &mut Asm, s: &Setup) {
    if !s.cut(Cut::HeadBeforeHeavy) {
        load_head(a, s);
    }
    let (end, free) = (a.label(), a.label());
    let again = a.mark();
    a.branch(AT, Is, Imm(0), end);
    load_epoch(a, s, By(AT));
    branch_if_free(a, s, T, G, free);
    a.jump(again);
    a.place(free);
    a.load(AT, layout::next(By(AT)), Relaxed);
    a.jump(again);
    a.place(end);
}

/// Writes one section in the slot that is registered from the start, which is then given up.
pub fn leaver(a: &mut Asm, s: &Setup, slot: u8) {
    section(a, s, Fixed(slot), 0, 1, 0);
    if s.counted {
        let order = if s.cut(Cut::SectionsReleaseRelaxed) { Relaxed } else { Release };
        a.op(Op::Add { dst: T, at: SECTIONS, n: 255, order });
    }
    unregister(a, s, slot);
}

/// Writes what a leaver does, with full fences. Such readers have a count of their own.
pub fn fenced_leaver(a: &mut Asm, s: &Setup, slot: u8) {
    let fenced = Setup { flavour: Flavour::Mb, ..s.clone() };
    section(a, &fenced, Fixed(slot), 0, 1, 0);
    unregister(a, s, slot);
}

/// Writes a reader without full fences, which waits for the first slot and takes it over.
pub fn heir(a: &mut Asm, s: &Setup) {
    a.op(Op::Lock { at: layout::in_use(Fixed(1)) });
    a.store(FENCED, Imm(0), Relaxed);
    count(a, s);
    section(a, s, Fixed(1), 0, 1, 0);
}

/// Writes how a reader that needs heavy fences counts itself.
fn count(a: &mut Asm, s: &Setup) {
    a.op(Op::Add { dst: T, at: SECTIONS, n: 1, order: Relaxed });
    if !s.cut(Cut::NoRegisterFence) {
        a.op(Op::Fence);
    }
}

/// Release: the thread that takes the slot over comes after all this thread's stores to it.
fn unregister(a: &mut Asm, s: &Setup, slot: u8) {
    let order = if s.cut(Cut::UnregisterRelaxed) { Relaxed } else { Release };
    a.store(layout::in_use(Fixed(slot)), Imm(0), order);
}

/// Writes a thread that registers and reads.
pub fn comer(a: &mut Asm, s: &Setup, own: u8, claims: bool) {
    let registered = a.label();
    if claims {
        let refused = a.label();
        let order = if s.cut(Cut::ClaimRelaxed) { Relaxed } else { Acquire };
        a.op(Op::Cas { dst: T, at: layout::in_use(Fixed(1)), old: Imm(0), new: Imm(1), order });
        a.branch(T, Is, Imm(0), refused);
        a.set(SLOT, Imm(1));
        a.jump(registered);
        a.place(refused);
    }
    push(a, s, own);
    a.set(SLOT, Imm(own));
    a.place(registered);
    if s.counted {
        count(a, s);
    }
    section(a, s, By(SLOT), 0, 1, 0);
}

/// Release: a thread that finds the slot finds its link.
fn push(a: &mut Asm, s: &Setup, slot: u8) {
    let order = if s.cut(Cut::PushRelaxed) { Relaxed } else { Release };
    let pushed = a.label();
    let again = a.mark();
    a.load(T, HEAD, Relaxed);
    a.store(layout::next(Fixed(slot)), Src::Reg(T), Relaxed);
    a.op(Op::Cas { dst: T, at: HEAD, old: Plus(T, 0), new: Imm(slot), order });
    a.branch(T, Is, Imm(1), pushed);
    a.jump(again);
    a.place(pushed);
}

/// Writes a thread that leaks its guard and exits, while another thread still uses what the guard
/// protects. The slot stays as it is.
pub fn leaker(a: &mut Asm, s: &Setup, slot: u8) {
    enter(a, s, Fixed(slot), 0);
    a.load(1, layout::pointer(0), Relaxed);
    if s.cut(Cut::DropSlotAtExit) {
        a.store(layout::epoch(Fixed(slot)), Imm(0), Release);
    }
    dereference(a, s, 0);
}
