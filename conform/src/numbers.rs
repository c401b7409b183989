//! The numbers of system calls, as Linux gives them on this architecture.

#![allow(missing_docs)]

/// Declares a constant for each call: its number on x86-64, on the architectures with the generic
/// table (aarch64, riscv64), and on powerpc64.
macro_rules! numbers {
    ($($name:ident: $x86_64:literal, $generic:literal, $powerpc64:literal;)*) => {
        $(pub const $name: usize = if cfg!(target_arch = "x86_64") {
            $x86_64
        } else if cfg!(target_arch = "powerpc64") {
            $powerpc64
        } else {
            $generic
        };)*
    };
}

numbers! {
    CLOCK_GETTIME: 228, 113, 246;
    CLONE: 56, 220, 120;
    CLOSE: 3, 57, 6;
    EXECVE: 59, 221, 11;
    EXECVEAT: 322, 281, 362;
    EXIT: 60, 93, 1;
    EXIT_GROUP: 231, 94, 234;
    FTRUNCATE: 77, 46, 93;
    FUTEX: 202, 98, 221;
    FUTEX_REQUEUE: 456, 456, 456;
    FUTEX_WAIT: 455, 455, 455;
    FUTEX_WAITV: 449, 449, 449;
    FUTEX_WAKE: 454, 454, 454;
    GETCPU: 309, 168, 302;
    GETPID: 39, 172, 20;
    GETTID: 186, 178, 207;
    GET_ROBUST_LIST: 274, 100, 299;
    KILL: 62, 129, 37;
    MADVISE: 28, 233, 205;
    MBIND: 237, 235, 259;
    MEMBARRIER: 324, 283, 365;
    MEMFD_CREATE: 319, 279, 360;
    MMAP: 9, 222, 90;
    MPROTECT: 10, 226, 125;
    MREMAP: 25, 216, 163;
    MUNMAP: 11, 215, 91;
    NANOSLEEP: 35, 101, 162;
    PRCTL: 157, 167, 171;
    PTRACE: 101, 117, 26;
    REBOOT: 169, 142, 88;
    RSEQ: 334, 293, 387;
    RT_SIGACTION: 13, 134, 173;
    RT_SIGPROCMASK: 14, 135, 174;
    RT_SIGRETURN: 15, 139, 172;
    SCHED_GETAFFINITY: 204, 123, 223;
    SCHED_SETAFFINITY: 203, 122, 222;
    SCHED_SETSCHEDULER: 144, 119, 156;
    SCHED_YIELD: 24, 124, 158;
    SETPGID: 109, 154, 57;
    SET_ROBUST_LIST: 273, 99, 300;
    SET_TID_ADDRESS: 218, 96, 232;
    TGKILL: 234, 131, 250;
    WAIT4: 61, 260, 114;
    WRITE: 1, 64, 4;
}
