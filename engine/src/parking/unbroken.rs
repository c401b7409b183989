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
//! # Kernels that say less
//! Up to 6.18, Linux also looks at the name where a handler begins at the return of a system call.
//! From 6.19 on it need not: it looks where it interrupted *the program's own code*, and a handler
//! that begins at the end of a call leaves the name (always so where 33 bytes or more are
//! registered; for every registration in 6.19 and 7.0 until a repair of May 2026). There
//! ([`are_calls_told`] returns false) three things would go wrong:
//!
//! - **The thread names the piece, compares the word, and makes a call** (for a lock, for memory,
//!   for the time), at whose end a handler changes the word. The name is there, and it sleeps. So
//!   [`expect`](Unbroken::expect) does not name the piece: only a park that answers `Recheck` does,
//!   and from there to the sleep the thread makes no call.
//! - **A stranger's wake ends the sleep, and a handler comes at the end of that call**, which
//!   changes the word. The name is there, and the thread sleeps again. So each call of `parking`'s
//!   ends what was begun ([`forget`]).
//! - **A handler that was installed with `SA_RESTART` changes the word in a sleep without a time.**
//!   The kernel begins the call anew, and the thread sleeps on. So the sleep has a time that never
//!   comes, with which the kernel ends it.
//!
//! Where there are no restartable sequences (another C library, `glibc.pthread.rseq=0`, a kernel
//! without them), nothing is known, and the caller does without.

use core::arch::asm;
use core::cell::Cell;
use core::ffi::{CStr, c_int, c_uint, c_void};
use core::hint::black_box;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicIsize, AtomicU8, AtomicU64, Ordering, compiler_fence};

use crate::linux::abi::FUTEX_BITSET_MATCH_ANY;
use crate::mutant::{check, step};

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

    /// Says that the thread is about to compare a word, for a call that sleeps on that address.
    /// From here on interruptions count, where all are told; else the call finds that it did not
    /// [begin](Self::begin).
    #[inline]
    pub(super) fn expect(self, address: usize) {
        if check!(unbroken_calls, !are_calls_told()) {
            forget();
        } else {
            self.begin(address);
        }
    }

    /// Names the piece: from here on interruptions count, for a call that sleeps on that address.
    /// Where [calls are not told](are_calls_told), the thread makes no system call until then.
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
    /// Returns the call's answer, or the errno. The next call has to begin anew.
    #[inline]
    pub(super) fn futex(self, address: usize, operation: i32, value: u32, time: usize) -> Option<Result<u32, i32>> {
        let answer = run(self.0, false, address, operation, value, time);
        step!(unbroken_once, forget());
        match answer {
            BROKEN => None,
            answer if answer < 0 => Some(Err(-answer as i32)),
            answer => Some(Ok(answer as u32)),
        }
    }
}

/// Ends what the calling thread [began](Unbroken::begin): it makes a system call, at whose end a
/// handler may run without the kernel's telling. Each call of `parking` does so first or afterwards.
/// Also for handlers.
#[inline]
pub(super) fn forget() {
    BEGUN.set(0);
}

/// The kernel was not asked yet.
const UNASKED: u8 = 0;
/// The kernel tells of handlers that begin at the return of a system call.
const TOLD: u8 = 1;
/// It does not, or it is not known to.
const UNTOLD: u8 = 2;
/// [`UNASKED`], [`TOLD`] or [`UNTOLD`].
static CALLS: AtomicU8 = AtomicU8::new(UNASKED);

/// Returns true if the kernel removes the name also where a handler begins at the return of a
/// system call.
#[inline]
pub(super) fn are_calls_told() -> bool {
    // Relaxed: the same for all.
    match CALLS.load(Ordering::Relaxed) {
        UNASKED => ask_about_calls(),
        known => known == TOLD,
    }
}

/// Asks the kernel for its version, and notes what follows from that.
#[cold]
#[inline(never)]
fn ask_about_calls() -> bool {
    let mut names = MaybeUninit::<libc::utsname>::zeroed();
    // SAFETY: fills a variable of this frame.
    unsafe { libc::uname(names.as_mut_ptr()) };
    // SAFETY: bytes, which were zeroes before.
    let release = unsafe { names.assume_init() }.release.map(|byte| byte as u8);
    let told = size().is_some_and(|size| tells_of_calls(size, &release));
    // Relaxed: the same for all.
    CALLS.store(if told { TOLD } else { UNTOLD }, Ordering::Relaxed);
    told
}

/// The bytes of an area from which on the kernel looks at the name only where it interrupted the
/// program's own code.
const SIZE_UNTOLD: usize = 33;
/// The first version of Linux that does so, whatever the size.
const VERSION_UNTOLD: (u32, u32) = (6, 19);

/// Returns true if a kernel of that release tells of calls, where areas have `size` bytes. A
/// release that is no version of Linux's is not trusted.
fn tells_of_calls(size: usize, release: &[u8]) -> bool {
    let mut numbers = release.split(|byte| !byte.is_ascii_digit());
    let mut number = || core::str::from_utf8(numbers.next()?).ok()?.parse::<u32>().ok();
    let version = number().zip(number());
    size < SIZE_UNTOLD && version.is_some_and(|version| version < VERSION_UNTOLD)
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
    let offset = symbol::<isize>(c"__rseq_offset")?;
    // SAFETY: glibc's, of that type, and constant.
    let offset = unsafe { offset.read() };
    (size()? >= SIZE && !matches!(offset, UNKNOWN | NONE)).then_some(offset)
}

/// Returns the number of an area's bytes, as glibc says.
fn size() -> Option<usize> {
    let size = symbol::<c_uint>(c"__rseq_size")?;
    // SAFETY: glibc's, of that type, and constant.
    Some(unsafe { size.read() } as usize)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parking::{self, Parked};

    const WAIT: i32 = libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG;

    #[test]
    fn only_older_kernels_and_short_areas_tell_of_calls() {
        for (release, told) in [
            ("5.10.0-26-amd64", true),
            ("6.1.0", true),
            ("6.18.5-generic", true),
            ("6.19.0", false),
            ("6.19-rc1", false),
            ("6.20", false),
            ("7.0.3", false),
            ("10.2", false),
            ("", false),
            ("6", false),
            ("6.", false),
            ("v6.1", false),
            ("6.99999999999", false),
        ] {
            assert_eq!(tells_of_calls(32, release.as_bytes()), told, "{release}");
            assert_eq!(tells_of_calls(20, release.as_bytes()), told, "{release}");
            assert!(!tells_of_calls(33, release.as_bytes()), "{release}");
        }
    }

    /// Whatever call this module makes between the naming and the sleep, the sleep does not come.
    #[test]
    fn what_was_begun_ends_with_each_call() {
        let Some(thread) = Unbroken::of_this_thread() else { return };
        let word = core::sync::atomic::AtomicU32::new(0);
        let at = word.as_ptr().addr();
        // The word has another value: an answer at once.
        let call = || thread.futex(at, WAIT, 1, 0);
        let calls: [fn(usize); 5] = [
            |at| Parked(at).unpark(),
            |_| parking::spin(41),
            |_| parking::held::nap(),
            |_| _ = parking::thread::is_there(1),
            |_| _ = parking::thread::map(4096),
        ];
        for (i, made) in calls.into_iter().enumerate() {
            // The kernel may interrupt the thread in between, but not each time.
            loop {
                thread.begin(at);
                if call() == Some(Err(libc::EAGAIN)) {
                    break;
                }
            }
            // The call ended what was begun.
            assert_eq!(call(), None, "{i}");
            thread.begin(at);
            made(at);
            assert_eq!(call(), None, "{i}");
        }
    }
}
