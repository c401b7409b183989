//! A kernel with futexes: port it to yours in an afternoon.
//!
//! What follows is a whole host, for a kernel that is small enough to be an example: processes with
//! pages that come when they are first touched, memory that two of them map at different addresses,
//! threads that sleep and get signals. Above each part is what takes its place in a kernel. Port it
//! in this order:
//!
//! 1. **A `Space` in your process**, beside its page table (`Process`). Its number is never used
//!    again. The threads of a process share it.
//! 2. **One `Engine` in the kernel**, made at boot (`main`). `Memory` is your allocator; later
//!    on it may answer that there is no memory.
//! 3. **A `Host` for the calling thread** (`Thread`): in a kernel often a type without fields that
//!    asks for `current`. | method | in a kernel | |---|---| | `load`, `compare_exchange` | user
//!    accesses with an exception-table entry and page faults off; never sleep | | `fault_in` |
//!    fault the page in, as a user access would; sleeps | | `read` | `copy_from_user` | |
//!    `resolve_shared` | look up the mapping: anonymous, or object and offset | | `task`, `park`,
//!    `unpark` | a counted reference to the thread; "sleep unless woken"; "make runnable" | |
//!    `preempt_off` | your guard of preemption; of interrupts too, if you wake from
//!    handlers | | `spin` | `cpu_relax` (here it lets others run, as the lock's holder may have
//!    lost its processor) |
//! 4. **One line in the system call table**:
//!    `engine.syscall(&host, &Numbers::..., number, arguments)` (`Thread::call`). On `EINTR` your
//!    signal code returns or restarts.
//! 5. **At the creation of a thread** `engine.reserve(&host, threads)`: the table is there before
//!    a thread waits. (It may be left out.)
//! 6. **Priority inheritance**, if your scheduler can lend priorities (here
//!    `kernel_parts/scheduler.rs`): `Inheritance`, answered by `Host::inheritance`, and
//!    `engine.exit_pi(&host)` where a thread exits (`Thread::exit`). (It may be left out.)
//!
//! What the engine promises back: it holds no lock when it calls what may sleep, waiters lie on
//! their threads' stacks, and whatever a program passes ends in an errno.

#[path = "kernel_parts/inversion.rs"]
mod inversion;
#[path = "kernel_parts/scheduler.rs"]
mod scheduler;

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use inversion::inversion;
use leeward_engine::abi::{FUTEX_PRIVATE_FLAG, FUTEX_WAIT, FUTEX_WAKE, Numbers};
use leeward_engine::{
    Access, Address, Clock, Config, Deadline, Engine, Errno, Fault, Flag, Heap, Host, Inheritance, Owner, ParkEnd,
    SharedKey, Space,
};
use scheduler::SCHEDULER;

const PAGE: u64 = 4096;
const PAGES: usize = 8;

/// A page of memory.
struct Page([AtomicU32; PAGE as usize / 4]);

impl Page {
    fn zeroed() -> Arc<Page> {
        Arc::new(Page([const { AtomicU32::new(0) }; PAGE as usize / 4]))
    }
}

/// A mapping of one page. In a kernel: the tree of mappings.
enum Area {
    Nothing,
    /// A page of zeroes, which comes when it is first touched.
    Anonymous,
    /// A page of a shared object, whose number is never given to another one.
    Object {
        number: u64,
        index: u64,
        page: Arc<Page>,
        writable: bool,
    },
}

/// A process: here with two tables, one of its mappings and one of the pages that are present.
struct Process {
    number: u64,
    space: Space<Thread>,
    areas: [Area; PAGES],
    present: [OnceLock<Arc<Page>>; PAGES],
    threads: AtomicU32,
}

impl Process {
    fn new(number: u64, mut area: impl FnMut(usize) -> Area) -> Arc<Process> {
        Arc::new(Process {
            number,
            // In a kernel, the seed is a random number.
            space: Space::new(number, 0x1ee_4a2d ^ number, Heap),
            areas: core::array::from_fn(&mut area),
            present: [const { OnceLock::new() }; PAGES],
            threads: AtomicU32::new(1),
        })
    }

    /// Returns the word at an address, if its page is present: what a walk of the page table does.
    /// Never sleeps.
    fn word(&self, address: Address) -> Result<&AtomicU32, Fault> {
        let page = self.present.get((address / PAGE) as usize).and_then(OnceLock::get).ok_or(Fault)?;
        Ok(&page.0[(address % PAGE / 4) as usize])
    }

    fn area(&self, address: Address) -> &Area {
        self.areas.get((address / PAGE) as usize).unwrap_or(&Area::Nothing)
    }
}

/// The calling thread. In a kernel: a type without fields, or what `current` answers.
struct Thread {
    process: Arc<Process>,
    /// True if a signal is to be handled.
    signal: Arc<AtomicBool>,
    /// The number in the scheduler's table; 0 for a thread that has a processor of its own.
    number: u32,
}

impl Host for Thread {
    /// A counted reference, and the number: it may be unparked long after the wait has ended.
    type Task = (thread::Thread, u32);
    type Memory = Heap;
    type Preemption<'a> = ();

    fn space(&self) -> &Space<Thread> {
        &self.process.space
    }

    fn threads(&self) -> u32 {
        self.process.threads.load(Ordering::Relaxed)
    }

    fn in_range(&self, address: Address) -> bool {
        address >> 47 == 0
    }

    fn load(&self, address: Address) -> Result<u32, Fault> {
        Ok(self.process.word(address)?.load(Ordering::Relaxed))
    }

    fn compare_exchange(&self, address: Address, old: u32, new: u32) -> Result<u32, Fault> {
        let word = self.process.word(address)?;
        if matches!(self.process.area(address), Area::Object { writable: false, .. }) {
            return Err(Fault);
        }
        // SeqCst: full ordering is asked for.
        let (Ok(was) | Err(was)) = word.compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst);
        Ok(was)
    }

    fn read(&self, address: Address, to: &mut [u8]) -> Result<(), Fault> {
        for (place, byte) in (address..).zip(to) {
            if self.process.word(place).is_err() {
                self.fault_in(place, Access::Read).map_err(|_| Fault)?;
            }
            *byte = self.process.word(place)?.load(Ordering::Relaxed).to_ne_bytes()[(place % 4) as usize];
        }
        Ok(())
    }

    fn fault_in(&self, address: Address, access: Access) -> Result<(), Errno> {
        let page = match self.process.area(address) {
            Area::Nothing => return Err(Errno::EFAULT),
            Area::Object { writable: false, .. } if access == Access::Write => return Err(Errno::EFAULT),
            Area::Object { page, .. } => Arc::clone(page),
            Area::Anonymous => Page::zeroed(),
        };
        // Another thread may have been faster.
        self.process.present[(address / PAGE) as usize].get_or_init(|| page);
        Ok(())
    }

    fn resolve_shared(&self, address: Address, _: Access) -> Result<SharedKey, Errno> {
        match self.process.area(address) {
            Area::Nothing => Err(Errno::EFAULT),
            Area::Anonymous => Ok(SharedKey::Anonymous),
            Area::Object { number, index, .. } => {
                Ok(SharedKey::Object { object: *number, offset: index * PAGE + address % PAGE })
            }
        }
    }

    fn task(&self, _: &Flag) -> (thread::Thread, u32) {
        (thread::current(), self.number)
    }

    fn park(&self, flag: &Flag, until: Option<Deadline>) -> ParkEnd {
        if self.signal.load(Ordering::Relaxed) {
            return ParkEnd::Interrupted;
        }
        // An unpark that comes between this check and the sleep ends the sleep at once. In a
        // kernel: mark yourself asleep, check, then give the processor away.
        if !flag.is_waiting() {
            return ParkEnd::Unparked;
        }
        if self.number != 0 {
            self.sleep(flag);
            return ParkEnd::Unparked;
        }
        match until {
            None | Some(Deadline { at: u64::MAX, .. }) => thread::park(),
            Some(Deadline { clock, at }) => match at.checked_sub(self.now(clock)) {
                None | Some(0) => return ParkEnd::TimedOut,
                Some(left) => thread::park_timeout(Duration::from_nanos(left)),
            },
        }
        // Perhaps too early: the engine checks the flag and calls again.
        ParkEnd::Unparked
    }

    fn unpark(&self, (thread, number): (thread::Thread, u32)) {
        if number != 0 {
            SCHEDULER.wake(number);
        }
        thread.unpark();
    }

    fn now(&self, clock: Clock) -> u64 {
        static BOOT: OnceLock<Instant> = OnceLock::new();
        match clock {
            Clock::Monotonic => BOOT.get_or_init(Instant::now).elapsed().as_nanos() as u64,
            Clock::Realtime => SystemTime::UNIX_EPOCH.elapsed().map_or(0, |time| time.as_nanos() as u64),
        }
    }

    /// Turns nothing off: the threads here are a process's.
    fn preempt_off(&self) {}

    /// Lets others run. In a kernel, this is `cpu_relax` and no more: preemption is off, so the
    /// lock's holder runs. Here the holder is a thread of a process and may have lost its
    /// processor. Do not copy that where threads may run in real time: the yield of a real-time
    /// thread lets no ordinary thread run, and if an ordinary thread is the holder, the real-time
    /// thread spins forever. `parking::spin` shows what to do instead.
    fn spin(&self, _: u32) {
        thread::yield_now();
    }

    fn inheritance(&self) -> Option<&dyn Inheritance<Thread>> {
        if self.number == 0 { None } else { Some(self) }
    }
}

impl Thread {
    /// Makes a thread of a process, with a processor of its own.
    fn of(process: &Arc<Process>) -> Thread {
        Thread { process: Arc::clone(process), signal: Arc::default(), number: 0 }
    }

    /// Makes a thread of a process that the scheduler runs.
    fn scheduled(process: &Arc<Process>, name: char, own: u32) -> Thread {
        Thread { number: SCHEDULER.add(name, process.number, own), ..Thread::of(process) }
    }

    /// Sleeps until woken; meanwhile others have the processor. (Without deadlines, for brevity.)
    fn sleep(&self, flag: &Flag) {
        SCHEDULER.give_up(self.number);
        while flag.is_waiting() {
            thread::park();
        }
        SCHEDULER.wake(self.number);
        SCHEDULER.resume(self.number);
    }

    /// Ends the thread: the locks that it holds are handed off, and its number no longer names a
    /// thread.
    fn exit(&self, kernel: &Engine<Thread>) {
        SCHEDULER.set_owner(self.number, Owner::Exiting);
        kernel.exit_pi(self);
        SCHEDULER.set_owner(self.number, Owner::Nobody);
        SCHEDULER.give_up(self.number);
    }

    /// Makes a system call: a kernel's entry.
    fn call(&self, kernel: &Engine<Thread>, number: u64, arguments: [u64; 6]) -> i64 {
        kernel.syscall(self, &Numbers::X86_64, number, arguments).unwrap_or(Errno::ENOSYS.answer())
    }

    /// Makes a futex call.
    fn futex(&self, kernel: &Engine<Thread>, word: Address, operation: u32, value: u64, time: Address) -> i64 {
        self.call(kernel, Numbers::X86_64.futex, [word, u64::from(operation), value, time, 0, 0])
    }

    /// Returns a word as the program itself reaches it.
    fn user(&self, address: Address) -> &AtomicU32 {
        if self.process.word(address).is_err() {
            self.fault_in(address, Access::Write).expect("a mapped address");
        }
        self.process.word(address).expect("faulted in")
    }
}

/// Has two processes take turns, each through its own address of one word.
fn ping_pong(kernel: &Engine<Thread>, one: &Arc<Process>, other: &Arc<Process>) {
    thread::scope(|scope| {
        // The object is at pages 2 and 5.
        for (me, process, address) in [(0, one, 2 * PAGE + 8), (1, other, 5 * PAGE + 8)] {
            scope.spawn(move || {
                let thread = Thread::of(process);
                let word = thread.user(address);
                for round in 0..1_000 {
                    let mine = 2 * round + me;
                    loop {
                        // Acquire: what the other process did before it passed the turn on;
                        // partner: the store below.
                        let now = word.load(Ordering::Acquire);
                        if now == mine {
                            break;
                        }
                        thread.futex(kernel, address, FUTEX_WAIT, u64::from(now), 0);
                    }
                    // Release: what this process did in its turn; partner: the load above.
                    word.store(mine + 1, Ordering::Release);
                    thread.futex(kernel, address, FUTEX_WAKE, 1, 0);
                }
            });
        }
    });
    println!("two processes passed a turn on 2000 times, by two addresses");
}

/// Has a thread sleep until a signal comes; returns what its call returned.
fn interrupted(kernel: &Engine<Thread>, process: &Arc<Process>) -> i64 {
    let thread = Thread::of(process);
    let signal = Arc::clone(&thread.signal);
    process.threads.fetch_add(1, Ordering::Relaxed);
    kernel.reserve(&thread, process.threads.load(Ordering::Relaxed));
    thread::scope(|scope| {
        let sleeper = scope.spawn(move || thread.futex(kernel, 0, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 0, 0));
        signal.store(true, Ordering::Relaxed);
        sleeper.thread().unpark();
        sleeper.join().expect("it returns")
    })
}

fn main() {
    let kernel = Engine::new(Config::for_processors(2, 0x5eed), Heap).expect("memory at boot");
    let shared = Page::zeroed();
    let object = |writable| Area::Object { number: 7, index: 0, page: Arc::clone(&shared), writable };
    let one = Process::new(1, |page| match page {
        0 | 1 => Area::Anonymous,
        2 => object(true),
        3 => object(false),
        _ => Area::Nothing,
    });
    let other = Process::new(2, |page| if page == 5 { object(true) } else { Area::Nothing });
    ping_pong(&kernel, &one, &other);

    let thread = Thread::of(&one);
    let private = FUTEX_WAIT | FUTEX_PRIVATE_FLAG;
    // A relative time of no seconds and a million nanoseconds.
    let time = PAGE + 16;
    thread.user(time + 8).store(1_000_000, Ordering::Relaxed);
    let wake_op_on_read_only = [0, 5, 1, 1, 3 * PAGE, 1 << 28];
    let answers = [
        ("wait, another value, on a page that nobody has touched", thread.futex(&kernel, 64, private, 1, 0), -11),
        ("wait for a millisecond", thread.futex(&kernel, 64, private, 0, time), -110),
        ("wait, interrupted by a signal", interrupted(&kernel, &one), -4),
        ("wait at an address where nothing is", thread.futex(&kernel, 6 * PAGE, private, 0, 0), -14),
        ("wake-op on memory that may only be read", thread.call(&kernel, 202, wake_op_on_read_only), -14),
        ("wake at a misaligned address", thread.futex(&kernel, 3, FUTEX_WAKE, 1, 0), -22),
        ("an operation that there is not", thread.futex(&kernel, 64, 99, 0, 0), -38),
    ];
    for (what, answer, expected) in answers {
        println!("{answer:>5}  {what}");
        assert_eq!(answer, expected, "{what}");
    }
    let plain = inversion(&kernel, &one, false);
    let inheriting = inversion(&kernel, &one, true);
    println!("one processor; L has a lock that U, the most urgent, waits for; B wants none");
    println!("a plain lock:               {plain}  (U waits for B)");
    println!("one that inherits priority: {inheriting}  (L runs as U until it unlocks)");
    assert_eq!((plain.as_str(), inheriting.as_str()), ("LLBBBBBBLLLUUL", "LLLLLUUBBBBBBL"));
    let (own, global) = (one.space.stats(&thread), kernel.stats(&thread));
    println!("private waits in the first process's own table: {}; in the kernel's: {}", own.queued, global.queued);
    assert!(own.queued >= 1 && own.waiters + global.waiters == 0);
}
