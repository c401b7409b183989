//! The project's book, page by page: how each part works, why it is right, and what it costs.
//!
//! The same pages lie in the repository's `docs`, beside the engine's pages and the decisions. This
//! module exists in documentation only.

/// Declares the pages: `name "file"`. Their links to one another lead to modules here: of two
/// definitions of a link the first counts, and the page's own, which names the file, comes second.
macro_rules! pages {
    ($($name:ident $file:literal)*) => {
        pages! { @each ($($name $file)*) $($name $file)* }
    };
    (@each $links:tt $name:ident $file:literal $($rest:tt)*) => {
        page! { $links $name $file }
        pages! { @each $links $($rest)* }
    };
    (@each $links:tt) => {};
}
macro_rules! page {
    (($($link:ident $to:literal)*) $name:ident $file:literal) => {
        #[doc = concat!("\n", $("[", $to, "]: crate::guide::", stringify!($link), "\n",)* "\n")]
        #[doc = include_str!(concat!("../docs/", $file))]
        pub mod $name {}
    };
}

pages! {
    architecture "architecture.md"
    rooms "rooms.md"
    rooms_of_the_engine "rooms-engine.md"
    which "which.md"
    caveats "caveats.md"
    stability "stability.md"
    sanitizers "sanitizers.md"
    migrating "migrating.md"
    migrating_seize "migrating-seize.md"
    migrating_locks "migrating-locks.md"
    compared "compared.md"
    compared_rcu "compared-rcu.md"
    c "c.md"
    c_misuse "c-misuse.md"
    fences "fences.md"
    rcu "rcu.md"
    collectors "collectors.md"
    asynchronous "async.md"
    asynchronous_locks "async-locks.md"
    structures "structures.md"
    structures_map "structures-map.md"
    hash_map "hash-map.md"
    map_c "map-c.md"
    ordered_map "ordered-map.md"
    list "list.md"
    queues "queues.md"
    bounded "bounded.md"
    shard_map "shard-map.md"
    allocators "allocators.md"
    hazard "hazard.md"
    locks "locks.md"
    rwlock "rwlock.md"
    locks_small "locks-small.md"
    asymmetric "asymmetric.md"
    robust "robust.md"
    robust_rwlock "robust-rwlock.md"
    shared_memory "shared-memory.md"
    fork "fork.md"
    orderings "orderings.md"
    orderings_rcu "orderings-rcu.md"
    orderings_callbacks "orderings-callbacks.md"
    orderings_locks "orderings-locks.md"
    testing "testing.md"
    testing_machines "testing-machines.md"
    testing_kinds "testing-kinds.md"
    performance "performance.md"
    measured "measured.md"
}
