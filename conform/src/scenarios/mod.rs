//! The scenarios, by operation.

mod bitset;
mod clone;
mod cmp_requeue;
mod crowds;
mod errors;
mod file_end;
mod futex2;
mod futex2_mpol;
mod futex_hash;
mod huge_pages;
mod keys;
mod keys_far;
mod membarrier;
mod pi;
mod pi_death;
mod pi_priority;
mod pi_races;
mod pi_refused;
mod pi_signals;
mod pi_time;
mod requeue;
mod requeue_pi;
mod requeue_pi_signals;
mod robust;
mod robust_damage;
mod robust_instructions;
mod robust_steps;
mod robust_unlock;
mod robust_wake;
mod robust_walk;
mod rseq;
mod rseq_aborts;
mod set_tid_address;
mod signals;
mod stops;
mod time;
mod wait;
mod waitv;
mod wake;
mod wake_op;

use crate::scenario::Scenario;

/// All scenarios, in the order in which they are asked: what others rely on comes first.
const GROUPS: &[&[Scenario]] = &[
    wait::SCENARIOS,
    wake::SCENARIOS,
    time::SCENARIOS,
    bitset::SCENARIOS,
    requeue::SCENARIOS,
    cmp_requeue::SCENARIOS,
    wake_op::SCENARIOS,
    crowds::SCENARIOS,
    errors::SCENARIOS,
    keys::SCENARIOS,
    keys_far::SCENARIOS,
    huge_pages::SCENARIOS,
    file_end::SCENARIOS,
    signals::SCENARIOS,
    stops::SCENARIOS,
    set_tid_address::SCENARIOS,
    waitv::SCENARIOS,
    futex2::SCENARIOS,
    futex2_mpol::SCENARIOS,
    futex_hash::SCENARIOS,
    pi::SCENARIOS,
    pi_refused::SCENARIOS,
    pi_time::SCENARIOS,
    pi_death::SCENARIOS,
    pi_priority::SCENARIOS,
    pi_races::SCENARIOS,
    pi_signals::SCENARIOS,
    requeue_pi::SCENARIOS,
    requeue_pi_signals::SCENARIOS,
    robust::SCENARIOS,
    robust_walk::SCENARIOS,
    robust_wake::SCENARIOS,
    robust_damage::SCENARIOS,
    robust_steps::SCENARIOS,
    robust_instructions::SCENARIOS,
    robust_unlock::SCENARIOS,
    membarrier::SCENARIOS,
    rseq::SCENARIOS,
    rseq_aborts::SCENARIOS,
    clone::SCENARIOS,
];

/// Returns all scenarios.
pub fn all() -> impl Iterator<Item = &'static Scenario> + Clone {
    GROUPS.iter().flat_map(|group| group.iter())
}
