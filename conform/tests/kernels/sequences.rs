//! Random sequences: this Linux agrees with the model, kernels that are wrong in one thing are found, and
//! what is printed of them is short, compiles, and agrees on this Linux.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use leeward_conform::linux::{Linux, sequences_apart_with};
use leeward_conform::sequences::{self, Found, Operations, Report};
use leeward_conform::{Errno, Syscalls, Verdict, numbers};

const PRIVATE: usize = 128;
const INVAL: isize = -22;
const NOSYS: isize = -38;
const PERM: isize = -1;
const DEADLK: isize = -35;

const WAIT: usize = 0;
const WAKE: usize = 1;
const REQUEUE: usize = 3;
const CMP_REQUEUE: usize = 4;
const WAKE_OP: usize = 5;
const WAIT_BITSET: usize = 9;
const WAKE_BITSET: usize = 10;
const LOCK_PI: usize = 6;
const UNLOCK_PI: usize = 7;

/// The most steps of a script that is as short as it gets, for each kernel of this file.
const SHORT: usize = 6;
/// The seconds within which a wrong kernel is found.
const SECONDS: u32 = 60;

/// The arguments of a futex call: word, operation, value, fourth, second word, sixth.
type Arguments = [usize; 6];

/// What is wrong: gets the operation without flags, the arguments, and how the call is made in truth.
type Fault = fn(usize, Arguments, &dyn Fn(Arguments) -> isize) -> isize;

/// This Linux, wrong in one thing.
struct Wrong(Fault);

impl Syscalls for Wrong {
    unsafe fn call(&self, number: usize, arguments: [usize; 6]) -> isize {
        // SAFETY: the caller's promise; what faults change are numbers and words of the sequences'.
        let call = |arguments| unsafe { Linux.call(number, arguments) };
        if number == numbers::FUTEX { (self.0)(arguments[1] & 0x7f, arguments, &call) } else { call(arguments) }
    }

    unsafe fn spawn(&self, body: extern "C" fn(usize), argument: usize) -> Result<(), Errno> {
        // SAFETY: the caller's promise.
        unsafe { Linux.spawn(body, argument) }
    }
}

/// How often a program in C is run. It takes a thread that has not returned after a tenth of a second for one that
/// sleeps, which on a busy machine may be wrong now and then; a program that says something wrong says it each time.
const RUNS: usize = 20;

/// Compiles a program in C and runs it; returns its exit code, or nothing where there is no compiler.
fn compiled(found: &Found, name: &str) -> Option<i32> {
    let mut source = String::new();
    found.program(&mut source).unwrap();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sequences");
    std::fs::create_dir_all(&folder).unwrap();
    let (file, program) = (folder.join(format!("{name}.c")), folder.join(name));
    std::fs::write(&file, &source).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-Wall", "-Wextra", "-Werror", "-pthread", "-o"]).arg(&program).arg(&file);
    match compiler.status() {
        Err(_) => return None,
        Ok(status) => assert!(status.success(), "{source}"),
    }
    let mut code = None;
    for _ in 0..RUNS {
        let ran = Command::new(&program).output().unwrap();
        println!("{}", String::from_utf8_lossy(&ran.stdout));
        code = ran.status.code();
        if code == Some(0) {
            break;
        }
    }
    code
}

fn is_found(name: &str, report: &Report) {
    let mut text = String::new();
    report.text(&mut text).unwrap();
    println!("{name}: {text}");
    assert!(matches!(report.verdict, Verdict::Wrong(_)), "{name}: {text}");
    let found = report.found.as_ref().expect("a sequence is shown");
    assert!((1..=SHORT).contains(&found.steps()), "{name}: {text}");
    let mut program = String::new();
    found.program(&mut program).unwrap();
    // About thirty: some for each step.
    assert!(program.lines().count() <= 26 + 4 * found.steps(), "{program}");
    if let Some(code) = compiled(found, name) {
        assert_eq!(code, 0, "{name}: the program in C differs on Linux: {text}");
    }
}

/// Declares a test of faults, which has a row for each: the sequences find it.
macro_rules! faults {
    ($test:ident; $($name:ident: $fault:expr;)*) => {
        #[test]
        fn $test() {
            crate::support::each_row(&[$((stringify!($name), &|| {
                static KERNEL: Wrong = Wrong($fault);
                is_found(stringify!($name), &sequences_apart_with(&KERNEL, 1, SECONDS, 10, Operations::default()));
            })),*]);
        }
    };
}

/// Where the operation is one of these, the call with an argument set; else the call.
fn set(is_so: bool, mut arguments: Arguments, at: usize, to: usize, call: &dyn Fn(Arguments) -> isize) -> isize {
    if is_so {
        arguments[at] = to;
    }
    call(arguments)
}

fn is_negative(count: usize) -> bool {
    (count as u32 as i32) < 0
}

faults! {
    each_fault_is_found;
    a_wake_wakes_all: |op, a, call| set(op == WAKE, a, 2, 99, call);
    a_wake_of_0_wakes_none: |op, a, call| if op == WAKE && a[2] == 0 { 0 } else { call(a) };
    wakes_are_lost: |op, a, call| if op == WAKE { 0 } else { call(a) };
    bits_do_not_matter: |op, a, call| set(matches!(op, WAIT_BITSET | WAKE_BITSET), a, 5, u32::MAX as usize, call);
    requeue_answers_what_it_woke: |op, a, call| match call(a) {
        answered @ 0.. if matches!(op, REQUEUE | CMP_REQUEUE) => answered.min(a[2] as isize),
        answered => answered,
    };
    requeue_compares_nothing: |op, a, call| set(op == CMP_REQUEUE, a, 1, a[1] - (op == CMP_REQUEUE) as usize, call);
    requeue_takes_negative_counts: |op, a, call| match call(a) {
        INVAL if matches!(op, REQUEUE | CMP_REQUEUE) && (is_negative(a[2]) || is_negative(a[3])) => 0,
        answered => answered,
    };
    wake_op_knows_no_shift: |op, a, call| set(op == WAKE_OP, a, 5, a[5] & 0x7fff_ffff, call);
    shared_is_private: |_, a, call| set(true, a, 1, a[1] | PRIVATE, call);
    a_lock_is_unlocked_by_any_thread: |op, a, call| match call(a) {
        PERM if op == UNLOCK_PI => 0,
        answered => answered,
    };
    a_lock_is_taken_twice: |op, a, call| match call(a) {
        DEADLK if op == LOCK_PI => 0,
        answered => answered,
    };
    an_unknown_operation_is_invalid: |_, a, call| match call(a) {
        NOSYS => INVAL,
        answered => answered,
    };
    a_wait_compares_nothing: |op, mut a, call| {
        // A value that no word holds: the answer tells that the word can be read.
        if op == WAIT && call([a[0], a[1], 0x7777_7777, a[3], 0, 0]) == -11 {
            // SAFETY: a word of the sequences', which the call above has read.
            a[2] = unsafe { core::ptr::with_exposed_provenance::<u32>(a[0]).read_volatile() } as usize;
        }
        call(a)
    };
}

/// This Linux, whose robust lists are wrong in one thing: what is set is another list.
struct Forgetful(fn(usize) -> usize);

impl Syscalls for Forgetful {
    unsafe fn call(&self, number: usize, mut arguments: [usize; 6]) -> isize {
        if number == numbers::SET_ROBUST_LIST && arguments[0] != 0 {
            arguments[0] = (self.0)(arguments[0]);
        }
        // SAFETY: the caller's promise.
        unsafe { Linux.call(number, arguments) }
    }

    unsafe fn spawn(&self, body: extern "C" fn(usize), argument: usize) -> Result<(), Errno> {
        // SAFETY: the caller's promise.
        unsafe { Linux.spawn(body, argument) }
    }
}

/// Returns a number of a list's head or entries.
fn number(head: usize, at: usize) -> &'static AtomicUsize {
    // SAFETY: the sequences' lists are five numbers, in memory that stays.
    unsafe { AtomicUsize::from_ptr(core::ptr::with_exposed_provenance_mut(head + at * size_of::<usize>())) }
}

#[test]
fn robust_lists_are_forgotten() {
    static KERNEL: Forgetful = Forgetful(|_| 0);
    is_found("robust_lists_are_forgotten", &sequences_apart_with(&KERNEL, 2, SECONDS, 10, Operations::default()));
}

#[test]
fn the_pending_lock_is_forgotten() {
    static KERNEL: Forgetful = Forgetful(|head| {
        number(head, 2).store(0, Ordering::SeqCst);
        head
    });
    is_found("the_pending_lock_is_forgotten", &sequences_apart_with(&KERNEL, 2, SECONDS, 10, Operations::default()));
}

#[test]
fn a_wake_that_never_returns_is_found() {
    static KERNEL: Wrong = Wrong(|op, a, call| {
        if op == WAKE_OP {
            loop {
                std::thread::sleep(std::time::Duration::from_secs(1));
            }
        }
        call(a)
    });
    // The question which operations there are meets it first: no sequence is asked, and that is said.
    let report = sequences_apart_with(&KERNEL, 1, 5, 1, Operations::default());
    assert!(matches!(&report.verdict, Verdict::Unfit(text) if text.as_str().contains("hangs")), "{:?}", report.verdict);
    static LATER: Wrong = Wrong(|op, a, call| {
        let answered = call(a);
        if op == REQUEUE && answered > 0 {
            std::thread::sleep(std::time::Duration::from_secs(1000));
        }
        answered
    });
    let report = sequences_apart_with(&LATER, 1, 60, 1, Operations::default());
    let Verdict::Wrong(text) = report.verdict else { panic!("{:?}", report.verdict) };
    assert!(text.as_str().starts_with("it hangs"), "{text}");
    is_found("a_requeue_hangs", &report);
}

#[test]
fn a_difference_that_shows_once_is_not_reported() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    static KERNEL: Wrong = Wrong(|op, a, call| {
        let answered = call(a);
        // One wake in a hundred answers wrongly: each script is right when it is asked again.
        let lies = op == WAKE && CALLS.fetch_add(1, Ordering::SeqCst) % 100 == 50;
        if lies { answered + 1 } else { answered }
    });
    let report = sequences::ask(&KERNEL, 1, 2);
    assert!(matches!(report.verdict, Verdict::Pass), "{:?} {:?}", report.verdict, report.found);
    assert!(CALLS.load(Ordering::SeqCst) > 100, "no lie was told");
}

#[test]
fn operations_that_are_absent_are_left_out() {
    static KERNEL: Wrong = Wrong(|op, a, call| if matches!(op, REQUEUE | WAIT_BITSET) { NOSYS } else { call(a) });
    let report = sequences_apart_with(&KERNEL, 1, 2, 10, Operations::default());
    assert!(matches!(report.verdict, Verdict::Pass), "{:?} {:?}", report.verdict, report.found);
    assert_eq!(report.absent.names().collect::<Vec<_>>(), ["FUTEX_REQUEUE", "FUTEX_WAIT_BITSET"]);
    assert!(report.sequences > 10);
}

#[test]
fn what_is_left_out_is_not_met_again() {
    // Two faults: one of an operation, and one of an argument that is wrong.
    static KERNEL: Wrong = Wrong(|op, a, call| match call(a) {
        answered @ 0.. if op == CMP_REQUEUE => answered.min(a[2] as isize),
        INVAL if op == WAKE => 0,
        answered => answered,
    });
    let named = |name| Operations::named(name).unwrap();
    let moves = named("FUTEX_CMP_REQUEUE");
    assert!(matches!(sequences_apart_with(&KERNEL, 1, SECONDS, 10, moves).verdict, Verdict::Wrong(_)));
    let report = sequences_apart_with(&KERNEL, 1, 3, 10, moves.and(named("errors")));
    assert!(matches!(report.verdict, Verdict::Pass), "{:?} {:?}", report.verdict, report.found);
    assert!(report.sequences > 10);
    let left_out = ["FUTEX_CMP_REQUEUE", "errors: arguments that are wrong"];
    assert!(report.without.names().eq(left_out) && report.absent.names().all(|name| !left_out.contains(&name)));
    assert_eq!(Operations::named("FUTEX_FD"), None);
}

#[test]
fn a_seed_gives_the_same_script_each_time() {
    static KERNEL: Wrong = Wrong(|op, a, call| if op == WAKE_OP && a[5] >> 31 == 1 { INVAL } else { call(a) });
    let found = |seed| sequences::ask(&KERNEL, seed, SECONDS).found.expect("it is found");
    let first = found(1);
    let again = found(first.seed);
    assert_eq!((first.seed, format!("{first:?}")), (again.seed, format!("{again:?}")));
}

#[test]
fn json_and_tap_have_the_script_and_the_program() {
    static KERNEL: Wrong = Wrong(|op, a, call| if op == WAKE_OP && a[5] >> 31 == 1 { INVAL } else { call(a) });
    let report = sequences::ask(&KERNEL, 1, SECONDS);
    let (mut json, mut tap) = (String::new(), String::new());
    report.json(&mut json).unwrap();
    report.tap(&mut tap).unwrap();
    let found = report.found.as_ref().expect("it is found");
    let (mut script, mut program) = (String::new(), String::new());
    found.script(&mut script).unwrap();
    found.program(&mut program).unwrap();
    let read: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(read["verdict"], "wrong");
    assert_eq!((&read["script"], &read["program"]), (&script.into(), &program.clone().into()));
    assert!(tap.starts_with("not ok 1 - "), "{tap}");
    let commented: String = program.lines().map(|line| format!("# {line}\n")).collect();
    assert!(tap.ends_with(&commented), "{tap}");
}

#[test]
fn this_linux_agrees_in_its_own_process() {
    let report = sequences::ask(&Linux, 1, 2);
    assert!(matches!(report.verdict, Verdict::Pass), "{:?} {:?}", report.verdict, report.found);
    assert_ne!(report.sequences, 0);
}
