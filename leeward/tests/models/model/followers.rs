//! `synchronize` among many callers: one leads, the others sleep until a grace period that is
//! enough for them has ended, or until they may lead.
//!
//! Followers sleep by the parity of their ticket: at most two tickets are ever waited for, that of
//! the grace period under way and the next. A sleep is an event count: a thread that goes to sleep
//! counts itself, fences and rechecks; a thread that ends a grace period or gives up the lead
//! stores, fences and loads the count of sleepers. Either the sleeper sees the store or it is seen.

use super::grace::{MINE, T, WANT, branch_if_done, lead, period, start, take_ticket};
use super::lang::{Acquire, Asm, Imm, Is, Label, Op, Reg, Relaxed, Release, Src};
use super::layout::{self, LEADER};
use super::setup::{Cut, Setup};

const SEQ: Reg = 9;

pub fn synchronize(a: &mut Asm, s: &Setup) {
    let (served, follow, early) = (a.label(), a.label(), a.label());
    take_ticket(a, s);
    let again = a.mark();
    branch_if_done(a, s, served);
    a.op(Op::Cas { dst: T, at: LEADER, old: Imm(0), new: Imm(1), order: Acquire });
    a.branch(T, Is, Imm(0), follow);
    branch_if_done(a, s, early);
    if s.cut(Cut::LeaderBeforeDone) {
        lead_unlocking_first(a, s);
    } else {
        lead(a, s);
        a.store(LEADER, Imm(0), Release);
    }
    hand_over(a, s);
    a.jump(served);
    a.place(early);
    // No other thread can lead now: `done` is the last grace period, and the next one's callers
    // sleep.
    a.set(MINE, Src::Reg(T));
    a.store(LEADER, Imm(0), Release);
    if s.cut(Cut::EarlyReturnWakesOne) {
        a.op(Op::Fence);
        by_parity(a, MINE, |a, parity| wake_class(a, 1 - parity, false));
    } else if !s.cut(Cut::SilentEarlyReturn) {
        hand_over(a, s);
    }
    a.jump(served);
    a.place(follow);
    sleep_by_parity(a, s, again);
    a.place(served);
}

fn lead_unlocking_first(a: &mut Asm, s: &Setup) {
    start(a);
    period(a, s);
    a.store(LEADER, Imm(0), Release);
    a.store(layout::DONE, Src::Reg(MINE), Release);
}

/// Writes one arm for tickets of either parity. Numbers are small: a parity is found by cases.
fn by_parity(a: &mut Asm, ticket: Reg, arm: impl Fn(&mut Asm, u8)) {
    let (odd, end) = (a.label(), a.label());
    for n in [1, 3, 5] {
        a.branch(ticket, Is, Imm(n), odd);
    }
    arm(a, 0);
    a.jump(end);
    a.place(odd);
    arm(a, 1);
    a.place(end);
}

fn sleep_by_parity(a: &mut Asm, s: &Setup, again: Label) {
    by_parity(a, WANT, |a, parity| {
        let awake = a.label();
        a.load(SEQ, layout::round(parity), Relaxed);
        a.op(Op::Add { dst: T, at: layout::sleepers(parity), n: 1, order: Relaxed });
        if !s.cut(Cut::NoSleeperFence) {
            a.op(Op::Fence);
        }
        if !s.cut(Cut::NoRecheck) {
            branch_if_done(a, s, awake);
            if !s.cut(Cut::RecheckDoneOnly) {
                a.load(T, LEADER, Relaxed);
                a.branch(T, Is, Imm(0), awake);
            }
        }
        a.op(Op::Wait { at: layout::round(parity), val: Src::Reg(SEQ) });
        a.place(awake);
        a.op(Op::Add { dst: T, at: layout::sleepers(parity), n: 255, order: Relaxed });
        a.jump(again);
    });
}

/// Hands over after the lead was given up: wakes all that waited for this grace period, and one
/// that waits for the next and will lead it.
fn hand_over(a: &mut Asm, s: &Setup) {
    if !s.cut(Cut::NoLeaderFence) {
        a.op(Op::Fence);
    }
    by_parity(a, MINE, |a, parity| {
        wake_class(a, parity, true);
        if !s.cut(Cut::NextClassNotWoken) {
            wake_class(a, 1 - parity, s.cut(Cut::WakeAllOfNext));
        }
    });
}

fn wake_class(a: &mut Asm, parity: u8, all: bool) {
    let nobody = a.label();
    let round = layout::round(parity);
    a.load(T, layout::sleepers(parity), Relaxed);
    a.branch(T, Is, Imm(0), nobody);
    a.op(Op::Add { dst: T, at: round, n: 1, order: Relaxed });
    a.op(Op::Wake { at: round, all });
    a.place(nobody);
}
