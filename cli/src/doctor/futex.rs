//! Futexes: the calls and features that there are beside the first call.

use super::advice::Advice;
use super::finding::Finding;
use super::sandbox::ask;
use crate::sys;

/// The number of the call, which is the same on every architecture.
const WAITV: libc::c_long = 449;
const WAKE: libc::c_long = 454;
const WAIT: libc::c_long = 455;
const REQUEUE: libc::c_long = 456;

pub fn findings() -> Vec<Finding> {
    vec![waitv(), futex2(), private_hash(), inheritance()]
}

fn waitv() -> Finding {
    let has = ask(|| is_call(WAITV)).is_yes();
    let means = if has {
        "one thread can sleep on several words: Event::wait_any"
    } else {
        "Event::wait_any naps, and rechecks all its events in between"
    };
    Finding::yes_or_no("futex.waitv", "futex_waitv (5.16)", has, means).advise(!has, Advice::NewerKernelForWaitv)
}

fn futex2() -> Finding {
    let has = ask(|| [WAKE, WAIT, REQUEUE].into_iter().all(is_call)).is_yes();
    let means = if has {
        "waits may state clocks and sizes; not used yet"
    } else {
        "the first futex call serves; nothing is lost yet"
    };
    Finding::yes_or_no("futex.futex2", "futex_wait/wake/requeue (6.7)", has, means)
        .advise(!has, Advice::NewerKernelForFutex2)
}

fn private_hash() -> Finding {
    const PR_FUTEX_HASH: libc::c_int = 78;
    const GET_SLOTS: libc::c_ulong = 2;
    let has = ask(|| sys::prctl(PR_FUTEX_HASH, GET_SLOTS) >= 0).is_yes();
    let slots = has.then(|| sys::prctl(PR_FUTEX_HASH, GET_SLOTS));
    let (found, means) = match slots {
        None => ("no".to_string(), "waiters of all processes share one table"),
        Some(0) => ("yes, not in use yet".to_string(), "the process gets a table of its own with its second thread"),
        Some(slots) => (format!("yes, {slots} slots"), "waiters of other processes do not delay this one's"),
    };
    Finding::new("futex.private_hash", "private futex hash (6.16)", found, slots, means)
        .advise(!has, Advice::NewerKernelForPrivateHash)
}

fn inheritance() -> Finding {
    let has = ask(|| {
        let mut word = 0_u32;
        let word = &raw mut word;
        // SAFETY: the word is ours; it is free, and is locked and unlocked.
        let taken = unsafe { libc::syscall(libc::SYS_futex, word, libc::FUTEX_TRYLOCK_PI | libc::FUTEX_PRIVATE_FLAG) };
        // SAFETY: as above.
        taken == 0
            && unsafe { libc::syscall(libc::SYS_futex, word, libc::FUTEX_UNLOCK_PI | libc::FUTEX_PRIVATE_FLAG) } == 0
    })
    .is_yes();
    let means = if has { "pi::Mutex lends its owner the priority of the waiters" } else { "pi::Mutex refuses to lock" };
    Finding::yes_or_no("futex.pi", "priority inheritance (2.6.18)", has, means).advise(!has, Advice::NoInheritance)
}

/// Returns true if the kernel has the call. It is made with flags that no kernel knows, so that it
/// does nothing.
fn is_call(number: libc::c_long) -> bool {
    let nothing = std::ptr::null::<u8>();
    // SAFETY: each of the calls above refuses flags that are all ones before it reads the null
    // pointer.
    let answer = unsafe { libc::syscall(number, nothing, -1_i64, -1_i64, -1_i64, nothing, -1_i64) };
    answer != -1 || std::io::Error::last_os_error().raw_os_error() != Some(libc::ENOSYS)
}
