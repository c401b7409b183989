//! Each operation in other places at which mistakes have been found: on the smallest stack that a
//! thread may have, in the destructors of a thread's variables, where no thread can be started, and
//! where membarrier is refused after it was used, or all that heavy fences are made of. Each runs in a
//! process of its own; then everything is used, but in the last place: most of it needs fences there.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use leeward::fence;

use super::board::{self, Board};
use super::case::{self, Over};
use super::common::{self, patience};
use super::operations::{self, Operation};
use super::seccomp::{Action, Rule, When, refuse, refuse_here};
use super::{cases, everything};

/// A place at which an operation runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    SmallStack,
    Destructors,
    NoThreads,
    NoMembarrier,
    NoFences,
}

const PLACES: [(&str, At); 5] = [
    ("small stack", At::SmallStack),
    ("destructors", At::Destructors),
    ("no threads", At::NoThreads),
    ("no membarrier", At::NoMembarrier),
    ("no fences", At::NoFences),
];

/// What ends a call that cannot do without a heavy fence says this.
const SENTENCE: &str = "no heavy fence is possible";
/// The operations that may end so, by a panic or with the process: they wait for readers, or need what the
/// owner or readers of a biased lock have.
const NEED_FENCES: &[&str] = &[
    "asymmetric::mutex_awaited",
    "asymmetric::mutex_revoked",
    "asymmetric::written_behind_a_reader",
    "epoch::own_collector",
    "fences::heavy",
    "locks::light_awaited",
    "locks::light_unlocked_for_another",
    "maps::had_back",
    "rcu::adopted",
    "rcu::barrier",
    "rcu::barrier_behind_a_reader",
    "rcu::cell_back",
    "rcu::cell_synchronized",
    "rcu::defer_and_help",
    "rcu::defer_beyond_the_limit",
    "rcu::defer_without_bound",
    "rcu::global",
    "rcu::poll",
    "rcu::synchronize",
    "rcu::synchronize_behind_a_reader",
    "rcu::synchronize_online",
    "shard_map::shard_insert_behind_a_reader",
];

/// The operations that wait for what the thread beside does once. Among destructors they run in one alone:
/// in the last, after the library's own.
const AWAIT_ONCE: &[&str] = &[
    "bounded::awaited",
    "bounded::room_awaited",
    "collect::queue_awaited",
    "collect::queue_popped_behind",
    "futexes::awaited",
    "futexes::parked_awaited",
    "locks::condvar_awaited",
    "locks::condvar_awaited_plainly",
    "small::semaphore",
    "waits::barrier_awaited",
    "waits::event_any",
    "waits::event_awaited",
];

/// Runs the case of this name, if it is one of a place.
pub fn run(case: &str) -> bool {
    let Some((place, operation)) = case.split_once('/') else { return false };
    let (_, at) = PLACES.into_iter().find(|(name, _)| *name == place).unwrap();
    run_at(at, operations::find(operation));
    true
}

fn run_at(at: At, operation: &'static Operation) {
    // SAFETY: ends a case that hangs.
    unsafe { libc::alarm(4 * patience().as_secs() as u32) };
    let board = &board::inherited()[0];
    let stack = if at == At::SmallStack { 16 * 1024 } else { 256 * 1024 };
    thread::scope(|scope| {
        scope.spawn(|| case::beside(operation, board));
        let worker = thread::Builder::new().stack_size(stack).spawn_scoped(scope, || work(at, operation, board));
        // The scope's own end does not wait for destructors of a thread's variables.
        worker.unwrap().join().unwrap();
    });
    if at == At::NoFences {
        return;
    }
    // The destructors leave what several operations do.
    assert!(at == At::Destructors || (operation.left)(), "what the operation left");
    assert!(everything::use_it(&board.part), "afterwards: {}", everything::name(board.part.load(Ordering::SeqCst)));
}

/// Does the operation on the thread that the one beside waits for.
fn work(at: At, operation: &'static Operation, board: &'static Board) {
    let over = Over(board);
    board.ready.wait(1, || false);
    // SAFETY: has no precondition.
    board.thread.set(unsafe { libc::gettid() } as u32);
    board.traced.set(1);
    match at {
        At::SmallStack => (operation.run)(),
        At::NoThreads => {
            refuse_here(&[
                // The C library tries the older call then.
                Rule::new(libc::SYS_clone3, When::Always, Action::Errno(libc::ENOSYS)),
                Rule::new(
                    libc::SYS_clone,
                    When::ArgumentHas(0, libc::CLONE_THREAD as u32),
                    Action::Errno(libc::EAGAIN),
                ),
            ]);
            (operation.run)();
        }
        At::NoMembarrier => {
            everything::begin_to_use_it();
            refuse(&[Rule::new(libc::SYS_membarrier, When::Always, Action::Errno(libc::EPERM))]);
            (operation.run)();
        }
        At::NoFences => {
            everything::begin_to_use_it();
            assert_eq!(fence::try_heavy(), Ok(()));
            let fences = [libc::SYS_membarrier, libc::SYS_rt_tgsigqueueinfo, libc::SYS_sched_setaffinity];
            refuse(&fences.map(|number| Rule::new(number, When::Always, Action::Errno(libc::EPERM))));
            assert_eq!(fence::try_heavy(), Err(fence::Error::NoStrategy));
            (operation.run)();
            is_left_right(operation);
        }
        At::Destructors => {
            // They are dropped in the opposite order: one after the library's own variables.
            LAST.with(|at_exit| at_exit.arm(operation, board));
            if !AWAIT_ONCE.contains(&operation.name) {
                (operation.run)();
                FIRST.with(|at_exit| at_exit.arm(operation, board));
            }
            // The one that is dropped last lets the thread beside go.
            std::mem::forget(over);
        }
    }
}

/// Looks at what the operation left. That may need a fence. (Of hazard pointers it asks whether what was
/// retired is freed, which is kept where there are none.)
fn is_left_right(operation: &Operation) {
    if operation.name.starts_with("hazard::") {
        return;
    }
    match catch_unwind(AssertUnwindSafe(|| (operation.left)())) {
        Ok(is_right) => assert!(is_right, "what the operation left"),
        Err(panic) => {
            let said = panic.downcast_ref::<String>().cloned().unwrap_or_default();
            assert!(said.contains(SENTENCE), "what the operation left: {said}");
        }
    }
}

thread_local! {
    static FIRST: AtExit = const { AtExit(Cell::new(None), false) };
    static LAST: AtExit = const { AtExit(Cell::new(None), true) };
}

/// Does an operation when its thread ends.
struct AtExit(Cell<Option<(&'static Operation, &'static Board)>>, bool);

impl AtExit {
    fn arm(&self, operation: &'static Operation, board: &'static Board) {
        self.0.set(Some((operation, board)));
    }
}

impl Drop for AtExit {
    fn drop(&mut self) {
        let Some((operation, board)) = self.0.get() else { return };
        let _over = self.1.then(|| Over(board));
        (operation.run)();
    }
}

/// Returns true if what the operation itself does is not possible there: it has a variable of its
/// thread, or ends the process.
fn is_bound(at: At, operation: &Operation) -> bool {
    at == At::Destructors && operation.ends || operation.name == "arranged::worker"
}

/// Runs each operation at a place, some at a time.
#[track_caller]
fn everywhere_at(at: At) {
    let (place, _) = PLACES.into_iter().find(|(_, known)| *known == at).unwrap();
    let all: Vec<_> = operations::all().filter(|operation| !is_bound(at, operation)).collect();
    let next = AtomicUsize::new(0);
    let try_some = || {
        let mut wrong = Vec::new();
        while let Some(operation) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
            let name = format!("{place}/{}", operation.name);
            let mut command = cases::command(&name);
            let (_, file) = board::boards(&mut command);
            let case = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            drop(file);
            let output = case.wait_with_output().unwrap();
            let complaint = String::from_utf8_lossy(&output.stderr);
            let passed = output.status.success() && String::from_utf8_lossy(&output.stdout).contains("1 passed");
            let may_end = at == At::NoFences && NEED_FENCES.contains(&operation.name) && complaint.contains(SENTENCE);
            if !passed && !may_end {
                wrong.push(format!("{name}: {}\n{complaint}", output.status));
            }
        }
        wrong
    };
    let wrong = thread::scope(|scope| {
        let workers = common::processors().into_iter().map(|_| scope.spawn(try_some)).collect::<Vec<_>>();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect::<Vec<_>>()
    });
    assert!(wrong.is_empty(), "{} of {} operations:\n{}", wrong.len(), all.len(), wrong.join("\n"));
}

#[test]
fn the_lists_name_operations() {
    for name in AWAIT_ONCE.iter().chain(NEED_FENCES) {
        assert!(operations::all().any(|operation| operation.name == *name), "there is no {name}");
    }
}

#[test]
fn on_a_small_stack() {
    everywhere_at(At::SmallStack);
}

#[test]
fn in_the_destructors_of_a_threads_variables() {
    everywhere_at(At::Destructors);
}

#[test]
fn where_membarrier_is_refused_later() {
    everywhere_at(At::NoMembarrier);
}

#[test]
fn where_all_fences_are_refused_later() {
    everywhere_at(At::NoFences);
}

#[test]
fn where_no_thread_can_be_started() {
    everywhere_at(At::NoThreads);
}
