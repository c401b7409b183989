//! The domains that C programs share with Rust: `lee_memb`, `lee_bp`, `lee_mb` and `lee_qsbr` of
//! `<leeward/rcu.h>`, as types.
//!
//! A reader in C and a reader in Rust of the same thread share the thread's slot, and a writer in
//! either language waits for both. This holds where the C code is linked with the Rust program's
//! own copy of this library (the crate `leeward-capi` has the functions): two copies in one process,
//! such as the program's and `libleeward.so`, do not see each other's readers.
//!
//! The rest of this module is for `leeward-capi`. What C programs rely on, and Rust's domains do
//! not do, is decided here:
//! - a thread that exits inside a section ends it, unless a guard of Rust keeps it open;
//! - what is deferred is not limited, unless the program asks for it;
//! - the child of a fork runs the callbacks that it inherits;
//! - misuse is an error, and never a panic.
#![cfg_attr(feature = "std", doc = "")]
#![cfg_attr(feature = "std", doc = "```")]
#![cfg_attr(feature = "std", doc = "use leeward::rcu::{Domain, RcuCell, c::Memb};")]
#![cfg_attr(feature = "std", doc = "let cell = RcuCell::<_, Memb>::new(7);")]
#![cfg_attr(feature = "std", doc = "assert_eq!(*cell.load(&Memb::read()), 7);   // a section of `lee_memb`")]
#![cfg_attr(feature = "std", doc = "```")]

mod reader;
mod thread;
#[cfg(feature = "std")]
mod types;
mod words;
mod writer;

#[cfg(feature = "std")]
pub use types::{Bp, Mb, Memb, Qsbr};
pub use writer::Refused;

pub use super::head::Head;
pub use super::slot::Slot;
pub use super::stall::CStall;

use super::backing::State;
use super::kind::{ASYMMETRIC, FULL, Place, QSBR};
use super::no_memory::NoMemory;

/// The size of `struct lee_domain`, which is a part of the ABI: room for what may come.
pub const SIZE: usize = 6144;

/// A domain as C programs know it: `struct lee_domain`. For `leeward-capi`.
///
/// Programs define further ones by the macros of `<leeward/rcu.h>`: an epoch of 1, the function that
/// finds the thread's variable, the kind of readers, and zeros.
#[repr(C, align(128))]
pub struct RawDomain {
    state: State,
    reserved: [u8; SIZE - size_of::<State>()],
}

impl RawDomain {
    const fn new(readers: u32, place: Place) -> RawDomain {
        RawDomain { state: State::for_c(readers, place), reserved: [0; SIZE - size_of::<State>()] }
    }

    pub(super) fn state(&'static self) -> &'static State {
        &self.state
    }

    /// The four that the library has.
    fn all() -> [&'static RawDomain; 4] {
        [&lee_memb, &lee_bp, &lee_mb, &lee_qsbr]
    }

    /// Registers the calling thread: QSBR's readers are online then.
    ///
    /// # Errors
    /// [`NoMemory`].
    pub fn register(&'static self) -> Result<(), NoMemory> {
        thread::register_early(&self.state)?;
        if self.state.grace.kind.is_qsbr() {
            reader::go_online(&self.state);
        }
        Ok(())
    }

    /// Ends the calling thread's sections and gives its slot back, if it has one.
    pub fn unregister(&'static self) {
        thread::unregister(&self.state);
    }

    /// Returns true if readers announce quiescent states.
    pub fn is_qsbr(&'static self) -> bool {
        self.state.grace.kind.is_qsbr()
    }

    /// Returns true if the calling thread is registered.
    pub fn is_registered(&'static self) -> bool {
        thread::slot(&self.state).is_some()
    }

    /// Returns true if the calling thread is inside a section, or online.
    pub fn is_inside(&'static self) -> bool {
        super::local::is_inside(&self.state)
    }

    /// Opens a section, in whatever state the thread is.
    pub fn enter(&'static self) {
        reader::enter(&self.state);
    }

    /// Ends a section, in whatever state the thread is. Returns false if none was open.
    pub fn leave(&'static self) -> bool {
        reader::leave(&self.state)
    }

    /// Makes the calling thread an online reader.
    pub fn go_online(&'static self) {
        reader::go_online(&self.state);
    }

    /// Ends the calling thread's being online. Returns true if it was.
    pub fn go_offline(&'static self) -> bool {
        reader::go_offline(&self.state)
    }

    /// Announces a quiescent state of an online reader.
    pub fn quiesce(&'static self) {
        reader::quiesce(&self.state);
    }
}

/// Wakes the writer that sleeps until the slot's reader leaves.
pub fn wake_writer(slot: &Slot) {
    slot.wake_writer();
}

/// Defines a domain that C programs find by its name.
macro_rules! domains {
    ($($(#[$meta:meta])* $name:ident: $readers:expr, $place:path;)+) => {$(
        $(#[$meta])*
        #[allow(non_upper_case_globals)]
        #[unsafe(no_mangle)]
        pub static $name: RawDomain = RawDomain::new($readers, $place);
    )+};
}

domains! {
    /// Readers execute no fence and register by themselves or explicitly; liburcu's memb.
    lee_memb: ASYMMETRIC, words::memb;
    /// Readers execute no fence and register by themselves; liburcu's bp.
    lee_bp: ASYMMETRIC, words::bp;
    /// Readers execute full fences, and writers make no system call but to sleep; liburcu's mb.
    lee_mb: FULL, words::mb;
    /// Readers announce quiescent states; liburcu's qsbr.
    lee_qsbr: QSBR, words::qsbr;
}

/// The time in which callbacks run on the calling thread: it is online, in a domain of QSBR.
pub(super) struct Callbacks(Option<&'static State>);

impl Callbacks {
    /// Brings the calling thread online, if callbacks of the domain expect that.
    pub(super) fn begin(domain: &'static State) -> Callbacks {
        let is_new = domain.grace.kind.is_qsbr() && !thread::slot(domain).is_some_and(|slot| slot.for_c.is_online());
        if is_new {
            reader::go_online(domain);
        }
        Callbacks(is_new.then_some(domain))
    }
}

impl Drop for Callbacks {
    fn drop(&mut self) {
        if let Some(domain) = self.0 {
            reader::go_offline(domain);
        }
    }
}
