//! What `part.c` offers of each domain, and the domains of C as flavours of the storm.

use std::ffi::c_int;
use std::sync::OnceLock;

use leeward::rcu::c::{Bp, Mb, Memb, Qsbr};

use super::super::fixture::{Fixture, Flavour};
use super::super::violation::{Kind, report};

// The functions behind those that C inlines.
use leeward_capi as _;

/// Mirrors `struct lee_head` of C.
#[repr(C)]
pub struct Head {
    words: [usize; 2],
}

impl Head {
    pub const UNUSED: Head = Head { words: [0; 2] };
}

/// Mirrors `struct lee_cookie` of C.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Cookie {
    ticket: u64,
}

/// `struct objects`: what readers in C look at.
#[repr(C)]
pub struct Objects {
    roots: *const u64,
    words: *const u64,
    report: extern "C" fn(u64, u64),
}

/// `struct part`: the functions of a domain, into which the compiler of C has inlined what
/// `<leeward/rcu.h>` has.
#[repr(C)]
pub struct Part {
    pub enroll: extern "C" fn() -> c_int,
    pub unregister: extern "C" fn(),
    pub enter: extern "C" fn(),
    pub leave: extern "C" fn(),
    pub online: extern "C" fn(),
    pub offline: extern "C" fn(),
    pub quiescent: extern "C" fn(),
    pub synchronize: extern "C" fn() -> c_int,
    pub start_poll: extern "C" fn() -> Cookie,
    pub poll: extern "C" fn(Cookie) -> bool,
    /// The head is not touched until the function is called with it.
    pub defer: unsafe extern "C" fn(*mut Head, unsafe extern "C" fn(*mut Head)),
    pub barrier: extern "C" fn() -> c_int,
    spell: unsafe extern "C" fn(*const Objects, *mut u64, u32),
}

unsafe extern "C" {
    safe static leeward_torture_memb: Part;
    safe static leeward_torture_bp: Part;
    safe static leeward_torture_mb: Part;
    safe static leeward_torture_qsbr: Part;
}

/// A domain that C programs share.
pub trait Shared: Flavour {
    fn part() -> &'static Part;

    /// Reads `count` times in C: in sections, or between quiescent states.
    fn spell(seed: u64, count: u32) {
        let fixture = Self::fixture();
        let objects = Objects { roots: fixture.roots(), words: fixture.arena.words(), report: read_after_free };
        let mut seed = seed | 1;
        // SAFETY: the roots and the objects live as long as the process, and all their words are
        // atomic; the seed is a local variable.
        unsafe { (Self::part().spell)(&objects, &mut seed, count) };
    }
}

/// Records what a reader in C has found.
extern "C" fn read_after_free(name: u64, word: u64) {
    report(Kind::ReadAfterFree, [name, word]);
}

macro_rules! shared {
    ($($name:ident: $part:ident, $worker:literal;)*) => {$(
        impl Flavour for $name {
            const ADOPTS: bool = true;
            const WORKERS: u64 = $worker;

            fn fixture() -> &'static Fixture<Self> {
                static FIXTURE: OnceLock<Fixture<$name>> = OnceLock::new();
                FIXTURE.get_or_init(Fixture::new)
            }
        }

        impl Shared for $name {
            fn part() -> &'static Part {
                &$part
            }
        }
    )*};
}

shared! {
    Memb: leeward_torture_memb, 0;
    Bp: leeward_torture_bp, 0;
    Mb: leeward_torture_mb, 0;
    Qsbr: leeward_torture_qsbr, 1;
}
