//! The public calls of the engine, each made once; and what they are made with.

use std::future::Future;
use std::pin::pin;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Waker};

use leeward_engine::abi::{
    FUTEX_BITSET_MATCH_ANY, FUTEX_OWNER_DIED, MEMBARRIER_CMD_PRIVATE_EXPEDITED,
    MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, MEMBARRIER_EXPEDITED, Numbers,
};
use leeward_engine::parking::{self, Exits, Gathering, Lending, Parked, ParkingLot, Process, now, user_memory};
use leeward_engine::{
    Access, Address, Arithmetic, Clock, Config, Engine, Errno, Fault, Heap, Host, LockPi, MOST_WORDS, Part, Priority,
    RobustHost, RobustUnlock, Size, Space, Wait, WaitAny, Word,
};

use crate::crowd::{LOCK, WAKE_OP, WORDS, engine, entries, in_millis, lot, waitv, word};
use crate::guest::{Guest, Page, gettid, put};
use crate::machine::{Machine, Sleepy};

/// A lock that is free.
static FREE: AtomicU32 = AtomicU32::new(0);

/// Returns a host that has robust lists and unlocks in one call.
fn guest() -> (&'static Engine<Guest>, &'static Guest) {
    static GUEST: OnceLock<(Engine<Guest>, Guest)> = OnceLock::new();
    let (engine, guest) = GUEST.get_or_init(|| {
        let mut guest = Guest::new();
        guest.unlock = RobustUnlock::KeepWaiters;
        (Engine::new(Config::small(1), Heap).unwrap(), guest)
    });
    (engine, guest)
}

/// Returns a lock of the guest's, and the address of a pending entry.
fn guests_lock() -> (Word, Address) {
    let at = guest().1.address(Page::Writable);
    (Word::private(at), at + 64)
}

/// Writes a robust list of one lock into the guest's memory; returns the addresses of its head and
/// of the lock.
fn guests_list() -> (Address, Address) {
    let head = guest().1.address(Page::Writable) + 256;
    let (entry, lock) = (head + 64, head + 72);
    for (at, value) in [(head, entry), (head + 8, 8), (head + 16, 0), (entry, head), (lock, u64::from(gettid()))] {
        put(guest().1, at, value);
    }
    (head, lock)
}

fn machine() -> (Engine<Machine>, Machine) {
    (Engine::new(Config::small(1), Sleepy::default()).unwrap(), Machine::new(2))
}

/// The kernel's head of a robust list, of a thread with one lock.
#[repr(C)]
struct List {
    first: u64,
    offset: i64,
    pending: u64,
    entry: u64,
    word: AtomicU32,
}

/// Returns the head of the list of a thread with that number.
fn list(number: u32) -> (Box<List>, Address) {
    let mut list = Box::new(List { first: 0, offset: 8, pending: 0, entry: 0, word: AtomicU32::new(number) });
    let head = (&raw mut *list).expose_provenance() as Address;
    list.first = head + std::mem::offset_of!(List, entry) as Address;
    list.entry = head;
    (list, head)
}

/// Polls a future of this frame's, and drops it.
fn polled<F: Future>(future: F) {
    assert!(pin!(future).poll(&mut Context::from_waker(Waker::noop())).is_pending());
}

/// A public call.
pub struct Row {
    /// The file and the name of the function.
    pub declared: &'static str,
    /// The number of tasks that wait for the first word meanwhile.
    pub waiters: usize,
    pub call: fn(),
}

const fn row(declared: &'static str, call: fn()) -> Row {
    Row { declared, waiters: 0, call }
}

const fn woken(declared: &'static str, call: fn()) -> Row {
    Row { declared, waiters: 40, call }
}

/// Functions that are called in others' calls only.
pub const WITHIN: &[&str] = &[
    // Of a flag, which the engine makes for a host's `park`.
    "host/flag.rs: is_waiting",
    "host/flag.rs: spin",
    "host/flag.rs: word",
    "parking/park.rs: park",
    "parking/park.rs: unpark",
    "parking/park.rs: with",
    // In a handler: the row of `load_u32` has one run.
    "parking/user_memory/handlers.rs: recover",
];

fn lot_waits() {
    assert_eq!(lot().wait(&WORDS[0], 0, in_millis(5)), Wait::TimedOut);
}

pub const ROWS: &[Row] = &[
    row("engine.rs: new", || drop(Engine::<Process>::new(Config::small(1), Heap).unwrap())),
    row("engine.rs: config", || assert_eq!(engine().0.config().nodes, 1)),
    row("engine.rs: reserve", || engine().0.reserve(engine().1, 1000)),
    row("engine.rs: stats", || _ = engine().0.stats(engine().1)),
    row("engine.rs: node_stats", || _ = engine().0.node_stats(engine().1, 0)),
    row("stats.rs: stats", || _ = engine().1.space().stats(engine().1)),
    row("table/space.rs: new", || drop(Space::<Process>::new(2, 1, Heap))),
    row("table/space.rs: number", || assert_eq!(engine().1.space().number(), 1)),
    row("table/space.rs: memory", || _ = engine().1.space().memory()),
    row("ops/wait.rs: wait", || {
        let (engine, host) = engine();
        assert_eq!(engine.wait(host, word(&WORDS[0]), 0, u32::MAX, in_millis(5)), Ok(Wait::TimedOut));
    }),
    row("ops/wait_async.rs: wait_async", || polled(engine().0.wait_async(engine().1, word(&WORDS[0]), 0, u32::MAX))),
    row("ops/waitv.rs: waitv", || {
        assert_eq!(engine().0.waitv(engine().1, &mut entries(), in_millis(1)), Ok(WaitAny::TimedOut));
    }),
    woken("ops/wake.rs: wake", || {
        assert_eq!(engine().0.wake(engine().1, word(&WORDS[0]), u32::MAX, u32::MAX), Ok(40));
    }),
    woken("ops/requeue.rs: requeue", || {
        let (engine, host) = engine();
        engine.requeue(host, word(&WORDS[0]), word(&WORDS[1]), 20, 20, Some(0)).unwrap();
    }),
    woken("ops/wake_op.rs: wake_op", || {
        let (engine, host) = engine();
        assert_eq!(engine.wake_op(host, word(&WORDS[0]), 20, word(&WORDS[1]), WAKE_OP, 20), Ok(20));
    }),
    row("pi/lock.rs: lock_pi", || {
        assert_eq!(engine().0.lock_pi(engine().1, word(&LOCK), in_millis(5)), Ok(LockPi::TimedOut));
    }),
    row("pi/lock.rs: try_lock_pi", || assert_eq!(engine().0.try_lock_pi(engine().1, word(&LOCK)), Ok(false))),
    row("pi/lock.rs: reprioritize", || engine().0.reprioritize(engine().1, 1)),
    row("pi/unlock.rs: unlock_pi", || {
        let (engine, host) = engine();
        assert_eq!(engine.lock_pi(host, word(&FREE), None), Ok(LockPi::Acquired));
        assert_eq!(engine.unlock_pi(host, word(&FREE)), Ok(()));
    }),
    row("pi/exit.rs: exit_pi", || assert_eq!(engine().0.exit_pi(engine().1), 0)),
    row("pi/requeue.rs: wait_requeue_pi", || {
        _ = engine().0.wait_requeue_pi(engine().1, word(&WORDS[0]), 0, in_millis(5), word(&FREE));
    }),
    row("pi/requeue.rs: requeue_pi", || {
        _ = engine().0.requeue_pi(engine().1, word(&WORDS[0]), word(&FREE), 1, 0);
    }),
    row("linux/futex.rs: syscall", || {
        let numbers = &Numbers::X86_64;
        waitv(MOST_WORDS, |arguments| {
            let answer = engine().0.syscall(engine().1, numbers, numbers.futex_waitv, arguments);
            assert_eq!(answer, Some(-i64::from(libc::ETIMEDOUT)));
        });
    }),
    woken("linux/futex.rs: futex", || {
        let wake = (libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG) as u64;
        assert_eq!(engine().0.futex(engine().1, [word(&WORDS[0]).address, wake, 40, 0, 0, 0]), Ok(40));
    }),
    row("linux/futex2.rs: futex2", || {
        let numbers = &Numbers::X86_64;
        waitv(4, |arguments| {
            let answer = engine().0.futex2(engine().1, numbers, numbers.futex_waitv, arguments);
            assert_eq!(answer, Some(Err(Errno::ETIMEDOUT)));
        });
    }),
    row("linux/futex2.rs: futex_waitv_in", || {
        waitv(MOST_WORDS, |arguments| {
            let answer = engine().0.futex_waitv_in(engine().1, &mut entries(), arguments);
            assert_eq!(answer, Err(Errno::ETIMEDOUT));
        });
    }),
    row("robust/mod.rs: exit_robust", || {
        let (head, lock) = guests_list();
        guest().1.set_robust_head(head);
        guest().0.exit_robust(guest().1, 16);
        assert_eq!(guest().1.value(lock), FUTEX_OWNER_DIED);
    }),
    row("robust/mod.rs: exit_robust_compat", || {
        // The walk ends at the first entry, whose address has 64 bits.
        guest().1.set_compat_robust_head(guests_list().0).unwrap();
        guest().0.exit_robust_compat(guest().1, 16);
    }),
    row("robust/mod.rs: robust_syscall", || {
        let numbers = &Numbers::X86_64;
        let answer = guest().0.robust_syscall(guest().1, numbers, numbers.set_robust_list, [0, 24, 0, 0, 0, 0]);
        assert_eq!(answer, Some(0));
    }),
    row("robust/mod.rs: compat_robust_syscall", || {
        let numbers = &Numbers::I386;
        let answer = guest().0.compat_robust_syscall(guest().1, numbers, numbers.set_robust_list, [0, 12, 0, 0, 0, 0]);
        assert_eq!(answer, Some(0));
    }),
    row("robust/unlock.rs: robust_unlock", || {
        let (lock, pending) = guests_lock();
        let answer = guest().0.robust_unlock(guest().1, lock, 1, FUTEX_BITSET_MATCH_ANY, pending, Size::U64);
        assert_eq!(answer, Ok(0));
    }),
    row("robust/unlock.rs: robust_unlock_pi", || {
        let (engine, host) = guest();
        let (lock, pending) = guests_lock();
        assert_eq!(engine.lock_pi(host, lock, None), Ok(LockPi::Acquired));
        assert_eq!(engine.robust_unlock_pi(host, lock, pending, Size::U64), Ok(()));
    }),
    row("membarrier/mod.rs: membarrier", || {
        let (engine, host) = machine();
        assert_eq!(engine.membarrier(&host, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0), Ok(0));
        assert_eq!(engine.membarrier(&host, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0), Ok(0));
    }),
    row("membarrier/mod.rs: membarrier_2010", || {
        let (engine, host) = machine();
        assert_eq!(engine.membarrier_2010(&host, MEMBARRIER_EXPEDITED), Ok(0));
    }),
    row("membarrier/mod.rs: registrations", || _ = machine().1.space.registrations()),
    row("membarrier/mod.rs: registrations_requested", || _ = machine().1.space.registrations_requested()),
    row("membarrier/mod.rs: inherit_registrations", || {
        Space::new(2, 1, Sleepy::default()).inherit_registrations(&machine().1.space);
    }),
    row("parking/lot.rs: new", || drop(ParkingLot::new(4).unwrap())),
    row("parking/lot.rs: wait", lot_waits),
    row("parking/lot.rs: wait_async", || polled(lot().wait_async(&WORDS[0], 0))),
    woken("parking/lot.rs: wake", || assert_eq!(lot().wake(&WORDS[0], u32::MAX), 40)),
    woken("parking/lot.rs: requeue", || _ = lot().requeue(&WORDS[0], 0, 20, &WORDS[1], 20)),
    woken("parking/lot.rs: wake_op", || assert_eq!(lot().wake_op(&WORDS[0], 20, &WORDS[1], WAKE_OP, 20), 20)),
    row("parking/lot.rs: stats", || _ = lot().stats()),
    row("parking/lot.rs: global_stats", || _ = lot().global_stats()),
    row("parking/lot.rs: parts", || _ = engine()),
    row("parking/inheritance.rs: lock_pi", || assert_eq!(lot().lock_pi(&LOCK, in_millis(5)), Ok(LockPi::TimedOut))),
    row("parking/inheritance.rs: try_lock_pi", || assert_eq!(lot().try_lock_pi(&LOCK), Ok(false))),
    row("parking/inheritance.rs: unlock_pi", || {
        assert_eq!(lot().lock_pi(&FREE, None), Ok(LockPi::Acquired));
        assert_eq!(lot().unlock_pi(&FREE), Ok(()));
    }),
    row("parking/inheritance.rs: refusals", || _ = engine().1.refusals()),
    row("parking/inheritance.rs: exit_thread", || {
        let (list, head) = list(gettid());
        engine().1.set_robust_head(head);
        assert_eq!(lot().exit_thread(), 0);
        assert_eq!(list.word.load(Ordering::SeqCst), FUTEX_OWNER_DIED);
    }),
    // SAFETY: it names no word.
    row("parking/process.rs: new", || drop(unsafe { Process::new(4, 1) })),
    // SAFETY: as above.
    row("parking/process.rs: new_in", || drop(unsafe { Process::new_in(4, 1, Heap) })),
    row("parking/process.rs: exits", || _ = engine().1.exits()),
    row("parking/exits.rs: new", || drop(Exits::new(Heap))),
    row("parking/exits.rs: reserve", || assert!(engine().1.exits().reserve(engine().1, 100))),
    row("parking/exits.rs: begin", || drop(engine().1.exits().begin(engine().1))),
    row("parking/exits.rs: find", || _ = engine().1.exits().find(engine().1, 1)),
    row("parking/exits.rs: await_end", || engine().1.exits().await_end(engine().1, u32::MAX >> 2)),
    row("parking/exits.rs: unrecorded", || _ = engine().1.exits().unrecorded()),
    row("parking/lending.rs: new", || drop(Lending::new(Heap))),
    row("parking/lending.rs: make_room", || assert!(Lending::new(Heap).make_room(engine().1))),
    row("parking/lending.rs: forget", || Lending::new(Heap).forget(engine().1)),
    row("parking/lending.rs: priority", || _ = Lending::new(Heap).priority(engine().1, 0)),
    row("parking/lending.rs: own_priority", || _ = Lending::new(Heap).own_priority(engine().1)),
    row("parking/lending.rs: lend", || Lending::new(Heap).lend(engine().1, 0, Some(Priority::NORMAL))),
    row("parking/lending.rs: refusals", || _ = Lending::new(Heap).refusals()),
    row("parking/gather.rs: unpark_all", || {
        Gathering::default().unpark_all(std::iter::empty::<Parked>(), Part::All);
    }),
    row("parking/spin.rs: spin", || [0, 40, 41, 144].into_iter().for_each(parking::spin)),
    row("parking/mod.rs: now", || assert_ne!(now(Clock::Realtime), 0)),
    row("parking/user_memory/handlers.rs: install", || user_memory::install().unwrap()),
    row("parking/user_memory/mod.rs: load_u8", || assert_eq!(user_memory::load_u8(8), Err(Fault))),
    row("parking/user_memory/mod.rs: load_u16", || assert_eq!(user_memory::load_u16(8), Err(Fault))),
    row("parking/user_memory/mod.rs: load_u32", || assert_eq!(user_memory::load_u32(8), Err(Fault))),
    row("parking/user_memory/mod.rs: load_u64", || assert_eq!(user_memory::load_u64(8), Err(Fault))),
    row("parking/user_memory/mod.rs: compare_exchange", || {
        // SAFETY: there is no memory.
        assert_eq!(unsafe { user_memory::compare_exchange(8, 0, 1) }, Err(Fault));
    }),
    row("parking/user_memory/mod.rs: fetch_op", || {
        // SAFETY: as above.
        assert_eq!(unsafe { user_memory::fetch_op(8, Arithmetic::Xor, 1) }, Err(Fault));
    }),
    row("parking/user_memory/mod.rs: read", || assert_eq!(user_memory::read(8, &mut [0; 8]), Err(Fault))),
    row("parking/user_memory/mod.rs: write", || {
        // SAFETY: as above.
        assert_eq!(unsafe { user_memory::write(8, &[0; 8]) }, Err(Fault));
    }),
    row("parking/user_memory/mod.rs: fault_in", || {
        assert_eq!(user_memory::fault_in(8, Access::Read), Err(Errno::EFAULT));
    }),
    // The last: locks are taken otherwise from then on.
    row("parking/held.rs: expect_real_time", parking::expect_real_time),
    row("parking/lot.rs: wait", lot_waits),
];
