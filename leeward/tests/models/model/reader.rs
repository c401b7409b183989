//! The reader's side: entering, leaving, quiescent states, and what a section does.

use super::lang::{Acquire, Asm, AtLeast, Imm, Is, IsNot, Op, Order, Plus, Reg, Relaxed, Release, Src};
use super::layout::{self, By, Fixed, GLOBAL, LIVE, STOP, Which};
use super::setup::{Cut, Flavour, Role, Setup};

/// What a violated property reports: a section without protection.
pub const DEAD: &str = "a reader met an object that is freed or not written yet";
pub const TWICE: &str = "dropped twice";
pub const LEFT_OVER: &str = "the slot was not left as found";

/// Returns the first scratch register of a nesting level (a handler is one, too).
fn scratch(level: u8) -> Reg {
    3 * level
}

/// Returns the register of a nesting level's pointer.
fn pointer_of(level: u8) -> Reg {
    3 * level + 1
}

/// Writes the reader's half of the asymmetric pair.
fn light(a: &mut Asm, s: &Setup) {
    a.op(match s.flavour {
        Flavour::Memb => Op::CompilerFence,
        Flavour::Mb => Op::Fence,
    });
}

fn order(relaxed: bool, else_: Order) -> Order {
    if relaxed { Relaxed } else { else_ }
}

/// Writes `if epoch == 0 { epoch = GLOBAL } else { extra += 1 }`, then `light()`.
pub fn enter(a: &mut Asm, s: &Setup, slot: Which, level: u8) {
    let t = scratch(level);
    let (nested, entered) = (a.label(), a.label());
    if s.cut(Cut::NestBeforeEpoch) {
        // `extra` counts all sections, and decides.
        a.load(t, layout::extra(slot), Relaxed);
        a.branch(t, IsNot, Imm(0), nested);
        a.store(layout::extra(slot), Imm(1), Relaxed);
    } else {
        a.load(t, layout::epoch(slot), Relaxed);
        a.branch(t, IsNot, Imm(0), nested);
    }
    announce(a, s, slot, t, s.cut(Cut::EnterRelaxed));
    a.jump(entered);
    a.place(nested);
    a.load(t, layout::extra(slot), Relaxed);
    a.store(layout::extra(slot), Plus(t, 1), Relaxed);
    a.place(entered);
    if !s.cut(Cut::NoLightOnEnter) {
        light(a, s);
    }
}

/// Writes `epoch = GLOBAL`.
fn announce(a: &mut Asm, s: &Setup, slot: Which, t: Reg, relaxed: bool) {
    // Release: a thread that reads this store of a later section, and not the one that left the
    // earlier section, must still see that section's accesses done.
    a.load(t, GLOBAL, order(!s.cut(Cut::GlobalAcquire), Acquire));
    a.store(layout::epoch(slot), Src::Reg(t), order(relaxed, Release));
}

/// Writes `if extra == 0 { epoch = 0; light(); wake the writer } else { extra -= 1 }`.
pub fn leave(a: &mut Asm, s: &Setup, slot: Which, level: u8) {
    let t = scratch(level);
    let (nested, left) = (a.label(), a.label());
    a.op(Op::CompilerFence);
    if s.cut(Cut::EpochBeforeExtra) {
        return leave_epoch_first(a, s, slot, t, t + 2);
    }
    a.load(t, layout::extra(slot), Relaxed);
    if s.cut(Cut::NestBeforeEpoch) {
        a.branch(t, IsNot, Imm(1), nested);
        a.store(layout::extra(slot), Imm(0), Relaxed);
    } else {
        a.branch(t, IsNot, Imm(0), nested);
    }
    withdraw(a, s, slot, t, s.cut(Cut::LeaveRelaxed));
    a.jump(left);
    a.place(nested);
    a.store(layout::extra(slot), Plus(t, 255), Relaxed);
    a.place(left);
}

/// Leaves in the broken way: the epoch is cleared before `extra` is tested, and put back.
fn leave_epoch_first(a: &mut Asm, s: &Setup, slot: Which, t: Reg, old: Reg) {
    let left = a.label();
    a.load(old, layout::epoch(slot), Relaxed);
    withdraw(a, s, slot, t, false);
    a.load(t, layout::extra(slot), Relaxed);
    a.branch(t, Is, Imm(0), left);
    a.store(layout::extra(slot), Plus(t, 255), Relaxed);
    a.store(layout::epoch(slot), Src::Reg(old), Release);
    a.place(left);
}

/// Writes `epoch = 0`, and the wake.
fn withdraw(a: &mut Asm, s: &Setup, slot: Which, t: Reg, relaxed: bool) {
    let swapped = s.sleep && s.flavour == Flavour::Memb && s.cut(Cut::NoLightOnLeave);
    if swapped {
        a.load(t, layout::waited(slot), Relaxed);
    }
    // Release: pairs with the scan's acquire; the section's accesses are done.
    a.store(layout::epoch(slot), Imm(0), order(relaxed, Release));
    if !s.cut(Cut::NoLightOnLeave) {
        light(a, s);
    }
    if s.sleep {
        wake_waiter(a, s, slot, t, !swapped);
    }
}

/// Writes `if waited != 0 { waited = 0; wake }`.
fn wake_waiter(a: &mut Asm, s: &Setup, slot: Which, t: Reg, look: bool) {
    let nobody = a.label();
    if look {
        a.load(t, layout::waited(slot), Relaxed);
    }
    a.branch(t, Is, Imm(0), nobody);
    a.store(layout::waited(slot), Imm(0), Relaxed);
    if !s.cut(Cut::NoWake) {
        a.op(Op::Wake { at: layout::waited(slot), all: true });
    }
    a.place(nobody);
}

/// Loads the published pointer.
fn look_up(a: &mut Asm, level: u8, pointer: u8) {
    a.load(pointer_of(level), layout::pointer(pointer), Relaxed);
}

/// Dereferences the pointer.
pub fn dereference(a: &mut Asm, s: &Setup, level: u8) {
    let (t, p) = (scratch(level), pointer_of(level));
    a.load(t, layout::object(By(p)), Relaxed);
    a.check(t, Is, Imm(LIVE), DEAD);
    if s.payload {
        let gone = a.label();
        a.op(Op::Swap { dst: t, at: layout::payload(By(p)), val: Imm(0), order: Relaxed });
        a.branch(t, Is, Imm(0), gone);
        a.op(Op::Add { dst: t, at: layout::dropped(By(p)), n: 1, order: Relaxed });
        a.check(t, Is, Imm(0), TWICE);
        a.place(gone);
    }
}

/// Writes a section, `nest` deep; what the outer one found is used again after the inner one was
/// left.
pub fn section(a: &mut Asm, s: &Setup, slot: Which, level: u8, nest: u8, pointer: u8) {
    let swapped = s.flavour == Flavour::Memb && s.cut(Cut::NoLightOnEnter);
    if swapped {
        look_up(a, level, pointer);
    }
    enter(a, s, slot, level);
    if !swapped {
        look_up(a, level, pointer);
    }
    if nest > 1 {
        section(a, s, slot, level + 1, nest - 1, pointer);
    }
    dereference(a, s, level);
    leave(a, s, slot, level);
}

/// Writes a thread of sections, and the signal handlers that may interrupt it.
pub fn reader(a: &mut Asm, s: &Setup, role: Role, slot: u8) {
    let Role::Reader { sections, nest, pointer, signals, handlers } = role else { unreachable!("a reader") };
    let slot = Fixed(slot);
    for i in 0..sections {
        if let (Some(thread), true) = (s.gate, i + 1 == sections) {
            enter(a, s, slot, 0);
            look_up(a, 0, pointer);
            dereference(a, s, 0);
            a.op(Op::AwaitAsleep { thread });
            leave(a, s, slot, 0);
        } else {
            section(a, s, slot, 0, nest, pointer);
        }
    }
    for word in [layout::epoch(slot), layout::extra(slot)] {
        a.load(0, word, Relaxed);
        a.check(0, Is, Imm(0), LEFT_OVER);
    }
    if signals == 0 {
        return;
    }
    a.op(Op::End);
    a.program.signals = signals;
    for level in nest..nest + handlers {
        let start = a.here();
        a.program.handlers.push(start);
        section(a, s, slot, level, 1, pointer);
        a.op(Op::SigReturn);
    }
}

/// Between two stretches, stores the current epoch if it has changed, with a full fence: "I hold
/// nothing".
fn quiesce(a: &mut Asm, s: &Setup, slot: Which, online: bool) {
    let unchanged = a.label();
    if !online {
        let (now, own) = (0, 1);
        a.load(now, GLOBAL, Relaxed);
        a.load(own, layout::epoch(slot), Relaxed);
        a.branch(own, Is, Src::Reg(now), unchanged);
    }
    announce(a, s, slot, 0, s.cut(Cut::QuiescentRelaxed) && !online);
    if !s.cut(Cut::NoQuiescentFence) {
        a.op(Op::Fence);
    }
    if s.sleep && !online {
        wake_waiter(a, s, slot, 0, true);
    }
    a.place(unchanged);
}

fn stretch(a: &mut Asm, s: &Setup) {
    look_up(a, 0, 0);
    dereference(a, s, 0);
}

pub fn quiescent(a: &mut Asm, s: &Setup, slot: u8, stretches: u8) {
    let slot = Fixed(slot);
    for i in 0..stretches {
        quiesce(a, s, slot, i == 0);
        stretch(a, s);
    }
    go_offline(a, s, slot);
}

/// Goes on until the updater has finished, which it can only if quiescent states are enough for it.
pub fn quiescent_loop(a: &mut Asm, s: &Setup, slot: u8) {
    let slot = Fixed(slot);
    quiesce(a, s, slot, true);
    let again = a.mark();
    stretch(a, s);
    quiesce(a, s, slot, false);
    a.load(0, STOP, Relaxed);
    a.branch(0, Is, Imm(0), again);
    go_offline(a, s, slot);
}

/// Writes what `withdraw` does, with a full fence whatever the flavour is.
fn go_offline(a: &mut Asm, s: &Setup, slot: Which) {
    let fenced = Setup { flavour: Flavour::Mb, ..s.clone() };
    withdraw(a, &fenced, slot, 0, s.cut(Cut::OfflineRelaxed));
}

/// Jumps to `free` where the epoch in `e` does not hold back the grace period `g`.
pub fn branch_if_free(a: &mut Asm, s: &Setup, e: Reg, g: Reg, free: super::lang::Label) {
    a.branch(e, Is, Imm(0), free);
    if s.cut(Cut::Parity) {
        a.branch(e, Is, Src::Reg(g), free);
    } else if !s.cut(Cut::WaitForZero) {
        a.branch(e, AtLeast, Src::Reg(g), free);
    }
}
