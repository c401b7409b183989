//! A process in Rust and one in C hand locks in a region on to one another, and are killed while
//! they have them. This is one side; the other, and the games, are in `hand_over.c`.
//!
//! The test builds the library and the C program first, by `make` and the C compiler.

#![cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]
#![allow(missing_docs)]

use std::ffi::CString;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use leeward::robust::{self, LockError};
use leeward::shared::{AnyBytes, Barrier, Condvar, Mutex, Region, Semaphore};

#[repr(C)]
#[derive(Clone, Copy)]
struct Account {
    first: u64,
    second: u64,
    /// Deaths that were reported in the game at random.
    deaths: u64,
    /// 1 and 2: the side; 0: none.
    holder: u32,
    unused: u32,
}

// SAFETY: numbers, of which all bytes are values.
unsafe impl AnyBytes for Account {}

#[repr(C)]
struct Table {
    account: robust::Mutex<Account>,
    /// Of the game by turns: changed by its holder.
    round: AtomicU64,
    /// A permit: this side's turn.
    turn: [Semaphore; 2],
    /// Where both sides begin and end a game.
    games: Barrier,
    cond: Condvar,
    /// Counts, then whose turn it is in its last bit.
    counter: Mutex<u64>,
}

// SAFETY: fields of such types.
unsafe impl AnyBytes for Table {}

const VERSION: u32 = 1;
const COUNTS: u32 = 3_000;

/// How many rounds the game by turns has, half of which end by a death.
const ROUNDS: u64 = 4_000;
/// How many workers of a side are killed in the game at random.
const DEATHS: u64 = 300;

/// What a side knows.
#[derive(Clone, Copy)]
struct Side<'a> {
    path: &'a CString,
    number: u32,
}

/// Makes what is not zeroes, as `make` in C does.
fn make(table: &mut Table) {
    table.games = Barrier::new_in(2);
    table.turn[0].release(1);
}

/// Runs `work` in a child, which ends well if it returns.
fn child(work: impl FnOnce()) -> libc::pid_t {
    // SAFETY: the child uses the library, and ends by `_exit`.
    match unsafe { libc::fork() } {
        -1 => panic!("fork"),
        0 => {
            // SAFETY: ends a child that hangs.
            unsafe { libc::alarm(60) };
            let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).is_err();
            // SAFETY: ends the child without what belongs to its parent.
            unsafe { libc::_exit(i32::from(failed)) }
        }
        child => child,
    }
}

/// Waits for the end of a child. Returns true if it was killed; false if it ended well.
fn was_killed(child: libc::pid_t) -> bool {
    let mut status = 0;
    // SAFETY: `status` is ours to write.
    while unsafe { libc::waitpid(child, &mut status, 0) } != child {}
    let killed = libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGKILL;
    assert!(killed || status == 0, "a worker ended with status {status:#x}");
    killed
}

fn die() -> ! {
    // SAFETY: ends this process.
    unsafe { libc::raise(libc::SIGKILL) };
    loop {
        std::thread::park();
    }
}

impl Side<'_> {
    fn mark(self) -> u32 {
        self.number + 1
    }

    fn other(self) -> usize {
        1 - self.number as usize
    }

    /// Opens the region; each process has a mapping of its own.
    fn open(self) -> &'static Table {
        // SAFETY: the C program has the same layout, which both sides assert.
        unsafe { Region::open(self.path, VERSION, make) }.unwrap().leak()
    }

    /// The game by turns: plays the worker of this side until it is killed, or the game ends.
    fn play_by_turns(self) {
        let dies = |round: u64| round / 2 % 2 == 1;
        let table = self.open();
        loop {
            table.turn[self.number as usize].acquire();
            let round = table.round.load(Ordering::Relaxed);
            if round >= ROUNDS {
                return table.turn[self.other()].release(1);
            }
            assert_eq!(round % 2, u64::from(self.number));
            let mut guard = match table.account.lock() {
                Ok(guard) => {
                    assert!(round == 0 || !dies(round - 1), "round {round}: a death was not reported");
                    guard
                }
                Err(error) => {
                    assert!(round > 0 && dies(round - 1), "round {round}: {error}");
                    let repaired = error.repair(|account| {
                        assert_eq!(account.first, account.second + 1);
                        assert_eq!(account.holder, 2 - self.number);
                        (account.second, account.holder) = (account.first, 0);
                    });
                    repaired.unwrap()
                }
            };
            guard.with(|account| {
                assert_eq!((account.first, account.second, account.holder), (round, round, 0));
                account.first += 1;
                account.holder = self.mark();
            });
            table.round.store(round + 1, Ordering::Relaxed);
            table.turn[self.other()].release(1);
            // Now and then the other is asleep by then.
            if matches!(round % 64, 0 | 3) {
                std::thread::sleep(Duration::from_millis(1));
            }
            if dies(round) {
                die();
            }
            guard.with(|account| (account.second, account.holder) = (account.second + 1, 0));
        }
    }

    /// The game at random: locks and unlocks until it is killed.
    fn play_at_random(self) {
        let table = self.open();
        loop {
            let repaired = table.account.lock().or_else(|error| {
                error.repair(|account| {
                    assert!(account.first - account.second <= 1);
                    (account.second, account.holder) = (account.first, 0);
                    account.deaths += 1;
                })
            });
            repaired.unwrap().with(|account| {
                assert_eq!((account.holder, account.first), (0, account.second));
                account.holder = self.mark();
                account.first += 1;
                if account.first % 128 == 0 {
                    std::thread::yield_now();
                }
                account.second += 1;
                assert_eq!(account.holder, self.mark());
                account.holder = 0;
            });
        }
    }

    fn play_in_peace(self, table: &Table) {
        for _ in 0..COUNTS {
            *table.counter.lock() += 2;
        }
        table.games.wait();
        assert_eq!(*table.counter.lock(), u64::from(4 * COUNTS));
        table.games.wait();
        for turn in 0..COUNTS {
            let mut counter = table.counter.lock();
            table.cond.wait_while(&mut counter, |count| *count % 2 != u64::from(self.number));
            *counter += 1;
            if turn % 2 == 0 {
                // SAFETY: all who wait use this mutex.
                unsafe { table.cond.notify_one_of(&table.counter) };
            } else {
                table.cond.notify_all();
            }
        }
        table.games.wait();
        assert_eq!(*table.counter.lock(), u64::from(6 * COUNTS));
    }

    /// Keeps a worker at the game by turns until it ends.
    fn keep_turns(self) {
        while was_killed(child(|| self.play_by_turns())) {}
    }

    /// Kills one worker after the other.
    fn keep_random(self) {
        let mut number = 0x2545_f491_4f6c_dd1d_u64 + u64::from(self.number);
        for _ in 0..DEATHS {
            let worker = child(|| self.play_at_random());
            number ^= number << 13;
            number ^= number >> 7;
            number ^= number << 17;
            std::thread::sleep(Duration::from_nanos(number % 2_000_000));
            // SAFETY: a child of ours that was not waited for.
            unsafe { libc::kill(worker, libc::SIGKILL) };
            assert!(was_killed(worker));
        }
    }

    fn keep(self) {
        let table = self.open();
        self.keep_turns();
        table.games.wait();
        // The worker of the last round was killed.
        let repaired = table
            .account
            .lock()
            .or_else(|error| error.repair(|account| (account.second, account.holder) = (account.first, 0)));
        assert_eq!(repaired.unwrap().get().first, ROUNDS);
        table.games.wait();
        self.keep_random();
        table.games.wait();
        let reported =
            table.account.lock().or_else(|error: LockError<Account>| error.repair(|account| account.deaths += 1));
        assert!(reported.unwrap().get().deaths > 0);
        table.games.wait();
        self.play_in_peace(table);
    }
}

/// Builds the C side and returns its path.
fn build() -> PathBuf {
    let capi = Path::new(env!("CARGO_MANIFEST_DIR"));
    let library = capi.join("../target/capi");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hand_over");
    // Not by a macro: the test harness would keep it.
    let _ = writeln!(std::io::stderr(), "hand_over: `make -C capi` builds the C library in target/capi, a minute");
    // The library is built as users build it, whatever flags this test is built with.
    run(Command::new("make").args(["-s", "-C"]).arg(capi).env_remove("RUSTFLAGS"));
    let mut compile = Command::new("cc");
    compile.args(["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-I"]).arg(capi.join("include"));
    compile.arg(capi.join("tests/hand_over.c")).arg("-o").arg(&program);
    compile.arg(library.join("libleeward.so")).arg(format!("-Wl,-rpath,{}", library.display())).arg("-lpthread");
    run(&mut compile);
    program
}

fn run(command: &mut Command) {
    let status = command.status().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(status.success(), "{command:?}: {status}");
}

fn start(program: &Path, path: &CString, side: u32) -> Child {
    let arguments = [path.to_str().unwrap(), &side.to_string(), &ROUNDS.to_string(), &DEATHS.to_string()];
    Command::new(program).args(arguments).spawn().unwrap()
}

#[test]
fn the_layouts_are_those_of_the_c_side() {
    use std::mem::offset_of;
    assert_eq!((size_of::<Account>(), size_of::<Table>()), (32, 144));
    assert_eq!(offset_of!(Table, round), 72);
    assert_eq!((offset_of!(Table, turn), offset_of!(Table, games)), (80, 88));
    assert_eq!((offset_of!(Table, cond), offset_of!(Table, counter)), (96, 128));
}

/// Each side begins once, so that each language makes the region once and is the first to die once.
#[test]
fn a_rust_process_and_a_c_process_hand_locks_on() {
    let program = build();
    for ours in [0, 1] {
        let path = format!("/dev/shm/leeward-hand-over-{}-{ours}", std::process::id());
        let c_path = CString::new(path.as_str()).unwrap();
        let mut theirs = start(&program, &c_path, 1 - ours);
        // In a child, which has one thread: it forks in its turn, and tests run on several.
        let keeper = child(|| Side { path: &c_path, number: ours }.keep());
        let is_fine = std::panic::catch_unwind(|| assert!(!was_killed(keeper))).is_ok();
        if !is_fine {
            // It would wait for our side.
            theirs.kill().unwrap();
        }
        let status = theirs.wait().unwrap();
        std::fs::remove_file(&path).unwrap();
        assert!(is_fine && status.success(), "{status}");
    }
}
