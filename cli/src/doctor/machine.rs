//! The machine: processors, tickless processors, sandboxes.

use std::fs;

use super::advice::Advice;
use super::finding::Finding;
use crate::sys;

pub fn findings() -> Vec<Finding> {
    vec![processors(), nohz_full(), seccomp()]
}

pub fn kernel() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

/// Returns the number of processors that this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, |cores| cores.get())
}

fn processors() -> Finding {
    let cores = cores();
    let means = if cores == 1 { "readers and writers take turns" } else { "readers and writers run in parallel" };
    Finding::new("machine.cores", "processors to use", cores.to_string(), cores, means)
        .advise(cores == 1, Advice::OneCore)
}

fn nohz_full() -> Finding {
    let text = fs::read_to_string("/sys/devices/system/cpu/nohz_full").unwrap_or_default();
    let list = Some(text.trim()).filter(|list| !list.is_empty() && *list != "(null)");
    let means = match list {
        None => "membarrier's global command is not refused on this account",
        Some(_) => "membarrier's global command is refused, and heavy fences interrupt these processors",
    };
    Finding::new("machine.nohz_full", "tickless processors (nohz_full)", list.unwrap_or("none"), list, means)
        .advise(list.is_some(), Advice::NohzFull)
}

fn seccomp() -> Finding {
    let filtered = sys::is_filtered();
    let means =
        if filtered { "system calls may be refused, or killed for" } else { "no system call is refused by a filter" };
    Finding::yes_or_no("machine.seccomp", "seccomp filter in force", filtered, means).advise(filtered, Advice::Sandbox)
}
