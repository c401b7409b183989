//! The library OS: its engine, processes, the start and the end of a thread, and the entry of
//! system calls. Guests call it; it uses the host in `host.rs`.

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};
use std::thread;

use leeward_engine::abi::Numbers;
use leeward_engine::parking::{Gathering, user_memory};
use leeward_engine::{Address, Config, Engine, Errno, Heap, ROBUST_LIST_LIMIT, Space};

use crate::host::Thread;
use crate::memory::Memory;
use crate::threads::{Stage, Threads};

/// The numbers of the guests' calls; `exit` is the one that is not the engine's.
pub const CALLS: Numbers = Numbers::X86_64;
pub const EXIT: u64 = 60;

/// What there is once.
pub struct System {
    pub engine: Engine<Thread>,
    pub threads: Threads,
    processes: AtomicU64,
}

/// A guest, as the library OS keeps it.
pub struct Process {
    pub system: Arc<System>,
    pub number: u64,
    pub space: Space<Thread>,
    pub memory: Memory,
    pub threads: AtomicU32,
    pub gathering: Gathering,
    /// How often the guest's signal handler has run.
    pub handled: AtomicU32,
}

/// The handler of the signal that ends a sleep. It does nothing: a handler that called the engine
/// would have to be put off while the thread holds one of its locks (`Host::defer_wake`).
extern "C" fn interrupt(_: c_int) {}

impl System {
    /// Boots. `seed` is a random number in a system that is used.
    pub fn boot(seed: u64) -> Arc<System> {
        user_memory::install().expect("handlers of faults");
        // SAFETY: all zeroes is an action: no flags (so the sleep ends, and does not begin anew),
        // and an empty mask (so faults are not blocked in the handler).
        let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
        action.sa_sigaction = interrupt as extern "C" fn(c_int) as usize;
        // SAFETY: a handler that does nothing.
        assert_eq!(unsafe { libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut()) }, 0);
        let processors = thread::available_parallelism().map_or(1, |number| number.get() as u32);
        let engine = Engine::new(Config::for_processors(processors, seed), Heap).expect("memory at boot");
        Arc::new(System { engine, threads: Threads::new(), processes: AtomicU64::new(0) })
    }

    /// Makes a guest without memory.
    pub fn process(self: &Arc<System>, seed: u64) -> Arc<Process> {
        let number = self.processes.fetch_add(1, SeqCst) + 1;
        Arc::new(Process {
            system: Arc::clone(self),
            number,
            space: Space::new(number, seed, Heap),
            memory: Memory::new(),
            threads: AtomicU32::new(0),
            gathering: Gathering::default(),
            handled: AtomicU32::new(0),
        })
    }
}

impl Process {
    /// Runs `body` as a thread of the guest, on the calling Linux thread. However it ends, by its
    /// end or by a panic, the thread's exit is made.
    pub fn run<T>(self: &Arc<Process>, body: impl FnOnce(&Thread) -> T) -> T {
        let threads = self.threads.fetch_add(1, SeqCst) + 1;
        let number = self.system.threads.enter(self.number);
        let thread = Running(Thread { process: Arc::clone(self), number });
        self.system.engine.reserve(&thread.0, threads);
        body(&thread.0)
    }
}

/// A thread of a guest, until its end.
struct Running(Thread);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.exit();
        self.0.process.threads.fetch_sub(1, SeqCst);
        // From here on another thread may have the number.
        self.0.process.system.threads.set_stage(self.0.number, Stage::Free);
    }
}

impl Thread {
    /// Makes a system call: the entry that the guest's instruction, or its C library, leads to.
    pub fn call(&self, number: u64, arguments: [u64; 6]) -> i64 {
        loop {
            let answer = self.serve(number, arguments);
            // On the way back to the guest its signal handlers run.
            let signals = self.slot().take_signals();
            self.process.handled.fetch_add(signals, SeqCst);
            let is_interrupted = answer == Errno::EINTR.answer();
            if !is_interrupted || !CALLS.restarts_always(number, arguments) {
                return answer;
            }
        }
    }

    fn serve(&self, number: u64, arguments: [u64; 6]) -> i64 {
        let engine = &self.process.system.engine;
        if number == EXIT {
            self.exit();
            return 0;
        }
        let robust = engine.robust_syscall(self, &CALLS, number, arguments);
        let answer = robust.or_else(|| engine.syscall(self, &CALLS, number, arguments));
        answer.unwrap_or(Errno::ENOSYS.answer())
    }

    /// Makes the thread's exit, in this order. Does nothing the second time.
    fn exit(&self) {
        let (system, number) = (&self.process.system, self.number);
        if !system.threads.is_alive(number) {
            return;
        }
        system.threads.set_stage(number, Stage::Exiting);
        system.engine.exit_robust(self, ROBUST_LIST_LIMIT);
        system.engine.exit_pi(self);
        // `find` answers `Nobody` from here on, though the number is not free yet.
        system.threads.set_stage(number, Stage::Over);
    }

    /// Makes a futex call.
    pub fn futex(&self, word: Address, operation: u32, value: u32, time: Address) -> i64 {
        self.call(CALLS.futex, [word, operation.into(), value.into(), time, 0, 0])
    }
}
