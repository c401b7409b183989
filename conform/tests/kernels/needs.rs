//! What scenarios say that they need is what they ask this Linux for.

use std::sync::atomic::{AtomicUsize, Ordering};

use leeward_conform::linux::{Linux, apart_with};
use leeward_conform::{Answer, Errno, Need, RESTS, Syscalls, Verdict, numbers};

use crate::support::{each_scenario, shared_word};

/// Linux, and what it was asked for: a bit for each need, in memory that all processes of a scenario share.
struct Noting(&'static AtomicUsize);

const SIGKILL: usize = 9;
const MAP_HUGETLB: usize = 0x4_0000;
const MFD_HUGETLB: usize = 4;
const CLONE_THREAD: usize = 0x1_0000;

/// Returns what a call needs; the answer tells of faults.
fn needed(number: usize, arguments: [usize; 6], answered: isize) -> Option<Need> {
    const FAMILY: [usize; 8] = [
        numbers::FUTEX,
        numbers::FUTEX_WAITV,
        numbers::FUTEX_WAIT,
        numbers::FUTEX_WAKE,
        numbers::FUTEX_REQUEUE,
        numbers::RSEQ,
        numbers::GET_ROBUST_LIST,
        numbers::SET_ROBUST_LIST,
    ];
    match number {
        numbers::PTRACE => Some(Need::Ptrace),
        numbers::CLONE => Some(Need::Fork),
        numbers::RT_SIGACTION | numbers::TGKILL => Some(Need::Signals),
        numbers::KILL if arguments[1] != SIGKILL => Some(Need::Signals),
        numbers::SCHED_GETAFFINITY => Some(Need::Processors),
        // Pages that may not be written to and are not code, or may not be used at all.
        numbers::MMAP | numbers::MPROTECT if arguments[2] & 6 == 0 => Some(Need::Faults),
        numbers::MADVISE => Some(Need::HugePages),
        numbers::MMAP if arguments[3] & MAP_HUGETLB != 0 => Some(Need::HugePages),
        numbers::MEMFD_CREATE if arguments[1] & MFD_HUGETLB != 0 => Some(Need::HugePages),
        number if FAMILY.contains(&number) && answered == -(Errno::FAULT.0 as isize) => Some(Need::Faults),
        _ => None,
    }
}

impl Syscalls for Noting {
    unsafe fn call(&self, number: usize, arguments: [usize; 6]) -> isize {
        // SAFETY: the caller's promise.
        let answered = unsafe { Linux.call(number, arguments) };
        if let Some(need) = needed(number, arguments, answered) {
            self.0.fetch_or(1 << need as usize, Ordering::SeqCst);
        }
        answered
    }

    unsafe fn spawn(&self, body: extern "C" fn(usize), argument: usize) -> Result<(), Errno> {
        // SAFETY: the caller's promise.
        unsafe { Linux.spawn(body, argument) }
    }

    unsafe fn spawn_as(&self, flags: usize, words: [usize; 2], body: extern "C" fn(usize), argument: usize) -> Answer {
        if flags & CLONE_THREAD == 0 {
            self.0.fetch_or(1 << Need::Fork as usize, Ordering::SeqCst);
        }
        // SAFETY: the caller's promise.
        unsafe { Linux.spawn_as(flags, words, body, argument) }
    }
}

#[test]
fn a_scenario_needs_what_it_says() {
    each_scenario(|scenario| {
        let noted = shared_word();
        let verdict = apart_with(scenario, &Noting(noted), 60, RESTS);
        let noted = noted.load(Ordering::SeqCst);
        let asked: Vec<Need> = Need::ALL.into_iter().filter(|need| noted & 1 << *need as usize != 0).collect();
        let declared = scenario.needs();
        let mut sorted = declared.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        if sorted != declared {
            return Err(format!("its needs are not in order: {declared:?}"));
        }
        let is_said = asked.iter().all(|need| declared.contains(need));
        // Damaged robust lists lead to addresses of which no answer tells.
        let is_asked = declared.iter().all(|need| asked.contains(need) || *need == Need::Faults);
        match verdict {
            Verdict::Pass if !is_said || !is_asked => Err(format!("it says {declared:?}, and asks for {asked:?}")),
            _ if !is_said => Err(format!("it says {declared:?}, and asks for {asked:?}")),
            _ => Ok(()),
        }
    });
}
