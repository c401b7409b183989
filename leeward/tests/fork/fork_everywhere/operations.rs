//! The operations beside which the tests fork: each public operation, with what it needs beside it,
//! and what a child does with the very object that the operation used.

use super::arranged;
use super::case::Beside;

/// One public operation.
pub struct Operation {
    pub name: &'static str,
    /// What the stepped thread does, twice in a process.
    pub run: fn(),
    /// What another thread does, from before the operation begins.
    pub beside: fn(&Beside<'_>),
    /// What a child does first; false if something is wrong.
    pub left: fn() -> bool,
    /// Where the object is whose every change is forked beside, and its size.
    pub object: fn() -> [usize; 2],
    /// True if the thread is stepped to its end.
    pub ends: bool,
}

impl Operation {
    pub const fn new(name: &'static str, run: fn()) -> Operation {
        Operation { name, run, beside: |_| (), left: || true, object: || [0; 2], ends: false }
    }

    pub const fn beside(mut self, beside: fn(&Beside<'_>)) -> Operation {
        self.beside = beside;
        self
    }

    pub const fn left(mut self, left: fn() -> bool) -> Operation {
        self.left = left;
        self
    }

    pub const fn object(mut self, object: fn() -> [usize; 2]) -> Operation {
        self.object = object;
        self
    }

    pub const fn until_the_thread_ends(mut self) -> Operation {
        self.ends = true;
        self
    }
}

/// Makes a table of operations, each of which is also a test.
macro_rules! operations {
    ($group:literal; $($(#[$meta:meta])* $name:ident: $run:expr $(=> $($with:ident($($argument:expr)?)).+)?;)*) => {
        pub const OPERATIONS: &[Operation] = &[
            $(Operation::new(concat!($group, "::", stringify!($name)), $run) $($(.$with($($argument)?))+)?),*
        ];

        mod beside {
            $(
                $(#[$meta])*
                #[test]
                fn $name() {
                    crate::beside(concat!($group, "::", stringify!($name)), None);
                }
            )*
        }
    };
}

/// Makes functions for the thread beside an operation: each holds a guard until the operation's
/// thread sleeps.
macro_rules! holding {
    ($($name:ident: $guard:expr;)+) => {$(
        fn $name(beside: &Beside<'_>) {
            let guard = $guard;
            beside.until_it_sleeps();
            drop(guard);
        }
    )+};
}

#[path = "operations/asymmetric.rs"]
pub mod asymmetric;
#[path = "operations/bounded.rs"]
pub mod bounded;
#[path = "operations/collect.rs"]
pub mod collect;
#[path = "operations/epoch.rs"]
pub mod epoch;
#[path = "operations/fences.rs"]
pub mod fences;
#[path = "operations/futexes.rs"]
pub mod futexes;
#[path = "operations/hazard.rs"]
pub mod hazard;
#[path = "operations/list.rs"]
pub mod list;
#[path = "operations/locks.rs"]
pub mod locks;
#[path = "operations/maps.rs"]
pub mod maps;
#[path = "operations/ordered_map.rs"]
pub mod ordered_map;
#[path = "operations/processes.rs"]
pub mod processes;
#[path = "operations/rcu.rs"]
pub mod rcu;
#[path = "operations/shard_map.rs"]
pub mod shard_map;
#[path = "operations/small.rs"]
pub mod small;
#[path = "operations/tasks.rs"]
pub mod tasks;
#[path = "operations/waits.rs"]
pub mod waits;

/// Returns all operations.
pub fn all() -> impl Iterator<Item = &'static Operation> {
    [
        arranged::OPERATIONS,
        asymmetric::OPERATIONS,
        bounded::OPERATIONS,
        collect::OPERATIONS,
        epoch::OPERATIONS,
        fences::OPERATIONS,
        futexes::OPERATIONS,
        hazard::OPERATIONS,
        list::OPERATIONS,
        locks::OPERATIONS,
        maps::OPERATIONS,
        ordered_map::OPERATIONS,
        processes::OPERATIONS,
        rcu::OPERATIONS,
        shard_map::OPERATIONS,
        small::OPERATIONS,
        tasks::OPERATIONS,
        waits::OPERATIONS,
    ]
    .into_iter()
    .flatten()
}

pub fn find(name: &str) -> &'static Operation {
    all().find(|operation| operation.name == name).unwrap()
}
