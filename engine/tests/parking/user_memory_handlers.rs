//! The handlers of user accesses beside other handlers: each signal that is no fault of theirs does
//! what it did before. Each case is a process of its own.

#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
#![allow(missing_docs)]

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Output};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicUsize, Ordering::SeqCst};

use leeward_engine::parking::user_memory::{install, load_u32, recover};

const PAGE: usize = 4096;
const CHILD: &str = "LEEWARD_HANDLERS";

/// Runs `what` in a child of the test with that name, and returns how the child ended.
fn in_a_child(test: &str, what: impl FnOnce()) -> Output {
    if std::env::var_os(CHILD).is_some() {
        what();
        std::process::exit(0);
    }
    let program = std::env::current_exe().unwrap();
    Command::new(program).args(["--exact", test, "--nocapture"]).env(CHILD, "1").output().unwrap()
}

fn assert_fine(output: &Output) {
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{:?}: {text}", output.status);
}

fn default_action() -> libc::sigaction {
    // SAFETY: all zeroes is an action.
    unsafe { MaybeUninit::zeroed().assume_init() }
}

fn set(signal: c_int, handler: usize, flags: c_int, masked: Option<c_int>) {
    let mut action = default_action();
    (action.sa_sigaction, action.sa_flags) = (handler, flags);
    if let Some(masked) = masked {
        // SAFETY: a variable of this frame.
        unsafe { libc::sigaddset(&mut action.sa_mask, masked) };
    }
    // SAFETY: a handler that does what handlers may do.
    assert_eq!(unsafe { libc::sigaction(signal, &action, null_mut()) }, 0);
}

fn map(protection: c_int) -> usize {
    // SAFETY: a new mapping.
    let page = unsafe { libc::mmap(null_mut(), PAGE, protection, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0) };
    assert_ne!(page, libc::MAP_FAILED);
    page.expose_provenance()
}

/// Writes to a page that may not be written, as a program with a bug does.
fn touch(page: usize) {
    let place = std::ptr::with_exposed_provenance_mut::<u32>(page);
    // SAFETY: none: this is the fault that the test is about.
    unsafe { place.write_volatile(7) };
}

fn send(signal: c_int) {
    // SAFETY: a signal to this thread.
    assert_eq!(unsafe { libc::raise(signal) }, 0);
}

fn assert_recovers() {
    assert!(load_u32(8).is_err());
}

static CALLS: AtomicU32 = AtomicU32::new(0);
static SIGNAL: AtomicI32 = AtomicI32::new(0);
static ADDRESS: AtomicUsize = AtomicUsize::new(0);
/// Which of SIGSEGV and SIGUSR1 were blocked in the handler: bits.
static BLOCKED: AtomicU32 = AtomicU32::new(0);

fn blocked() -> u32 {
    let mut mask = MaybeUninit::uninit();
    // SAFETY: fills a variable of this frame.
    assert_eq!(unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), mask.as_mut_ptr()) }, 0);
    // SAFETY: filled.
    let mask = unsafe { mask.assume_init() };
    // SAFETY: a variable of this frame, here and below.
    let is_blocked = |signal| unsafe { libc::sigismember(&mask, signal) } == 1;
    u32::from(is_blocked(libc::SIGSEGV)) | u32::from(is_blocked(libc::SIGUSR1)) << 1
}

/// Notes its call, and makes the page writable, so that the program goes on.
extern "C" fn repair(signal: c_int, info: *mut libc::siginfo_t, _: *mut c_void) {
    CALLS.fetch_add(1, SeqCst);
    SIGNAL.store(signal, SeqCst);
    BLOCKED.store(blocked(), SeqCst);
    // SAFETY: the kernel's.
    let info = unsafe { &*info };
    if info.si_code > 0 {
        // SAFETY: set for a fault.
        let address = unsafe { info.si_addr() }.addr();
        ADDRESS.store(address, SeqCst);
        let page = std::ptr::with_exposed_provenance_mut(address & !(PAGE - 1));
        // SAFETY: a page of the test's.
        assert_eq!(unsafe { libc::mprotect(page, PAGE, libc::PROT_READ | libc::PROT_WRITE) }, 0);
    }
}

/// Notes its call, where only sent signals come.
extern "C" fn note(signal: c_int) {
    CALLS.fetch_add(1, SeqCst);
    SIGNAL.store(signal, SeqCst);
    BLOCKED.store(blocked(), SeqCst);
}

/// Makes an access that faults, in the handler of a fault.
extern "C" fn access(_: c_int, _: *mut libc::siginfo_t, _: *mut c_void) {
    // SAFETY: ends the process.
    unsafe { libc::_exit(if load_u32(8).is_err() { 42 } else { 1 }) };
}

fn ends_by(status: ExitStatus) -> Option<i32> {
    status.signal()
}

#[test]
fn a_crash_elsewhere_kills_as_before_where_the_default_was() {
    let output = in_a_child("a_crash_elsewhere_kills_as_before_where_the_default_was", || {
        set(libc::SIGSEGV, libc::SIG_DFL, 0, None);
        install().unwrap();
        assert_recovers();
        touch(map(libc::PROT_NONE));
    });
    assert_eq!(ends_by(output.status), Some(libc::SIGSEGV), "{:?}", output.status);
}

#[test]
fn a_crash_elsewhere_kills_where_the_standard_librarys_handler_was() {
    let output = in_a_child("a_crash_elsewhere_kills_where_the_standard_librarys_handler_was", || {
        install().unwrap();
        assert_recovers();
        touch(map(libc::PROT_NONE));
    });
    assert_eq!(ends_by(output.status), Some(libc::SIGSEGV), "{:?}", output.status);
}

#[expect(unconditional_recursion, reason = "the overflow of a stack")]
fn overflow(depth: u32) -> u32 {
    overflow(std::hint::black_box(depth) + 1) + std::hint::black_box(1)
}

#[test]
fn the_overflow_of_a_stack_is_reported_as_before() {
    let output = in_a_child("the_overflow_of_a_stack_is_reported_as_before", || {
        install().unwrap();
        println!("{}", overflow(0));
    });
    assert_eq!(ends_by(output.status), Some(libc::SIGABRT), "{:?}", output.status);
    assert!(String::from_utf8_lossy(&output.stderr).contains("overflowed its stack"));
}

#[test]
fn a_signal_that_was_sent_kills_where_the_default_was() {
    let output = in_a_child("a_signal_that_was_sent_kills_where_the_default_was", || {
        set(libc::SIGBUS, libc::SIG_DFL, 0, None);
        install().unwrap();
        send(libc::SIGBUS);
    });
    assert_eq!(ends_by(output.status), Some(libc::SIGBUS), "{:?}", output.status);
}

#[test]
fn a_signal_that_was_ignored_is_ignored_and_a_fault_is_not() {
    let output = in_a_child("a_signal_that_was_ignored_is_ignored_and_a_fault_is_not", || {
        set(libc::SIGSEGV, libc::SIG_IGN, 0, None);
        install().unwrap();
        send(libc::SIGSEGV);
        assert_recovers();
        println!("ignored");
        touch(map(libc::PROT_NONE));
    });
    assert_eq!(ends_by(output.status), Some(libc::SIGSEGV), "{:?}", output.status);
    assert!(String::from_utf8_lossy(&output.stdout).contains("ignored"));
}

#[test]
fn a_handler_that_was_there_repairs_its_faults_as_before() {
    assert_fine(&in_a_child("a_handler_that_was_there_repairs_its_faults_as_before", || {
        set(libc::SIGSEGV, repair as *const () as usize, libc::SA_SIGINFO, Some(libc::SIGUSR1));
        install().unwrap();
        // The second call does nothing: else the handler would be called twice.
        install().unwrap();
        assert_recovers();
        assert_eq!(CALLS.load(SeqCst), 0);
        let page = map(libc::PROT_NONE);
        touch(page + 64);
        assert_eq!((CALLS.load(SeqCst), SIGNAL.load(SeqCst)), (1, libc::SIGSEGV));
        assert_eq!(ADDRESS.load(SeqCst), page + 64);
        assert_eq!((BLOCKED.load(SeqCst), blocked()), (0b11, 0), "its mask, and afterwards the thread's");
        assert_eq!(load_u32(page as u64 + 64), Ok(7));
        assert_recovers();
    }));
}

#[test]
fn a_handler_that_blocks_nothing_is_called_so() {
    assert_fine(&in_a_child("a_handler_that_blocks_nothing_is_called_so", || {
        set(libc::SIGSEGV, repair as *const () as usize, libc::SA_SIGINFO | libc::SA_NODEFER, None);
        install().unwrap();
        touch(map(libc::PROT_NONE));
        assert_eq!((CALLS.load(SeqCst), BLOCKED.load(SeqCst)), (1, 0));
    }));
}

#[test]
fn a_plain_handler_is_called_for_signals_that_were_sent() {
    assert_fine(&in_a_child("a_plain_handler_is_called_for_signals_that_were_sent", || {
        set(libc::SIGBUS, note as *const () as usize, 0, None);
        install().unwrap();
        send(libc::SIGBUS);
        send(libc::SIGBUS);
        assert_eq!((CALLS.load(SeqCst), SIGNAL.load(SeqCst)), (2, libc::SIGBUS));
        assert_recovers();
    }));
}

#[test]
fn a_handler_for_one_call_is_called_once() {
    let output = in_a_child("a_handler_for_one_call_is_called_once", || {
        set(libc::SIGSEGV, note as *const () as usize, libc::SA_RESETHAND, None);
        install().unwrap();
        send(libc::SIGSEGV);
        assert_eq!(CALLS.load(SeqCst), 1);
        assert_recovers();
        println!("once");
        send(libc::SIGSEGV);
    });
    assert_eq!(ends_by(output.status), Some(libc::SIGSEGV), "{:?}", output.status);
    assert!(String::from_utf8_lossy(&output.stdout).contains("once"));
}

#[test]
fn a_handler_of_a_crash_accesses_too_if_it_blocks_nothing() {
    let output = in_a_child("a_handler_of_a_crash_accesses_too_if_it_blocks_nothing", || {
        set(libc::SIGSEGV, access as *const () as usize, libc::SA_SIGINFO | libc::SA_NODEFER, None);
        install().unwrap();
        touch(map(libc::PROT_NONE));
    });
    assert_eq!(output.status.code(), Some(42), "{:?}", output.status);
}

#[test]
fn a_fault_whose_signal_is_blocked_ends_the_process() {
    let output = in_a_child("a_fault_whose_signal_is_blocked_ends_the_process", || {
        install().unwrap();
        let mut mask = default_action().sa_mask;
        // SAFETY: a variable of this frame.
        unsafe { libc::sigaddset(&mut mask, libc::SIGSEGV) };
        // SAFETY: as above.
        assert_eq!(unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &mask, null_mut()) }, 0);
        let _ = load_u32(8);
    });
    assert_eq!(ends_by(output.status), Some(libc::SIGSEGV), "{:?}", output.status);
}

/// Notes its call, and ends the process if it runs on the thread's alternative stack.
extern "C" fn stay_off_the_alternative_stack(_: c_int) {
    CALLS.fetch_add(1, SeqCst);
    let mut stack = MaybeUninit::<libc::stack_t>::uninit();
    // SAFETY: fills a variable of this frame.
    let answered = unsafe { libc::sigaltstack(std::ptr::null(), stack.as_mut_ptr()) };
    // SAFETY: filled, if the call answered 0.
    let is_on_it = answered != 0 || unsafe { stack.assume_init() }.ss_flags & libc::SS_ONSTACK != 0;
    if is_on_it {
        // SAFETY: ends the process.
        unsafe { libc::_exit(42) };
    }
}

/// Waits for a child that is traced; returns the signal for which it has stopped.
fn stopped_by(child: libc::pid_t) -> Result<c_int, ExitStatus> {
    let mut status = 0;
    // SAFETY: fills a variable of this frame.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    if libc::WIFSTOPPED(status) { Ok(libc::WSTOPSIG(status)) } else { Err(ExitStatus::from_raw(status)) }
}

/// Lets a child go on that has stopped, with this signal.
fn go_on(child: libc::pid_t, signal: c_int) {
    // SAFETY: a child of this process that has stopped.
    assert_eq!(unsafe { libc::ptrace(libc::PTRACE_CONT, child, 0_usize, signal as usize) }, 0);
}

/// Two signals are delivered at once: the fault's, and one that was sent. Where the handler of the
/// first does not block the second, the kernel puts both frames on the alternative stack, which has
/// room for one beside what the handler calls.
#[test]
fn no_other_signal_nests_in_the_handler_of_a_fault() {
    let output = in_a_child("no_other_signal_nests_in_the_handler_of_a_fault", || {
        install().unwrap();
        set(libc::SIGUSR1, stay_off_the_alternative_stack as *const () as usize, 0, None);
        // SAFETY: the child calls what signal handlers may call.
        let child = unsafe { libc::fork() };
        assert!(child >= 0);
        if child == 0 {
            // SAFETY: asks the parent to trace this process.
            let is_traced = unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0_usize, 0_usize) } == 0;
            let is_right = is_traced && load_u32(8).is_err() && CALLS.load(SeqCst) == 1;
            // SAFETY: ends the process.
            unsafe { libc::_exit(if is_right { 0 } else { 1 }) };
        }
        assert_eq!(stopped_by(child), Ok(libc::SIGSEGV));
        // SAFETY: sends a signal to the child.
        assert_eq!(unsafe { libc::kill(child, libc::SIGUSR1) }, 0);
        go_on(child, libc::SIGSEGV);
        assert_eq!(stopped_by(child), Ok(libc::SIGUSR1));
        go_on(child, libc::SIGUSR1);
        let end = stopped_by(child);
        assert_eq!(end.map_err(|end| end.code()), Err(Some(0)), "42: nested; 1: the fault was not answered");
    });
    assert_fine(&output);
}

extern "C" fn own_handler(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: what the kernel called it with.
    if !unsafe { recover(info, context) } {
        repair(signal, info, context);
    }
}

#[test]
fn a_program_with_handlers_of_its_own_needs_no_others() {
    assert_fine(&in_a_child("a_program_with_handlers_of_its_own_needs_no_others", || {
        set(libc::SIGSEGV, own_handler as *const () as usize, libc::SA_SIGINFO, None);
        assert_recovers();
        assert_eq!(CALLS.load(SeqCst), 0);
        touch(map(libc::PROT_NONE));
        assert_eq!(CALLS.load(SeqCst), 1);
        send(libc::SIGSEGV);
        assert_eq!(CALLS.load(SeqCst), 2);
        assert_recovers();
    }));
}

/// The number of instructions before which the signal was sent.
#[cfg(target_arch = "x86_64")]
static STEPS: AtomicU32 = AtomicU32::new(0);

/// Sends a signal that is blocked until this has returned, so it comes at the instruction before
/// which the thread was trapped.
#[cfg(target_arch = "x86_64")]
extern "C" fn send_at_each_step(_: c_int) {
    STEPS.fetch_add(1, SeqCst);
    send(libc::SIGSEGV);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn a_signal_that_is_sent_at_any_instruction_of_an_access_is_no_fault() {
    assert_fine(&in_a_child("a_signal_that_is_sent_at_any_instruction_of_an_access_is_no_fault", || {
        set(libc::SIGSEGV, note as *const () as usize, 0, None);
        install().unwrap();
        set(libc::SIGTRAP, send_at_each_step as *const () as usize, 0, Some(libc::SIGSEGV));
        let word = AtomicU32::new(5);
        let address = word.as_ptr().expose_provenance() as u64;
        // SAFETY: sets the trap flag, for which there is a handler; memory and stack are left as
        // they were.
        unsafe { std::arch::asm!("pushfq", "or qword ptr [rsp], 0x100", "popfq") };
        let found = load_u32(address);
        // SAFETY: takes the flag away again.
        unsafe { std::arch::asm!("pushfq", "and qword ptr [rsp], -0x101", "popfq") };
        assert_eq!(found, Ok(5));
        assert_eq!(CALLS.load(SeqCst), STEPS.load(SeqCst));
        assert!(STEPS.load(SeqCst) >= 5, "the access was stepped through");
    }));
}
