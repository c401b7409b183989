//! A system call that is made only if nothing interrupted the thread since a point in its program:
//! no handler of a signal ran on it, nor was it taken off its processor. `park` calls it.
//!
//! The kernel tells by *restartable sequences* (rseq; Mathieu Desnoyers, Linux 4.18), which glibc
//! registers for each thread (2.35). A thread names a piece of its code. If the kernel interrupts
//! the thread within that piece, the thread goes on elsewhere; if outside, the kernel removes the
//! name. The piece here is a look whether the name is still there, and the call, which is its last
//! instruction: so an interruption before the call goes elsewhere, and one in the call comes after
//! the piece. (A call that the kernel would begin anew by itself, since a handler ran that was
//! installed so, is before the call again: that goes elsewhere too.) So a thread that names the
//! piece, then compares a word, and then comes here, sleeps only if no handler ran since the
//! comparison.
//!
//! Where there is no such thing (another C library, `glibc.pthread.rseq=0`, a kernel without it),
//! nothing is known, and the caller does without.

use core::arch::asm;
use core::cell::Cell;
use core::ffi::{CStr, c_int, c_uint, c_void};
use core::hint::black_box;
use core::sync::atomic::{AtomicIsize, AtomicU64, Ordering, compiler_fence};

use crate::linux::abi::FUTEX_BITSET_MATCH_ANY;

/// The offset, in the kernel's `struct rseq` (a thread's area), of the number of its processor,
/// which is negative as long as the area is not registered.
const PROCESSOR: usize = 4;
/// The offset of the address of the piece that is named, or 0.
const PIECE_NAMED: usize = 8;
/// The bytes of the area that must be there.
const SIZE: usize = 16;

/// The field of the calling thread's area in which it names a piece.
#[derive(Clone, Copy)]
pub(super) struct Unbroken(*mut u64);

/// The offset of the areas is not looked for yet.
const UNKNOWN: isize = 0;
/// There are no areas.
const NONE: isize = 1;
/// The offset of each thread's area from its thread pointer; [`UNKNOWN`] or [`NONE`].
static OFFSET: AtomicIsize = AtomicIsize::new(UNKNOWN);

std::thread_local! {
    /// Where the calling thread names a piece. Null: not looked for yet; [`NOWHERE`]: there is no
    /// such place.
    static NAME: Cell<*mut u64> = const { Cell::new(core::ptr::null_mut()) };
    /// The address for which interruptions count. A handler that waits itself leaves another: its
    /// own sleep may have named the piece again.
    static BEGUN: Cell<usize> = const { Cell::new(0) };
    static LAST: Last = const { Last };
}

/// No field of an area.
const NOWHERE: *mut u64 = core::ptr::without_provenance_mut(1);

/// A guard until the thread's end. The kernel reads the piece as long as it is named: from the
/// guard's drop on it is not, and until then the guard keeps the code from being unloaded.
struct Last;

impl Drop for Last {
    fn drop(&mut self) {
        let name = NAME.replace(NOWHERE);
        if !name.is_null() && name != NOWHERE {
            // SAFETY: the thread's own, as long as it runs.
            unsafe { name.write_volatile(0) };
        }
    }
}

impl Unbroken {
    /// Returns where the calling thread names a piece, if it can be known what interrupts it.
    #[inline]
    pub(super) fn of_this_thread() -> Option<Unbroken> {
        let mut name = NAME.get();
        if name.is_null() {
            name = look_for_name();
        }
        (name != NOWHERE).then_some(Unbroken(name))
    }

    /// Names the piece: from here on interruptions count, for a call that sleeps on that address.
    #[inline]
    pub(super) fn begin(self, address: usize) {
        // First: a handler in between that begins too leaves another.
        BEGUN.set(address);
        // SeqCst: for handlers on this thread.
        compiler_fence(Ordering::SeqCst);
        // Relaxed: an address, the same each time.
        let piece = PIECE.load(Ordering::Relaxed);
        if piece == 0 {
            return begin_first(self.0);
        }
        // SAFETY: the thread's own, as long as it runs; the kernel looks at it where it interrupts
        // the thread.
        unsafe { self.0.write_volatile(piece) };
    }

    /// Makes a futex call on an address, for waiters of any bitset, unless the thread was
    /// interrupted since it [began](Self::begin) for that address, or did not begin: `None` then.
    /// Returns the call's answer, or the errno.
    #[inline]
    pub(super) fn futex(self, address: usize, operation: i32, value: u32, time: usize) -> Option<Result<u32, i32>> {
        match run(self.0, false, address, operation, value, time) {
            BROKEN => None,
            answer if answer < 0 => Some(Err(-answer as i32)),
            answer => Some(Ok(answer as u32)),
        }
    }
}

/// The address of the piece's description, once the piece was named.
static PIECE: AtomicU64 = AtomicU64::new(0);

/// Names the piece for the first time in the process, and notes where it is described.
#[cold]
#[inline(never)]
fn begin_first(name: *mut u64) {
    run(name, true, 0, 0, 0, 0);
    // SAFETY: the thread's own, as long as it runs.
    let piece = unsafe { name.read_volatile() };
    // Zero: the thread was interrupted already. Relaxed: see `begin`.
    PIECE.store(piece, Ordering::Relaxed);
}

/// The answer of [`run`] where the thread was interrupted; no answer of the kernel's.
const BROKEN: isize = isize::MIN;

/// Names the piece (`begins`), or runs it: a futex call. One function for both, and never more than
/// one, since there is one piece.
#[inline(never)]
fn run(name: *mut u64, begins: bool, address: usize, operation: i32, value: u32, time: usize) -> isize {
    let begun = BEGUN.with(Cell::as_ptr);
    let answer: isize;
    // SAFETY: the area is the thread's own and registered, and the piece is described as the kernel
    // wants it: version and flags, where it begins, how long it is, and where to go, after the
    // signature that glibc registers. The kernel changes the registers of a system call and no
    // others, and checks what they point to; no stack is used.
    unsafe {
        asm!(
            ".pushsection __rseq_cs, \"aw\"",
            ".balign 32",
            "80:",
            ".long 0, 0",
            ".quad 81f, 82f - 81f, 83f",
            ".popsection",
            "lea r8, [rip + 80b]",
            "test {begins:e}, {begins:e}",
            "jnz 84f",
            "81:",
            "cmp qword ptr [{begun}], rdi",
            "jne 83f",
            "cmp qword ptr [{name}], r8",
            "jne 83f",
            "syscall",
            "82:",
            "jmp 85f",
            ".byte 0x0f, 0xb9, 0x3d",
            ".long 0x53053053",
            "83:",
            "mov rax, {broken}",
            "jmp 85f",
            "84:",
            "mov qword ptr [{name}], r8",
            "85:",
            begins = in(reg) black_box(u32::from(begins)),
            name = in(reg) name,
            begun = in(reg) begun,
            broken = in(reg) BROKEN,
            inlateout("rax") libc::SYS_futex as isize => answer,
            in("rdi") address, in("rsi") operation as usize, in("rdx") value as usize, in("r10") time, out("r8") _,
            in("r9") FUTEX_BITSET_MATCH_ANY as usize,
            out("rcx") _, out("r11") _,
            options(nostack)
        );
    }
    answer
}

/// Looks for the calling thread's area, and sees to it that no piece is named when the thread ends.
#[cold]
#[inline(never)]
fn look_for_name() -> *mut u64 {
    // Relaxed: a number, the same for all.
    let mut offset = OFFSET.load(Ordering::Relaxed);
    if offset == UNKNOWN {
        offset = look_for_offset().unwrap_or(NONE);
        OFFSET.store(offset, Ordering::Relaxed);
    }
    NAME.set(if offset == NONE { NOWHERE } else { registered(offset) });
    // An error: the thread is at its end, and does without.
    if LAST.try_with(|_| ()).is_err() {
        NAME.set(NOWHERE);
    }
    NAME.get()
}

/// Returns the offset at which glibc says that areas are.
fn look_for_offset() -> Option<isize> {
    let size = symbol::<c_uint>(c"__rseq_size")?;
    let offset = symbol::<isize>(c"__rseq_offset")?;
    // SAFETY: glibc's, of that type, and constant.
    let size = unsafe { size.read() } as usize;
    // SAFETY: as above.
    let offset = unsafe { offset.read() };
    (size >= SIZE && !matches!(offset, UNKNOWN | NONE)).then_some(offset)
}

/// Returns the address of a symbol of the process.
fn symbol<T>(name: &CStr) -> Option<*const T> {
    // SAFETY: a name.
    let place: *mut c_void = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!place.is_null()).then_some(place.cast_const().cast())
}

/// Returns where the calling thread names a piece, if the kernel knows its area.
fn registered(offset: isize) -> *mut u64 {
    let thread: *mut u8;
    // SAFETY: reads the thread pointer, where the architecture has it.
    unsafe { asm!("mov {}, fs:0", out(reg) thread, options(nostack, preserves_flags, readonly)) };
    let area = thread.wrapping_offset(offset);
    // SAFETY: within the thread's control block, as glibc says.
    let processor = unsafe { area.wrapping_add(PROCESSOR).cast::<c_int>().read_volatile() };
    if processor < 0 { NOWHERE } else { area.wrapping_add(PIECE_NAMED).cast() }
}
