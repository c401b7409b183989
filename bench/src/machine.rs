//! What the numbers were taken on: processor, kernel, and which of the commands that the schemes use it has.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;

/// What a heavy fence takes beside a thread that runs: the median of some.
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
    /// membarrier's commands that the kernel names in its query.
    pub membarrier: Vec<&'static str>,
    /// The futex calls and features that are there beside the first one.
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

/// The model's name; on machines whose kernel gives none, the architecture's.
fn cpu() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let field = |name: &str| {
        let line = text.lines().find(|line| line.split(':').next().is_some_and(|key| key.trim() == name))?;
        Some(line.split(':').nth(1)?.trim().to_string())
    };
    field("model name").or_else(|| field("cpu")).or_else(|| Some(std::env::consts::ARCH.to_string()))
}

/// Bits of the query, as in <linux/membarrier.h>.
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

/// Calls that are numbered alike on every architecture; each is asked with flags that no kernel knows, so that nothing happens.
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
    // SAFETY: a null pointer and flags that are all ones are refused by each of the calls above before they look at anything.
    let answer = unsafe { libc::syscall(number, nothing, -1_i64, -1_i64, -1_i64, nothing, -1_i64) };
    answer != -1 || std::io::Error::last_os_error().raw_os_error() != Some(libc::ENOSYS)
}

fn has_private_hash() -> bool {
    const PR_FUTEX_HASH: libc::c_int = 78;
    const GET_SLOTS: libc::c_ulong = 2;
    // SAFETY: a question; older kernels answer EINVAL.
    unsafe { libc::prctl(PR_FUTEX_HASH, GET_SLOTS, 0_u64, 0_u64, 0_u64) >= 0 }
}
