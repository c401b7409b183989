//! The advice that the doctor may give, all of it.

/// An advice: what to do about a finding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Advice {
    AllowMembarrier,
    NewerKernelForMembarrier,
    NohzFull,
    FenceByGlobal,
    FenceBySignal,
    NoFence,
    ForcedStrategy,
    SlowHeavyFence,
    Sandbox,
    OneCore,
    NewerKernelForWaitv,
    NewerKernelForFutex2,
    NewerKernelForPrivateHash,
    NoInheritance,
    NoRseq,
    NoRobustList,
}

impl Advice {
    /// Returns the name of the advice in the JSON report.
    pub fn id(self) -> &'static str {
        match self {
            Advice::AllowMembarrier => "allow-membarrier",
            Advice::NewerKernelForMembarrier => "newer-kernel-for-membarrier",
            Advice::NohzFull => "nohz-full",
            Advice::FenceByGlobal => "fence-by-global",
            Advice::FenceBySignal => "fence-by-signal",
            Advice::NoFence => "no-fence",
            Advice::ForcedStrategy => "forced-strategy",
            Advice::SlowHeavyFence => "slow-heavy-fence",
            Advice::Sandbox => "sandbox",
            Advice::OneCore => "one-core",
            Advice::NewerKernelForWaitv => "newer-kernel-for-waitv",
            Advice::NewerKernelForFutex2 => "newer-kernel-for-futex2",
            Advice::NewerKernelForPrivateHash => "newer-kernel-for-private-hash",
            Advice::NoInheritance => "no-inheritance",
            Advice::NoRseq => "no-rseq",
            Advice::NoRobustList => "no-robust-list",
        }
    }

    pub fn text(self) -> &'static str {
        match self {
            Advice::AllowMembarrier => {
                "A sandbox refuses membarrier: allow the system call in its filter (container \
                 runtimes: the seccomp profile), or heavy fences cost tens of \
                 microseconds a thread instead of about one in all."
            }
            Advice::NewerKernelForMembarrier => {
                "membarrier's private expedited command is missing: run Linux 4.14 or later, built \
                 with CONFIG_MEMBARRIER, and heavy fences cost microseconds."
            }
            Advice::NohzFull => {
                "Processors of this machine run without a tick (nohz_full), where the kernel \
                 refuses membarrier's global command: do not set LEEWARD_FENCE=membarrier-global. \
                 Expedited barriers and signals interrupt such a processor while it runs a thread \
                 of the process: keep writers out of processes that must not be disturbed there."
            }
            Advice::FenceByGlobal => {
                "Heavy fences take milliseconds: batch updates (defer) rather than call synchronize \
                 after each, or get the private expedited command (Linux 4.14)."
            }
            Advice::FenceBySignal => {
                "Heavy fences signal every thread of the process: expect EINTR from system calls \
                 that ignore SA_RESTART, do not block SIGURG for long, and batch updates (defer)."
            }
            Advice::NoFence => {
                "No heavy fence is possible: allow membarrier, signals to the process's own \
                 threads, or sched_setaffinity; until then use domains declared `: Full`."
            }
            Advice::ForcedStrategy => "LEEWARD_FENCE is set: unset it to have the best strategy that works here.",
            Advice::SlowHeavyFence => {
                "A heavy fence is slow here, as interrupts between virtual processors often are: \
                 batch updates (defer), let callers share grace periods, and take \
                 asymmetric locks only where writes are rarer than the line `reads that pay for one write` says."
            }
            Advice::Sandbox => {
                "A seccomp filter is in force: child processes find out the calls for which it \
                 kills; `fence::force` of the signals avoids asking."
            }
            Advice::OneCore => {
                "Only one processor may be used: nothing runs in parallel, so grace periods sleep \
                 rather than spin; grant a second one to measure anything."
            }
            Advice::NewerKernelForWaitv => {
                "futex_waitv is missing: waiting for several words at once needs Linux 5.16 or later."
            }
            Advice::NewerKernelForFutex2 => {
                "futex_wait, futex_wake and futex_requeue are missing: they come with Linux 6.7."
            }
            Advice::NewerKernelForPrivateHash => {
                "The kernel keeps the futexes of all processes in one table, so that collisions \
                 with other processes can delay a wake: Linux 6.16 has a table for each process."
            }
            Advice::NoInheritance => {
                "The kernel was built without CONFIG_FUTEX_PI, or a sandbox refuses FUTEX_LOCK_PI: \
                 allow it, or use sync::Mutex and keep threads of different priorities apart."
            }
            Advice::NoRseq => {
                "Restartable sequences are not registered: the C library (glibc 2.35) or \
                 GLIBC_TUNABLES=glibc.pthread.rseq=1 does it."
            }
            Advice::NoRobustList => {
                "The thread has no robust list: robust locks are not possible; use a C library that \
                 registers one, and a kernel or sandbox that lets it."
            }
        }
    }
}
