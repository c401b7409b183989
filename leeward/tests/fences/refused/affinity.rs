//! Visiting the processors where the system does not do what it says: an error is better than a
//! fence that is none.

use super::*;
use seccomp::{Answer, let_through};
use std::sync::atomic::AtomicU32;

/// Returns the rules that allow neither membarrier nor signals: each heavy fence visits the
/// processors.
fn only_visits() -> [Rule; 2] {
    [
        Rule::new(libc::SYS_membarrier, When::Always, Action::Errno(libc::ENOSYS)),
        Rule::new(libc::SYS_rt_tgsigqueueinfo, When::Always, Action::Errno(libc::EPERM)),
    ]
}

fn nothing_is_promised() {
    assert_eq!(fence::init(), Err(Error::NoStrategy));
    assert_eq!(panic_of(fence::heavy), format!("leeward: {}", Error::NoStrategy));
}

pub fn not_kept() {
    let Some(_) = two_processors() else { return };
    refuse(&only_visits());
    assert_eq!(fence::init(), Ok(Strategy::Signal));
    refuse(&[Rule::new(libc::SYS_sched_setaffinity, When::Always, Action::Errno(0))]);
    assert!(panic_of(fence::heavy).contains("no heavy fence is possible"));
}

/// The processor that the last call asked for.
static ASKED: AtomicU32 = AtomicU32::new(0);

/// Returns the first processor of a mask of the trapped call's.
fn first_of(arguments: [i64; 3]) -> u32 {
    // SAFETY: the mask's first word, which the caller has.
    let word = unsafe { (arguments[2] as *const u64).read() };
    word.trailing_zeros()
}

pub fn only_said() {
    fn takes(arguments: [i64; 3]) -> i64 {
        ASKED.store(first_of(arguments), Ordering::SeqCst);
        0
    }
    fn tells(arguments: [i64; 3]) -> i64 {
        // SAFETY: the place that the caller gives.
        unsafe { (arguments[0] as *mut u32).write(ASKED.load(Ordering::SeqCst)) };
        0
    }
    fn counts_nothing(arguments: [i64; 3]) -> i64 {
        // SAFETY: the place that the caller gives; zeroes are one.
        unsafe { (arguments[1] as *mut libc::rusage).write_bytes(0, 1) };
        0
    }
    let Some((first, _)) = two_processors() else { return };
    ASKED.store(first as u32, Ordering::SeqCst);
    refuse(&only_visits());
    let answers: [(libc::c_long, Answer); 3] =
        [(libc::SYS_sched_setaffinity, takes), (libc::SYS_getcpu, tells), (libc::SYS_getrusage, counts_nothing)];
    if !seccomp::answer_each_by(&answers) {
        println!("skipped: this machine's registers are not known to the test");
        return;
    }
    nothing_is_promised();
}

pub fn changed_meanwhile() {
    static MOVES: AtomicU32 = AtomicU32::new(0);
    static ALL: AtomicU64 = AtomicU64::new(0);
    fn takes_and_moves(arguments: [i64; 3]) -> i64 {
        let outcome = let_through(libc::SYS_sched_setaffinity, arguments);
        // As with a cpuset that was written just now: the caller runs on another processor than it
        // asked for.
        if MOVES.fetch_add(1, Ordering::SeqCst) < 2 {
            let mut others = ALL.load(Ordering::SeqCst) & !(1 << first_of(arguments));
            assert_eq!(let_through(libc::SYS_sched_setaffinity, [0, 8, &raw mut others as i64]), 0);
        }
        outcome
    }
    let Some(_) = two_processors() else { return };
    ALL.store(processors().iter().filter(|&&cpu| cpu < 64).fold(0, |mask, cpu| mask | 1 << cpu), Ordering::SeqCst);
    refuse(&only_visits());
    assert_eq!(fence::init(), Ok(Strategy::Signal));
    if !seccomp::answer_by(libc::SYS_sched_setaffinity, takes_and_moves) {
        println!("skipped: this machine's registers are not known to the test");
        return;
    }
    heavy_by(|| fence::counters().visits);
    assert!(MOVES.load(Ordering::SeqCst) > 3, "nobody went again");
    suite();
}
