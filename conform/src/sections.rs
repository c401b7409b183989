//! A restartable sequence (`rseq`) that does nothing but last: it says that it has begun, and goes on until a word is
//! another than it was. What happens to its thread meanwhile must abort it.

use core::mem::size_of;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// What stands before the instructions to which an aborted sequence goes.
pub(crate) const SIGNATURE: usize = 0x5305_3053;

/// `struct rseq_cs`: which instructions the sequence is, and where it goes when it is aborted.
#[derive(Default)]
#[repr(C, align(32))]
pub(crate) struct Descriptor {
    pub(crate) version: u32,
    flags: u32,
    start: u64,
    len: u64,
    abort: u64,
}

const _: () = assert!(size_of::<Descriptor>() == 32);

/// How a sequence ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The kernel aborted it.
    Aborted,
    /// The kernel aborted it, at an address before which there is no signature.
    AbortedWithoutSignature,
    /// It saw the word changed.
    SawTheChange,
    /// It went on for as long as it may.
    RanOut,
}

/// How often a sequence looks at the word: for some tens of milliseconds.
const LOOKS: u64 = 1 << 26;

/// A sequence that has not been run yet.
pub(crate) struct Sequence<'a> {
    /// The place of the thread's area where the sequence's name is.
    pub(crate) name: &'a AtomicU64,
    /// The name that is stored there: the descriptor's address.
    pub(crate) named: usize,
    /// Where it says that it has begun.
    pub(crate) inside: &'a AtomicU32,
    /// The word that it looks at, and what that holds.
    pub(crate) watched: &'a AtomicU32,
    pub(crate) initial: u32,
    /// It is to be aborted at an address without a signature.
    pub(crate) has_no_signature: bool,
    /// How often it looks at the word.
    pub(crate) looks: u64,
}

/// Runs these instructions, whose operands are the same on every machine. Returns how many looks were left.
///
/// `2` is the sequence's first instruction, `3` the one behind its last, `4` the one to which it is aborted, and `7`
/// one to which it must not be. An abort finds the registers as they were.
#[allow(unused_macros)]
macro_rules! enter {
    ($sequence:ident, $descriptor:ident, $named:ident; $class:ident; $($line:literal,)+ $(; $($more:tt)+)?) => {{
        let mut left = $sequence.looks;
        // SAFETY: writes the descriptor, the name and the word that says that the sequence has begun; the kernel aborts
        // it to instructions of this block.
        unsafe {
            core::arch::asm!(
                $($line,)+
                one = out($class) _, two = out($class) _, descriptor = in($class) $descriptor,
                named = in($class) $named, name = in($class) $sequence.name.as_ptr(),
                inside = in($class) $sequence.inside.as_ptr(),
                watched = in($class) $sequence.watched.as_ptr(), initial = in($class) $sequence.initial as i32 as isize,
                unsigned = in($class) usize::from($sequence.has_no_signature), left = inout($class) left,
                signature = const SIGNATURE, $($($more)+,)? options(nostack)
            );
        }
        Some(left)
    }};
}

impl<'a> Sequence<'a> {
    /// Returns a sequence that is named as it should be.
    pub(crate) fn new(name: &'a AtomicU64, inside: &'a AtomicU32, watched: &'a AtomicU32, initial: u32) -> Self {
        Sequence { name, named: 0, inside, watched, initial, has_no_signature: false, looks: LOOKS }
    }

    /// Runs the sequence. Returns how it ended, and what name was there then; or nothing on a machine for which it is
    /// not written.
    pub(crate) fn run(&self, descriptor: &mut Descriptor) -> Option<(End, u64)> {
        let descriptor = &raw mut *descriptor;
        let named = if self.named == 0 { descriptor.expose_provenance() } else { self.named };
        let left = self.enter(descriptor, named)?;
        // The kernel must not look at a descriptor that is not there any more.
        let name = self.name.swap(0, Ordering::SeqCst);
        let end = match left {
            u64::MAX => End::Aborted,
            0xffff_ffff_ffff_fffe => End::AbortedWithoutSignature,
            0 => End::RanOut,
            _ => End::SawTheChange,
        };
        Some((end, name))
    }

    #[cfg(target_arch = "x86_64")]
    fn enter(&self, descriptor: *mut Descriptor, named: usize) -> Option<u64> {
        enter!(self, descriptor, named; reg;
            "lea {one}, [rip + 2f]",
            "mov qword ptr [{descriptor} + 8], {one}",
            "lea {two}, [rip + 3f]",
            "sub {two}, {one}",
            "mov qword ptr [{descriptor} + 16], {two}",
            "lea {one}, [rip + 4f]",
            "lea {two}, [rip + 7f]",
            "test {unsigned:e}, {unsigned:e}",
            "cmovnz {one}, {two}",
            "mov qword ptr [{descriptor} + 24], {one}",
            "mov qword ptr [{name}], {named}",
            "2:",
            "mov dword ptr [{inside}], 1",
            "5:",
            "cmp dword ptr [{watched}], {initial:e}",
            "jne 3f",
            "dec {left}",
            "jnz 5b",
            "3:",
            "jmp 6f",
            ".long {signature}",
            "4:",
            "mov {left}, -1",
            "jmp 6f",
            ".long 0",
            "7:",
            "mov {left}, -2",
            "6:",
        )
    }

    #[cfg(target_arch = "aarch64")]
    fn enter(&self, descriptor: *mut Descriptor, named: usize) -> Option<u64> {
        enter!(self, descriptor, named; reg;
            "adr {one}, 2f",
            "str {one}, [{descriptor}, #8]",
            "adr {two}, 3f",
            "sub {two}, {two}, {one}",
            "str {two}, [{descriptor}, #16]",
            "adr {one}, 4f",
            "adr {two}, 7f",
            "cmp {unsigned:w}, #0",
            "csel {one}, {one}, {two}, eq",
            "str {one}, [{descriptor}, #24]",
            "str {named}, [{name}]",
            "2:",
            "mov {one:w}, #1",
            "str {one:w}, [{inside}]",
            "5:",
            "ldr {one:w}, [{watched}]",
            "cmp {one:w}, {initial:w}",
            "b.ne 3f",
            "subs {left}, {left}, #1",
            "b.ne 5b",
            "3:",
            "b 6f",
            ".long {signature}",
            "4:",
            "mov {left}, #-1",
            "b 6f",
            ".long 0",
            "7:",
            "mov {left}, #-2",
            "6:",
        )
    }

    #[cfg(target_arch = "riscv64")]
    fn enter(&self, descriptor: *mut Descriptor, named: usize) -> Option<u64> {
        enter!(self, descriptor, named; reg;
            "lla {one}, 2f",
            "sd {one}, 8({descriptor})",
            "lla {two}, 3f",
            "sub {two}, {two}, {one}",
            "sd {two}, 16({descriptor})",
            "lla {one}, 4f",
            "beqz {unsigned}, 8f",
            "lla {one}, 7f",
            "8:",
            "sd {one}, 24({descriptor})",
            "sd {named}, 0({name})",
            "2:",
            "li {one}, 1",
            "sw {one}, 0({inside})",
            "5:",
            "lw {one}, 0({watched})",
            "bne {one}, {initial}, 3f",
            "addi {left}, {left}, -1",
            "bnez {left}, 5b",
            "3:",
            "j 6f",
            ".balign 4",
            ".long {signature}",
            "4:",
            "li {left}, -1",
            "j 6f",
            ".balign 4",
            ".long 0",
            "7:",
            "li {left}, -2",
            "6:",
        )
    }

    #[cfg(target_arch = "powerpc64")]
    fn enter(&self, descriptor: *mut Descriptor, named: usize) -> Option<u64> {
        enter!(self, descriptor, named; reg_nonzero;
            "bcl 20, 31, 8f",
            "8:",
            "mflr {here}",
            "addi {one}, {here}, 2f - 8b",
            "std {one}, 8({descriptor})",
            "addi {two}, {here}, 3f - 8b",
            "subf {two}, {one}, {two}",
            "std {two}, 16({descriptor})",
            "addi {one}, {here}, 4f - 8b",
            "cmpdi {unsigned}, 0",
            "beq 9f",
            "addi {one}, {here}, 7f - 8b",
            "9:",
            "std {one}, 24({descriptor})",
            "std {named}, 0({name})",
            "2:",
            "li {one}, 1",
            "stw {one}, 0({inside})",
            "5:",
            "lwz {one}, 0({watched})",
            "cmplw {one}, {initial}",
            "bne 3f",
            "addi {left}, {left}, -1",
            "cmpdi {left}, 0",
            "bne 5b",
            "3:",
            "b 6f",
            ".long {signature}",
            "4:",
            "li {left}, -1",
            "b 6f",
            ".long 0",
            "7:",
            "li {left}, -2",
            "6:",
            ; here = out(reg_nonzero) _, out("lr") _, out("cr0") _
        )
    }

    #[cfg(not(any(
        target_arch = "x86_64",
        target_arch = "aarch64",
        target_arch = "riscv64",
        target_arch = "powerpc64"
    )))]
    fn enter(&self, _: *mut Descriptor, _: usize) -> Option<u64> {
        None
    }
}
