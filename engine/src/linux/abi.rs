//! Linux's numbers: operations, flags, and the numbers of the calls by architecture.

/// Sleep if the word holds the value; relative time on the monotonic clock.
pub const FUTEX_WAIT: u32 = 0;
/// Wake so many.
pub const FUTEX_WAKE: u32 = 1;
/// Wake some and move others, whatever the word holds.
pub const FUTEX_REQUEUE: u32 = 3;
/// Wake some and move others, if the word holds the value.
pub const FUTEX_CMP_REQUEUE: u32 = 4;
/// Change a second word, wake on the first, and on the second if its old value says so.
pub const FUTEX_WAKE_OP: u32 = 5;
/// Take a lock that inherits priorities; a point in time on the real-time clock.
pub const FUTEX_LOCK_PI: u32 = 6;
/// Give it up.
pub const FUTEX_UNLOCK_PI: u32 = 7;
/// Take it if it is free.
pub const FUTEX_TRYLOCK_PI: u32 = 8;
/// [`FUTEX_WAIT_BITSET`] of any bit, to be moved to such a lock.
pub const FUTEX_WAIT_REQUEUE_PI: u32 = 11;
/// Move such waiters there.
pub const FUTEX_CMP_REQUEUE_PI: u32 = 12;
/// [`FUTEX_LOCK_PI`] with the clock that the flag names.
pub const FUTEX_LOCK_PI2: u32 = 13;
/// [`FUTEX_WAIT`] with a bitset and a point in time.
pub const FUTEX_WAIT_BITSET: u32 = 9;
/// [`FUTEX_WAKE`] with a bitset.
pub const FUTEX_WAKE_BITSET: u32 = 10;

/// The words belong to one address space.
pub const FUTEX_PRIVATE_FLAG: u32 = 128;
/// The time is on the real-time clock.
pub const FUTEX_CLOCK_REALTIME: u32 = 256;
/// What is left without these two is the operation.
pub const FUTEX_CMD_MASK: u32 = !(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME);

/// With WAKE, WAKE_BITSET: give the lock up and clear the pending entry of the robust list first.
/// Linux 7.2 and later.
pub const FUTEX_ROBUST_UNLOCK: u32 = 512;

/// In a lock's word: somebody waits.
pub const FUTEX_WAITERS: u32 = 1 << 31;
/// In a lock's word: its owner died.
pub const FUTEX_OWNER_DIED: u32 = 1 << 30;
/// In a lock's word: the owner's thread id.
pub const FUTEX_TID_MASK: u32 = FUTEX_OWNER_DIED - 1;
/// Bytes of `struct robust_list_head`.
pub const ROBUST_HEAD_SIZE: u64 = 24;
/// The same of a 32-bit program.
pub const COMPAT_ROBUST_HEAD_SIZE: u64 = 12;

/// Every bit: what operations without a bitset use.
pub const FUTEX_BITSET_MATCH_ANY: u32 = u32::MAX;

/// futex2: a word of 32 bits.
pub const FUTEX2_SIZE_U32: u32 = 2;
/// futex2: where a word's size is told.
pub const FUTEX2_SIZE_MASK: u32 = 3;
/// futex2: the word belongs to one address space.
pub const FUTEX2_PRIVATE: u32 = FUTEX_PRIVATE_FLAG;
/// The word's node is in the 32 bits behind it.
pub const FUTEX2_NUMA: u32 = 4;
/// The word's node is that of its memory policy.
pub const FUTEX2_MPOL: u32 = 8;
/// The most words of `futex_waitv`.
pub const FUTEX_WAITV_MAX: u32 = crate::ops::waitv::MOST_WORDS as u32;
/// Bytes of `struct futex_waitv`.
pub const WAITV_SIZE: usize = 24;
/// The time of day.
pub const CLOCK_REALTIME: u32 = 0;
/// The clock that only goes forward.
pub const CLOCK_MONOTONIC: u32 = 1;

/// The numbers of the calls on one architecture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Numbers {
    /// `futex`, with 64-bit times.
    pub futex: u64,
    /// `futex_waitv`.
    pub futex_waitv: u64,
    /// `futex_wake`.
    pub futex_wake: u64,
    /// `futex_wait`.
    pub futex_wait: u64,
    /// `futex_requeue`.
    pub futex_requeue: u64,
    /// `set_robust_list`.
    pub set_robust_list: u64,
    /// `get_robust_list`.
    pub get_robust_list: u64,
    /// `membarrier`.
    pub membarrier: u64,
    /// The call with the flags of 2010, for systems that have it: it never had a number on Linux.
    pub membarrier_2010: Option<u64>,
}

impl Numbers {
    /// With the numbers that all architectures share.
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

    /// Whether Linux makes a wait anew that answered `EINTR` because of a signal whose handler was
    /// installed with `SA_RESTART`: futex2's waits, and those of `futex` that have no time. With a
    /// time `futex` answers `EINTR` whatever the handler. (Where no handler runs, as when a thread
    /// was only stopped, each is made anew, with what is left of a relative time.)
    pub const fn restarts(&self, number: u64, arguments: [u64; 6]) -> bool {
        let time = arguments[3];
        let without = number == self.futex_wait || number == self.futex_waitv || number == self.futex && time == 0;
        without || self.restarts_always(number, arguments)
    }

    /// Whether Linux makes a call anew that answered `EINTR`, whatever the signal's handler: those
    /// that wait for a lock that inherits priorities, whose times are points.
    pub const fn restarts_always(&self, number: u64, arguments: [u64; 6]) -> bool {
        let command = arguments[1] as u32 & FUTEX_CMD_MASK;
        number == self.futex && matches!(command, FUTEX_LOCK_PI | FUTEX_LOCK_PI2 | FUTEX_WAIT_REQUEUE_PI)
    }

    /// x86-64.
    pub const X86_64: Numbers = Numbers::new(202, 273, 274, 324);
    /// 64-bit Arm, RISC-V, LoongArch: the table that new architectures share.
    pub const GENERIC: Numbers = Numbers::new(98, 99, 100, 283);
    /// 64-bit POWER.
    pub const POWERPC64: Numbers = Numbers::new(221, 300, 299, 365);
    /// 32-bit x86, for [`compat_robust_syscall`](crate::Engine::compat_robust_syscall); `futex` is
    /// `futex_time64`.
    pub const I386: Numbers = Numbers::new(422, 311, 312, 375);
}

/// membarrier: which commands there are.
pub const MEMBARRIER_CMD_QUERY: u32 = 0;
/// Every thread of every space; waits for a grace period.
pub const MEMBARRIER_CMD_GLOBAL: u32 = 1 << 0;
/// Every thread of the spaces that are registered for it; interrupts.
pub const MEMBARRIER_CMD_GLOBAL_EXPEDITED: u32 = 1 << 1;
/// Be reached by that.
pub const MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED: u32 = 1 << 2;
/// The space's own threads; interrupts.
pub const MEMBARRIER_CMD_PRIVATE_EXPEDITED: u32 = 1 << 3;
/// Must come first.
pub const MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED: u32 = 1 << 4;
/// [`MEMBARRIER_CMD_PRIVATE_EXPEDITED`] that also serializes instruction streams.
pub const MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE: u32 = 1 << 5;
/// Must come first.
pub const MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE: u32 = 1 << 6;
/// [`MEMBARRIER_CMD_PRIVATE_EXPEDITED`] that also restarts restartable sequences.
pub const MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ: u32 = 1 << 7;
/// Must come first.
pub const MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ: u32 = 1 << 8;
/// What the space is registered for.
pub const MEMBARRIER_CMD_GET_REGISTRATIONS: u32 = 1 << 9;
/// A flag of [`MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ`]: on one processor alone.
pub const MEMBARRIER_CMD_FLAG_CPU: u32 = 1 << 0;

/// The flags of 2010 that must be understood.
pub const MEMBARRIER_MANDATORY: u32 = 0xffff;
/// 2010: interrupts.
pub const MEMBARRIER_EXPEDITED: u32 = 1 << 0;
/// 2010: waits for a grace period.
pub const MEMBARRIER_DELAYED: u32 = 1 << 1;
/// 2010, optional: answers whether the rest is supported, and does nothing.
pub const MEMBARRIER_QUERY: u32 = 1 << 16;
