//! Writers of the storm that free objects by the functions of C.

use super::super::arena::Name;
use super::super::crew::Member;
use super::super::fixture::Flavour;
use super::super::random::Random;
use super::super::violation::{Kind, report};
use super::super::writer::{self, Token, Writer};
use super::part::{Head, Shared};

/// An object that waits for its grace period, as C programs have it: its head comes first.
#[repr(C)]
struct Deferred<D: Flavour> {
    head: Head,
    token: Token<D>,
}

/// Writes until the phase is over.
pub fn write<D: Shared>(me: &'static Member, random: Random, number: usize, writers: usize) {
    writer::write_by(me, random, number, writers, give_back::<D>);
}

fn give_back<D: Shared>(writer: &mut Writer<D>, old: Name) {
    let part = D::part();
    match writer.random.below(64) {
        0..20 => {
            expect((part.synchronize)());
            writer.fixture.arena.free(old);
        }
        20..26 => {
            let cookie = (part.start_poll)();
            while !(part.poll)(cookie) {
                std::thread::yield_now();
            }
            if !(part.poll)(cookie) {
                report(Kind::CookieTakenBack, [0, 0]);
            }
            writer.fixture.arena.free(old);
        }
        26..30 => {
            defer(writer.token(old, true));
            expect((part.barrier)());
            writer.check_callbacks();
        }
        _ => defer(writer.token(old, true)),
    }
}

/// Checks that a call was not refused.
fn expect(error: i32) {
    if error != 0 {
        report(Kind::Refused, [error.unsigned_abs().into(), 0]);
    }
}

fn defer<D: Shared>(token: Token<D>) {
    let object = Box::into_raw(Box::new(Deferred { head: Head::UNUSED, token }));
    // SAFETY: the object is the queue's until the function takes it back, once.
    unsafe { (D::part().defer)(object.cast(), ends::<D>) };
}

/// Frees an object whose grace period is over.
unsafe extern "C" fn ends<D: Flavour>(head: *mut Head) {
    // SAFETY: the head is the first field of a box that `defer` gave up.
    let object = unsafe { Box::from_raw(head.cast::<Deferred<D>>()) };
    // What the queue wrote into the head is nobody's any more.
    let Deferred { head: _, token } = *object;
    drop(token);
}
