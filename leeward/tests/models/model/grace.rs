//! The writer's side: a grace period, the sleep of a blocked writer, tickets, and the programs
//! of updaters and pollers.

use super::lang::{Acquire, Asm, AtLeast, Imm, Is, Op, Order, Plus, Reg, Relaxed, Release, Src};
use super::layout::{self, By, DONE, FENCED, FREED, Fixed, GLOBAL, LEADER, LIVE, STARTED, STOP, UPDATE, Which};
use super::reader::{TWICE, branch_if_free};
use super::setup::{Cut, Flavour, Publish, Role, Setup, synchronize};
use super::slots;

pub const BACKWARDS: &str = "done went backwards";

/// A writer's registers; the first is a scratch.
pub const T: Reg = 0;
pub const G: Reg = 1;
pub const WANT: Reg = 2;
pub const MINE: Reg = 3;
pub const OLD: Reg = 4;
/// 1 if the reader of the slot was seen to execute full fences.
const WAS_FENCED: Reg = 2;
/// 1 if any slot blocks.
const ANY: Reg = 5;
/// 1 if the writer has slept before.
const AGAIN: Reg = 6;
/// 1 if one slot still blocks.
const BLOCKS: Reg = 6;

fn relaxed_if(cut: bool, order: Order) -> Order {
    if cut { Relaxed } else { order }
}

/// Writes the writer's half of the asymmetric pair; where readers are counted and there are none,
/// only a full fence.
fn heavy(a: &mut Asm, s: &Setup) {
    if s.counted {
        let quiet = a.label();
        if !s.cut(Cut::NoQuietFence) {
            a.op(Op::Fence);
        }
        // Acquire: pairs with the release of a reader that unregisters, whose sections are over.
        a.load(T, layout::SECTIONS, relaxed_if(s.cut(Cut::SectionsRelaxed), Acquire));
        a.branch(T, Is, Imm(0), quiet);
        a.op(Op::Heavy);
        a.place(quiet);
        return;
    }
    match s.flavour {
        Flavour::Memb => a.op(Op::Heavy),
        Flavour::Mb => a.op(Op::Fence),
    }
}

/// Writes what `synchronize` does: nothing more than a look at the count where no reader is
/// registered, if `returns_early`, and one grace period else, run by the leader.
pub fn period(a: &mut Asm, s: &Setup) {
    let end = a.label();
    if s.returns_early {
        if !s.cut(Cut::NoQuietFence) {
            a.op(Op::Fence);
        }
        // Acquire: as in `heavy`.
        a.load(T, layout::SECTIONS, relaxed_if(s.cut(Cut::SectionsRelaxed), Acquire));
        a.branch(T, Is, Imm(0), end);
    }
    if s.cut(Cut::GlobalBeforeHeavy) {
        advance(a, s);
    }
    if s.list && s.cut(Cut::HeadBeforeHeavy) {
        slots::load_head(a, s);
    }
    if !s.cut(Cut::NoHeavy) {
        heavy(a, s);
    }
    if s.cut(Cut::StartAfterHeavy) {
        start(a);
    }
    if !s.cut(Cut::GlobalBeforeHeavy) {
        advance(a, s);
    }
    if s.cut(Cut::StartAfterAdvance) {
        start(a);
    }
    if !s.cut(Cut::NoWait) {
        scan(a, s);
    }
    if s.cut(Cut::SecondHeavy) {
        heavy(a, s);
    }
    a.place(end);
}

/// Writes `GLOBAL += 1`, by the leader alone: a load and a store.
fn advance(a: &mut Asm, s: &Setup) {
    a.load(G, GLOBAL, Relaxed);
    if s.cut(Cut::Parity) {
        // 1, 2, 1, ...
        let (one, done) = (a.label(), a.label());
        a.branch(G, Is, Imm(2), one);
        a.set(G, Imm(2));
        a.jump(done);
        a.place(one);
        a.set(G, Imm(1));
        a.place(done);
    } else {
        a.set(G, Plus(G, 1));
    }
    if s.cut(Cut::GlobalFence) {
        a.op(Op::Fence);
    }
    a.store(GLOBAL, Src::Reg(G), relaxed_if(!s.cut(Cut::GlobalRelease), Release));
}

fn scan(a: &mut Asm, s: &Setup) {
    if s.list {
        slots::scan_list(a, s);
    } else if s.sleep {
        scan_sleeping(a, s);
    } else {
        for slot in s.slots() {
            wait_for(a, s, Fixed(slot));
        }
    }
}

/// Acquire: pairs with the release stores of the slot's reader, whose sections before that store
/// are then done.
pub fn load_epoch(a: &mut Asm, s: &Setup, slot: Which) {
    a.load(T, layout::epoch(slot), relaxed_if(s.cut(Cut::ScanRelaxed), Acquire));
}

/// Spins until the slot does not hold the grace period back.
pub fn wait_for(a: &mut Asm, s: &Setup, slot: Which) {
    let free = a.label();
    let again = a.mark();
    load_epoch(a, s, slot);
    branch_if_free(a, s, T, G, free);
    a.jump(again);
    a.place(free);
}

/// Checks the slots. Where some block: sets every `waited`, issues one heavy fence, rechecks, and
/// sleeps on the first slot that blocks; again after every return, until none blocks.
fn scan_sleeping(a: &mut Asm, s: &Setup) {
    let slots = s.slots();
    for &slot in &slots {
        a.set(BLOCKS + slot, Imm(1));
    }
    a.set(AGAIN, Imm(0));
    let end = a.label();
    let top = a.mark();
    a.set(ANY, Imm(0));
    if s.cut(Cut::HeavyBeforeWaited) {
        heavy(a, s);
    }
    for &slot in &slots {
        arm(a, s, slot);
    }
    a.branch(ANY, Is, Imm(0), end);
    sleep_heavy(a, s);
    for &slot in &slots {
        let (next, free) = (a.label(), a.label());
        a.branch(BLOCKS + slot, Is, Imm(0), next);
        load_epoch(a, s, Fixed(slot));
        branch_if_free(a, s, T, G, free);
        a.op(Op::Wait { at: layout::waited(Fixed(slot)), val: Imm(1) });
        a.set(AGAIN, Imm(1));
        a.jump(if s.cut(Cut::TrustTheWake) { free } else { top });
        a.place(free);
        a.set(BLOCKS + slot, Imm(0));
        a.place(next);
    }
    a.place(end);
    if !s.cut(Cut::ClearAfterUnlock) && !s.cut(Cut::NeverClear) {
        clear_waited(a, s);
    }
}

/// Writes `waited = 1` where the slot blocks.
fn arm(a: &mut Asm, s: &Setup, slot: u8) {
    let (next, free) = (a.label(), a.label());
    a.branch(BLOCKS + slot, Is, Imm(0), next);
    load_epoch(a, s, Fixed(slot));
    branch_if_free(a, s, T, G, free);
    a.set(ANY, Imm(1));
    if s.cut(Cut::NoRearm) {
        a.branch(AGAIN, Is, Imm(1), next);
    }
    if s.cut(Cut::LookBeforeWaited) {
        a.load(WAS_FENCED, FENCED, Relaxed);
    }
    a.store(layout::waited(Fixed(slot)), Imm(1), Relaxed);
    if s.cut(Cut::LookAfterWaited) {
        a.load(WAS_FENCED, FENCED, Relaxed);
    }
    a.jump(next);
    a.place(free);
    a.set(BLOCKS + slot, Imm(0));
    a.place(next);
}

/// Writes the heavy fence between `waited = 1` and the recheck: it pairs with the leaving reader's
/// light fence between `epoch = 0` and its load of `waited`.
fn sleep_heavy(a: &mut Asm, s: &Setup) {
    if s.cut(Cut::NoSleepHeavy) || s.cut(Cut::HeavyBeforeWaited) {
        return;
    }
    let skip = a.label();
    if s.cut(Cut::RearmWithoutHeavy) || s.cut(Cut::NoRearm) {
        a.branch(AGAIN, Is, Imm(1), skip);
    }
    if s.cut(Cut::LookBeforeWaited) || s.cut(Cut::LookAfterWaited) {
        a.op(Op::Fence);
        a.branch(WAS_FENCED, Is, Imm(1), skip);
        a.op(Op::Heavy);
    } else {
        heavy(a, s);
    }
    a.place(skip);
}

fn clear_waited(a: &mut Asm, s: &Setup) {
    for slot in s.slots() {
        a.store(layout::waited(Fixed(slot)), Imm(0), Relaxed);
    }
}

/// Writes `started += 1`, by the leader alone.
pub fn start(a: &mut Asm) {
    a.load(MINE, STARTED, Relaxed);
    a.set(MINE, Plus(MINE, 1));
    a.store(STARTED, Src::Reg(MINE), Relaxed);
}

/// Takes the ticket: the grace period whose end is enough for this caller.
pub fn take_ticket(a: &mut Asm, s: &Setup) {
    if !s.cut(Cut::NoTicketFence) {
        // Full: the caller's unlink is visible before it loads, so a grace period that starts after
        // the load starts after the unlink.
        a.op(Op::Fence);
    }
    if s.cut(Cut::WantDonePlusOne) {
        a.load(WANT, DONE, Relaxed);
    } else {
        a.load(WANT, STARTED, Relaxed);
    }
    if !s.cut(Cut::WantStarted) {
        a.set(WANT, Plus(WANT, 1));
    }
}

/// Jumps to `served` where `done` has reached the ticket.
pub fn branch_if_done(a: &mut Asm, s: &Setup, served: super::lang::Label) {
    a.load(T, DONE, relaxed_if(s.cut(Cut::DoneLoadRelaxed), Acquire));
    a.branch(T, AtLeast, Src::Reg(WANT), served);
}

/// Writes all that the leader does, until it has stored `done`.
pub fn lead(a: &mut Asm, s: &Setup) {
    if !s.cut(Cut::StartAfterHeavy) && !s.cut(Cut::StartAfterAdvance) {
        start(a);
    }
    period(a, s);
    // Release: pairs with the acquire of those who return on it.
    a.store(DONE, Src::Reg(MINE), relaxed_if(s.cut(Cut::DoneStoreRelaxed), Release));
}

/// Writes `synchronize` with tickets and a blocking lock.
pub fn with_ticket(a: &mut Asm, s: &Setup) {
    let unlock = a.label();
    take_ticket(a, s);
    a.op(Op::Lock { at: LEADER });
    branch_if_done(a, s, unlock);
    lead(a, s);
    a.place(unlock);
    a.store(LEADER, Imm(0), Release);
    if s.sleep && s.cut(Cut::ClearAfterUnlock) {
        clear_waited(a, s);
    }
}

/// Writes an updater: it replaces the published object as often as `role` says, synchronizes and
/// frees the old one.
pub fn updater(a: &mut Asm, s: &Setup, role: Role, first: u8) {
    let Role::Updater { updates, publish, pointer } = role else { unreachable!("an updater") };
    for i in 0..updates {
        let old = match (publish, i) {
            (Publish::Store, 0) => Fixed(pointer),
            (Publish::Store, _) => Fixed(first + i - 1),
            _ => By(OLD),
        };
        replace(a, s, publish, pointer, first + i);
        synchronize(a, s);
        free(a, s, old);
    }
    a.store(STOP, Imm(1), Relaxed);
}

/// Initialises the new object and publishes it; the old one is left in `OLD` where it has to be.
fn replace(a: &mut Asm, s: &Setup, publish: Publish, pointer: u8, new: u8) {
    let at = layout::pointer(pointer);
    a.store(layout::object(Fixed(new)), Imm(LIVE), Relaxed);
    if s.payload {
        a.store(layout::payload(Fixed(new)), Imm(1), Relaxed);
    }
    let order = relaxed_if(s.cut(Cut::PublishRelaxed), Release);
    match publish {
        Publish::Store => a.store(at, Imm(new), order),
        Publish::Swap => a.op(Op::Swap { dst: OLD, at, val: Imm(new), order }),
        Publish::Locked => {
            a.op(Op::Lock { at: UPDATE });
            a.load(OLD, at, Relaxed);
            a.store(at, Imm(new), order);
            a.store(UPDATE, Imm(0), Release);
        }
    }
}

/// Drops the old object and lets its memory be written over.
fn free(a: &mut Asm, s: &Setup, old: Which) {
    if s.payload {
        let gone = a.label();
        a.load(T, layout::payload(old), Relaxed);
        a.branch(T, Is, Imm(0), gone);
        a.op(Op::Add { dst: T, at: layout::dropped(old), n: 1, order: Relaxed });
        a.check(T, Is, Imm(0), TWICE);
        a.place(gone);
    }
    a.store(layout::object(old), Imm(FREED), Relaxed);
}

/// Writes a poller: it publishes, takes a cookie, and polls once at any later moment.
pub fn poller(a: &mut Asm, s: &Setup, new: u8) {
    let (may, not_yet) = (a.label(), a.label());
    replace(a, s, Publish::Store, 0, new);
    if !s.cut(Cut::NoPollFence) {
        a.op(Op::Fence);
    }
    a.load(WANT, STARTED, Relaxed);
    if !s.cut(Cut::CookieStarted) {
        a.set(WANT, Plus(WANT, 1));
    }
    a.load(T, DONE, relaxed_if(s.cut(Cut::PollRelaxed), Acquire));
    a.branch(T, AtLeast, Src::Reg(WANT), may);
    a.jump(not_yet);
    a.place(may);
    free(a, s, Fixed(0));
    a.place(not_yet);
}

/// Writes a watcher: it loads `done` twice, which must not go back.
pub fn watcher(a: &mut Asm, s: &Setup) {
    branch_load(a, s, T);
    branch_load(a, s, WANT);
    a.check(WANT, AtLeast, Src::Reg(T), BACKWARDS);
}

fn branch_load(a: &mut Asm, s: &Setup, dst: Reg) {
    a.load(dst, DONE, relaxed_if(s.cut(Cut::PollRelaxed), Acquire));
}
