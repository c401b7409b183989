//! The tracer's side: it steps one thread of a case through an operation, and makes another thread
//! of the case fork at the places that matter.
//!
//! What a child finds changes where memory changes that threads share: after this program's
//! instructions with a lock prefix and its exchanges with memory, and after system calls. Each such
//! place of the code is forked beside, the first time that the thread reaches it, and so is each change
//! of the object that an operation names, which plain stores make too; in between, some
//! instructions evenly spread. With `LEEWARD_LONG=1` it is each instruction. After `LEEWARD_STEPS`
//! instructions (10,000) the thread is let go: `ci/test --long` steps twenty times as far.
//!
//! Where the fork itself waits for what the stepped thread holds (the C library's allocator, the
//! list of handlers), the thread is stepped on until the fork is done: it is then a fork at the
//! first instruction at which one is possible.

use std::collections::HashSet;
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::board::{self, Board, OVER};
use super::common::patience;
use super::{cases, everything, step};

/// The number of instructions after which the thread is let go.
const MOST_STEPS: usize = 10_000;
/// The first distance of the places in between.
const DISTANCE: usize = 128;
/// How many places there are of each distance before it doubles.
const EACH: usize = 3;

/// The counts of a walk.
#[derive(Default)]
pub struct Count {
    pub steps: usize,
    pub forks: usize,
}

/// A case that is being stepped.
struct Walk<'a> {
    case: &'a mut Child,
    board: &'static Board,
    thread: i32,
    count: Count,
    /// A signal that the thread is to be given.
    signal: i32,
    met: HashSet<u64>,
    next: usize,
    long: bool,
    most: usize,
    /// What the bytes of the operation's object were.
    object: Vec<u8>,
    /// The addresses of this program's own code.
    own: Vec<Range<u64>>,
    /// The only place to fork beside, among those that matter; `None`: all of them.
    only: Option<usize>,
    told: usize,
}

/// The ways in which a step ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stepped {
    On,
    /// The thread stopped itself, or ended.
    Over,
}

/// Starts the case, walks through it once for each board, and asserts that it ends well.
#[track_caller]
pub fn walk(name: &str, mut command: Command) {
    let (boards, file) = board::boards(&mut command);
    let mut case = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(file);
    let outcome = boards.iter().zip(["at its first use", "in its middle"]).try_for_each(|(board, when)| {
        let count = Walk::through(&mut case, board, None).map_err(|trouble| format!("{when}: {trouble}"))?;
        println!("{name}, {when}: {} forks beside {} instructions", count.forks, count.steps);
        Ok(())
    });
    if outcome.is_err() {
        let _ = case.kill();
    }
    let (mut said, mut complained) = (String::new(), String::new());
    let _ = case.stdout.take().unwrap().read_to_string(&mut said);
    let _ = case.stderr.take().unwrap().read_to_string(&mut complained);
    let status = case.wait().unwrap();
    if let Err(trouble) = outcome {
        let trouble: String = trouble;
        panic!("{name}, {trouble}\n{complained}");
    }
    let fine = status.success() && said.contains("1 passed");
    assert!(fine, "{name}: {status} (signal 14: the case itself hung)\n{said}\n{complained}");
}

/// Walks two threads that both come first. For each place that matters, starts a process in which
/// the other thread uses for the first time what the stepped one is just using for the first time,
/// and forks; and again when the stepped thread has ended its operation. Returns how many places
/// there were.
#[track_caller]
pub fn two_that_come_first(name: &str) -> usize {
    for place in 1.. {
        let mut command = cases::command(name);
        let (boards, file) = board::boards(&mut command);
        let mut case = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(file);
        boards[0].before.set(1);
        boards[1].traced.set(OVER);
        boards[1].asked.set(OVER);
        let outcome = Walk::through(&mut case, &boards[0], Some(place));
        let output = case.wait_with_output().unwrap();
        let forks =
            outcome.unwrap_or_else(|trouble| panic!("{name}, two that come first: {trouble}\n{output:?}")).forks;
        cases::passed(name, output);
        if forks == 0 {
            return place - 1;
        }
    }
    unreachable!()
}

impl Walk<'_> {
    fn through(case: &mut Child, board: &'static Board, only: Option<usize>) -> Result<Count, String> {
        let is_there = board.thread.wait(1, || !matches!(case.try_wait(), Ok(None)));
        if !is_there {
            return Err("the case ended before it began".into());
        }
        let thread = board.thread.get() as i32;
        if let Err(error) = step::seize(thread) {
            println!("skipped: this process may not trace another ({error})");
            board.traced.set(OVER);
            board.asked.set(OVER);
            return Ok(Count::default());
        }
        board.traced.set(1);
        let _beside = step::Beside::the(thread);
        let (met, long) = (HashSet::new(), std::env::var("LEEWARD_LONG").is_ok_and(|long| long == "1"));
        let most = std::env::var("LEEWARD_STEPS").map_or(MOST_STEPS, |steps| steps.parse().expect("a number"));
        let own = mappings(case.id()).into_iter().filter(|mapping| is_this_program(&mapping.path));
        let own: Vec<_> = own.map(|mapping| mapping.range).collect();
        assert!(!own.is_empty(), "the program's own code is not found");
        let object = vec![0; board.object[1].load(Ordering::SeqCst)];
        let count = Count::default();
        let mut walk =
            Walk { case, board, thread, count, signal: 0, met, next: 1, long, most, object, own, only, told: 0 };
        let outcome = walk.begin().and_then(|()| walk.go_through()).and_then(|()| walk.fork_once_more());
        if outcome.is_err() {
            walk.end_it();
        }
        board.asked.set(OVER);
        outcome.map(|()| walk.count)
    }

    /// Forks again, where there was one place to fork beside, when the thread has ended its
    /// operation.
    fn fork_once_more(&mut self) -> Result<(), String> {
        let is_asked = self.only.is_some() && self.count.forks != 0;
        if is_asked { self.have_it_fork(Stepped::Over, 0).map(drop) } else { Ok(()) }
    }

    /// Kills the case. Its traced thread is waited for as well: else the case never ends.
    fn end_it(&mut self) {
        let _ = self.case.kill();
        while matches!(step::wait(self.thread), Ok(Some(_))) {}
    }

    /// Steps to where the thread stops itself for the first time.
    fn begin(&mut self) -> Result<(), String> {
        while let Some(signal) = step::wait(self.thread).map_err(|error| error.to_string())? {
            if signal == libc::SIGSTOP {
                return Ok(());
            }
            step::begin_to_go_on_with(self.thread, signal).map_err(|error| error.to_string())?;
        }
        Err("the thread ended before it began".into())
    }

    fn go_through(&mut self) -> Result<(), String> {
        while self.count.steps < self.most {
            let Some(at) = place(self.thread) else { break };
            let tells = self.long || self.is_telling(&at);
            let tells = tells && self.met.insert(at.address);
            if self.step()? == Stepped::Over {
                return Ok(());
            }
            let tells = self.has_object_changed() || tells;
            let is_next = self.count.steps >= self.next;
            if is_next {
                let doubled = (self.count.steps / (DISTANCE * EACH)).max(1).ilog2();
                self.next = self.count.steps + (DISTANCE << doubled);
            }
            self.told += usize::from(tells);
            let forks = self.only.map_or(tells || is_next, |place| tells && self.told == place);
            if forks && self.fork_beside(at.address)? == Stepped::Over {
                return Ok(());
            }
            if forks && self.only.is_some() {
                break;
            }
        }
        to_its_end(self.thread, self.signal).map_err(|error| error.to_string())
    }

    /// Returns true for system calls, and for what this program's own code does to memory that
    /// threads share. (The C library repairs its own memory in children.)
    fn is_telling(&self, place: &Place) -> bool {
        match kind(&place.code) {
            Kind::SystemCall => true,
            Kind::Locked => self.own.iter().any(|code| code.contains(&place.address)),
            Kind::Other => false,
        }
    }

    /// Returns true if the operation's object has changed since the last call.
    fn has_object_changed(&mut self) -> bool {
        let mut now = vec![0; self.object.len()];
        if now.is_empty() {
            return false;
        }
        let [address, size] = [0, 1].map(|at| self.board.object[at].load(Ordering::SeqCst));
        let to = libc::iovec { iov_base: now.as_mut_ptr().cast(), iov_len: size };
        let from = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: size };
        // SAFETY: writes as many bytes as there are, and reads another process.
        let read = unsafe { libc::process_vm_readv(self.thread, &to, 1, &from, 1, 0) };
        assert_eq!(read, size as isize, "the operation's object cannot be read");
        std::mem::replace(&mut self.object, now) != self.object
    }

    fn step(&mut self) -> Result<Stepped, String> {
        let signal = std::mem::take(&mut self.signal);
        step::begin_step_with(self.thread, signal).map_err(|error| error.to_string())?;
        self.count.steps += 1;
        match step::wait(self.thread).map_err(|error| error.to_string())? {
            Some(libc::SIGTRAP) => Ok(Stepped::On),
            Some(libc::SIGSTOP) => {
                step::release(self.thread).map_or_else(|error| Err(error.to_string()), |()| Ok(Stepped::Over))
            }
            Some(signal) => {
                self.signal = signal;
                Ok(Stepped::On)
            }
            None => Ok(Stepped::Over),
        }
    }

    /// Makes the other thread fork now, or as soon as the stepped one lets it.
    fn fork_beside(&mut self, address: u64) -> Result<Stepped, String> {
        self.have_it_fork(Stepped::On, address)
    }

    fn have_it_fork(&mut self, mut end: Stepped, address: u64) -> Result<Stepped, String> {
        let number = self.count.forks as u32 + 1;
        let (board, process, start) = (self.board, self.case.id(), Instant::now());
        board.asked.set(number);
        loop {
            let is_late = || start.elapsed() > patience();
            let is_held_up = || board.begun.get() >= number && is_asleep(process, board.forking.load(Ordering::SeqCst));
            if board.forked.wait(number, || is_late() || end == Stepped::On && is_held_up()) {
                break;
            }
            if is_late() {
                return Err(format!("beside {}: the fork hangs", self.name_of(address)));
            }
            end = self.step()?;
        }
        self.count.forks += 1;
        let case = &mut *self.case;
        if !self.board.ended.wait(number, || !matches!(case.try_wait(), Ok(None))) {
            return Err("the case ended while its child ran".into());
        }
        match self.board.status.load(Ordering::SeqCst) {
            0 => Ok(end),
            status => Err(self.trouble(address, status)),
        }
    }

    fn trouble(&self, address: u64, status: i32) -> String {
        let part = everything::name(self.board.part.load(Ordering::SeqCst));
        let how = match (libc::WIFSIGNALED(status), libc::WTERMSIG(status)) {
            (true, libc::SIGALRM) => "hung".to_owned(),
            (true, signal) => format!("was killed by signal {signal}"),
            (false, _) if libc::WEXITSTATUS(status) == 1 => "found something wrong".to_owned(),
            (false, _) => "panicked".to_owned(),
        };
        format!("beside instruction {} ({}): the child {how} in: {part}", self.count.steps, self.name_of(address))
    }

    /// Returns the place of the code, as `addr2line` expects it.
    fn name_of(&self, address: u64) -> String {
        let mappings = mappings(self.case.id());
        if let Some(mapping) = mappings.iter().find(|mapping| mapping.range.contains(&address)) {
            let first = mappings.iter().find(|other| other.path == mapping.path).unwrap();
            return format!("{} + {:#x}", mapping.path, address - first.range.start);
        }
        format!("{address:#x}")
    }
}

/// Lets a stopped thread go on, after the handler of `signal` if that is not 0, until it stops
/// itself or ends; then it is traced no more.
pub fn to_its_end(thread: i32, mut signal: i32) -> io::Result<()> {
    loop {
        step::begin_to_go_on_with(thread, signal)?;
        signal = match step::wait(thread)? {
            Some(libc::SIGSTOP) => return step::release(thread),
            Some(libc::SIGTRAP) => 0,
            Some(signal) => signal,
            None => return Ok(()),
        };
    }
}

/// A piece of a process's memory.
struct Mapping {
    range: Range<u64>,
    path: String,
}

fn mappings(process: u32) -> Vec<Mapping> {
    let maps = std::fs::read_to_string(format!("/proc/{process}/maps")).unwrap_or_default();
    let mapping = |line: &str| {
        let (from, rest) = line.split_once('-')?;
        let (to, rest) = rest.split_once(' ')?;
        let [from, to] = [from, to].map(|number| u64::from_str_radix(number, 16).ok());
        let path = rest.find('/').map_or("", |at| rest[at..].trim_end_matches(" (deleted)"));
        Some(Mapping { range: from?..to?, path: path.to_owned() })
    };
    maps.lines().filter_map(mapping).collect()
}

fn is_this_program(path: &str) -> bool {
    let this = std::env::current_exe().unwrap();
    Path::new(this.to_str().unwrap().trim_end_matches(" (deleted)")) == Path::new(path)
}

fn is_asleep(process: u32, thread: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/task/{thread}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('S'))
}

/// The instruction that comes next.
struct Place {
    address: u64,
    code: [u8; 8],
}

fn place(thread: i32) -> Option<Place> {
    let registers = step::registers(thread).ok()?;
    let none = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: of a stopped thread; an address that is not there is an error, whose -1 decodes as no
    // instruction that matters.
    let code = unsafe { libc::ptrace(libc::PTRACE_PEEKTEXT, thread, registers.rip, none) };
    Some(Place { address: registers.rip, code: code.to_ne_bytes() })
}

/// What an instruction does that other threads may see.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Changes memory that threads share.
    Locked,
    SystemCall,
    Other,
}

fn kind(code: &[u8; 8]) -> Kind {
    let is_prefix = |byte: &&u8| matches!(**byte, 0x26 | 0x2E | 0x36 | 0x3E | 0x40..=0x4F | 0x64..=0x67 | 0xF2 | 0xF3);
    let prefixes = code.iter().take_while(is_prefix).count();
    match code[prefixes..] {
        [0xF0, ..] => Kind::Locked,
        // An exchange with memory.
        [0x86 | 0x87, operands, ..] if operands >> 6 != 3 => Kind::Locked,
        [0x0F, 0x05, ..] => Kind::SystemCall,
        _ => Kind::Other,
    }
}
