//! The robust list on which a lock is: after forks, in threads that libc did not start, across
//! execve, when it is longer than the kernel walks; and lists of an unknown shape.

#![cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64", not(leeward_symmetric)))]
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/robust.rs"]
mod robust;
#[path = "../common/seccomp.rs"]
mod seccomp;

use common::*;
use robust::*;

use std::sync::Mutex as Lock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use leeward::robust::{ListError, LockError, Mutex};

/// Held by each test that forks: children copy what other tests' threads hold.
static ALONE: Lock<()> = Lock::new(());

const SHORT: Duration = Duration::from_millis(20);

/// A child's copy of its parent's guard opens nothing; the child has a list of its own, however it
/// was made.
#[test]
fn fork() {
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("fork");
    let (held, free) = (shared_mutex::<u64>(), shared_mutex::<u64>());
    let forks: [fn() -> i32; 2] = [
        // SAFETY: the child uses this library only.
        || unsafe { libc::fork() },
        // No handler runs, and no list is registered. SAFETY: as above.
        || unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) as i32 },
    ];
    for fork in forks {
        let guard = held.lock().unwrap();
        let number = fork();
        assert!(number >= 0);
        if number == 0 {
            let before = value(word(held));
            let said = panic_of(|| assert_eq!(guard.get(), 0));
            drop(guard);
            let mut code = i32::from(value(word(held)) != before);
            code |= i32::from(outcome(held.try_lock()) != "would block") << 1;
            code |= i32::from(outcome(free.lock()) != "ok") << 2;
            std::mem::forget(free.lock());
            code |= i32::from(value(word(free)) != gettid() as u32) << 3;
            code |= i32::from(walk().len() != 1) << 4;
            code |= i32::from(!said.contains("a fork's copy")) << 5;
            // SAFETY: ends the child.
            unsafe { libc::_exit(code) };
        }
        must_end_well(number);
        assert_eq!(walk().len(), 1, "the parent's list is whole");
        drop(guard);
        assert_eq!(outcome(held.lock()), "ok");
        assert_eq!(outcome(free.lock()), "owner died", "the child's death is told");
        assert!(walk().is_empty());
    }
}

/// A thread by raw clone has thread-local storage that was copied from its maker's.
#[cfg(target_arch = "x86_64")]
#[test]
fn raw_clone_thread() {
    use std::ffi::{c_int, c_void};
    static M: Mutex<u64> = Mutex::new(0);
    static SEEN: AtomicU32 = AtomicU32::new(0);
    static GONE: AtomicU32 = AtomicU32::new(1);
    const BELOW: usize = 1 << 16;
    const ABOVE: usize = 4096;
    extern "C" fn body(_: *mut c_void) -> c_int {
        let none = head().is_null();
        let locked = outcome(M.lock()) == "ok";
        std::mem::forget(M.lock());
        let on_list = walk().len() == 1 && value(word(&M)) == gettid() as u32;
        SEEN.store(u32::from(none) | u32::from(locked) << 1 | u32::from(on_list) << 2, Ordering::SeqCst);
        0
    }
    // A thread that has not locked yet: what it had found would be copied as well.
    let _dog = Watchdog::new("raw_clone_thread");
    let maker = || {
        let block: usize;
        // SAFETY: the thread control block's first word is its own address.
        unsafe { std::arch::asm!("mov {}, fs:0", out(reg) block) };
        let copy = shared_memory(BELOW + ABOVE);
        let new = copy.wrapping_add(BELOW);
        // Only mapped memory below: the static block is less than a page here.
        let below = 4096_usize;
        // SAFETY: the block and what lies around it are mapped.
        unsafe { std::ptr::copy_nonoverlapping((block - below) as *const u8, new.wrapping_sub(below), below + 2048) };
        for at in [0, 16] {
            // SAFETY: the two words of the block that hold its own address.
            unsafe { new.wrapping_add(at).cast::<usize>().write(new as usize) };
        }
        let stack = shared_memory(1 << 20).wrapping_add(1 << 20);
        let flags = libc::CLONE_VM
            | libc::CLONE_FS
            | libc::CLONE_FILES
            | libc::CLONE_SIGHAND
            | libc::CLONE_THREAD
            | libc::CLONE_SYSVSEM
            | libc::CLONE_SETTLS
            | libc::CLONE_CHILD_CLEARTID;
        // SAFETY: a stack and a block of its own; the body calls what needs nothing more.
        let number = unsafe {
            libc::clone(
                body,
                stack.cast(),
                flags,
                std::ptr::null_mut(),
                std::ptr::null_mut::<c_int>(),
                new,
                &raw const GONE,
            )
        };
        assert!(number > 0, "clone: {}", std::io::Error::last_os_error());
        eventually("it ended", || value(&GONE) == 0);
    };
    thread::spawn(maker).join().unwrap();
    assert_eq!(value(&SEEN), 7, "no list at first, locks, is on its own list");
    assert_eq!(outcome(M.lock()), "owner died");
}

#[test]
fn execve() {
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("execve");
    let mutex = shared_mutex::<u64>();
    let owner = child(|| {
        std::mem::forget(mutex.lock());
        let arguments = [c"sleep".as_ptr(), c"60".as_ptr(), std::ptr::null()];
        // SAFETY: strings and a null behind them.
        unsafe { libc::execv(c"/bin/sleep".as_ptr(), arguments.as_ptr()) };
        1
    });
    eventually("it has it, or had it", || value(word(mutex)) != 0);
    assert_eq!(outcome(mutex.lock()), "owner died", "the new program knows nothing of it");
    kill(owner);
    reap(owner);
}

/// More locks than the kernel walks: the others are found by their owner's absence.
#[test]
fn two_thousand_and_forty_eight() {
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("two_thousand_and_forty_eight");
    const MANY: usize = 2100;
    let size = size_of::<Mutex<u64>>();
    let memory = shared_memory(MANY * size);
    // SAFETY: zeroed, aligned, never unmapped.
    let locks: Vec<_> =
        (0..MANY).map(|at| unsafe { Mutex::<u64>::at(memory.wrapping_add(at * size).cast()) }).collect();
    let owner = child(|| {
        locks.iter().for_each(|lock| std::mem::forget(lock.lock()));
        0
    });
    must_end_well(owner);
    let told = locks.iter().filter(|lock| outcome(lock.try_lock()) == "owner died").count();
    assert_eq!(told, 2048);
    assert_eq!(outcome(locks[0].try_lock_for(SHORT)), "owner lost");
    // SAFETY: it was waited for.
    assert_eq!(unsafe { locks[0].declare_owner_dead(owner as u32) }, Ok(true));
    // SAFETY: no thread holds it.
    assert_eq!(unsafe { locks[0].declare_owner_dead(owner as u32) }, Ok(false));
    assert_eq!(outcome(locks[0].lock()), "owner died");
}

/// Lists of an unknown shape are left alone, with a reason.
#[test]
fn unknown_lists() {
    let _alone = alone(&ALONE);
    static M: Mutex<u64> = Mutex::new(0);
    fn said() -> Option<ListError> {
        match M.lock() {
            Err(LockError::NoList(error)) => Some(error),
            _ => None,
        }
    }
    fn with_list(links: impl FnOnce(usize) -> [usize; 4]) {
        let place = shared_memory(4096) as usize + 64;
        // SAFETY: within the page: `prev`, and the kernel's three words.
        unsafe { (place as *mut [usize; 4]).write(links(place + 8)) };
        // SAFETY: stays forever.
        assert_eq!(unsafe { libc::syscall(libc::SYS_set_robust_list, place + 8, 24) }, 0);
    }
    let offset = |offset: isize| offset as usize;
    must_end_well(child(|| {
        with_list(|head| [head, head, offset(-28), 0]);
        i32::from(said() != Some(ListError::Offset(-28)))
    }));
    must_end_well(child(|| {
        with_list(|_| [0, 0, offset(-32), 0]);
        i32::from(said() != Some(ListError::Layout))
    }));
    must_end_well(child(|| {
        with_list(|head| [head, head + 1, offset(-32), 0]);
        i32::from(said().is_some())
    }));
    must_end_well(child(|| {
        // Singly linked: the word before it is something else.
        with_list(|head| [12, head, offset(-32), 0]);
        i32::from(said() != Some(ListError::Layout))
    }));
    must_end_well(child(|| {
        seccomp::refuse(&[seccomp::Rule::new(
            libc::SYS_get_robust_list,
            seccomp::When::Always,
            seccomp::Action::Errno(libc::ENOSYS),
        )]);
        i32::from(said() != Some(ListError::Refused))
    }));
    assert!(ListError::Offset(-28).to_string().contains("-28"));
}
