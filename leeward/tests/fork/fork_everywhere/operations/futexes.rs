//! The places to sleep: the kernel's, and this process's parking lot.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use leeward::futex::{self, Deadline, Futex, Hosted, Parking, Private, Timeout};
use leeward::raw;

use super::super::case::Beside;
use super::Operation;

type Parked = Hosted<Parking>;

operations! {
    "futexes";
    wait: wait::<Private>;
    wake: wake::<Private>;
    requeue: requeue::<Private>;
    awaited: awaited::<Private> => beside(wakes::<Private>);
    wait_any: || {
        let late = Deadline::after::<Private>(Duration::from_micros(100));
        futex::wait_any(&[(&FIRST, 0), (&SECOND, 0)], Timeout::At(late)).unwrap();
    };
    lot: || assert!(core::ptr::eq(Parking::lot(), Parking::lot()));
    parked_wait: wait::<Parked>;
    parked_wake: wake::<Parked>;
    parked_requeue: requeue::<Parked>;
    parked_awaited: awaited::<Parked> => beside(wakes::<Parked>);
    parked_mutex: || {
        PARKED.lock();
        // SAFETY: locked just now.
        unsafe { PARKED.unlock() };
    } => beside(holds_the_mutex);
}

static FIRST: AtomicU32 = AtomicU32::new(0);
static SECOND: AtomicU32 = AtomicU32::new(0);
static PARKED: raw::Mutex<Parked> = raw::Mutex::new_in();

fn wait<F: Futex>() {
    F::wait(&FIRST, 0, Timeout::after::<F>(Duration::from_micros(100)));
}

fn wake<F: Futex>() {
    F::wake(&raw const FIRST, 1);
}

fn requeue<F: Futex>() {
    // SAFETY: a static.
    let _ = unsafe { F::requeue(&raw const FIRST, 0, 1, &raw const SECOND, 1) };
}

fn awaited<F: Futex>() {
    F::wait(&FIRST, 0, Timeout::after::<F>(Duration::from_secs(5)));
    FIRST.store(0, Ordering::SeqCst);
}

fn wakes<F: Futex>(beside: &Beside<'_>) {
    beside.until_it_sleeps();
    F::wake(&raw const FIRST, 1);
}

fn holds_the_mutex(beside: &Beside<'_>) {
    PARKED.lock();
    beside.until_it_sleeps();
    // SAFETY: locked above.
    unsafe { PARKED.unlock() };
}
