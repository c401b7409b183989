//! Accesses to memory that may not be there, each kind of fault with each access; in handlers, on
//! alternative stacks, in the child of a fork, and beside a thread that maps and unmaps.

#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
#![allow(missing_docs)]

use std::ffi::{c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

use leeward_engine::parking::user_memory::{self, fault_in, install, load_u8, load_u16, load_u32, load_u64, read};
use leeward_engine::{Access, Address, Arithmetic, Errno, Fault};

const PAGE: usize = 4096;
const ALL: [Arithmetic; 5] = [Arithmetic::Set, Arithmetic::Add, Arithmetic::Or, Arithmetic::AndNot, Arithmetic::Xor];

/// Every address that these tests write to is one of their own mappings, or has no memory.
fn compare_exchange(at: Address, old: u32, new: u32) -> Result<u32, Fault> {
    // SAFETY: as said above.
    unsafe { user_memory::compare_exchange(at, old, new) }
}

fn fetch_op(at: Address, op: Arithmetic, argument: u32) -> Result<Option<u32>, Fault> {
    // SAFETY: as said above.
    unsafe { user_memory::fetch_op(at, op, argument) }
}

fn write(at: Address, from: &[u8]) -> Result<(), Fault> {
    // SAFETY: as said above.
    unsafe { user_memory::write(at, from) }
}

/// Returns where this test alone maps pages: where the kernel places no mapping by itself, so that
/// no other thread's gets there when they are unmapped.
fn place_of_our_own() -> Address {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // Relaxed: a number.
    (1 << 36) + Address::from(NEXT.fetch_add(1, Ordering::Relaxed)) * (1 << 20)
}

/// Maps pages at `place`, or anywhere if that is 0.
fn map(place: Address, pages: usize, protection: c_int) -> Address {
    let fixed = if place == 0 { 0 } else { libc::MAP_FIXED };
    let place = std::ptr::with_exposed_provenance_mut(place as usize);
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | fixed;
    // SAFETY: a new mapping, or one in the place of another of this test's.
    let mapped = unsafe { libc::mmap(place, pages * PAGE, protection, flags, -1, 0) };
    assert_ne!(mapped, libc::MAP_FAILED);
    mapped.expose_provenance() as Address
}

fn unmap(address: Address, pages: usize) {
    // SAFETY: a mapping of this test's.
    assert_eq!(unsafe { libc::munmap(std::ptr::with_exposed_provenance_mut(address as usize), pages * PAGE) }, 0);
}

/// Maps two pages of a file that then has one.
fn truncated() -> Address {
    // SAFETY: a name.
    let file = unsafe { libc::memfd_create(c"truncated".as_ptr(), 0) };
    assert!(file >= 0);
    // SAFETY: the file.
    assert_eq!(unsafe { libc::ftruncate(file, 2 * PAGE as i64) }, 0);
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping.
    let mapped = unsafe { libc::mmap(null_mut(), 2 * PAGE, protection, libc::MAP_SHARED, file, 0) };
    assert_ne!(mapped, libc::MAP_FAILED);
    // SAFETY: the file.
    assert_eq!(unsafe { libc::ftruncate(file, PAGE as i64) }, 0);
    mapped.expose_provenance() as Address
}

/// Maps a page with a protection key that forbids all accesses, where the processor has such.
fn keyed() -> Option<Address> {
    const DISABLE_ACCESS: libc::c_ulong = 1;
    // SAFETY: numbers.
    let key = unsafe { libc::syscall(libc::SYS_pkey_alloc, 0_usize, DISABLE_ACCESS) };
    if key < 0 {
        return None;
    }
    let page = map(0, 1, libc::PROT_READ | libc::PROT_WRITE);
    // SAFETY: a page of this test's.
    let set = unsafe { libc::syscall(libc::SYS_pkey_mprotect, page, PAGE, libc::PROT_READ | libc::PROT_WRITE, key) };
    assert_eq!(set, 0);
    Some(page)
}

/// Asserts that nothing at an address can be read.
fn cannot_be_read(what: &str, at: Address) {
    assert_eq!(load_u8(at), Err(Fault), "{what}");
    assert_eq!(load_u16(at), Err(Fault), "{what}");
    assert_eq!(load_u32(at), Err(Fault), "{what}");
    assert_eq!(load_u64(at), Err(Fault), "{what}");
    assert_eq!(read(at, &mut [0; 24]), Err(Fault), "{what}");
    assert_eq!(fault_in(at, Access::Read), Err(Errno::EFAULT), "{what}");
}

/// Asserts that nothing at an address can be written.
fn cannot_be_written(what: &str, at: Address) {
    assert_eq!(compare_exchange(at, 0, 1), Err(Fault), "{what}");
    // Neither is a word that has another value.
    assert_eq!(compare_exchange(at, 1, 2), Err(Fault), "{what}");
    for op in ALL {
        assert_eq!(fetch_op(at, op, 1), Err(Fault), "{what}, {op:?}");
    }
    assert_eq!(write(at, &[0; 24]), Err(Fault), "{what}");
    assert_eq!(fault_in(at, Access::Write), Err(Errno::EFAULT), "{what}");
}

#[test]
fn each_access_to_each_kind_of_missing_memory_is_a_fault() {
    install().unwrap();
    let gone = map(place_of_our_own(), 1, libc::PROT_READ);
    let guard = map(0, 1, libc::PROT_NONE);
    unmap(gone, 1);
    let mut places = vec![
        ("null", 0),
        ("the first page", 8),
        ("an unmapped page", gone),
        ("a guard page", guard + 64),
        ("a truncated file", truncated() + PAGE as Address),
        ("the last word of all", u64::MAX - 7),
    ];
    if cfg!(target_arch = "x86_64") {
        places.extend([
            ("the first address after the program's", 1 << 47),
            ("no address", 0x0123_4567_89ab_cde8),
            ("the kernel's memory", 0xffff_8880_0000_0000),
        ]);
    }
    for (what, at) in places {
        cannot_be_read(what, at);
        cannot_be_written(what, at);
    }
    match keyed() {
        Some(page) => {
            cannot_be_read("a protection key", page);
            cannot_be_written("a protection key", page);
        }
        None => println!("protection keys: skipped, the processor has none"),
    }
}

#[test]
fn memory_that_may_only_be_read_is_read_and_not_written() {
    install().unwrap();
    let page = map(0, 1, libc::PROT_READ);
    assert_eq!((load_u8(page), load_u16(page), load_u32(page), load_u64(page)), (Ok(0), Ok(0), Ok(0), Ok(0)));
    let mut bytes = [1; 24];
    assert_eq!(read(page, &mut bytes), Ok(()));
    assert_eq!(bytes, [0; 24]);
    assert_eq!(fault_in(page, Access::Read), Ok(()));
    cannot_be_written("a page for reading", page);
}

#[test]
fn accesses_do_what_they_say() {
    install().unwrap();
    let page = map(0, 1, libc::PROT_READ | libc::PROT_WRITE);
    let number = 0x8123_4567_89ab_cdef_u64;
    assert_eq!(write(page, &number.to_ne_bytes()), Ok(()));
    let bytes = number.to_ne_bytes();
    assert_eq!(load_u8(page + 1), Ok(bytes[1]));
    assert_eq!(load_u16(page + 2), Ok(u16::from_ne_bytes([bytes[2], bytes[3]])));
    assert_eq!(load_u32(page + 4), Ok(u32::from_ne_bytes([bytes[4], bytes[5], bytes[6], bytes[7]])));
    assert_eq!(load_u64(page), Ok(number));
    let word = page + 64;
    assert_eq!(compare_exchange(word, 1, 2), Ok(0));
    assert_eq!(compare_exchange(word, 0, 6), Ok(0));
    let mut now = 6;
    for op in ALL {
        assert_eq!(fetch_op(word, op, 0xc000_0005), Ok(Some(now)), "{op:?}");
        now = op.apply(now, 0xc000_0005);
        assert_eq!(load_u32(word), Ok(now), "{op:?}");
    }
    assert_eq!(fault_in(word, Access::Write), Ok(()));
    assert_eq!((load_u32(word - 4), load_u32(word + 4)), (Ok(0), Ok(0)));
    let mut none: [u8; 0] = [];
    // Nothing is read, so nothing faults.
    assert_eq!(read(8, &mut none), Ok(()));
}

#[test]
fn a_word_that_is_not_aligned_is_a_fault() {
    install().unwrap();
    let page = map(0, 1, libc::PROT_READ | libc::PROT_WRITE);
    assert_eq!((load_u8(page + 1), load_u16(page + 1)), (Ok(0), Err(Fault)));
    assert_eq!((load_u32(page + 2), load_u64(page + 4)), (Err(Fault), Err(Fault)));
    assert_eq!(compare_exchange(page + 2, 0, 1), Err(Fault));
    assert_eq!(fetch_op(page + 1, Arithmetic::Add, 1), Err(Fault));
    assert_eq!(load_u64(page), Ok(0));
}

#[test]
fn bytes_up_to_the_end_of_a_mapping_are_read_and_no_further() {
    install().unwrap();
    let pages = map(place_of_our_own(), 2, libc::PROT_READ | libc::PROT_WRITE);
    let end = pages + PAGE as Address;
    unmap(end, 1);
    let mut bytes = [1; 16];
    assert_eq!(read(end - 16, &mut bytes), Ok(()));
    for (len, whole) in [(16, true), (17, false)] {
        let bytes = vec![3; len];
        assert_eq!(write(end - 16, &bytes).is_ok(), whole);
    }
    let mut bytes = [1; 24];
    assert_eq!(read(end - 16, &mut bytes), Err(Fault));
    // What was there was copied.
    assert_eq!(bytes[..16], [3; 16]);
    assert_eq!(bytes[16..], [1; 8]);
}

/// What the access with that number answers: true for a fault.
fn faults(number: u64, page: Address) -> bool {
    let at = page + number % 500 * 8;
    match number % 8 {
        0..4 => load_u32(at).map(|word| assert_eq!(word, 0)).is_err(),
        4 => load_u8(at).is_err(),
        5 => load_u64(at).is_err(),
        6 => compare_exchange(at, 0, 0).is_err(),
        _ => read(at, &mut [0; 16]).is_err(),
    }
}

#[test]
fn another_thread_may_unmap_what_is_being_read() {
    install().unwrap();
    let page = map(place_of_our_own(), 1, libc::PROT_READ);
    let over = AtomicBool::new(false);
    let mut seen = [0_u64; 2];
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..20_000 {
                unmap(page, 1);
                map(page, 1, libc::PROT_READ | libc::PROT_WRITE);
            }
            over.store(true, Ordering::Relaxed);
        });
        let mut number = 0;
        while number < 1_000_000 || !over.load(Ordering::Relaxed) {
            seen[usize::from(faults(number, page))] += 1;
            number += 1;
        }
    });
    println!("{} accesses, {} faults", seen[0], seen[1]);
    // The page is there in the end.
    assert!((0..8).all(|number| !faults(number, page)));
}

/// What the handler below found.
static FOUND: AtomicU32 = AtomicU32::new(0);

extern "C" fn load_in_a_handler(_: c_int) {
    let here = 5_u32;
    let found = load_u32((&raw const here).expose_provenance() as Address);
    FOUND.store(found.map_or(0, |word| word) + u32::from(load_u32(8).is_err()), Ordering::SeqCst);
}

#[test]
fn a_handler_on_a_small_alternative_stack_accesses_too() {
    install().unwrap();
    thread::spawn(|| {
        let mut stack = vec![0_u8; 64 << 10];
        let on = libc::stack_t { ss_sp: stack.as_mut_ptr().cast(), ss_flags: 0, ss_size: stack.len() };
        let mut before = libc::stack_t { ss_sp: null_mut(), ss_flags: 0, ss_size: 0 };
        // SAFETY: memory that is there until the thread has another stack again.
        assert_eq!(unsafe { libc::sigaltstack(&on, &mut before) }, 0);
        cannot_be_read("on a thread with an alternative stack", 8);
        // SAFETY: all zeroes is an action.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = load_in_a_handler as *const () as usize;
        action.sa_flags = libc::SA_ONSTACK;
        // SAFETY: a handler that does what handlers may do.
        assert_eq!(unsafe { libc::sigaction(libc::SIGUSR1, &action, null_mut()) }, 0);
        // SAFETY: a signal to this thread.
        assert_eq!(unsafe { libc::raise(libc::SIGUSR1) }, 0);
        assert_eq!(FOUND.load(Ordering::SeqCst), 6);
        // SAFETY: the stack that the thread had.
        assert_eq!(unsafe { libc::sigaltstack(&before, null_mut()) }, 0);
    })
    .join()
    .unwrap();
}

extern "C" fn loads(_: *mut c_void) -> *mut c_void {
    let faulted = load_u64(8).is_err() && read(8, &mut [0; 8]).is_err();
    std::ptr::without_provenance_mut(usize::from(faulted))
}

#[test]
fn a_thread_that_the_standard_library_did_not_make_accesses_too() {
    install().unwrap();
    let (mut thread, mut faulted) = (0, null_mut());
    // SAFETY: a function that takes such an argument.
    assert_eq!(unsafe { libc::pthread_create(&mut thread, null(), loads, null_mut()) }, 0);
    // SAFETY: not joined yet.
    assert_eq!(unsafe { libc::pthread_join(thread, &mut faulted) }, 0);
    assert_eq!(faulted.addr(), 1);
}

#[test]
fn the_child_of_a_fork_accesses_too() {
    install().unwrap();
    // SAFETY: the child makes accesses and system calls, and nothing else.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let fine = load_u32(8).is_err() && fault_in(8, Access::Write).is_err() && install().is_ok();
        // SAFETY: ends the process.
        unsafe { libc::_exit(i32::from(!fine)) };
    }
    let mut status = 0;
    // SAFETY: this test's child.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0);
}
