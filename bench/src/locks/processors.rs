//! Affinity: keeps a measurement on a number of processors.

use std::mem::MaybeUninit;

use crate::error::Error;

/// Runs `body`, and the threads that it starts, on the first `count` of the processors that this
/// thread may use.
pub fn on<R>(count: usize, body: impl FnOnce() -> R) -> Result<R, Error> {
    let before = allowed()?;
    let mut few = MaybeUninit::<libc::cpu_set_t>::zeroed();
    // SAFETY: zeroes are the empty set.
    let few = unsafe { few.assume_init_mut() };
    // SAFETY: the processor's number is within the set.
    let is_allowed = |cpu: &usize| unsafe { libc::CPU_ISSET(*cpu, &before) };
    for cpu in (0..libc::CPU_SETSIZE as usize).filter(is_allowed).take(count) {
        // SAFETY: as above.
        unsafe { libc::CPU_SET(cpu, few) };
    }
    allow(few)?;
    let result = body();
    allow(&before)?;
    Ok(result)
}

fn allowed() -> Result<libc::cpu_set_t, Error> {
    let mut set = MaybeUninit::<libc::cpu_set_t>::zeroed();
    // SAFETY: there is room for a set of this size; 0 is the calling thread.
    if unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), set.as_mut_ptr()) } != 0 {
        return Err(std::io::Error::last_os_error().into());
    }
    // SAFETY: the call has written a part, and the rest is zeroes, which is a set.
    Ok(unsafe { set.assume_init() })
}

fn allow(set: &libc::cpu_set_t) -> Result<(), Error> {
    // SAFETY: the set has this size; 0 is the calling thread.
    if unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), set) } != 0 {
        return Err(std::io::Error::last_os_error().into());
    }
    Ok(())
}
