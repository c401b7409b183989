//! The grace-period core as a model, searched completely: every interleaving of readers, writers,
//! followers, signal handlers and newcomers, under four memory models, with a heavy fence that is
//! what membarrier is: a full fence in every other thread, at whatever point it has come to.
//! It is the algorithm that is checked here, step by step as the crate orders it, not the crate's
//! code (loom and the torture tests run that): where an ordering in `src/rcu` changes, change it
//! here.
//!
//! Every configuration is shown to fail with each ordering that it covers taken away, under
//! exactly the models where that must show; and the models themselves are tested by litmus
//! programs. A search that passes proves nothing until it was seen to fail.
//!
//! | file | idea |
//! |---|---|
//! | `lang` | the micro-steps, and an assembler |
//! | `memory` | the four memory models, as one table, and what they do not cover |
//! | `state`, `machine`, `fetch`, `perform` | the machine that runs programs under them |
//! | `explore`, `print` | the search; a schedule as text |
//! | `layout`, `reader`, `grace`, `followers`, `slots` | the algorithm, written once |
//! | `setup` | who runs what, and which part is cut out |
//! | `verdicts` | what tests say |
//! | `asymmetric/` | the asymmetric locks: their algorithm, and who runs what |
//! | the others | the tests |
//!
//! `cargo test --test model -- --nocapture --test-threads=1` prints the table (configuration,
//! model, states, time, verdict); with `LEEWARD_MODEL_SCHEDULES=1` also a shortest schedule of
//! every violation. `--ignored` runs the largest configurations.

// Inline, so that the files lie in `tests/models/model/` and are no test programs of their own.
mod model {
    // The machine.
    mod explore;
    mod fetch;
    mod lang;
    mod machine;
    mod memory;
    mod perform;
    mod print;
    mod state;

    // The algorithm.
    mod followers;
    mod grace;
    mod layout;
    mod reader;
    mod setup;
    mod slots;

    // The tests.
    mod asymmetric;
    mod following;
    mod hazards;
    mod inlined;
    mod large;
    mod litmus;
    mod nesting;
    mod pairing;
    mod pausing;
    mod quiescing;
    mod reductions;
    mod registering;
    mod sharing;
    mod sleeping;
    mod verdicts;
}
