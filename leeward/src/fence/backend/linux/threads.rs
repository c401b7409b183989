//! The threads of this process: listed from `/proc/self/task`, and signalled.
//!
//! Nothing here allocates: a heavy fence may be needed inside an allocator.

use core::ffi::c_int;
use core::mem::MaybeUninit;

use rustix::fs::{Mode, OFlags, RawDir};
use rustix::io::Errno;
use rustix::thread::Pid;

use crate::mutant::check;

/// Returns how many threads the process has, by the links of its folder of threads.
pub(super) fn count_threads() -> Option<u64> {
    let folder = rustix::fs::stat(c"/proc/self/task").ok()?;
    (folder.st_nlink as u64).checked_sub(2)
}

/// Returns true if `/proc` knows this process by the number that it has here. In a pid namespace of
/// its own under the outer one's `/proc` (`unshare --pid`) it does not, nor its threads.
fn numbers_are_ours() -> bool {
    let mut room = [MaybeUninit::<u8>::uninit(); 16];
    let Ok((digits, _)) = rustix::fs::readlinkat_raw(rustix::fs::CWD, c"/proc/self", &mut room) else { return false };
    let number = core::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
    number == Some(rustix::process::getpid().as_raw_nonzero().get())
}

/// Calls `see` with every thread of the process. Returns false if they cannot be listed by the
/// numbers that they have here.
pub(super) fn each_thread(see: &mut dyn FnMut(Pid)) -> bool {
    if check!(signal_numbers, !numbers_are_ours()) {
        return false;
    }
    let Ok(folder) =
        rustix::fs::open(c"/proc/self/task", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
    else {
        return false;
    };
    let mut room = [MaybeUninit::<u8>::uninit(); 4096];
    let mut entries = RawDir::new(&folder, &mut room);
    while let Some(entry) = entries.next() {
        let Ok(entry) = entry else { return false };
        let number = entry.file_name().to_str().ok().and_then(|name| name.parse().ok());
        if let Some(thread) = number.and_then(Pid::from_raw) {
            see(thread);
        }
    }
    true
}

/// The head of a `siginfo_t` as `rt_tgsigqueueinfo` takes it, padded to its whole size.
#[repr(C)]
struct QueuedInfo {
    signo: c_int,
    errno: c_int,
    code: c_int,
    /// Where the compiler would leave bytes unset, which the kernel would read.
    gap: [c_int; size_of::<usize>() / size_of::<c_int>() - 1],
    queued: Queued,
    rest: [u64; 12],
}

/// The part of a `siginfo_t` that a queued signal has.
#[repr(C)]
struct Queued {
    pid: libc::pid_t,
    uid: libc::uid_t,
    value: usize,
}

const _: () = assert!(size_of::<QueuedInfo>() >= size_of::<libc::siginfo_t>());

/// Queues `signal` to one thread of this process; signal 0 only asks whether the thread is there.
pub(super) fn queue_signal(thread: i32, signal: c_int) -> Result<(), Errno> {
    let pid = rustix::process::getpid().as_raw_nonzero().get();
    let queued = Queued { pid, uid: rustix::process::getuid().as_raw(), value: 0 };
    let info =
        QueuedInfo { signo: signal, errno: 0, code: libc::SI_QUEUE, gap: Default::default(), queued, rest: [0; 12] };
    // SAFETY: `info` is as large as the kernel's siginfo_t and outlives the call, which only reads
    // it.
    let sent = unsafe { libc::syscall(libc::SYS_rt_tgsigqueueinfo, pid, thread, signal, &raw const info) };
    match sent {
        0 => Ok(()),
        _ => Err(Errno::from_raw_os_error(crate::process::Errno::save().number())),
    }
}
