//! The kernel beside many live futexes: threads that wait for 128 words each (futex_waitv), and a
//! wake at a word without waiters.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use crate::crew::{Post, Task, during};
use crate::error::Error;
use crate::locks::syscalls::system_call;

/// The number of words that futex_waitv takes at most.
const EACH: usize = 128;
/// The number of wakes in one round. Beside the most futexes one takes as long as a thousand beside
/// few.
const VISITS: usize = 1 << 10;
const FUTEX2_PRIVATE_U32: u32 = 128 | 2;

#[repr(C)]
struct Waitv {
    value: u64,
    address: u64,
    flags: u32,
    reserved: u32,
}

/// Returns the time of a wake at a word without waiters, in nanoseconds.
pub fn nobody(live: usize) -> Result<Vec<f64>, Error> {
    // Live words and words at which nothing waits alternate.
    let words: Vec<AtomicU32> = (0..2 * live).map(|_| AtomicU32::new(0)).collect();
    let waited_for: Vec<&[AtomicU32]> = words.chunks(2 * EACH).collect();
    let tasks: Vec<Task<'_>> = waited_for.iter().map(|words| Task::new(|post| wait(words, post))).collect();
    let time = during(&tasks, |crew| {
        // The waiters announce themselves before they sleep.
        std::thread::sleep(
            std::time::Duration::from_millis(50) + std::time::Duration::from_millis(1) * tasks.len() as u32,
        );
        let began = Instant::now();
        for visit in 0..VISITS {
            let number = visit.wrapping_mul(0x9e37_79b9) % live;
            wake(&words[2 * number + 1]);
        }
        let time = began.elapsed().as_nanos() as f64 / VISITS as f64;
        crew.dismiss();
        for words in &waited_for {
            // A waiter that rechecks the word does not sleep again.
            words[0].store(1, Ordering::Relaxed);
            wake(&words[0]);
        }
        time
    })?;
    Ok(vec![time])
}

fn wait(words: &[AtomicU32], post: &Post<'_>) {
    let word =
        |word: &AtomicU32| Waitv { value: 0, address: word.as_ptr() as u64, flags: FUTEX2_PRIVATE_U32, reserved: 0 };
    let all: Vec<Waitv> = words.iter().step_by(2).map(word).collect();
    post.ready();
    while words[0].load(Ordering::Relaxed) == 0 {
        // SAFETY: the entries and their words outlive the call.
        unsafe {
            libc::syscall(libc::SYS_futex_waitv, all.as_ptr(), all.len(), 0, std::ptr::null::<libc::timespec>(), 0)
        };
    }
}

fn wake(word: &AtomicU32) {
    let operation = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    system_call(libc::SYS_futex, [word.as_ptr() as usize, operation as usize, 1, 0]);
}
