//! The four memory models, as one table: may a *later* access of a thread be performed while an
//! *earlier* one (in program order) is still pending? `machine` asks it for every pair.
//!
//! A thread fetches its program in order into a window of pending accesses; an access is
//! *performed* in one indivisible step on one memory that all threads share. So every model here
//! is multi-copy atomic: a store becomes visible to all other threads at once (x86, Armv8,
//! RISC-V). What all have in common: accesses to one word keep their order, except that a load
//! may take the value of the thread's own pending store (forwarding); an access waits for the
//! registers it needs (address and data dependencies); read-modify-writes are indivisible; a full
//! fence, a futex wait and a heavy fence start with nothing pending.
//!
//! | model | what may pass what |
//! |---|---|
//! | SC   | nothing |
//! | TSO  | a load passes pending stores (a first-in first-out store buffer with forwarding) |
//! | PSO  | also a store passes stores to other words, unless it is a release (a buffer a word) |
//! | Weak | all four: anything passes anything that is not ordered by the rules below |
//!
//! Weak: nothing passes an acquire; a release passes nothing; a store, read-modify-write or wake
//! waits for every earlier branch (control dependency), a load does not: branches are predicted,
//! both ways tried, and a wrong guess is thrown away with all that followed it. A store may
//! swallow the thread's own pending store to the same word, which then was never visible and
//! orders nothing: what makes the language's rule visible that a release store orders only for
//! those who read *it*.
//!
//! Read-modify-writes order everything under TSO and PSO and only what they say under Weak.
//! Release then acquire on different words is not kept in order under Weak (Arm's `ldapr`, the
//! language's rule). A futex wake is an access to its word and no barrier beside that (the kernel's
//! is one).
//!
//! Not covered: stores that reach other threads at different times (POWER, Armv7), value
//! prediction and stores ahead of undecided branches (the language's "out of thin air"), the
//! store half of an acquire read-modify-write being late on its own (Arm's `ldaxr`/`stxr`), more
//! than `window` pending accesses a thread, and anything a compiler may do: a program is given as
//! the compiler emitted it, and a missing compiler fence as the program with the swap made.

use Kind::{Branch, Check, Load, Store, Wake};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Model {
    Sc,
    Tso,
    Pso,
    Weak,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Load,
    Store,
    Rmw,
    Wake,
    /// A predicted branch, not decided yet.
    Branch,
    /// A property, not decided yet.
    Check,
}

/// A pending access as this table sees it.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    pub kind: Kind,
    pub release: bool,
    /// The first word that it may touch.
    pub base: u8,
    /// How many words it may touch: one, or a whole row while its index is not known.
    pub len: u8,
}

impl Access {
    fn may_alias(self, other: Self) -> bool {
        self.base < other.base + other.len && other.base < self.base + self.len
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    /// The later access may be performed first.
    Pass,
    /// The later access must wait.
    Wait,
    /// The later one, a load, takes the earlier one's value.
    Forward,
    /// The later one, a store, takes the earlier one's place.
    Swallow,
}

pub fn rule(model: Model, earlier: Access, later: Access) -> Rule {
    if earlier.kind == Check {
        return Rule::Pass;
    }
    match model {
        Model::Sc => Rule::Wait,
        Model::Tso => tso(earlier, later),
        Model::Pso => pso(earlier, later),
        Model::Weak => weak(earlier, later),
    }
}

fn tso(earlier: Access, later: Access) -> Rule {
    match (earlier.kind, later.kind) {
        (Store, Load) => forward_or_pass(earlier, later),
        _ => Rule::Wait,
    }
}

fn pso(earlier: Access, later: Access) -> Rule {
    match (earlier.kind, later.kind) {
        (Store, Load) => forward_or_pass(earlier, later),
        (Store, Store | Wake) if !later.release && !earlier.may_alias(later) => Rule::Pass,
        _ => Rule::Wait,
    }
}

fn weak(earlier: Access, later: Access) -> Rule {
    let alias = earlier.may_alias(later);
    match (earlier.kind, later.kind) {
        (Branch, Load) => Rule::Pass,
        (Branch, _) => Rule::Wait,
        (Store, Store) if alias && earlier.len == 1 => Rule::Swallow,
        _ if later.release => Rule::Wait,
        (Store, Load) => forward_or_pass(earlier, later),
        _ if alias => Rule::Wait,
        _ => Rule::Pass,
    }
}

fn forward_or_pass(earlier: Access, later: Access) -> Rule {
    match (earlier.may_alias(later), earlier.len) {
        (false, _) => Rule::Pass,
        (true, 1) => Rule::Forward,
        (true, _) => Rule::Wait,
    }
}

/// Returns true if branches are predicted.
pub fn speculates(model: Model) -> bool {
    model == Model::Weak
}
