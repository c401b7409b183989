//! Readers of the storm in C, and in both languages on one slot; and those of the litmus programs.

use std::marker::PhantomData;
use std::time::Duration;

use super::super::crew::{Member, is_over};
use super::super::fixture::{Flavour, think};
use super::super::litmus::Way;
use super::super::random::Random;
use super::super::{short_lived, signals};
use super::part::Shared;

/// The number of sections between two longer actions.
const SPELL: u32 = 64;

/// Reads in sections of C. The thread registers by its first one, which may be its signal
/// handler's, and now and then begins anew.
pub fn sections<D: Shared>(me: &'static Member, mut random: Random) {
    let part = D::part();
    signals::while_signalled(
        |_| handle_signal::<D>(),
        std::ptr::null(),
        || {
            while !is_over() {
                me.enters();
                D::spell(random.next(), SPELL);
                me.left();
                match random.below(400) {
                    0 => {
                        me.enters();
                        (part.enter)();
                        stay::<D>(&mut random);
                        (part.leave)();
                        me.left();
                    }
                    1..5 => (part.unregister)(),
                    _ => {}
                }
            }
        },
    );
}

/// Enters sections of C in guards of Rust, and guards in sections, and leaves them in either order.
pub fn both<D: Shared>(me: &'static Member, mut random: Random) {
    let (part, fixture) = (D::part(), D::fixture());
    signals::while_signalled(
        |_| handle_signal::<D>(),
        std::ptr::null(),
        || {
            while !is_over() {
                let [first_in_c, last_in_c] = [0; 2].map(|_: u32| random.one_in(2));
                me.enters();
                let look = |random: &mut Random| fixture.look(random.next() as usize);
                let (first, guard) = if first_in_c {
                    (part.enter)();
                    (look(&mut random), D::read())
                } else {
                    let guard = D::read();
                    let first = look(&mut random);
                    (part.enter)();
                    (first, guard)
                };
                let second = look(&mut random);
                think(random.below(100));
                // Both names are protected until the last section ends.
                if last_in_c {
                    drop(guard);
                    think(random.below(100));
                    [first, second].iter().all(|name| fixture.check(*name));
                    (part.leave)();
                } else {
                    (part.leave)();
                    think(random.below(100));
                    [first, second].iter().all(|name| fixture.check(*name));
                    drop(guard);
                }
                me.left();
            }
        },
    );
}

/// Reads between quiescent states in C, with guards of Rust beside.
pub fn quiescent<D: Shared>(me: &'static Member, mut random: Random) {
    let (part, fixture) = (D::part(), D::fixture());
    signals::through_thread::<D, _>(|| {
        while !is_over() {
            me.enters();
            (part.online)();
            for _ in 0..100 {
                if is_over() {
                    break;
                }
                D::spell(random.next(), SPELL / 4);
                me.enters();
                match random.below(100) {
                    0..20 => {
                        // The guard holds on through a quiescent state.
                        let guard = D::read();
                        let name = fixture.look(random.next() as usize);
                        (part.quiescent)();
                        think(random.below(100));
                        fixture.check(name);
                        drop(guard);
                    }
                    20..24 => {
                        me.waits(|| (part.synchronize)());
                    }
                    24..28 => {
                        (part.offline)();
                        me.left();
                        crate::sys::sleep(Duration::from_micros(random.below(500)));
                        me.enters();
                        (part.online)();
                    }
                    28 if random.one_in(8) => stay::<D>(&mut random),
                    _ => {}
                }
            }
            (part.unregister)();
            me.left();
        }
    });
}

/// Sleeps while a name is held, so that grace periods sleep too.
fn stay<D: Flavour>(random: &mut Random) {
    let name = D::fixture().look(random.next() as usize);
    crate::sys::sleep(Duration::from_millis(5 + random.below(45)));
    D::fixture().check(name);
}

/// Enters a section of C in a signal handler, and a guard of Rust within, which ends last.
fn handle_signal<D: Shared>() {
    signals::counted(|count| {
        let (part, fixture) = (D::part(), D::fixture());
        (part.enter)();
        let first = fixture.look(count as usize);
        let guard = D::read();
        let second = fixture.look(count as usize + 1);
        (part.leave)();
        [first, second].iter().all(|name| fixture.check(*name));
        drop(guard);
    });
}

/// Lives for a few sections in C. Some threads exit inside one, which ends with them, or online;
/// some read in destructors, before or after the library's own.
pub fn live<D: Shared>(me: &'static Member, mut random: Random) {
    let part = D::part();
    let seed = random.next();
    let reads = move || {
        me.enters();
        (part.online)();
        D::spell(seed, 3);
        (part.unregister)();
        me.left();
    };
    match random.below(6) {
        0 => {
            me.enters();
            (part.online)();
            (part.enter)();
            D::spell(seed, 2);
        }
        1 => {
            short_lived::at_last(reads);
            reads();
        }
        2 => {
            reads();
            short_lived::at_last(reads);
        }
        3 => {
            // What is called before the thread's first section.
            (part.unregister)();
            if (part.enroll)() == 0 {
                reads();
            }
        }
        4 => {
            me.enters();
            (part.online)();
            let guard = D::read();
            (part.enter)();
            drop(guard);
            D::spell(seed, 2);
        }
        _ => reads(),
    }
}

/// The way through sections of C.
pub struct Section<D>(PhantomData<D>);

impl<D: Shared> Way<D> for Section<D> {
    fn new() -> Self {
        Section(PhantomData)
    }

    #[inline(always)]
    fn section(&mut self, before: impl FnOnce(), body: impl FnOnce()) {
        let part = D::part();
        before();
        (part.enter)();
        body();
        (part.leave)();
    }

    fn outside(&mut self, body: impl FnOnce()) {
        body();
    }
}

/// The way of a reader that is online, in C.
pub struct Online<D: Shared>(PhantomData<D>);

impl<D: Shared> Way<D> for Online<D> {
    fn new() -> Self {
        (D::part().online)();
        Online(PhantomData)
    }

    #[inline(always)]
    fn section(&mut self, before: impl FnOnce(), body: impl FnOnce()) {
        let part = D::part();
        (part.offline)();
        before();
        (part.online)();
        body();
        (part.quiescent)();
    }

    fn outside(&mut self, body: impl FnOnce()) {
        let part = D::part();
        (part.offline)();
        body();
        (part.online)();
    }
}

impl<D: Shared> Drop for Online<D> {
    fn drop(&mut self) {
        (D::part().unregister)();
    }
}
