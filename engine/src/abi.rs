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

/// With WAKE, WAKE_BITSET: give the lock up and clear the pending entry of the robust list first. Linux 7.2 and later.
pub const FUTEX_ROBUST_UNLOCK: u32 = 512;

/// In a lock's word: somebody waits.
pub const FUTEX_WAITERS: u32 = 1 << 31;
/// In a lock's word: its owner died.
pub const FUTEX_OWNER_DIED: u32 = 1 << 30;
/// In a lock's word: the owner's thread id.
pub const FUTEX_TID_MASK: u32 = FUTEX_OWNER_DIED - 1;
/// Bytes of `struct robust_list_head`.
pub const ROBUST_HEAD_SIZE: u64 = 24;

/// Every bit: what operations without a bitset use.
pub const FUTEX_BITSET_MATCH_ANY: u32 = u32::MAX;

/// futex2: a word of 32 bits.
pub const FUTEX2_SIZE_U32: u32 = 2;
/// futex2: where a word's size is told.
pub const FUTEX2_SIZE_MASK: u32 = 3;
/// futex2: the word belongs to one address space.
pub const FUTEX2_PRIVATE: u32 = FUTEX_PRIVATE_FLAG;
/// The most words of `futex_waitv`.
pub const FUTEX_WAITV_MAX: u32 = crate::waitv::MOST_WORDS as u32;
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
}

impl Numbers {
    /// With the numbers that all architectures share.
    const fn new(futex: u64, set_robust_list: u64, get_robust_list: u64) -> Numbers {
        let (futex_waitv, futex_wake, futex_wait, futex_requeue) = (449, 454, 455, 456);
        Numbers { futex, futex_waitv, futex_wake, futex_wait, futex_requeue, set_robust_list, get_robust_list }
    }

    /// x86-64.
    pub const X86_64: Numbers = Numbers::new(202, 273, 274);
    /// 64-bit Arm, RISC-V, LoongArch: the table that new architectures share.
    pub const GENERIC: Numbers = Numbers::new(98, 99, 100);
    /// 64-bit POWER.
    pub const POWERPC64: Numbers = Numbers::new(221, 300, 299);
}
