//! Readers of the storm that announce quiescent states.

use std::time::Duration;

use leeward::rcu::qsbr::Reader;

use super::crew::{Member, is_over};
use super::fixture::{Flavour, think};
use super::random::Random;
use super::signals;

pub fn read<D: Flavour>(me: &'static Member, mut random: Random) {
    if D::register().is_err() {
        return;
    }
    signals::through_thread::<D, _>(|| {
        while !is_over() {
            me.enters();
            let mut reader = Reader::<D>::register_in();
            for _ in 0..2000 {
                if is_over() {
                    break;
                }
                step(me, &mut random, &mut reader);
            }
            drop(reader);
            me.left();
        }
    });
}

/// Does what happens between two quiescent states.
fn step<D: Flavour>(me: &'static Member, random: &mut Random, reader: &mut Reader<D>) {
    let fixture = D::fixture();
    let names = [0; 2].map(|_: u32| fixture.look(random.next() as usize));
    think(random.below(if random.clone().one_in(8) { 1000 } else { 200 }));
    names.iter().all(|name| fixture.check(*name));
    match random.below(4000) {
        // A registered reader's section in the same domain, beside what this reader holds.
        0..400 => {
            let guard = D::read();
            let name = fixture.look(random.next() as usize);
            fixture.check(name);
            drop(guard);
            fixture.check(names[0]);
        }
        400..420 => me.waits(|| reader.synchronize()),
        420..460 => reader.offline(|| {
            me.left();
            crate::sys::sleep(Duration::from_micros(random.below(500)));
            me.enters();
        }),
        460 => {
            crate::sys::sleep(Duration::from_millis(5 + random.below(45)));
            names.iter().all(|name| fixture.check(*name));
        }
        _ => {}
    }
    if random.one_in(2) {
        fixture.jam(names[0].0);
    }
    reader.quiescent();
    me.enters();
}
