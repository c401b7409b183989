//! The engine of this process and its host, and what the trap knows of the calling thread. A child
//! of a fork makes an engine of its own at its first call. `trap`, `futexes`, `signals` and `exits`
//! call it.

use core::cell::Cell;
use core::sync::atomic::{AtomicPtr, Ordering, compiler_fence};
use std::ffi::OsString;
use std::sync::OnceLock;

use leeward_engine::abi::Numbers;
use leeward_engine::parking::Process;
use leeward_engine::{Config, Engine, Heap};

use crate::counts::Counts;
use crate::native;
use crate::page::page;

/// The numbers of the system calls.
pub const NUMBERS: Numbers = Numbers::X86_64;
/// The number of threads that the engine's first table is sized by.
const THREADS: u32 = 8;

/// The engine and its host, made for one process and never freed.
pub struct State {
    /// The engine that serves the program's calls.
    pub engine: Engine<Process>,
    /// The parking host.
    pub process: Process,
}

impl State {
    /// Returns this process's engine, and makes it if there is none.
    pub fn get() -> &'static State {
        // Acquire: partner: the release below.
        let state = page().state.load(Ordering::Acquire);
        // SAFETY: made below, and never freed.
        if let Some(state) = unsafe { state.as_ref() } { state } else { State::make() }
    }

    #[cold]
    fn make() -> &'static State {
        let seed = native::process() as u64 ^ leeward_engine::parking::now(leeward_engine::Clock::Monotonic);
        // SAFETY: addresses are looked at before the engine gets them (`futexes`), and one engine
        // serves.
        let process = unsafe { Process::new(THREADS, seed) };
        let Ok(engine) = Engine::new(Config::small(seed).with_private_tables(), Heap) else {
            native::die("no memory for an engine");
        };
        let new = Box::into_raw(Box::new(State { engine, process }));
        publish(&page().state, new)
    }
}

/// Returns what is at a place, which is `new` unless another thread was faster; then `new` is left.
fn publish<T>(place: &AtomicPtr<T>, new: *mut T) -> &'static T {
    // Release: its fields; partner: the acquire in `get`, and here. Acquire on failure: those of
    // the other thread's.
    let now = match place.compare_exchange(core::ptr::null_mut(), new, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => new,
        Err(now) => now,
    };
    // SAFETY: neither is ever freed.
    unsafe { &*now }
}

/// The path of the directory of counters, if there is one. No descriptor is kept, which programs
/// that look at theirs would find.
static DIRECTORY: OnceLock<OsString> = OnceLock::new();

/// Notes the directory in which each process has a file of counters.
pub fn note_directory() {
    if let Some(path) = std::env::var_os("LEEWARD_OUTSIDE_COUNTS") {
        // Noted once, by the constructor.
        let _ = DIRECTORY.set(path);
    }
}

/// Returns this process's counters.
pub fn counts() -> &'static Counts {
    // Acquire: partner: the release in `publish`.
    let counts = page().counts.load(Ordering::Acquire);
    // SAFETY: mapped for good.
    if let Some(counts) = unsafe { counts.as_ref() } { counts } else { publish(&page().counts, map_counts()) }
}

/// Creates a file of counters that is named after the process and the time; `None`: there is no
/// directory, or it cannot be written.
fn create_file() -> Option<usize> {
    let (number, time) = (native::process(), leeward_engine::parking::now(leeward_engine::Clock::Monotonic));
    let mut path = Vec::from(DIRECTORY.get()?.as_encoded_bytes());
    path.extend(format!("/{number}-{time}\0").bytes());
    let (at, here) = (path.as_ptr().expose_provenance(), libc::AT_FDCWD as usize);
    let how = (libc::O_RDWR | libc::O_CREAT | libc::O_CLOEXEC) as usize;
    // SAFETY: a path that ends with 0.
    let file = unsafe { native::call(libc::SYS_openat, [here, at, how, 0o600, 0, 0]) };
    usize::try_from(file).ok()
}

/// Maps counters: a file's, or memory.
#[cold]
fn map_counts() -> *mut Counts {
    let size = size_of::<Counts>();
    let Some(file) = create_file() else {
        return native::map(size).unwrap_or_else(|| native::die("no memory")).cast();
    };
    // SAFETY: a file of our own.
    unsafe { native::call(libc::SYS_ftruncate, [file, size, 0, 0, 0, 0]) };
    let access = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    // SAFETY: a new mapping, where there was none.
    let at = unsafe { native::call(libc::SYS_mmap, [0, size, access, libc::MAP_SHARED as usize, file, 0]) };
    // SAFETY: ours, and not used any more.
    unsafe { native::call(libc::SYS_close, [file, 0, 0, 0, 0, 0]) };
    if at < 0 {
        native::die("the counters cannot be mapped");
    }
    core::ptr::with_exposed_provenance_mut(at as usize)
}

/// Where the calling thread is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In the program.
    Program,
    /// In the trap, with all signals blocked: each call that is trapped is the trap's own.
    Trap,
    /// In a wait, with the program's mask: handlers are put off until the wait has ended.
    Wait,
}

/// Which signals came during a wait.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Arrived {
    /// No signal came.
    None,
    /// A signal came whose handler has the call restarted.
    Restarts,
    /// A signal came whose handler ends the call.
    Ends,
}

/// What the trap knows of the calling thread.
pub struct Own {
    /// Where the thread is.
    pub place: Cell<Place>,
    /// What came during its wait.
    pub arrived: Cell<Arrived>,
    /// The number of its timer, and 1 more; 0: it has none.
    pub timer: Cell<i32>,
    /// What is run at its end (`exits`).
    pub last: Cell<[Option<Last>; 8]>,
}

/// A destructor of one of this library's thread-local variables, and the variable.
pub type Last = (unsafe extern "C" fn(*mut u8), *mut u8);

std::thread_local! {
    /// The calling thread's variables. They have no destructor, so that the C library is not asked
    /// to run one.
    static OWN: Own = const {
        Own {
            place: Cell::new(Place::Program),
            arrived: Cell::new(Arrived::None),
            timer: Cell::new(0),
            last: Cell::new([None; 8]),
        }
    };
}

/// Calls a function with the calling thread's variables.
pub fn own<T>(f: impl FnOnce(&Own) -> T) -> T {
    OWN.with(f)
}

impl Own {
    /// Notes where the thread is from here on, for its handlers.
    pub fn go(&self, place: Place) {
        // SeqCst, both: between the thread and handlers on it.
        compiler_fence(Ordering::SeqCst);
        self.place.set(place);
        compiler_fence(Ordering::SeqCst);
    }
}
