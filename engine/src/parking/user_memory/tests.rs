//! What no test from outside can arrange: signals that interrupt just the instructions of the
//! table; and the accesses of architectures without assembly.

#![cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), target_pointer_width = "64"))]

use core::ffi::c_int;
use core::mem::MaybeUninit;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicU32, Ordering};
use std::boxed::Box;
use std::collections::BTreeSet;

use super::accesses::instructions;
use super::handlers::{OURS, install_for, previous};
use super::{machine, probed, recover};
use crate::{Address, Fault};

const PAGE: usize = 4096;
/// The codes of a signal that the kernel sent for a bad address, and of one that a thread sent.
const SI_KERNEL: c_int = 0x80;
const SI_TKILL: c_int = -6;

/// Has a signal, with that code, interrupt a thread at that instruction; returns where the thread
/// goes on, or `None` if `recover` did nothing.
fn interrupted(signal: c_int, code: c_int, at: usize) -> Option<usize> {
    // SAFETY: all zeroes is such a value.
    let mut context: Box<libc::ucontext_t> = Box::new(unsafe { MaybeUninit::zeroed().assume_init() });
    // SAFETY: all zeroes is such a value.
    let mut info: libc::siginfo_t = unsafe { MaybeUninit::zeroed().assume_init() };
    (info.si_signo, info.si_code) = (signal, code);
    let context = (&raw mut *context).cast();
    // SAFETY: a context of this test's.
    let next = unsafe { machine::next_instruction(context) };
    // SAFETY: a field of it.
    unsafe { next.write(at as machine::Register) };
    // SAFETY: as if they were a handler's.
    let recovered = unsafe { recover(&info, context) };
    // SAFETY: a field of it.
    let after = unsafe { next.read() } as usize;
    assert_eq!(recovered, after != at);
    recovered.then_some(after)
}

#[test]
fn each_instruction_of_the_table_leads_to_one_way_out() {
    let all: BTreeSet<usize> = instructions().collect();
    assert_eq!(all.len(), machine::FAULTS);
    let ends: BTreeSet<_> = all.iter().map(|at| interrupted(libc::SIGSEGV, SI_KERNEL, *at)).collect();
    assert_eq!(ends.len(), 1);
    let end = ends.into_iter().next().flatten().expect("a way out");
    assert!(!all.contains(&end));
    // The functions lie together.
    assert!(all.iter().all(|at| at.abs_diff(end) < 1024));
    assert_eq!(interrupted(libc::SIGBUS, libc::BUS_ADRERR, *all.first().expect("one")), Some(end));
}

#[test]
fn no_other_instruction_is_left() {
    let all: BTreeSet<usize> = instructions().collect();
    let (first, last) = (all.first().expect("one"), all.last().expect("one"));
    for at in first - 16..last + 64 {
        assert_eq!(interrupted(libc::SIGSEGV, 1, at).is_some(), all.contains(&at), "{:#x}", at - first);
    }
}

#[test]
fn a_signal_that_is_no_fault_interrupts_an_access_and_changes_nothing() {
    for at in instructions() {
        for (signal, code) in [
            (libc::SIGSEGV, SI_TKILL),
            (libc::SIGSEGV, libc::SI_USER),
            (libc::SIGBUS, libc::SI_QUEUE),
            // The late report of a memory tag's fault; broken memory that nothing has accessed.
            (libc::SIGSEGV, 8),
            (libc::SIGBUS, 5),
            (libc::SIGALRM, SI_KERNEL),
            (libc::SIGURG, 1),
        ] {
            assert_eq!(interrupted(signal, code, at), None, "{signal} {code}");
        }
    }
}

/// Maps a page with that protection.
/// The first call of `install` may be made by several threads at a time, and again by the child of a
/// fork that came in its middle.
#[test]
fn a_handler_that_is_installed_again_does_not_hand_signals_on_to_itself() {
    for signal in [libc::SIGSEGV, libc::SIGBUS] {
        for _ in 0..3 {
            install_for(signal).unwrap();
        }
        // Acquire: what the action is; partner: the store in `publish`.
        let before = previous(signal).load(Ordering::Acquire);
        // SAFETY: null, or an action that stays.
        let is_own = unsafe { before.as_ref() }.is_some_and(|action| action.sa_sigaction == OURS as usize);
        assert!(!is_own);
    }
}

fn page(protection: c_int) -> Address {
    // SAFETY: a new mapping.
    let page = unsafe { libc::mmap(null_mut(), PAGE, protection, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0) };
    assert_ne!(page, libc::MAP_FAILED);
    page.expose_provenance() as u64
}

/// Returns true if the system lets a process copy from itself (qemu-user has no such call).
fn copies() -> bool {
    let (mut to, from) = ([0_u8; 1], [7_u8; 1]);
    let to = libc::iovec { iov_base: to.as_mut_ptr().cast(), iov_len: 1 };
    let from = libc::iovec { iov_base: from.as_ptr().cast_mut().cast(), iov_len: 1 };
    // SAFETY: no arguments.
    let process = unsafe { libc::getpid() };
    // SAFETY: copies a byte of this frame to another.
    let copied = unsafe { libc::process_vm_readv(process, &to, 1, &from, 1, 0) };
    copied == 1 || std::io::Error::last_os_error().raw_os_error() != Some(libc::ENOSYS)
}

/// Returns what each access answers that writes: to an atomic word of the test's, or to memory that
/// cannot be written. It leaves 5.
fn written(at: Address) -> [Result<u32, Fault>; 5] {
    [
        // SAFETY: as said above, here and below.
        unsafe { probed::compare_exchange(at, 6, 9) },
        // SAFETY: as above.
        unsafe { probed::compare_exchange(at, 7, 9) },
        // SAFETY: as above.
        unsafe { probed::fetch_add(at, 2) },
        // SAFETY: as above.
        unsafe { probed::swap(at, 4) },
        // SAFETY: as above.
        unsafe { probed::write(at, &5_u32.to_ne_bytes()) }.map(|()| 0),
    ]
}

#[test]
fn the_accesses_without_assembly_answer_alike() {
    if !copies() {
        std::println!("skipped: the system has no process_vm_readv");
        return;
    }
    let word = AtomicU32::new(7);
    let here = word.as_ptr().expose_provenance() as u64;
    assert_eq!((probed::load_u8(here), probed::load_u16(here)), (Ok(7), Ok(7)));
    assert_eq!(probed::load_u32(here), Ok(7));
    assert_eq!(probed::load_u64(page(libc::PROT_READ)), Ok(0));
    assert_eq!(written(here), [Ok(7), Ok(7), Ok(9), Ok(11), Ok(0)]);
    assert_eq!(word.load(Ordering::SeqCst), 5);
    let (none, readable) = (page(libc::PROT_NONE), page(libc::PROT_READ));
    for bad in [8, none, 1 << 63, u64::MAX - 7] {
        let loads = [probed::load_u8(bad), probed::load_u16(bad), probed::load_u32(bad), probed::load_u64(bad)];
        assert_eq!(loads, [Err(Fault); 4], "{bad:#x}");
        assert_eq!(probed::read(bad, &mut [0; 3]), Err(Fault), "{bad:#x}");
    }
    for bad in [8, none, readable, 1 << 63, u64::MAX - 7] {
        assert_eq!(written(bad), [Err(Fault); 5], "{bad:#x}");
    }
}
