//! Tests of `leeward torture` of RCU, hazard pointers and containers. (Those of robust locks, which are
//! tried on broken ones too, and of C, which needs a C compiler, are `torture_robust` and `torture_c`.)

mod common;

use common::{ONE_AND_ONE, SEED, must_pass, torture};

/// A module of tests for each.
macro_rules! each_passes {
    ($($what:ident)+) => {$(
        mod $what {
            use super::*;

            #[test]
            fn everything_passes() {
                let said = must_pass(&torture(stringify!($what), &[&["--seconds", "2"], &SEED.0[..]].concat()));
                assert!(said.lines().next().is_some_and(|line| line.contains(SEED.1)), "{said}");
            }

            #[test]
            fn one_reader_and_one_writer_are_enough() {
                must_pass(&torture(stringify!($what), &ONE_AND_ONE));
            }
        }
    )+};
}

each_passes! { collect hazard rcu }

#[test]
fn one_flavour_by_one_strategy() {
    let output = torture("rcu", &["--seconds", "1", "--strategy", "signal", "--flavour", "mb"]);
    assert!(must_pass(&output).contains("flavours mb, strategies signal"), "{output:?}");
}

#[test]
fn one_reader_and_one_writer_of_a_flavour_are_enough() {
    for flavour in ["auto", "handle", "qsbr"] {
        must_pass(&torture("rcu", &[&ONE_AND_ONE[..], &["--flavour", flavour]].concat()));
    }
}
