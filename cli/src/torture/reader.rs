//! Readers of the storm that enter and leave sections: registered threads, and handles that move
//! from thread to thread.

use std::time::Duration;

use leeward::rcu::{Guard, Reader};

use super::crew::{Member, is_over};
use super::fixture::{Fixture, Flavour, WRITERS, think};
use super::random::Random;
use super::{arena::Name, signals};

/// The number of sections between two longer actions.
const SPELL: u32 = 256;
/// The depth of the deepest nesting.
const DEPTH: u64 = 6;

/// Reads as a thread that is registered at its first section.
pub fn automatic<D: Flavour>(me: &'static Member, mut random: Random) {
    // Register before signals come: the handler reads through the slot.
    if D::register().is_err() {
        return;
    }
    signals::through_thread::<D, _>(|| {
        while !is_over() {
            spell::<D>(me, &mut random, &|| D::read());
        }
    });
}

/// Reads through handles, the thread's own and others'.
pub fn with_handle<D: Flavour>(me: &'static Member, mut random: Random) {
    let migrating = &D::fixture().migrating;
    let arrived = || migrating.lock().ok().and_then(|mut handles| handles.pop());
    while !is_over() {
        let handle = arrived().map_or_else(Reader::<D>::register_in, |handle| handle.attach());
        signals::through_handle(&handle, || spell::<D>(me, &mut random, &|| handle.read()));
        if random.one_in(3) {
            // A forgotten guard ends with its handle, or when the handle migrates.
            std::mem::forget(handle.read());
        }
        if random.one_in(2) {
            let handle = handle.detach();
            if let Ok(mut handles) = migrating.lock() {
                handles.push(handle);
            }
        }
    }
}

/// Enters some sections of various kinds.
pub fn spell<'a, D: Flavour>(me: &'static Member, random: &mut Random, enter: &impl Fn() -> Guard<'a, D>) {
    let fixture = D::fixture();
    for _ in 0..SPELL {
        if is_over() {
            return;
        }
        me.enters();
        match random.below(64) {
            0..44 => plain(fixture, random, enter),
            44..56 => nested(fixture, random, enter),
            56..63 => refreshed(fixture, random, enter),
            _ => deferring(fixture, random, enter),
        }
        me.left();
    }
    if random.one_in(300) {
        stuck(me, fixture, random, enter);
    }
}

/// Fills the store buffer, enters a section of 0 to 2 (sometimes 10) microseconds that touches
/// nothing but the object, and fills the store buffer again.
fn plain<'a, D: Flavour>(fixture: &Fixture<D>, random: &mut Random, enter: &impl Fn() -> Guard<'a, D>) {
    let (root, wait) = (random.next() as usize, random.below(if random.clone().one_in(8) { 1000 } else { 200 }));
    let (before, behind) = (random.one_in(2), random.one_in(4));
    if before {
        fixture.jam(wait);
    }
    let guard = enter();
    let name = fixture.look(root);
    think(wait);
    fixture.check(name);
    if behind {
        fixture.jam(wait);
    }
    drop(guard);
}

/// Enters sections within sections, and leaves them in any order.
fn nested<'a, D: Flavour>(fixture: &Fixture<D>, random: &mut Random, enter: &impl Fn() -> Guard<'a, D>) {
    let mut guards: Vec<Guard<'a, D>> = Vec::with_capacity(DEPTH as usize);
    let mut names: [Option<Name>; DEPTH as usize] = [None; DEPTH as usize];
    let all_alive = |names: &[Option<Name>]| names.iter().flatten().all(|name| fixture.check(*name));
    for place in names.iter_mut().take(1 + random.below(DEPTH) as usize) {
        guards.push(enter());
        *place = Some(fixture.look(random.next() as usize));
        if guards.len() > 1 && random.one_in(3) {
            drop(guards.swap_remove(random.below(guards.len() as u64) as usize));
        }
        think(random.below(40));
    }
    all_alive(&names);
    while guards.len() > 1 {
        drop(guards.swap_remove(random.below(guards.len() as u64) as usize));
        think(random.below(100));
        all_alive(&names);
    }
}

/// Calls `refresh`, which lets grace periods pass unless another guard is open.
fn refreshed<'a, D: Flavour>(fixture: &Fixture<D>, random: &mut Random, enter: &impl Fn() -> Guard<'a, D>) {
    let mut guard = enter();
    let first = fixture.look(random.next() as usize);
    if random.one_in(2) {
        let other = enter();
        guard.refresh();
        think(random.below(300));
        fixture.check(first);
        drop(other);
        fixture.check(first);
    }
    for _ in 0..random.below(4) {
        fixture.jam(first.0);
        guard.refresh();
        let name = fixture.look(random.next() as usize);
        think(random.below(200));
        fixture.check(name);
    }
}

/// Defers inside a section, where nothing may wait.
fn deferring<'a, D: Flavour>(fixture: &'static Fixture<D>, random: &mut Random, enter: &impl Fn() -> Guard<'a, D>) {
    let nobody = WRITERS - 1;
    let guard = enter();
    let name = fixture.look(random.next() as usize);
    if random.one_in(8) {
        // Relaxed, both: the words are counts.
        fixture.deferred[nobody].0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        D::defer(move || {
            fixture.came_back[nobody].0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        });
    }
    fixture.check(name);
    drop(guard);
}

/// Sleeps inside a section, so that grace periods sleep too.
fn stuck<'a, D: Flavour>(me: &Member, fixture: &Fixture<D>, random: &mut Random, enter: &impl Fn() -> Guard<'a, D>) {
    me.enters();
    let guard = enter();
    let name = fixture.look(random.next() as usize);
    crate::sys::sleep(Duration::from_millis(5 + random.below(45)));
    fixture.check(name);
    drop(guard);
    me.left();
}
