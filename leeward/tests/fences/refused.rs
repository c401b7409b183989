//! Kernels and sandboxes that refuse things. Each case is a process of its own (a filter cannot be
//! taken off): this program, started again with the name of the case, which then runs a small suite
//! on whatever is left.

#![cfg(all(target_os = "linux", not(leeward_symmetric)))]
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/litmus.rs"]
mod harness;
#[path = "../common/seccomp.rs"]
mod seccomp;

use common::*;
use harness::{Automatic, one_writer};
use seccomp::{Action, Rule, When, refuse};
use signals::block_signals;
use suite::{rcu_suite, suite};

use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use leeward::fence::{self, Error, Strategy};
use leeward::rcu::{Domain, RcuCell};

leeward::rcu_domain! {
    struct D;
    struct Fenced: Full;
}

/// Held by each case: the cases need the processors one after the other.
static ALONE: Mutex<()> = Mutex::new(());

const CASE: &str = "LEEWARD_TEST_CASE";

/// Starts this program again for one case. Returns what the case wrote to standard error.
#[track_caller]
fn run(case: &str, prepare: impl FnOnce(&mut Command)) -> String {
    let _alone = alone(&ALONE);
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "case", "--ignored", "--nocapture", "--test-threads=1"])
        .env(CASE, case)
        .env_remove("LEEWARD_FENCE");
    prepare(&mut command);
    let output = command.output().unwrap();
    let (said, complained) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{case}: {}\n{said}\n{complained}", output.status);
    assert!(said.contains("1 passed"), "{case}: nothing ran:\n{said}");
    said.lines().filter(|line| line.contains("Findings")).for_each(|line| println!("{case}: {line}"));
    complained.into_owned()
}

macro_rules! cases {
    ($($(#[$meta:meta])* $name:ident: $body:block)*) => {
        $($(#[$meta])*
        #[test]
        fn $name() {
            run(stringify!($name), |_| ());
        })*

        /// Runs, in a process that was started for a case, that case.
        #[test]
        #[ignore = "started by the other tests"]
        fn case() {
            let _dog = Watchdog::new("case");
            match std::env::var(CASE).unwrap_or_default().as_str() {
                $(stringify!($name) => $body)*
                "named" => environment::named(),
                "unasked" => environment::unasked(),
                "unasked_collector" => environment::unasked_collector(),
                "unasked_hazard" => environment::unasked_hazard(),
                "one_processor" => suite(),
                "another_proc" => namespace::run(),
                other => println!("no such case: `{other}`"),
            }
        }
    };
}

/// Membarrier answers with this number; the third strategy serves.
fn falls_back_to_signals(errno: i32) {
    refuse(&[Rule::new(libc::SYS_membarrier, When::Always, Action::Errno(errno))]);
    assert_eq!(fence::init(), Ok(Strategy::Signal));
    suite();
    for refused in [Strategy::MembarrierPrivate, Strategy::MembarrierGlobal] {
        assert_eq!(fence::force(refused), Err(Error::Refused(refused)));
    }
    assert_eq!(fence::strategy(), Some(Strategy::Signal));
    let counters = fence::counters();
    assert_eq!((counters.membarrier_private, counters.membarrier_global), (0, 0));
    assert!(counters.signal > 0);
}

const QUERY: u32 = 0;
const GLOBAL: u32 = 1;
const PRIVATE: u32 = 8;
const REGISTER_PRIVATE: u32 = 16;

fn membarrier(command: u32, errno: i32) -> Rule {
    Rule::new(libc::SYS_membarrier, When::ArgumentIs(0, command), Action::Errno(errno))
}

/// The query is answered, and the commands are not.
fn falls_back_although_the_query_is_answered(errno: i32) {
    refuse(&[membarrier(PRIVATE, errno), membarrier(REGISTER_PRIVATE, errno), membarrier(GLOBAL, errno)]);
    assert_eq!(fence::init(), Ok(Strategy::Signal));
    rcu_suite::<D>();
}

fn heavy_by(count: impl Fn() -> u64) {
    let before = count();
    fence::heavy();
    assert!(count() > before, "{:?}", fence::counters());
}

cases! {
    enosys: { falls_back_to_signals(libc::ENOSYS) }
    eperm: { falls_back_to_signals(libc::EPERM) }
    einval: { falls_back_to_signals(libc::EINVAL) }
    enomem: { falls_back_to_signals(libc::ENOMEM) }
    enosys_for_the_commands: { falls_back_although_the_query_is_answered(libc::ENOSYS) }
    eperm_for_the_commands: { falls_back_although_the_query_is_answered(libc::EPERM) }
    enomem_for_the_commands: { falls_back_although_the_query_is_answered(libc::ENOMEM) }

    only_the_query_is_refused: {
        refuse(&[membarrier(QUERY, libc::EPERM)]);
        assert!(fence::init().is_ok());
        rcu_suite::<D>();
    }

    the_expedited_command_is_refused: {
        refuse(&[membarrier(PRIVATE, libc::EPERM), membarrier(REGISTER_PRIVATE, libc::EPERM)]);
        let strategy = fence::init().unwrap();
        // Refused by the kernel itself where it runs `nohz_full`.
        assert!(matches!(strategy, Strategy::MembarrierGlobal | Strategy::Signal), "{strategy}");
        rcu_suite::<D>();
    }

    refused_later: {
        assert_eq!(fence::init(), Ok(Strategy::MembarrierPrivate));
        rcu_suite::<D>();
        refuse(&[Rule::new(libc::SYS_membarrier, When::Always, Action::Errno(libc::EPERM))]);
        let before = fence::counters();
        heavy_by(|| fence::counters().signal);
        assert_eq!(fence::strategy(), Some(Strategy::Signal));
        assert!(fence::counters().retries > before.retries);
        assert_eq!(fence::counters().membarrier_private, before.membarrier_private);
        suite();
    }

    /// Where memory is missing, another strategy serves that one fence, and the choice stays.
    no_memory_later: {
        assert_eq!(fence::init(), Ok(Strategy::MembarrierPrivate));
        refuse(&[membarrier(PRIVATE, libc::ENOMEM)]);
        let before = fence::counters();
        fence::heavy();
        let after = fence::counters();
        assert_eq!(after.total(), before.total() + 1);
        assert_eq!(after.membarrier_private, before.membarrier_private);
        assert_eq!(fence::strategy(), Some(Strategy::MembarrierPrivate));
        rcu_suite::<D>();
    }

    killed_for_asking: {
        refuse(&[Rule::new(libc::SYS_membarrier, When::Always, Action::Kill)]);
        assert_eq!(fence::init(), Ok(Strategy::Signal));
        suite();
        assert_eq!(fence::force(Strategy::MembarrierPrivate), Err(Error::Refused(Strategy::MembarrierPrivate)));
    }

    /// No file may be opened either: the library cannot find out what `LEEWARD_FENCE` says, and is
    /// not killed for it.
    killed_for_opening: {
        refuse(&[Rule::new(libc::SYS_openat, When::Always, Action::Kill)]);
        assert_eq!(fence::init(), Ok(Strategy::MembarrierPrivate));
        heavy_by(|| fence::counters().membarrier_private);
    }

    /// `LEEWARD_FENCE` is what the process was started with, and not what it was set to later.
    named_too_late: { environment::named_too_late() }

    signals_refused: {
        refuse(&[
            Rule::new(libc::SYS_membarrier, When::Always, Action::Errno(libc::ENOSYS)),
            Rule::new(libc::SYS_rt_tgsigqueueinfo, When::Always, Action::Errno(libc::EPERM)),
        ]);
        assert_eq!(fence::init(), Ok(Strategy::Signal));
        heavy_by(|| fence::counters().visits);
        suite();
    }

    no_proc: {
        let mut rules = vec![
            Rule::new(libc::SYS_membarrier, When::Always, Action::Errno(libc::ENOSYS)),
            Rule::new(libc::SYS_openat, When::ArgumentHas(2, libc::O_DIRECTORY as u32), Action::Errno(libc::EACCES)),
        ];
        #[cfg(target_arch = "x86_64")]
        let directories = When::ArgumentHas(1, libc::O_DIRECTORY as u32);
        rules.push(Rule::new(libc::SYS_open, directories, Action::Errno(libc::EACCES)));
        refuse(&rules);
        assert_eq!(fence::init(), Ok(Strategy::Signal));
        heavy_by(|| fence::counters().visits);
        suite();
    }

    /// A sandbox answers with success and does nothing.
    affinity_that_is_not_kept: { affinity::not_kept() }
    /// A kernel does not move threads where they ask to run, and answers as if it had.
    a_kernel_that_only_says_so: { affinity::only_said() }
    /// Another process changes where the caller runs, while the caller goes from one processor to
    /// the next.
    processors_that_change_meanwhile: { affinity::changed_meanwhile() }

    everything_refused: {
        refuse(&[
            Rule::new(libc::SYS_membarrier, When::Always, Action::Errno(libc::ENOSYS)),
            Rule::new(libc::SYS_rt_tgsigqueueinfo, When::Always, Action::Errno(libc::EPERM)),
            Rule::new(libc::SYS_sched_setaffinity, When::Always, Action::Errno(libc::EPERM)),
        ]);
        assert_eq!(fence::init(), Err(Error::NoStrategy));
        assert_eq!(panic_of(fence::heavy), format!("leeward: {}", Error::NoStrategy));
        assert_eq!(fence::strategy(), None);
        // Readers that fence themselves need no strategy.
        rcu_suite::<Fenced>();
    }

    /// No thread can be started: callbacks and polling work without a worker.
    no_threads: {
        let clone = [libc::SYS_clone, libc::SYS_clone3];
        refuse(&clone.map(|number| Rule::new(number, When::Always, Action::Errno(libc::EAGAIN))));
        let ran = std::sync::Arc::new(AtomicU64::new(0));
        for _ in 0..5 {
            let ran = std::sync::Arc::clone(&ran);
            D::defer(move || {
                ran.fetch_add(1, Ordering::SeqCst);
            });
        }
        let guard = D::read();
        let again = std::sync::Arc::clone(&ran);
        D::defer(move || {
            again.fetch_add(1, Ordering::SeqCst);
        });
        drop(guard);
        D::barrier();
        assert_eq!(ran.load(Ordering::SeqCst), 6);
        let cookie = D::start_poll();
        let guard = D::read();
        drop(guard);
        assert!(D::poll_state(&cookie), "nobody is inside, and whoever polls runs the grace period");
        let cell = RcuCell::<_, D>::new_in(1);
        assert_eq!(*cell.replace(2).synchronize(), 1);
        drop(cell.replace(3));
        D::barrier();
    }

    /// Threads that block every signal are reached by way of the processors.
    signals_blocked: { reaching::signals_blocked() }

    /// A reader that blocks every signal is still fenced.
    a_reader_with_signals_blocked: { reaching::a_reader_with_signals_blocked() }

    /// The worker blocks the program's signals, and answers the fence's: otherwise each fence would
    /// wait 10 ms and visit the processors.
    the_worker_answers: { reaching::the_worker_answers() }

    /// More threads than are signalled at a time, and a signal of the program's own where the
    /// library would have taken its signal.
    many_threads: { reaching::many_threads() }

    /// The program handles every signal that the library could have taken.
    no_signal_left: { reaching::no_signal_left() }

    /// The strategy changes all the time.
    switching_under_load: {
        let Some(on) = two_processors() else { return };
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let _stop = Raise(&stop);
            scope.spawn(|| {
                let mut rng = Rng::new(1);
                while !stop.load(Ordering::Relaxed) {
                    let _ = fence::force(Strategy::ALL[rng.below(Strategy::ALL.len() as u64) as usize]);
                    thread::sleep(Duration::from_micros(500));
                }
            });
            one_writer::<Automatic<D>, D>(on, duration(1.0)).must_be_sound("switching");
        });
        let counters = fence::counters();
        assert!(counters.membarrier_private > 0 && counters.signal > 0, "{counters:?}");
    }

    a_thread_that_starts_meanwhile: { meanwhile::run() }
}

#[path = "refused/affinity.rs"]
mod affinity;
#[path = "refused/environment.rs"]
mod environment;
#[path = "refused/meanwhile.rs"]
mod meanwhile;
#[path = "refused/namespace.rs"]
mod namespace;
#[path = "refused/reaching.rs"]
mod reaching;
#[path = "../common/signals.rs"]
mod signals;
#[path = "refused/suite.rs"]
mod suite;

/// The whole process is on one processor, from its start.
#[test]
fn one_processor() {
    for strategy in Strategy::ALL {
        run("one_processor", |command| {
            let cpu = processors()[0];
            command.env("LEEWARD_FENCE", strategy.name());
            // SAFETY: between fork and exec the closure makes one system call, and allocates only
            // if that fails.
            unsafe {
                command.pre_exec(move || {
                    pin(cpu);
                    Ok(())
                })
            };
        });
    }
}

/// `/proc` belongs to another pid namespace.
#[test]
fn another_proc() {
    run("another_proc", |command| {
        // SAFETY: makes system calls.
        unsafe { command.pre_exec(namespace::enter) };
    });
}
