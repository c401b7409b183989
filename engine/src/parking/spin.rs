//! Waiting for a lock of the engine's whose holder is soon out, if it has a processor. Hosts call
//! it from `Host::spin`; real-time threads go on to `held`.

use super::{held, schedule, unbroken};

/// How often a bucket's lock is tried before the processor is offered to others.
const SPINS: u32 = 40;
/// How often after that an ordinary thread yields before it naps now and then: a yield lets others
/// run for as long as is their share, which may be next to nothing.
const YIELDS: u32 = 100;
/// One try in this many asks how the thread is scheduled: that may change while it spins, as it may
/// be lent a priority.
const ASK: u32 = 16;

/// Waits a moment for a lock of the engine's that was found taken `tries` times in a row: for
/// [`Host::spin`](crate::Host::spin), of hosts made of a process's threads. An example is at
/// [`Parked`](super::Parked).
///
/// An ordinary thread pauses 40 times, then yields. A real-time thread must not: its yield lets no
/// ordinary thread run, so where the lock's holder is one that it preempted, it would spin until
/// the system takes the processor from it (by default 50 ms in each second), or forever. It sleeps
/// instead: over [`Process`](super::Process) until the holder is out, which has its urgency until
/// then, as far as the kernel's priority inheritance reaches; by other hosts, whose holders are not
/// known, for 50 µs at a time.
///
/// Leaves `errno` as it was, does not panic, and may be called by a signal handler.
pub fn spin(tries: u32) {
    if tries < SPINS {
        core::hint::spin_loop();
    } else {
        spin_on(tries - SPINS);
    }
}

/// Yields, naps, or, in real time, sleeps until a holder is out.
#[cold]
#[inline(never)]
fn spin_on(tries: u32) {
    let in_real_time = if tries % ASK == 0 { schedule::runs_in_real_time() } else { schedule::ran_in_real_time() };
    if in_real_time {
        held::await_holder(tries);
    } else if tries > YIELDS && tries % 8 == 0 {
        held::nap();
    } else {
        // The holder may have lost its processor.
        unbroken::forget();
        std::thread::yield_now();
    }
}
