//! Filters of system calls, assembled by hand: what a kernel without something, or a sandbox,
//! answers.

#![allow(dead_code, missing_docs)]

use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

pub struct Rule {
    number: libc::c_long,
    when: When,
    action: Action,
}

/// A condition on the low half of an argument.
#[derive(Clone, Copy)]
pub enum When {
    Always,
    ArgumentIs(u32, u32),
    ArgumentIsNot(u32, u32),
    /// The argument has any of these bits.
    ArgumentHas(u32, u32),
}

#[derive(Clone, Copy)]
pub enum Action {
    Errno(i32),
    /// Kills the whole process.
    Kill,
    /// Sends SIGSYS to the thread.
    Trap,
}

impl Rule {
    pub fn new(number: libc::c_long, when: When, action: Action) -> Rule {
        Rule { number, when, action }
    }
}

const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
const JUMP_IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
const JUMP_IF_ANY_BIT: u16 = (libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K) as u16;
const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;

fn op(code: u16, k: u32, jt: u8, jf: u8) -> libc::sock_filter {
    libc::sock_filter { code, jt, jf, k }
}

/// Returns where the low half of an argument lies in `seccomp_data`.
fn argument(index: u32) -> u32 {
    16 + 8 * index + if cfg!(target_endian = "big") { 4 } else { 0 }
}

impl Rule {
    fn assemble(&self, program: &mut Vec<libc::sock_filter>) {
        let answer = match self.action {
            Action::Errno(errno) => libc::SECCOMP_RET_ERRNO | errno as u32,
            Action::Kill => libc::SECCOMP_RET_KILL_PROCESS,
            Action::Trap => libc::SECCOMP_RET_TRAP,
        };
        let test = match self.when {
            When::Always => vec![],
            When::ArgumentIs(index, value) => vec![op(LOAD, argument(index), 0, 0), op(JUMP_IF_EQUAL, value, 0, 1)],
            When::ArgumentIsNot(index, value) => vec![op(LOAD, argument(index), 0, 0), op(JUMP_IF_EQUAL, value, 1, 0)],
            When::ArgumentHas(index, bits) => vec![op(LOAD, argument(index), 0, 0), op(JUMP_IF_ANY_BIT, bits, 0, 1)],
        };
        program.push(op(LOAD, 0, 0, 0));
        program.push(op(JUMP_IF_EQUAL, self.number as u32, 0, test.len() as u8 + 1));
        program.extend(test);
        program.push(op(RETURN, answer, 0, 0));
    }
}

/// Puts the filter on every thread of this process, forever.
pub fn refuse(rules: &[Rule]) {
    const ON_EVERY_THREAD: libc::c_long = 1;
    put(rules, ON_EVERY_THREAD);
}

/// Puts the filter on this thread, and on those that it starts, forever.
pub fn refuse_here(rules: &[Rule]) {
    put(rules, 0);
}

fn put(rules: &[Rule], flags: libc::c_long) {
    let mut program = Vec::new();
    rules.iter().for_each(|rule| rule.assemble(&mut program));
    program.push(op(RETURN, libc::SECCOMP_RET_ALLOW, 0, 0));
    // SAFETY: takes numbers only.
    let outcome = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    assert_eq!(outcome, 0, "PR_SET_NO_NEW_PRIVS");
    let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    const SET_MODE_FILTER: libc::c_long = 1;
    // SAFETY: the program outlives the call, which copies it.
    let outcome = unsafe { libc::syscall(libc::SYS_seccomp, SET_MODE_FILTER, flags, &raw const program) };
    assert_eq!(outcome, 0, "seccomp: {}", std::io::Error::last_os_error());
}

/// The sixth argument of calls that are let through.
pub const LET_THROUGH: u32 = 0x1EE_3A2D;

/// The calls that functions answer, and those functions.
static INSTEAD: [Instead; 4] = [const { Instead { number: AtomicI64::new(-1), function: AtomicUsize::new(0) } }; 4];

struct Instead {
    number: AtomicI64,
    function: AtomicUsize,
}

/// A function that answers a call: it gets the first three arguments, and returns a result or a
/// negative errno.
pub type Answer = fn([i64; 3]) -> i64;

/// Makes the call itself, past the filter.
pub fn let_through(number: libc::c_long, arguments: [i64; 3]) -> i64 {
    let [first, second, third] = arguments;
    // SAFETY: the call that was trapped, with its own arguments.
    let outcome = unsafe {
        libc::syscall(
            number,
            first,
            second,
            third,
            0 as libc::c_long,
            0 as libc::c_long,
            libc::c_long::from(LET_THROUGH),
        )
    };
    if outcome < 0 { -i64::from(std::io::Error::last_os_error().raw_os_error().unwrap()) } else { outcome }
}

/// Makes `instead` answer a call, on the thread that makes it. Returns false where the registers
/// are not known.
pub fn answer_by(number: libc::c_long, instead: Answer) -> bool {
    answer_each_by(&[(number, instead)])
}

/// Makes its function answer each of the calls, on the thread that makes it. Returns false where
/// the registers are not known.
pub fn answer_each_by(answers: &[(libc::c_long, Answer)]) -> bool {
    let answers = answers.iter().map(|&(number, answer)| (number, When::ArgumentIsNot(5, LET_THROUGH), answer));
    answer_those_by(&answers.collect::<Vec<_>>())
}

/// Makes its function answer each of the calls that meet the condition, on the thread that makes
/// it. Returns false where the registers are not known.
#[cfg(target_arch = "x86_64")]
pub fn answer_those_by(answers: &[(libc::c_long, When, Answer)]) -> bool {
    use std::ffi::{c_int, c_void};

    extern "C" fn trapped(_: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
        // SAFETY: installed with SA_SIGINFO, so the kernel passes a valid context.
        let context = unsafe { &mut *context.cast::<libc::ucontext_t>() };
        let registers = &mut context.uc_mcontext.gregs;
        let arguments = [libc::REG_RDI, libc::REG_RSI, libc::REG_RDX].map(|register| registers[register as usize]);
        let number = registers[libc::REG_RAX as usize];
        let instead = INSTEAD.iter().find(|instead| instead.number.load(Ordering::Relaxed) == number).unwrap();
        // SAFETY: stored below.
        let answer = unsafe { std::mem::transmute::<usize, Answer>(instead.function.load(Ordering::Relaxed)) };
        registers[libc::REG_RAX as usize] = answer(arguments);
    }

    for (instead, (number, _, answer)) in INSTEAD.iter().zip(answers) {
        instead.function.store(*answer as usize, Ordering::Relaxed);
        instead.number.store(*number, Ordering::Relaxed);
    }
    // SAFETY: zeroed is a valid sigaction.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = trapped;
    action.sa_sigaction = handler as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER;
    // SAFETY: a handler that does what its caller says.
    let outcome = unsafe { libc::sigaction(libc::SIGSYS, &action, std::ptr::null_mut()) };
    assert_eq!(outcome, 0);
    let trap = |(number, when, _): &(libc::c_long, When, Answer)| Rule::new(*number, *when, Action::Trap);
    refuse(&answers.iter().map(trap).collect::<Vec<_>>());
    true
}

#[cfg(not(target_arch = "x86_64"))]
pub fn answer_those_by(_: &[(libc::c_long, When, Answer)]) -> bool {
    false
}

static AT_THE_END: AtomicUsize = AtomicUsize::new(0);

/// Makes `at_the_end` run, on the listing thread, whenever a listing of a folder has come to its
/// end. Returns false where the registers are not known.
#[cfg(target_arch = "x86_64")]
pub fn trap_the_end_of_listings(at_the_end: fn()) -> bool {
    use std::ffi::{c_int, c_void};

    extern "C" fn trapped(_: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
        // SAFETY: installed with SA_SIGINFO, so the kernel passes a valid context.
        let context = unsafe { &mut *context.cast::<libc::ucontext_t>() };
        let registers = &mut context.uc_mcontext.gregs;
        let argument = |register: c_int| registers[register as usize];
        let (folder, room, size) = (argument(libc::REG_RDI), argument(libc::REG_RSI), argument(libc::REG_RDX));
        // SAFETY: the call that was trapped, with its own arguments.
        let read =
            unsafe { libc::syscall(libc::SYS_getdents64, folder, room, size, 0, 0, libc::c_long::from(LET_THROUGH)) };
        if read == 0 {
            // SAFETY: stored below.
            let at_the_end = unsafe { std::mem::transmute::<usize, fn()>(AT_THE_END.load(Ordering::Relaxed)) };
            at_the_end();
        }
        registers[libc::REG_RAX as usize] = if read < 0 { -libc::c_long::from(libc::EBADF) } else { read };
    }

    AT_THE_END.store(at_the_end as usize, Ordering::Relaxed);
    // SAFETY: zeroed is a valid sigaction.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = trapped;
    action.sa_sigaction = handler as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER;
    // SAFETY: a handler that makes a system call, and runs `at_the_end`, which waits with atomics.
    let outcome = unsafe { libc::sigaction(libc::SIGSYS, &action, std::ptr::null_mut()) };
    assert_eq!(outcome, 0);
    refuse(&[Rule::new(libc::SYS_getdents64, When::ArgumentIsNot(5, LET_THROUGH), Action::Trap)]);
    true
}

#[cfg(not(target_arch = "x86_64"))]
pub fn trap_the_end_of_listings(_: fn()) -> bool {
    false
}
