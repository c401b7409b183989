//! The registrations of each thread with the kernel: restartable sequences, a robust list.

use std::ffi::CStr;

use super::advice::Advice;
use super::finding::Finding;
use super::sandbox::ask;

pub fn findings() -> Vec<Finding> {
    vec![rseq(), robust_list()]
}

fn rseq() -> Finding {
    const AT_RSEQ_FEATURE_SIZE: libc::c_ulong = 27;
    // SAFETY: the call has no precondition; an entry that is not there is 0.
    let kernel = unsafe { libc::getauxval(AT_RSEQ_FEATURE_SIZE) };
    let libc = libc_number(c"__rseq_size").unwrap_or(0);
    let (found, means) = match (libc, kernel) {
        (0, 0) => ("no".to_string(), "per-processor data needs atomics; not used"),
        (0, _) => (format!("kernel only, {kernel} bytes"), "the C library did not register; not used"),
        (size, _) => (format!("by libc, {size} bytes"), "per-processor data could be had without atomics; not used"),
    };
    let value = serde_json::json!({ "libc_size": libc, "kernel_feature_size": kernel });
    Finding::new("thread.rseq", "restartable sequences", found, value, means).advise(libc == 0, Advice::NoRseq)
}

/// Returns an unsigned number that the C library exports under that name.
fn libc_number(name: &CStr) -> Option<u32> {
    // SAFETY: the name ends with a 0, and the default handle needs no opening.
    let place = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }.cast::<u32>();
    if place.is_null() {
        return None;
    }
    // SAFETY: `__rseq_size`, the only name that is asked for, is an `unsigned int` that does not
    // change after start-up.
    Some(unsafe { place.read() })
}

/// The head of a robust list, as the kernel's ABI lays it out.
#[repr(C)]
struct RobustListHead {
    next: *mut RobustListHead,
    offset: libc::c_long,
    pending: *mut RobustListHead,
}

fn robust_list() -> Finding {
    let allowed = ask(|| head().is_some()).is_yes();
    let offset = allowed.then(head).flatten().and_then(|head| {
        // SAFETY: the head is null, or the C library has registered it for this thread, so it lives
        // as long as the thread.
        let head = unsafe { head.as_ref() };
        head.map(|head| head.offset)
    });
    let (found, means) = match (allowed, offset) {
        (false, _) => ("no".to_string(), "locks cannot be told that their owner died"),
        (true, None) => {
            ("not registered".to_string(), "robust::Mutex registers one of its own at a thread's first lock")
        }
        (true, Some(offset)) => {
            (format!("yes, offset {offset}"), "robust::Mutex joins it: locks of this thread survive its death")
        }
    };
    Finding::new("thread.robust_list", "robust list", found, offset, means)
        .advise(offset.is_none(), Advice::NoRobustList)
}

/// Returns the calling thread's list, which may be null, or none if the kernel does not say.
fn head() -> Option<*const RobustListHead> {
    let mut head = std::ptr::null::<RobustListHead>();
    let mut length = 0_usize;
    // SAFETY: 0 is the calling thread, and both places are ours.
    let answer = unsafe { libc::syscall(libc::SYS_get_robust_list, 0, &raw mut head, &raw mut length) };
    (answer == 0 && length == size_of::<RobustListHead>()).then_some(head)
}
