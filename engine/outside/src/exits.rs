//! A thread's end: the engine walks its robust list and hands its locks on, as the kernel does, and
//! then the kernel ends it. `trap` calls [`exit`] in place of the system call.
//!
//! The kernel knows the list, too, since a thread that is killed comes by here no more. It forgets
//! the list before the thread's end, unless the list leads to memory that cannot be read: that walk
//! is left to it. Locks in memory of several processes are marked by the engine, and their waiters
//! woken by the kernel, where they sleep.

use core::sync::atomic::{AtomicU32, Ordering};
use std::vec::Vec;

use leeward_engine::abi::{FUTEX_TID_MASK, FUTEX_WAITERS, FUTEX_WAKE, ROBUST_HEAD_SIZE};
use leeward_engine::{ROBUST_LIST_LIMIT, RobustHost};

use crate::counts::{NAMES, add};
use crate::state::{Own, Place, State, counts, own};
use crate::{native, regions, signals};

/// Sets the calling thread's robust list, with the kernel and with the engine.
pub fn set_list(arguments: [u64; 6]) -> i64 {
    // SAFETY: the program's own call; the kernel looks at what is there itself.
    let answer = unsafe { native::call(libc::SYS_set_robust_list, arguments.map(|argument| argument as usize)) };
    if answer == 0 {
        State::get().process.set_robust_head(arguments[0]);
    }
    answer
}

/// Takes the list over that the dynamic linker has set for the first thread.
pub fn adopt_list() {
    let (mut head, mut size) = (0_usize, 0_usize);
    let places = [(&raw mut head).expose_provenance(), (&raw mut size).expose_provenance()];
    // SAFETY: variables of this frame.
    let answer = unsafe { native::call(libc::SYS_get_robust_list, [0, places[0], places[1], 0, 0, 0]) };
    if answer == 0 && head != 0 {
        State::get().process.set_robust_head(head as u64);
    }
}

/// Returns the number at an address; `None`: it cannot be read.
fn read(address: usize) -> Option<usize> {
    if address % 8 != 0 || !native::is_readable(address) {
        return None;
    }
    // SAFETY: it can be read.
    Some(unsafe { core::ptr::with_exposed_provenance::<usize>(address).read() })
}

/// Returns the words of the calling thread's list in memory of several processes, for which threads
/// wait. `None`: the list leads to where it cannot be read.
fn shared_words(head: usize, thread: u32) -> Option<Vec<usize>> {
    let mut words = Vec::new();
    let (first, offset, pending) = (read(head)?, read(head + 8)?, read(head + 16)?);
    let mut add = |entry: usize| {
        let at = (entry & !1).wrapping_add(offset);
        if at % 4 != 0 || !native::is_readable(at) {
            return None;
        }
        // SAFETY: it can be read.
        let word = unsafe { AtomicU32::from_ptr(core::ptr::with_exposed_provenance_mut(at)) };
        // Relaxed: of this thread's, but for the bit, which stays.
        let value = word.load(Ordering::Relaxed);
        if value & FUTEX_TID_MASK == thread && value & FUTEX_WAITERS != 0 && regions::is_shared(at) {
            words.push(at);
        }
        Some(())
    };
    let mut entry = first;
    for _ in 0..ROBUST_LIST_LIMIT {
        if entry & !1 == head {
            break;
        }
        add(entry)?;
        entry = read(entry & !1)?;
    }
    if pending != 0 {
        add(pending)?;
    }
    Some(words)
}

/// Ends the calling thread, with the status that it gave.
pub fn exit(status: u64) -> ! {
    let State { engine, process } = State::get();
    own(|own: &Own| own.go(Place::Trap));
    let head = process.robust_head(0).unwrap_or(0) as usize;
    let words = if head == 0 { Some(Vec::new()) } else { shared_words(head, native::thread() as u32) };
    match &words {
        None => process.set_robust_head(0),
        Some(_) => {
            let size = ROBUST_HEAD_SIZE as usize;
            // SAFETY: no list.
            unsafe { native::call(libc::SYS_set_robust_list, [0, size, 0, 0, 0, 0]) };
        }
    }
    let (walk, handed_on) = process.exit_thread(engine);
    for word in words.unwrap_or_default() {
        native::wake(word, FUTEX_WAKE, 1, 0);
    }
    let counts = counts();
    add(&counts.calls[NAMES.len() - 1][1], 1);
    add(&counts.events[1], u64::from(walk.marked));
    add(&counts.events[2], u64::from(handed_on));
    own(|own| {
        for (run, variable) in own.last.take().into_iter().flatten().rev() {
            // SAFETY: the variable is the calling thread's, and its destructor runs once.
            unsafe { run(variable) };
        }
        signals::forget_timer(own, true);
    });
    loop {
        // SAFETY: nothing comes after it.
        unsafe { native::call(libc::SYS_exit, [status as usize, 0, 0, 0, 0, 0]) };
    }
}

/// Notes a destructor of a thread-local variable of this library. The standard library calls it in
/// place of the C library's function, which would use the program's heap; [`exit`] runs them. Beyond
/// the room that there is, destructors do not run.
unsafe extern "C" fn at_exit(run: unsafe extern "C" fn(*mut u8), variable: *mut u8, _: *mut u8) -> i32 {
    own(|own| {
        let mut last = own.last.get();
        if let Some(place) = last.iter_mut().find(|place| place.is_none()) {
            *place = Some((run, variable));
        }
        own.last.set(last);
    });
    0
}

// Hidden: the program's own calls of that function go to the C library.
core::arch::global_asm!(
    ".globl __cxa_thread_atexit_impl",
    ".hidden __cxa_thread_atexit_impl",
    ".type __cxa_thread_atexit_impl, @function",
    "__cxa_thread_atexit_impl:",
    "jmp {at_exit}",
    at_exit = sym at_exit,
);
