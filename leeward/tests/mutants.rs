//! The list of mutants, for `ci/mutants`.

#![cfg(leeward_mutants)]
#![allow(missing_docs)]

#[test]
#[ignore = "prints the list for ci/mutants"]
fn list() {
    for (name, what) in leeward::mutant::ALL {
        println!("mutant\t{name}\t{what}");
    }
}
