//! System calls, and the start of a thread, in the machine's instructions.

use core::arch::asm;

use crate::numbers;

/// What a new thread or process is to be, in the caller's memory.
#[derive(Clone, Copy)]
pub(super) struct Task {
    /// The flags of `clone`; `CLONE_VM` is one of them.
    pub(super) flags: usize,
    /// Where `clone` writes its number, by `CLONE_PARENT_SETTID`.
    pub(super) parent: usize,
    /// Where `clone` and its end write, by `CLONE_CHILD_SETTID` and `CLONE_CHILD_CLEARTID`.
    pub(super) child: usize,
    /// The end of its stack.
    pub(super) top: usize,
}

/// Makes a system call.
///
/// # Safety
/// As for [`Syscalls::call`](crate::Syscalls::call).
#[cfg(target_arch = "x86_64")]
pub(super) unsafe fn call(number: usize, [a, b, c, d, e, f]: [usize; 6]) -> isize {
    let answer;
    // SAFETY: the caller's promise. The instruction changes `rcx` and `r11` besides the answer.
    unsafe {
        asm!("syscall", inlateout("rax") number => answer, in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d,
            in("r8") e, in("r9") f, lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    answer
}

/// Starts a task, which calls `body(argument)` and ends. Returns its number.
///
/// # Safety
/// The stack is the task's own; `body` may be called with the argument; the addresses are no value of Rust's that is
/// borrowed.
#[cfg(target_arch = "x86_64")]
pub(super) unsafe fn start(task: Task, body: extern "C" fn(usize), argument: usize) -> isize {
    let Task { flags, parent, child, top } = task;
    let answer;
    // SAFETY: the caller's promise. The new thread has this one's registers, and another stack; it does
    // not come back here.
    unsafe {
        asm!("syscall",
            "test rax, rax",
            "jnz 2f",
            "xor ebp, ebp",
            "mov rdi, r12",
            "call r13",
            "xor edi, edi",
            "mov eax, {exit}",
            "syscall",
            "2:",
            exit = const numbers::EXIT,
            inlateout("rax") numbers::CLONE => answer, in("rdi") flags, in("rsi") top, in("rdx") parent,
            in("r10") child, in("r8") 0, in("r12") argument, in("r13") body, lateout("rcx") _, lateout("r11") _);
    }
    answer
}

/// Makes a system call.
///
/// # Safety
/// As for [`Syscalls::call`](crate::Syscalls::call).
#[cfg(target_arch = "aarch64")]
pub(super) unsafe fn call(number: usize, [a, b, c, d, e, f]: [usize; 6]) -> isize {
    let answer;
    // SAFETY: the caller's promise. The instruction changes no register but the answer's.
    unsafe {
        asm!("svc 0", in("x8") number, inlateout("x0") a => answer, in("x1") b, in("x2") c, in("x3") d, in("x4") e,
            in("x5") f, options(nostack));
    }
    answer
}

/// Starts a task, which calls `body(argument)` and ends. Returns its number.
///
/// # Safety
/// The stack is the task's own; `body` may be called with the argument; the addresses are no value of Rust's that is
/// borrowed.
#[cfg(target_arch = "aarch64")]
pub(super) unsafe fn start(task: Task, body: extern "C" fn(usize), argument: usize) -> isize {
    let Task { flags, parent, child, top } = task;
    let answer;
    // SAFETY: as on x86-64.
    unsafe {
        asm!("svc 0",
            "cbnz x0, 2f",
            "mov x29, xzr",
            "mov x30, xzr",
            "mov x0, x20",
            "blr x21",
            "mov x0, xzr",
            "mov x8, {exit}",
            "svc 0",
            "2:",
            exit = const numbers::EXIT,
            in("x8") numbers::CLONE, inlateout("x0") flags => answer, in("x1") top, in("x2") parent, in("x3") 0,
            in("x4") child, in("x20") argument, in("x21") body);
    }
    answer
}

/// Makes a system call.
///
/// # Safety
/// As for [`Syscalls::call`](crate::Syscalls::call).
#[cfg(target_arch = "riscv64")]
pub(super) unsafe fn call(number: usize, [a, b, c, d, e, f]: [usize; 6]) -> isize {
    let answer;
    // SAFETY: the caller's promise. The instruction changes no register but the answer's.
    unsafe {
        asm!("ecall", in("a7") number, inlateout("a0") a => answer, in("a1") b, in("a2") c, in("a3") d, in("a4") e,
            in("a5") f, options(nostack));
    }
    answer
}

/// Starts a task, which calls `body(argument)` and ends. Returns its number.
///
/// # Safety
/// The stack is the task's own; `body` may be called with the argument; the addresses are no value of Rust's that is
/// borrowed.
#[cfg(target_arch = "riscv64")]
pub(super) unsafe fn start(task: Task, body: extern "C" fn(usize), argument: usize) -> isize {
    let Task { flags, parent, child, top } = task;
    let answer;
    // SAFETY: as on x86-64.
    unsafe {
        asm!("ecall",
            "bnez a0, 2f",
            "mv a0, s2",
            "jalr s3",
            "li a0, 0",
            "li a7, {exit}",
            "ecall",
            "2:",
            exit = const numbers::EXIT,
            in("a7") numbers::CLONE, inlateout("a0") flags => answer, in("a1") top, in("a2") parent, in("a3") 0,
            in("a4") child, in("s2") argument, in("s3") body);
    }
    answer
}

/// Makes a system call.
///
/// # Safety
/// As for [`Syscalls::call`](crate::Syscalls::call).
#[cfg(target_arch = "powerpc64")]
pub(super) unsafe fn call(number: usize, [a, b, c, d, e, f]: [usize; 6]) -> isize {
    let answer;
    // SAFETY: the caller's promise. The summary overflow bit says that the answer is an error's number.
    unsafe {
        asm!("sc",
            "bns+ 2f",
            "neg 3, 3",
            "2:",
            inlateout("r0") number => _, inlateout("r3") a => answer, inlateout("r4") b => _, inlateout("r5") c => _,
            inlateout("r6") d => _, inlateout("r7") e => _, inlateout("r8") f => _, lateout("r9") _, lateout("r10") _,
            lateout("r11") _, lateout("r12") _, lateout("cr0") _, lateout("ctr") _, options(nostack));
    }
    answer
}

/// Starts a task, which calls `body(argument)` and ends. Returns its number.
///
/// # Safety
/// The stack is the task's own; `body` may be called with the argument; the addresses are no value of Rust's that is
/// borrowed.
#[cfg(target_arch = "powerpc64")]
pub(super) unsafe fn start(task: Task, body: extern "C" fn(usize), argument: usize) -> isize {
    let Task { flags, parent, child, top } = task;
    let answer;
    // The frame that the function may write its link into, which every caller owes it.
    let top = top - 128;
    // SAFETY: as on x86-64.
    unsafe {
        asm!("sc",
            "bns+ 2f",
            "neg 3, 3",
            "2:",
            "cmpdi 3, 0",
            "bne 3f",
            "mr 3, 14",
            "mr 12, 15",
            "mtctr 12",
            "bctrl",
            "li 3, 0",
            "li 0, {exit}",
            "sc",
            "3:",
            exit = const numbers::EXIT,
            inlateout("r0") numbers::CLONE => _, inlateout("r3") flags => answer, inlateout("r4") top => _,
            inlateout("r5") parent => _, inlateout("r6") 0_usize => _, inlateout("r7") child => _,
            in("r14") argument, in("r15") body, lateout("r8") _, lateout("r9") _, lateout("r10") _,
            lateout("r11") _, lateout("r12") _, lateout("cr0") _, lateout("ctr") _);
    }
    answer
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64", target_arch = "powerpc64")))]
compile_error!("the feature `linux` makes system calls on x86-64, aarch64, riscv64 and powerpc64");
