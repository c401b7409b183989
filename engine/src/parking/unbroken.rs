//! A system call that is made only if nothing interrupted the thread since a point in its program:
//! no handler of a signal ran on it, nor was it taken off its processor.
//!
//! The kernel tells by *restartable sequences* (rseq; Mathieu Desnoyers, Linux 4.18), which glibc
//! registers for each thread (2.35). A thread names a piece of its code; where the kernel
//! interrupts it within that piece, it goes on elsewhere; and where it interrupts it outside, it
//! forgets the name. Here the piece is a look whether the name is still there, and the call: its
//! last instruction, behind which the piece ends, so that an interruption before the call goes
//! elsewhere, and one in the call comes after the piece. (A call that the kernel would begin anew
//! by itself, since a handler ran that says so, is before the call again: that goes elsewhere too.)
//! So a thread that names the piece, then compares a word, and then comes here, sleeps only if no
//! handler ran since the comparison.
//!
//! Where there is no such thing (another C library, `glibc.pthread.rseq=0`, a kernel that is not
//! one), nothing is known, and the caller does without.

use core::arch::asm;
use core::cell::Cell;
use core::ffi::{CStr, c_int, c_uint, c_void};
use core::hint::black_box;
use core::sync::atomic::{AtomicIsize, AtomicU64, Ordering, compiler_fence};

use crate::linux::abi::FUTEX_BITSET_MATCH_ANY;

/// Where in the kernel's `struct rseq`, a thread's area, the number of its processor is, which is
/// negative as long as the area is not registered.
const PROCESSOR: usize = 4;
/// Where the address of the piece that is named is, or 0.
const PIECE_NAMED: usize = 8;
/// How much of the area must be there.
const SIZE: usize = 16;

/// Where the calling thread names a piece.
#[derive(Clone, Copy)]
pub(super) struct Unbroken(*mut u64);

const UNKNOWN: isize = 0;
const NONE: isize = 1;
/// Where threads' areas are, from each one's thread pointer.
static OFFSET: AtomicIsize = AtomicIsize::new(UNKNOWN);

std::thread_local! {
    /// Null: not looked for yet; [`NOWHERE`]: there is none.
    static NAME: Cell<*mut u64> = const { Cell::new(core::ptr::null_mut()) };
    /// For which address interruptions count. A handler that waits itself leaves another: its own
    /// sleep may have named the piece again.
    static BEGUN: Cell<usize> = const { Cell::new(0) };
    static LAST: Last = const { Last };
}

const NOWHERE: *mut u64 = core::ptr::without_provenance_mut(1);

/// The kernel reads the piece as long as it is named: at the thread's end it is not any more, and
/// until then this keeps the code from being unloaded.
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
    /// The calling thread's, if it can be known what interrupts it.
    #[inline]
    pub(super) fn of_this_thread() -> Option<Unbroken> {
        let mut name = NAME.get();
        if name.is_null() {
            name = look_for_name();
        }
        (name != NOWHERE).then_some(Unbroken(name))
    }

    /// From here on interruptions count, for a call that sleeps on that address.
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
    /// interrupted since it [began](Self::begin) for that, or did not: `None` then. Its answer, or
    /// the errno.
    #[inline]
    pub(super) fn futex(self, address: usize, operation: i32, value: u32, time: usize) -> Option<Result<u32, i32>> {
        match run(self.0, false, address, operation, value, time) {
            BROKEN => None,
            answer if answer < 0 => Some(Err(-answer as i32)),
            answer => Some(Ok(answer as u32)),
        }
    }
}

/// Where the piece is described, once it was named.
static PIECE: AtomicU64 = AtomicU64::new(0);

#[cold]
#[inline(never)]
fn begin_first(name: *mut u64) {
    run(name, true, 0, 0, 0, 0);
    // SAFETY: the thread's own, as long as it runs.
    let piece = unsafe { name.read_volatile() };
    // Zero: the thread was interrupted already. Relaxed: see `begin`.
    PIECE.store(piece, Ordering::Relaxed);
}

/// No answer of the kernel's.
const BROKEN: isize = isize::MIN;

/// Names the piece, or runs it: a futex call. One function for both, and never more than one, since
/// there is one piece.
#[inline(never)]
fn run(name: *mut u64, begins: bool, address: usize, operation: i32, value: u32, time: usize) -> isize {
    let begun = BEGUN.with(Cell::as_ptr);
    let answer: isize;
    // SAFETY: the area is the thread's own and registered, and the piece is described as the kernel
    // wants it: version and flags, where it begins, how long it is, and where to go, behind the
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

/// Where glibc says that areas are.
fn look_for_offset() -> Option<isize> {
    let size = symbol::<c_uint>(c"__rseq_size")?;
    let offset = symbol::<isize>(c"__rseq_offset")?;
    // SAFETY: glibc's, of that type, and constant.
    let size = unsafe { size.read() } as usize;
    // SAFETY: as above.
    let offset = unsafe { offset.read() };
    (size >= SIZE && !matches!(offset, UNKNOWN | NONE)).then_some(offset)
}

fn symbol<T>(name: &CStr) -> Option<*const T> {
    // SAFETY: a name.
    let place: *mut c_void = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!place.is_null()).then_some(place.cast_const().cast())
}

/// The calling thread's, if the kernel knows its area.
fn registered(offset: isize) -> *mut u64 {
    let thread: *mut u8;
    // SAFETY: reads the thread pointer, where the architecture has it.
    unsafe { asm!("mov {}, fs:0", out(reg) thread, options(nostack, preserves_flags, readonly)) };
    let area = thread.wrapping_offset(offset);
    // SAFETY: within the thread's control block, as glibc says.
    let processor = unsafe { area.wrapping_add(PROCESSOR).cast::<c_int>().read_volatile() };
    if processor < 0 { NOWHERE } else { area.wrapping_add(PIECE_NAMED).cast() }
}
