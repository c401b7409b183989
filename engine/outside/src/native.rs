//! System calls by their instruction, which stands in this library: the filter lets them pass. All
//! files of the trap call it.

use core::arch::asm;

/// The number of bytes in the kernel's set of signals.
pub const SET: usize = 8;
/// The first address that is not the program's.
const END_OF_USER: usize = 0x7fff_ffff_f000;
/// No way to change a mask: a call that only reads the set, and answers `EINVAL` if it can.
const NO_WAY: usize = 77;

/// Makes a system call; returns the kernel's answer, an error as its negative number.
///
/// # Safety
/// What the call does to memory, threads and handlers is what the caller may do.
#[inline(always)]
pub unsafe fn call(number: i64, [a, b, c, d, e, f]: [usize; 6]) -> i64 {
    let answer: i64;
    // SAFETY: the caller's promise; the kernel changes these registers and no others.
    unsafe {
        asm!("syscall", inlateout("rax") number => answer, in("rdi") a, in("rsi") b, in("rdx") c,
            in("r10") d, in("r8") e, in("r9") f, lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    answer
}

/// Returns the process's number.
pub fn process() -> usize {
    // SAFETY: no arguments.
    unsafe { call(libc::SYS_getpid, [0; 6]) as usize }
}

/// Returns the calling thread's number.
pub fn thread() -> usize {
    // SAFETY: no arguments.
    unsafe { call(libc::SYS_gettid, [0; 6]) as usize }
}

/// Returns true if this process has a thread with that number.
pub fn has_thread(number: u32) -> bool {
    // SAFETY: signal 0 asks whether there is such a thread.
    unsafe { call(libc::SYS_tgkill, [process(), number as usize, 0, 0, 0, 0]) == 0 }
}

/// Sets the calling thread's mask of signals; returns what it was.
pub fn set_mask(mask: u64) -> u64 {
    let mut before = 0_u64;
    let (new, old) = ((&raw const mask).expose_provenance(), (&raw mut before).expose_provenance());
    // SAFETY: both are variables of this frame.
    unsafe { call(libc::SYS_rt_sigprocmask, [libc::SIG_SETMASK as usize, new, old, SET, 0, 0]) };
    before
}

/// Takes signals out of the calling thread's mask.
pub fn unblock(signals: u64) {
    let set = (&raw const signals).expose_provenance();
    // SAFETY: a variable of this frame.
    unsafe { call(libc::SYS_rt_sigprocmask, [libc::SIG_UNBLOCK as usize, set, 0, SET, 0, 0]) };
}

/// Returns true if the program's memory may be at an address.
pub fn is_user(address: usize) -> bool {
    address < END_OF_USER
}

/// Returns true if the 8 aligned bytes around an address can be read.
pub fn is_readable(address: usize) -> bool {
    let around = address & !7;
    // A set at address 0 stands for none.
    if around == 0 || !is_user(around) {
        return false;
    }
    // SAFETY: the kernel reads the set, and refuses the rest.
    unsafe { call(libc::SYS_rt_sigprocmask, [NO_WAY, around, 0, SET, 0, 0]) != -i64::from(libc::EFAULT) }
}

/// Returns true if the word at an aligned address can be written: the kernel adds 0 to it.
pub fn is_writable(address: usize) -> bool {
    const ADD_ZERO: usize = 1 << 28;
    let word = 0_u32;
    let operation = (libc::FUTEX_WAKE_OP | libc::FUTEX_PRIVATE_FLAG) as usize;
    let own = (&raw const word).expose_provenance();
    // SAFETY: a word that stays what it is; no thread sleeps on the other one.
    unsafe { call(libc::SYS_futex, [own, operation, 0, 0, address, ADD_ZERO]) >= 0 }
}

/// Wakes threads that sleep in the kernel on a word, by an operation of the caller's.
pub fn wake(address: usize, operation: u32, count: u32, bits: u32) -> i64 {
    // SAFETY: the kernel does not touch the word, and checks its address.
    unsafe { call(libc::SYS_futex, [address, operation as usize, count as usize, 0, 0, bits as usize]) }
}

/// Returns new memory, zeroed; `None` if there is none.
pub fn map(len: usize) -> Option<*mut u8> {
    let (access, how) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping, where there was none.
    let address = unsafe { call(libc::SYS_mmap, [0, len, access as usize, how as usize, usize::MAX, 0]) };
    (address > 0).then(|| core::ptr::with_exposed_provenance_mut(address as usize))
}

/// Ends the process, with a line on standard error.
pub fn die(line: &str) -> ! {
    for text in ["leeward-outside: ", line, "\n"] {
        let at = text.as_ptr().expose_provenance();
        // SAFETY: a string's bytes.
        unsafe { call(libc::SYS_write, [2, at, text.len(), 0, 0, 0]) };
    }
    loop {
        // SAFETY: nothing comes after it.
        unsafe { call(libc::SYS_exit_group, [125, 0, 0, 0, 0, 0]) };
    }
}
