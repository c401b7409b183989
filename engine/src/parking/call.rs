//! The kernel's futex call. On x86-64 and AArch64 it is made by its instruction: `errno` is left
//! alone, and no wrapper is in between. Elsewhere it is made by libc, and `errno` put back.

/// Makes the futex call with its six arguments; returns its answer, or the errno.
#[cfg(all(target_arch = "x86_64", target_pointer_width = "64"))]
#[inline(always)]
pub(super) fn futex(arguments: [usize; 6]) -> Result<u32, i32> {
    let [first, second, third, fourth, fifth, sixth] = arguments;
    let answer: isize;
    // SAFETY: the kernel checks the addresses. It changes these registers and no others; no stack
    // is used.
    unsafe {
        core::arch::asm!("syscall", inlateout("rax") libc::SYS_futex as isize => answer,
            in("rdi") first, in("rsi") second, in("rdx") third, in("r10") fourth, in("r8") fifth,
            in("r9") sixth, lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    if answer < 0 { Err(-answer as i32) } else { Ok(answer as u32) }
}

/// Makes the futex call with its six arguments; returns its answer, or the errno.
#[cfg(all(target_arch = "aarch64", target_pointer_width = "64"))]
#[inline(always)]
pub(super) fn futex(arguments: [usize; 6]) -> Result<u32, i32> {
    let [first, second, third, fourth, fifth, sixth] = arguments;
    let answer: isize;
    // SAFETY: the kernel checks the addresses. It changes this register and no other; no stack is
    // used.
    unsafe {
        core::arch::asm!("svc 0", in("x8") libc::SYS_futex, inlateout("x0") first as isize => answer,
            in("x1") second, in("x2") third, in("x3") fourth, in("x4") fifth, in("x5") sixth, options(nostack));
    }
    if answer < 0 { Err(-answer as i32) } else { Ok(answer as u32) }
}

/// Makes the futex call with its six arguments; returns its answer, or the errno.
#[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), target_pointer_width = "64")))]
pub(super) fn futex(arguments: [usize; 6]) -> Result<u32, i32> {
    let [first, second, third, fourth, fifth, sixth] = arguments;
    // SAFETY: returns the address of the calling thread's variable, which is valid as long as the
    // thread lives.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let before = unsafe { errno.read() };
    // SAFETY: the kernel checks the addresses.
    let answer = unsafe { libc::syscall(libc::SYS_futex, first, second, third, fourth, fifth, sixth) };
    // SAFETY: as above.
    let why = unsafe { errno.read() };
    // SAFETY: as above.
    unsafe { errno.write(before) };
    if answer < 0 { Err(why) } else { Ok(answer as u32) }
}
