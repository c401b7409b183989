//! The machine that the numbers are taken on: its processor, its kernel, and which calls the kernel
//! has.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;

/// Returns the median time of a heavy fence beside a running thread.
pub fn heavy_fence() -> Duration {
    const CALLS: usize = 31;
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        let mut times: Vec<_> = (0..CALLS).map(|_| timed(leeward::fence::heavy)).collect();
        stop.store(true, Ordering::Relaxed);
        times.sort_unstable();
        times[CALLS / 2]
    })
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

#[derive(Serialize)]
pub struct Machine {
    pub cpu: String,
    pub cores: usize,
    pub kernel: String,
    /// The commands of membarrier that the kernel's query names.
    pub membarrier: Vec<&'static str>,
    /// The futex calls and features that the kernel has beside the first call.
    pub futex: Vec<&'static str>,
}

impl Machine {
    pub fn here() -> Machine {
        Machine {
            cpu: cpu().unwrap_or_else(|| "unknown".to_string()),
            cores: std::thread::available_parallelism().map_or(1, |cores| cores.get()),
            kernel: fs::read_to_string("/proc/sys/kernel/osrelease")
                .map_or_else(|_| "unknown".to_string(), |text| text.trim().to_string()),
            membarrier: membarrier(),
            futex: futex(),
        }
    }
}

/// Returns the processor's model, or the architecture if the kernel names no model.
fn cpu() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let field = |name: &str| {
        let line = text.lines().find(|line| line.split(':').next().is_some_and(|key| key.trim() == name))?;
        Some(line.split(':').nth(1)?.trim().to_string())
    };
    field("model name").or_else(|| field("cpu")).or_else(|| Some(std::env::consts::ARCH.to_string()))
}

/// The bits of membarrier's query, as membarrier(2) numbers them, and their commands.
const MEMBARRIER: [(i64, &str); 10] = [
    (1 << 0, "GLOBAL"),
    (1 << 1, "GLOBAL_EXPEDITED"),
    (1 << 2, "REGISTER_GLOBAL_EXPEDITED"),
    (1 << 3, "PRIVATE_EXPEDITED"),
    (1 << 4, "REGISTER_PRIVATE_EXPEDITED"),
    (1 << 5, "PRIVATE_EXPEDITED_SYNC_CORE"),
    (1 << 6, "REGISTER_PRIVATE_EXPEDITED_SYNC_CORE"),
    (1 << 7, "PRIVATE_EXPEDITED_RSEQ"),
    (1 << 8, "REGISTER_PRIVATE_EXPEDITED_RSEQ"),
    (1 << 9, "GET_REGISTRATIONS"),
];

fn membarrier() -> Vec<&'static str> {
    const QUERY: libc::c_int = 0;
    // SAFETY: the query takes no pointer and changes nothing.
    let bits = unsafe { libc::syscall(libc::SYS_membarrier, QUERY, 0, 0) };
    let here = |(bit, _): &&(i64, &str)| bits > 0 && bits & bit != 0;
    MEMBARRIER.iter().filter(here).map(|(_, name)| *name).collect()
}

/// Returns the calls that are there. They have the same numbers on every architecture, and each is
/// made with flags that no kernel knows, so that it does nothing.
fn futex() -> Vec<&'static str> {
    let calls = [(449, "waitv"), (454, "wake"), (455, "wait"), (456, "requeue")];
    let mut found: Vec<_> = calls.into_iter().filter(|(number, _)| is_call(*number)).map(|(_, name)| name).collect();
    if has_private_hash() {
        found.push("private hash");
    }
    found
}

fn is_call(number: libc::c_long) -> bool {
    let nothing = std::ptr::null::<u8>();
    // SAFETY: each of the calls above refuses flags that are all ones before it reads the null
    // pointer.
    let answer = unsafe { libc::syscall(number, nothing, -1_i64, -1_i64, -1_i64, nothing, -1_i64) };
    answer != -1 || std::io::Error::last_os_error().raw_os_error() != Some(libc::ENOSYS)
}

fn has_private_hash() -> bool {
    const PR_FUTEX_HASH: libc::c_int = 78;
    const GET_SLOTS: libc::c_ulong = 2;
    // SAFETY: the call only asks; older kernels answer EINVAL.
    unsafe { libc::prctl(PR_FUTEX_HASH, GET_SLOTS, 0_u64, 0_u64, 0_u64) >= 0 }
}
