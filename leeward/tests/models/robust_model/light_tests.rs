//! The lock that is unlocked by a store: with deaths, without each thing that it needs, and between
//! processes that fences do not reach.

use crate::{Cut, Machine, Verdict, search};

#[track_caller]
fn expect(rounds: &[u8], deaths: u8, outsiders: u8, cuts: &[Cut], expected: Verdict) {
    search(&Machine { rounds, deaths, cuts, light: true, outsiders }, expected);
}

#[test]
fn deaths_at_every_step() {
    expect(&[2, 2], 0, 0, &[], Verdict::Holds);
    expect(&[2, 2], 2, 0, &[], Verdict::Holds);
    expect(&[1, 1, 1], 0, 0, &[], Verdict::Holds);
    expect(&[1, 1, 1], 1, 0, &[], Verdict::Holds);
}

/// Of owner and sleeper, the one that comes second sees the other.
#[test]
fn the_pair() {
    for cut in [Cut::Leaving, Cut::Count, Cut::Heavy, Cut::LookAtOwner] {
        expect(&[1, 1], 0, 0, &[cut], Verdict::Lost);
    }
    expect(&[1, 1, 1], 0, 0, &[Cut::FencedBefore], Verdict::Lost);
    expect(&[2, 1], 0, 0, &[Cut::Lowering], Verdict::Lost);
}

/// Tries threads of processes that heavy fences do not reach.
#[test]
fn outsiders() {
    for outsider in [0b01, 0b10] {
        expect(&[1, 1], 0, outsider, &[], Verdict::Holds);
        expect(&[1, 1], 1, outsider, &[], Verdict::Holds);
    }
    expect(&[1, 1, 1], 0, 0b001, &[], Verdict::Holds);
    expect(&[1, 1], 0, 0b01, &[Cut::Outsiders], Verdict::Lost);
}
