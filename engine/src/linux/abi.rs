//! Linux's numbers: operations, flags, bits of lock words, and the numbers of the system calls by
//! architecture. Used by the decoders and by programs of hosts. Each operation and flag says since
//! which version Linux has it, from its manual pages and release notes.

/// `futex`: sleeps while the word holds the value; the time is relative, on the monotonic clock.
/// Since Linux 2.6.0.
pub const FUTEX_WAIT: u32 = 0;
/// `futex`: wakes up to this many waiters. Since Linux 2.6.0.
pub const FUTEX_WAKE: u32 = 1;
/// `futex`: wakes some waiters and moves others to a second word, whatever the first word holds.
/// Since Linux 2.6.0.
pub const FUTEX_REQUEUE: u32 = 3;
/// `futex`: wakes some waiters and moves others to a second word, if the first word holds the
/// value. Since Linux 2.6.7.
pub const FUTEX_CMP_REQUEUE: u32 = 4;
/// `futex`: changes a second word, wakes waiters of the first, and of the second if its old value
/// meets a condition. Since Linux 2.6.14.
pub const FUTEX_WAKE_OP: u32 = 5;
/// `futex`: takes a lock that inherits priorities; the time is a point on the real-time clock.
/// Since Linux 2.6.18.
pub const FUTEX_LOCK_PI: u32 = 6;
/// `futex`: unlocks a lock that inherits priorities. Since Linux 2.6.18.
pub const FUTEX_UNLOCK_PI: u32 = 7;
/// `futex`: takes a lock that inherits priorities if it is free. Since Linux 2.6.18.
pub const FUTEX_TRYLOCK_PI: u32 = 8;
/// `futex`: sleeps while the word holds the value, to be moved to a lock that inherits priorities
/// by [`FUTEX_CMP_REQUEUE_PI`]. Since Linux 2.6.31.
pub const FUTEX_WAIT_REQUEUE_PI: u32 = 11;
/// `futex`: moves waiters of [`FUTEX_WAIT_REQUEUE_PI`] to the lock, if the word holds the value.
/// Since Linux 2.6.31.
pub const FUTEX_CMP_REQUEUE_PI: u32 = 12;
/// `futex`: [`FUTEX_LOCK_PI`] with a point in time on the clock that the flag names. Since Linux
/// 5.14.
pub const FUTEX_LOCK_PI2: u32 = 13;
/// `futex`: [`FUTEX_WAIT`] with a bitset, and with a point in time. Since Linux 2.6.25.
pub const FUTEX_WAIT_BITSET: u32 = 9;
/// `futex`: [`FUTEX_WAKE`] of the waiters that have a bit of the bitset in common. Since Linux
/// 2.6.25.
pub const FUTEX_WAKE_BITSET: u32 = 10;

/// A flag of `futex`: the words belong to one address space. Since Linux 2.6.22.
pub const FUTEX_PRIVATE_FLAG: u32 = 128;
/// A flag of `futex`: the time is on the real-time clock. Since Linux 2.6.28.
pub const FUTEX_CLOCK_REALTIME: u32 = 256;
/// The bits of an operation of `futex` without those two flags.
pub const FUTEX_CMD_MASK: u32 = !(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME);

/// A flag of [`FUTEX_WAKE`], [`FUTEX_WAKE_BITSET`] and [`FUTEX_UNLOCK_PI`]: unlocks the lock and
/// clears the pending entry of the robust list, whose address is the fifth argument, before it
/// wakes. Linux 7.2 and later.
pub const FUTEX_ROBUST_UNLOCK: u32 = 512;
/// A flag beside [`FUTEX_ROBUST_UNLOCK`]: the pending entry, and only it, has 32 bits. Linux 7.2
/// and later.
pub const FUTEX_ROBUST_LIST32: u32 = 1024;

/// The bit of a lock's word that says that threads may wait for it.
pub const FUTEX_WAITERS: u32 = 1 << 31;
/// The bit of a lock's word that says that its owner died.
pub const FUTEX_OWNER_DIED: u32 = 1 << 30;
/// The bits of a lock's word that hold the owner's thread id.
pub const FUTEX_TID_MASK: u32 = FUTEX_OWNER_DIED - 1;
/// The size of `struct robust_list_head` in bytes.
pub const ROBUST_HEAD_SIZE: u64 = 24;
/// The size of `struct robust_list_head` of a 32-bit program, in bytes.
pub const COMPAT_ROBUST_HEAD_SIZE: u64 = 12;

/// The bitset with every bit, which operations without a bitset use.
pub const FUTEX_BITSET_MATCH_ANY: u32 = u32::MAX;

/// A flag of futex2: the word has 8 bits. Linux has the number, and served no such word up to 7.2.
pub const FUTEX2_SIZE_U8: u32 = 0;
/// A flag of futex2: the word has 16 bits. Linux has the number, and served no such word up to 7.2.
pub const FUTEX2_SIZE_U16: u32 = 1;
/// A flag of futex2: the word has 32 bits. Since Linux 5.16.
pub const FUTEX2_SIZE_U32: u32 = 2;
/// A flag of futex2: the word has 64 bits. Linux has the number, and served no such word up to 7.2.
pub const FUTEX2_SIZE_U64: u32 = 3;
/// The bits of futex2's flags that hold the word's size.
pub const FUTEX2_SIZE_MASK: u32 = 3;
/// A flag of futex2: the word belongs to one address space. Since Linux 5.16.
pub const FUTEX2_PRIVATE: u32 = FUTEX_PRIVATE_FLAG;
/// A flag of futex2: the number of the word's node is in the 32 bits after the word. Since Linux
/// 6.16.
pub const FUTEX2_NUMA: u32 = 4;
/// A flag of futex2: the word's node is that of its memory policy. Since Linux 6.16.
pub const FUTEX2_MPOL: u32 = 8;
/// The greatest number of words of `futex_waitv`.
pub const FUTEX_WAITV_MAX: u32 = crate::ops::waitv::MOST_WORDS as u32;
/// The size of `struct futex_waitv` in bytes.
pub const WAITV_SIZE: usize = 24;
/// The clock of the time of day, which may be set.
pub const CLOCK_REALTIME: u32 = 0;
/// The clock that only goes forward.
pub const CLOCK_MONOTONIC: u32 = 1;

/// The numbers of the system calls on one architecture.
///
/// ```
/// # #[cfg(feature = "std")] {
/// use leeward_engine::abi::{FUTEX_PRIVATE_FLAG, FUTEX_WAKE, Numbers};
/// use leeward_engine::{Config, Engine, Heap, parking::Process};
///
/// let engine = Engine::new(Config::small(7), Heap).unwrap();
/// // SAFETY: the only word that is named is woken.
/// let host = unsafe { Process::new(1, 7) };
/// let wake = [4096, u64::from(FUTEX_WAKE | FUTEX_PRIVATE_FLAG), 1, 0, 0, 0];
/// // On x86-64 the number of `futex` is 202. Elsewhere that is another call.
/// assert_eq!(engine.syscall(&host, &Numbers::X86_64, 202, wake), Some(0));
/// assert_eq!(engine.syscall(&host, &Numbers::GENERIC, 202, wake), None);
/// # }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Numbers {
    /// The number of `futex`, with 64-bit times.
    pub futex: u64,
    /// The number of `futex_waitv`, which Linux has since 5.16.
    pub futex_waitv: u64,
    /// The number of `futex_wake`, since Linux 6.7.
    pub futex_wake: u64,
    /// The number of `futex_wait`, since Linux 6.7.
    pub futex_wait: u64,
    /// The number of `futex_requeue`, since Linux 6.7.
    pub futex_requeue: u64,
    /// The number of `set_robust_list`, since Linux 2.6.17.
    pub set_robust_list: u64,
    /// The number of `get_robust_list`, since Linux 2.6.17.
    pub get_robust_list: u64,
    /// The number of `membarrier`, since Linux 4.3.
    pub membarrier: u64,
    /// The number of the membarrier call with the flags of 2010, for systems that have it: it never
    /// had a number on Linux.
    pub membarrier_2010: Option<u64>,
}

impl Numbers {
    /// Makes the numbers of an architecture; the futex2 calls have the same ones everywhere.
    const fn new(futex: u64, set_robust_list: u64, get_robust_list: u64, membarrier: u64) -> Numbers {
        let (futex_waitv, futex_wake, futex_wait, futex_requeue) = (449, 454, 455, 456);
        Numbers {
            futex,
            futex_waitv,
            futex_wake,
            futex_wait,
            futex_requeue,
            set_robust_list,
            get_robust_list,
            membarrier,
            membarrier_2010: None,
        }
    }

    /// Returns true if Linux restarts a wait that ended with `EINTR` because of a signal whose
    /// handler was installed with `SA_RESTART`: the waits of futex2, and those of `futex` without a
    /// time. With a time `futex` returns `EINTR` whatever the handler. (Where no handler runs, as
    /// when a thread was only stopped, Linux restarts each of them, with what is left of a relative
    /// time.)
    pub const fn restarts(&self, number: u64, arguments: [u64; 6]) -> bool {
        let time = arguments[3];
        let without = number == self.futex_wait || number == self.futex_waitv || number == self.futex && time == 0;
        without || self.restarts_always(number, arguments)
    }

    /// Returns true if Linux restarts a call that ended with `EINTR` whatever the signal's handler:
    /// the calls that wait for a lock that inherits priorities, whose times are points.
    pub const fn restarts_always(&self, number: u64, arguments: [u64; 6]) -> bool {
        let command = arguments[1] as u32 & FUTEX_CMD_MASK;
        number == self.futex && matches!(command, FUTEX_LOCK_PI | FUTEX_LOCK_PI2 | FUTEX_WAIT_REQUEUE_PI)
    }

    /// The numbers of x86-64.
    pub const X86_64: Numbers = Numbers::new(202, 273, 274, 324);
    /// The numbers of 64-bit Arm, RISC-V and LoongArch: those that new architectures share.
    pub const GENERIC: Numbers = Numbers::new(98, 99, 100, 283);
    /// The numbers of 64-bit POWER.
    pub const POWERPC64: Numbers = Numbers::new(221, 300, 299, 365);
    /// The numbers of 32-bit x86, for
    /// [`compat_robust_syscall`](crate::Engine::compat_robust_syscall); `futex` is `futex_time64`.
    pub const I386: Numbers = Numbers::new(422, 311, 312, 375);
}

/// `membarrier`: answers the commands that there are. Since Linux 4.3.
pub const MEMBARRIER_CMD_QUERY: u32 = 0;
/// `membarrier`: reaches every thread of every space; waits for a grace period. Since Linux 4.3.
pub const MEMBARRIER_CMD_GLOBAL: u32 = 1 << 0;
/// `membarrier`: reaches every thread of the spaces that are registered for it; interrupts
/// processors. Since Linux 4.16.
pub const MEMBARRIER_CMD_GLOBAL_EXPEDITED: u32 = 1 << 1;
/// `membarrier`: registers the space to be reached by [`MEMBARRIER_CMD_GLOBAL_EXPEDITED`]. Since
/// Linux 4.16.
pub const MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED: u32 = 1 << 2;
/// `membarrier`: reaches the space's own threads; interrupts processors. Since Linux 4.14.
pub const MEMBARRIER_CMD_PRIVATE_EXPEDITED: u32 = 1 << 3;
/// `membarrier`: registers the space for [`MEMBARRIER_CMD_PRIVATE_EXPEDITED`]; must come first.
/// Since Linux 4.14.
pub const MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED: u32 = 1 << 4;
/// `membarrier`: [`MEMBARRIER_CMD_PRIVATE_EXPEDITED`] that also serializes instruction streams.
/// Since Linux 4.16.
pub const MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE: u32 = 1 << 5;
/// `membarrier`: registers the space for [`MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE`]; must come
/// first. Since Linux 4.16.
pub const MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE: u32 = 1 << 6;
/// `membarrier`: [`MEMBARRIER_CMD_PRIVATE_EXPEDITED`] that also restarts restartable sequences.
/// Since Linux 5.10.
pub const MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ: u32 = 1 << 7;
/// `membarrier`: registers the space for [`MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ`]; must come
/// first. Since Linux 5.10.
pub const MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ: u32 = 1 << 8;
/// `membarrier`: answers what the space is registered for. Since Linux 6.3.
pub const MEMBARRIER_CMD_GET_REGISTRATIONS: u32 = 1 << 9;
/// A flag of [`MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ`]: reaches one processor alone. Since Linux
/// 5.10.
pub const MEMBARRIER_CMD_FLAG_CPU: u32 = 1 << 0;

/// The bits of the flags of 2010 that must be understood.
pub const MEMBARRIER_MANDATORY: u32 = 0xffff;
/// A flag of 2010: interrupts processors.
pub const MEMBARRIER_EXPEDITED: u32 = 1 << 0;
/// A flag of 2010: waits for a grace period.
pub const MEMBARRIER_DELAYED: u32 = 1 << 1;
/// An optional flag of 2010: answers whether the other flags are supported, and does nothing else.
pub const MEMBARRIER_QUERY: u32 = 1 << 16;
