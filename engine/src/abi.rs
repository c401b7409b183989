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

/// Every bit: what operations without a bitset use.
pub const FUTEX_BITSET_MATCH_ANY: u32 = u32::MAX;

/// The numbers of the calls on one architecture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Numbers {
    /// `futex`, with 64-bit times.
    pub futex: u64,
    /// `membarrier`.
    pub membarrier: u64,
    /// The call with the flags of 2010, for systems that have it: it never had a number on Linux.
    pub membarrier_2010: Option<u64>,
}

impl Numbers {
    /// x86-64.
    pub const X86_64: Numbers = Numbers { futex: 202, membarrier: 324, membarrier_2010: None };
    /// 64-bit Arm, RISC-V, LoongArch: the table that new architectures share.
    pub const GENERIC: Numbers = Numbers { futex: 98, membarrier: 283, membarrier_2010: None };
    /// 64-bit POWER.
    pub const POWERPC64: Numbers = Numbers { futex: 221, membarrier: 365, membarrier_2010: None };
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
