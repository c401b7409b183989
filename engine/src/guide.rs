//! The book of the engine, page by page: how each part works, why it is right, and how to write a
//! host.
//!
//! The same pages lie in the repository's `docs/engine`. This module exists in the documentation
//! only.

/// A page of the book. Its links to other pages lead to modules here: of two definitions of a link
/// the first counts, and the page's own, which names the file, comes second.
#[rustfmt::skip]
macro_rules! page {
    ($name:ident, $file:literal) => {
        #[doc = concat!(
            "\n",
            "[README.md]: crate::guide::overview\n",
            "[porting.md]: crate::guide::porting\n",
            "[first-three.md]: crate::guide::first_three\n",
            "[tables.md]: crate::guide::tables\n",
            "[waiters.md]: crate::guide::waiters\n",
            "[inheritance.md]: crate::guide::inheritance\n",
            "[robust.md]: crate::guide::robust\n",
            "[membarrier.md]: crate::guide::membarrier\n",
            "[barriers-by-architecture.md]: crate::guide::barriers_by_architecture\n",
            "[parking.md]: crate::guide::parking\n",
            "[parking-handlers.md]: crate::guide::parking_handlers\n",
            "[small.md]: crate::guide::small\n",
            "[library-os.md]: crate::guide::library_os\n",
            "[unikernel.md]: crate::guide::unikernel\n",
            "[green-threads.md]: crate::guide::green_threads\n",
            "[async-only.md]: crate::guide::async_only\n",
            "[testing.md]: crate::guide::testing\n",
            "[outside.md]: crate::guide::outside\n",
            "\n",
        )]
        #[doc = include_str!(concat!("../docs/", $file))]
        pub mod $name {}
    };
}

page!(overview, "README.md");
page!(porting, "porting.md");
page!(first_three, "first-three.md");
page!(tables, "tables.md");
page!(waiters, "waiters.md");
page!(inheritance, "inheritance.md");
page!(robust, "robust.md");
page!(membarrier, "membarrier.md");
page!(barriers_by_architecture, "barriers-by-architecture.md");
page!(parking, "parking.md");
page!(parking_handlers, "parking-handlers.md");
page!(small, "small.md");
page!(library_os, "library-os.md");
page!(unikernel, "unikernel.md");
page!(green_threads, "green-threads.md");
page!(async_only, "async-only.md");
page!(testing, "testing.md");
page!(outside, "outside.md");
