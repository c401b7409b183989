//! The project's book, page by page: how each part works, why it is right, and what it costs.
//!
//! The same pages lie in the repository's `docs`, beside the engine's pages and the decisions. This
//! module exists in documentation only.

/// Declares a page. Its links to other pages lead to modules here: of two definitions of a link the
/// first counts, and the page's own, which names the file, comes second.
#[rustfmt::skip]
macro_rules! page {
    ($name:ident, $file:literal) => {
        #[doc = concat!(
            "\n",
            "[architecture.md]: crate::guide::architecture\n",
            "[caveats.md]: crate::guide::caveats\n",
            "[migrating.md]: crate::guide::migrating\n",
            "[compared.md]: crate::guide::compared\n",
            "[c.md]: crate::guide::c\n",
            "[c-misuse.md]: crate::guide::c_misuse\n",
            "[fences.md]: crate::guide::fences\n",
            "[rcu.md]: crate::guide::rcu\n",
            "[async.md]: crate::guide::asynchronous\n",
            "[structures.md]: crate::guide::structures\n",
            "[hash-map.md]: crate::guide::hash_map\n",
            "[map-c.md]: crate::guide::map_c\n",
            "[ordered-map.md]: crate::guide::ordered_map\n",
            "[list.md]: crate::guide::list\n",
            "[queues.md]: crate::guide::queues\n",
            "[shard-map.md]: crate::guide::shard_map\n",
            "[allocators.md]: crate::guide::allocators\n",
            "[hazard.md]: crate::guide::hazard\n",
            "[locks.md]: crate::guide::locks\n",
            "[locks-small.md]: crate::guide::locks_small\n",
            "[asymmetric.md]: crate::guide::asymmetric\n",
            "[robust.md]: crate::guide::robust\n",
            "[robust-rwlock.md]: crate::guide::robust_rwlock\n",
            "[shared-memory.md]: crate::guide::shared_memory\n",
            "[fork.md]: crate::guide::fork\n",
            "[orderings.md]: crate::guide::orderings\n",
            "[orderings-locks.md]: crate::guide::orderings_locks\n",
            "[testing.md]: crate::guide::testing\n",
            "[performance.md]: crate::guide::performance\n",
            "\n",
        )]
        #[doc = include_str!(concat!("../docs/", $file))]
        pub mod $name {}
    };
}

page!(architecture, "architecture.md");
page!(caveats, "caveats.md");
page!(migrating, "migrating.md");
page!(compared, "compared.md");
page!(c, "c.md");
page!(c_misuse, "c-misuse.md");
page!(fences, "fences.md");
page!(rcu, "rcu.md");
page!(asynchronous, "async.md");
page!(structures, "structures.md");
page!(hash_map, "hash-map.md");
page!(map_c, "map-c.md");
page!(ordered_map, "ordered-map.md");
page!(list, "list.md");
page!(queues, "queues.md");
page!(shard_map, "shard-map.md");
page!(allocators, "allocators.md");
page!(hazard, "hazard.md");
page!(locks, "locks.md");
page!(locks_small, "locks-small.md");
page!(asymmetric, "asymmetric.md");
page!(robust, "robust.md");
page!(robust_rwlock, "robust-rwlock.md");
page!(shared_memory, "shared-memory.md");
page!(fork, "fork.md");
page!(orderings, "orderings.md");
page!(orderings_locks, "orderings-locks.md");
page!(testing, "testing.md");
page!(performance, "performance.md");
