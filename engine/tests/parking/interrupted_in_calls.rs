//! A kernel that does not say that a handler ran at the end of a system call, as Linux from 6.19 on
//! does not have to. Such a handler changes the word of a wait and wakes no thread; the wait ends.
//!
//! The kernel below may be an older one, which says so: it takes the name of the piece of code out
//! of the thread's area, or has the thread go on elsewhere. The handlers here undo both, and leave
//! exactly what the newer kernels leave. `uname` is answered with the newer version.

#![cfg(all(target_os = "linux", target_arch = "x86_64", target_pointer_width = "64"))]
#![allow(missing_docs)]

#[path = "../common/differential.rs"]
mod differential;
#[path = "../common/guest.rs"]
mod guest;
#[path = "../common/realtime.rs"]
mod realtime;

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use differential::sleeps_for_good;
use guest::{Guest, Page};
use leeward_engine::parking::{self, ParkingLot};
use leeward_engine::{Clock, Config, Deadline, Engine, Heap, Wait, Word};
use realtime::{me, until};

/// The word that waits are for.
static WORD: AtomicU32 = AtomicU32::new(0);
/// The address of a guest's word, for which other waits are.
static GUESTS_WORD: AtomicUsize = AtomicUsize::new(0);
/// The number of handlers that ran.
static HANDLED: AtomicU32 = AtomicU32::new(0);
/// The waiting thread's number.
static WAITING: AtomicU32 = AtomicU32::new(0);
/// What the waiting thread's area names while it sleeps: the description of the piece of code.
static PIECE: AtomicU64 = AtomicU64::new(0);
/// How often each is tried. A thread that is interrupted for another reason meanwhile is told of
/// that.
const ROUNDS: usize = 20;

/// The kernel's `struct rseq_cs`.
#[repr(C)]
struct Piece {
    version: u32,
    flags: u32,
    begin: u64,
    len: u64,
    elsewhere: u64,
}

impl Piece {
    /// Returns the address after its last instruction, which is the system call.
    fn end(&self) -> u64 {
        self.begin + self.len
    }
}

/// Returns the place in the calling thread's area where it names a piece of its code, if glibc
/// registers areas.
fn place() -> Option<*mut u64> {
    // SAFETY: a name.
    let size = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_size".as_ptr()) };
    // SAFETY: as above.
    let offset = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_offset".as_ptr()) };
    // SAFETY: glibc's, of that type, and constant.
    if size.is_null() || unsafe { size.cast::<u32>().read() } == 0 {
        return None;
    }
    // SAFETY: as above.
    let offset = unsafe { offset.cast::<isize>().read() };
    let thread: *mut u8;
    // SAFETY: reads the thread pointer.
    unsafe { std::arch::asm!("mov {}, fs:0", out(reg) thread, options(nostack, preserves_flags, readonly)) };
    Some(thread.wrapping_offset(offset + 8).cast())
}

/// Returns what the calling thread's area names.
fn named() -> u64 {
    // SAFETY: the thread's own, as long as it runs.
    place().map_or(0, |place| unsafe { place.read_volatile() })
}

/// Has the calling thread's area name a piece.
fn name(piece: u64) {
    if let Some(place) = place() {
        // SAFETY: the thread's own; null, or a piece that the engine described.
        unsafe { place.write_volatile(piece) };
    }
}

fn install(signal: c_int, handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void), flags: c_int) {
    // SAFETY: zeroes are one.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO | flags;
    // SAFETY: a handler that may be called at any time.
    assert_eq!(unsafe { libc::sigaction(signal, &action, null_mut()) }, 0);
}

/// Answers `uname` with the version of the newer kernel.
extern "C" fn answer(_: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: installed with SA_SIGINFO, so the kernel passes a valid context.
    let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    let names = std::ptr::with_exposed_provenance_mut::<libc::utsname>(registers[libc::REG_RDI as usize] as usize);
    // SAFETY: what `uname` is to fill; all zeroes are names.
    unsafe { names.write_bytes(0, 1) };
    // SAFETY: as above.
    let release = unsafe { &mut (*names).release };
    for (to, from) in release.iter_mut().zip(b"6.19.0") {
        *to = *from as libc::c_char;
    }
    registers[libc::REG_RAX as usize] = 0;
}

/// Sees to it that the calling thread, and those that it starts, find themselves on Linux 6.19; one
/// test at a time. `None`, with a line: the C library registers no areas.
fn alone_on_a_newer_kernel() -> Option<MutexGuard<'static, ()>> {
    static ALONE: Mutex<()> = Mutex::new(());
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    if place().is_none() {
        println!("skipped: this C library registers no areas for restartable sequences");
        return None;
    }
    install(libc::SIGSYS, answer, 0);
    let instruction = |code: u32, (yes, no), k| libc::sock_filter { code: code as u16, jt: yes, jf: no, k };
    let mut filter = [
        // The call's number comes first in what a filter is asked about.
        instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, (0, 0), 0),
        instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, (0, 1), libc::SYS_uname as u32),
        instruction(libc::BPF_RET | libc::BPF_K, (0, 0), libc::SECCOMP_RET_TRAP),
        instruction(libc::BPF_RET | libc::BPF_K, (0, 0), libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: no memory is passed.
    assert_eq!(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }, 0);
    // SAFETY: a program of this frame's, which the kernel copies.
    assert_eq!(unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) }, 0);
    Some(alone)
}

/// Makes a wait on a thread of its own, and does `meanwhile` when it sleeps for good, which has a
/// handler run; returns how the wait ended. A sleep after the handler is ended by `rouse`.
fn waits(wait: impl FnOnce() -> Wait + Send, meanwhile: impl Fn(), rouse: impl Fn()) -> Wait {
    for number in [&WORD, &HANDLED, &WAITING] {
        number.store(0, Ordering::SeqCst);
    }
    std::thread::scope(|threads| {
        let waiting = threads.spawn(|| {
            WAITING.store(me(), Ordering::SeqCst);
            wait()
        });
        let thread = || WAITING.load(Ordering::SeqCst) as i32;
        let sleeps = || thread() != 0 && sleeps_for_good(thread());
        until(|| waiting.is_finished() || sleeps());
        if !waiting.is_finished() && HANDLED.load(Ordering::SeqCst) == 0 {
            meanwhile();
            until(|| HANDLED.load(Ordering::SeqCst) != 0);
            until(|| waiting.is_finished() || sleeps());
        }
        if !waiting.is_finished() {
            rouse();
        }
        waiting.join().unwrap()
    })
}

/// True until a handler has run at the end of a call, in the wait that goes on.
static IS_ARMED: AtomicBool = AtomicBool::new(false);

/// Makes a system call, at whose end a handler runs, and leaves the name there.
fn call() {
    if IS_ARMED.swap(false, Ordering::SeqCst) {
        let before = named();
        // SAFETY: a signal whose handler is installed; it is handled at the end of this call.
        assert_eq!(unsafe { libc::syscall(libc::SYS_tgkill, std::process::id(), me(), libc::SIGUSR1) }, 0);
        name(before);
    }
}

extern "C" fn change(_: c_int, _: *mut libc::siginfo_t, _: *mut c_void) {
    let word = std::ptr::with_exposed_provenance_mut(GUESTS_WORD.load(Ordering::SeqCst));
    // SAFETY: a word of the guest's, who lives as long as its waits.
    unsafe { AtomicU32::from_ptr(word) }.store(1, Ordering::SeqCst);
    HANDLED.fetch_add(1, Ordering::SeqCst);
}

/// The call is made when the lock of the bucket is given up, after the comparison under the lock.
#[test]
fn a_handler_at_the_end_of_a_call_before_the_sleep_ends_the_wait() {
    let Some(_alone) = alone_on_a_newer_kernel() else { return };
    install(libc::SIGUSR1, change, 0);
    let mut guest = Guest::new();
    guest.unlocked = call;
    let (engine, at) = (Engine::new(Config::small(1), Heap).unwrap(), guest.address(Page::Writable));
    GUESTS_WORD.store(at as usize, Ordering::SeqCst);
    let far = Deadline { clock: Clock::Monotonic, at: parking::now(Clock::Monotonic) + (1 << 62) };
    let wait = || {
        // A spin would end what was begun as well; the waits after the first do without.
        let round = |_| {
            guest.store(at, 0);
            IS_ARMED.store(true, Ordering::SeqCst);
            engine.wait(&guest, Word::private(at), 0, u32::MAX, Some(far)).unwrap()
        };
        (0..ROUNDS).map(round).find(|end| *end != Wait::Changed).unwrap_or(Wait::Changed)
    };
    let rouse = || assert_eq!(engine.wake(&guest, Word::private(at), 1, u32::MAX), Ok(1));
    assert_eq!(waits(wait, || unreachable!("the handler has run"), rouse), Wait::Changed);
    assert_eq!(HANDLED.load(Ordering::SeqCst), ROUNDS as u32);
    assert!(guest.rechecks.load(Ordering::SeqCst) >= ROUNDS as u32, "each wait was parked");
}

/// Returns what the sleeping thread's area names.
fn note_piece(place: &AtomicU64) {
    let place = std::ptr::with_exposed_provenance::<u64>(place.load(Ordering::SeqCst) as usize);
    // SAFETY: the area of a thread that sleeps.
    PIECE.store(unsafe { place.read_volatile() }, Ordering::SeqCst);
}

/// Changes the word, and leaves what a newer kernel leaves: the name, and the call where it was. If
/// `woken`, the call was ended by a wake, too.
fn change_in_a_call(context: *mut c_void, woken: bool) {
    let at = PIECE.load(Ordering::SeqCst);
    // SAFETY: the engine's description of the piece, or null.
    let Some(piece) = (unsafe { std::ptr::with_exposed_provenance::<Piece>(at as usize).as_ref() }) else { return };
    // SAFETY: installed with SA_SIGINFO, so the kernel passes a valid context.
    let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    let next = registers[libc::REG_RIP as usize] as u64;
    if next == piece.elsewhere {
        // It was about to begin the call anew, by the instruction of two bytes.
        registers[libc::REG_RIP as usize] = piece.end() as i64 - 2;
    } else if woken && next == piece.end() {
        registers[libc::REG_RAX as usize] = 0;
    }
    name(at);
    WORD.store(1, Ordering::SeqCst);
    HANDLED.fetch_add(1, Ordering::SeqCst);
}

extern "C" fn change_in_a_sleep(_: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
    change_in_a_call(context, false);
}

extern "C" fn change_as_a_wake_comes(_: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
    change_in_a_call(context, true);
}

/// Has that handler run in the sleep of a wait without a deadline, again and again; returns how the
/// waits ended.
fn handled_in_a_sleep(handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void), flags: c_int) -> Vec<Wait> {
    install(libc::SIGUSR2, handler, flags);
    let (lot, its_place) = (ParkingLot::new(2).unwrap(), AtomicU64::new(0));
    let is_asleep = AtomicBool::new(false);
    let round = |_| {
        is_asleep.store(false, Ordering::SeqCst);
        let wait = || {
            let place = place().expect("looked for before");
            its_place.store(place.expose_provenance() as u64, Ordering::SeqCst);
            lot.wait(&WORD, 0, None)
        };
        let meanwhile = || {
            is_asleep.store(true, Ordering::SeqCst);
            note_piece(&its_place);
            assert_ne!(PIECE.load(Ordering::SeqCst), 0, "a thread that sleeps has named the piece");
            let (process, thread) = (std::process::id(), WAITING.load(Ordering::SeqCst));
            // SAFETY: no memory is passed; a thread of this process that is not joined yet.
            assert_eq!(unsafe { libc::syscall(libc::SYS_tgkill, process, thread, libc::SIGUSR2) }, 0);
        };
        let end = waits(wait, meanwhile, || assert_eq!(lot.wake(&WORD, 1), 1));
        assert!(is_asleep.load(Ordering::SeqCst), "it slept");
        end
    };
    (0..ROUNDS).map(round).collect()
}

/// The kernel begins a sleep without a time anew by itself, after a handler that was installed so.
#[test]
fn a_handler_in_a_sleep_that_is_begun_anew_ends_the_wait() {
    let Some(_alone) = alone_on_a_newer_kernel() else { return };
    let ends = handled_in_a_sleep(change_in_a_sleep, libc::SA_RESTART);
    assert_eq!(ends, [Wait::Interrupted; ROUNDS]);
}

/// A sleep that was ended by a wake that was not for it, and at whose end a handler runs, is not
/// followed by another before the word is compared.
#[test]
fn a_handler_beside_a_strangers_wake_ends_the_wait() {
    let Some(_alone) = alone_on_a_newer_kernel() else { return };
    let ends = handled_in_a_sleep(change_as_a_wake_comes, 0);
    assert_eq!(ends, [Wait::Changed; ROUNDS]);
}
