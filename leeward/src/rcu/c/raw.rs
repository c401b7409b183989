//! A domain as C programs know it, and what they do to it as readers. `writer.rs` has what writers
//! do.

use core::ffi::{CStr, c_char};
use core::ptr;

use super::super::backing::State;
use super::super::kind::Place;
use super::super::no_memory::NoMemory;
use super::super::section::inlined::Served;
use super::{inlined, reader, thread};

/// The size of `struct lee_domain`, which is a part of the ABI: room for what may come.
pub const SIZE: usize = 6144;

/// A domain as C programs know it: `struct lee_domain`. For `leeward-capi`.
///
/// Programs define further ones by the macros of `<leeward/rcu.h>`: an epoch of 1, the function that
/// finds the thread's variable, the kind of readers, zeros, and the domain's name.
#[repr(C, align(128))]
pub struct RawDomain {
    pub(super) state: State,
    reserved: [u8; SIZE - size_of::<State>() - size_of::<Name>()],
    name: Name,
}

/// A domain's name: a string of C, or null for a domain without a name.
#[repr(C, align(8))]
struct Name(*const c_char);

// SAFETY: the string is never written, and lives as long as the domain.
unsafe impl Sync for Name {}

impl RawDomain {
    pub(super) const fn new(readers: u32, place: Place, name: &'static CStr) -> RawDomain {
        RawDomain {
            state: State::for_c(readers, place),
            reserved: [0; SIZE - size_of::<State>() - size_of::<Name>()],
            name: Name(name.as_ptr()),
        }
    }

    /// Returns the domain's name, for reports.
    pub fn name(&'static self) -> &'static str {
        if self.name.0.is_null() {
            return "a domain without a name";
        }
        // SAFETY: not null, so what `new` or C's macros stored: a literal, which lives as long as the
        // domain.
        unsafe { CStr::from_ptr(self.name.0) }.to_str().unwrap_or("a domain")
    }

    /// Returns what the domain's readers do: `LEE_1_ASYMMETRIC`, `LEE_1_FULL` or `LEE_1_QSBR` of
    /// `<leeward/rcu.h>`.
    pub fn readers(&'static self) -> u32 {
        self.state.grace.kind.readers()
    }

    pub(in crate::rcu) fn state(&'static self) -> &'static State {
        // For `name_of`.
        ptr::from_ref(self).expose_provenance();
        &self.state
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
        super::super::section::local::is_inside(&self.state)
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
        let ours = reader::go_offline(&self.state);
        reader::go_offline_inlined(&self.state) || ours
    }

    /// Announces a quiescent state of an online reader.
    pub fn quiesce(&'static self) {
        reader::quiesce(&self.state);
    }

    /// Has grace periods of the domain wait for inlined readers, as `served` describes them. A second
    /// call changes nothing. Called when a library that stands in for one of liburcu's is loaded.
    ///
    /// # Safety
    /// All that `served` points to is what it says, and lives as long as the process.
    pub unsafe fn serve_inlined(&'static self, served: &'static Served) {
        // SAFETY: the caller's promise.
        unsafe { self.state.grace.inlined.serve(served) };
    }

    /// Registers the calling thread, as an inlined reader too where the domain serves such readers.
    /// Returns false if the caller has to see to it that the thread calls
    /// [`leave_inlined`](Self::leave_inlined) before it is gone: its exit has run already.
    ///
    /// # Errors
    /// [`NoMemory`].
    pub fn register_inlined(&'static self) -> Result<bool, NoMemory> {
        inlined::register(&self.state)
    }

    /// Ends that the calling thread is an inlined reader, and a section that is open.
    pub fn leave_inlined(&'static self) {
        inlined::leave(&self.state);
    }
}

/// Returns the name of the domain whose state this is; `None`: it is a domain of Rust, without a name.
pub(in crate::rcu) fn name_of(state: &'static State) -> Option<&'static str> {
    if !state.grace.kind.is_of_c() {
        return None;
    }
    let domain = ptr::with_exposed_provenance::<RawDomain>(ptr::from_ref(state).addr());
    // SAFETY: the state of a domain of C is the first field of a `RawDomain`, which lives forever, and
    // whose `state` exposed it before anything could reach the state.
    Some(unsafe { &*domain }.name())
}
