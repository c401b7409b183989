//! membarrier, command by command.

use super::advice::Advice;
use super::finding::Finding;
use super::sandbox::{Answer, ask};
use crate::sys;

/// A command of membarrier(2): its number, and what it is good for.
struct Command {
    bit: libc::c_long,
    id: &'static str,
    name: &'static str,
    since: &'static str,
    with: &'static str,
    without: &'static str,
}

const PRIVATE_EXPEDITED: libc::c_long = 1 << 3;

const COMMANDS: [Command; 6] = [
    Command {
        bit: PRIVATE_EXPEDITED,
        id: "private_expedited",
        name: "PRIVATE_EXPEDITED",
        since: "4.14",
        with: "heavy fences interrupt this process's running threads only: microseconds",
        without: "heavy fences are slower, see below",
    },
    Command {
        bit: 1 << 0,
        id: "global",
        name: "GLOBAL",
        since: "4.3",
        with: "heavy fences that interrupt no thread are possible: milliseconds",
        without: "the second choice for heavy fences is a signal to every thread",
    },
    Command {
        bit: 1 << 1,
        id: "global_expedited",
        name: "GLOBAL_EXPEDITED",
        since: "4.16",
        with: "barriers that reach other processes are possible: robust::LightMutex unlocks by a store",
        without: "barriers cannot reach other processes: robust::LightMutex unlocks by an exchange, \
        as robust::Mutex does",
    },
    Command {
        bit: 1 << 5,
        id: "sync_core",
        name: "PRIVATE_EXPEDITED_SYNC_CORE",
        since: "4.16",
        with: "code generators can publish code cheaply; not used",
        without: "code generators must publish code otherwise; not used",
    },
    Command {
        bit: 1 << 7,
        id: "rseq",
        name: "PRIVATE_EXPEDITED_RSEQ",
        since: "5.10",
        with: "restartable sequences can be restarted from outside; not used",
        without: "restartable sequences cannot be restarted from outside; not used",
    },
    Command {
        bit: 1 << 9,
        id: "get_registrations",
        name: "GET_REGISTRATIONS",
        since: "6.3",
        with: "what this process registered can be looked up; not used",
        without: "what this process registered cannot be looked up; not used",
    },
];

pub fn findings() -> Vec<Finding> {
    let allowed = ask(|| query() >= 0);
    let mut findings = vec![callable(allowed)];
    if allowed.is_yes() {
        findings.extend(COMMANDS.iter().map(finding));
    }
    findings
}

fn callable(allowed: Answer) -> Finding {
    let means = match allowed {
        Answer::Yes => "the kernel names the commands that it has",
        Answer::No => "heavy fences signal every thread instead",
        Answer::Killed => "a filter kills for the call: the library does not make it, and signals every thread instead",
    };
    let filtered = sys::is_filtered();
    Finding::new("membarrier.call", "membarrier may be called", allowed.text(), allowed.is_yes(), means)
        .advise(!allowed.is_yes() && filtered, Advice::AllowMembarrier)
        .advise(!allowed.is_yes() && !filtered, Advice::NewerKernelForMembarrier)
}

fn finding(command: &Command) -> Finding {
    let has = ask(|| query() & command.bit != 0).is_yes();
    let what = format!("{} ({})", command.name, command.since);
    Finding::yes_or_no(
        &format!("membarrier.{}", command.id),
        &what,
        has,
        if has { command.with } else { command.without },
    )
    .advise(command.bit == PRIVATE_EXPEDITED && !has, Advice::NewerKernelForMembarrier)
}

/// Returns the mask of the commands that the kernel has, or -1.
fn query() -> libc::c_long {
    const QUERY: libc::c_int = 0;
    // SAFETY: the query takes no pointer and changes nothing.
    unsafe { libc::syscall(libc::SYS_membarrier, QUERY, 0, 0) }
}
