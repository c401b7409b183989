//! The walk of a dying thread's robust list: of 1,000,000 held locks, with and without the waiters
//! bit (their 40 MB are read and written, so memory is the limit), and of 2,048, which the kernel
//! follows too.

use std::pin::Pin;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::task::{Context, Waker};
use std::time::Instant;

use leeward_engine::abi::{FUTEX_BITSET_MATCH_ANY as ANY, FUTEX_WAITERS};
use leeward_engine::parking::Process;
use leeward_engine::{Config, Engine, Heap, ROBUST_LIST_LIMIT, RobustHost, WaitAsync, Word};

use super::parker::{ENGINE, KERNEL};
use crate::error::Error;
use crate::figure::{Target, Title};
use crate::groups;
use crate::locks::contest::{Entrant, Outcome, contest};
use crate::plan::Plan;
use crate::rounds::median;

const LOCKS: usize = 1_000_000;
/// The number of locks in the walk where a future waits for each.
const WAITED: usize = 16_384;
/// The number of locks that the kernel follows.
const FOLLOWED: usize = ROBUST_LIST_LIMIT as usize;
/// The number of threads whose exit is timed in one round. Half of them have a list.
const ENDS: usize = 40;

/// A lock laid out as a pthread mutex of a 64-bit system: its word, and the list's entry 32 bytes
/// after it.
#[repr(C)]
#[derive(Default)]
struct Lock {
    word: AtomicU32,
    _others: [u32; 7],
    next: AtomicU64,
}

/// The head of a robust list: the first entry, the offset to the word, and the pending entry.
#[repr(C)]
#[derive(Default)]
struct Head([AtomicU64; 3]);

fn at<T>(of: &T) -> u64 {
    std::ptr::from_ref(of).expose_provenance() as u64
}

/// A robust list, all of whose locks one thread holds.
struct List {
    head: Box<Head>,
    locks: Vec<Lock>,
}

impl List {
    fn new(locks: usize) -> List {
        let list = List { head: Box::default(), locks: (0..locks).map(|_| Lock::default()).collect() };
        let mut from = &list.head.0[0];
        for lock in &list.locks {
            // Relaxed: one thread writes and reads the links.
            from.store(at(&lock.next), Ordering::Relaxed);
            from = &lock.next;
        }
        from.store(at(&*list.head), Ordering::Relaxed);
        let back = std::mem::offset_of!(Lock, next) as u64;
        list.head.0[1].store(back.wrapping_neg(), Ordering::Relaxed);
        list
    }

    fn hold(&self, word: u32) {
        // Relaxed: as above.
        self.locks.iter().for_each(|lock| lock.word.store(word, Ordering::Relaxed));
    }
}

pub fn outcome(plan: &Plan) -> Outcome {
    let mut outcome = Outcome::default();
    let target = |id: &str, what: &str, most: f64| {
        Title::new(id, format!("robust walk of {LOCKS} locks, {what}, an entry"), "ns", None, Target::AtMost(most))
    };
    let titles =
        vec![target("robust.waiters", "waiters bits set", 30.0), target("robust.none", "without waiters", 15.0)];
    let list = List::new(LOCKS);
    outcome
        .figures
        .extend(groups::alone(plan, plan.rounds, titles, || Ok(vec![walk(&list, FUTEX_WAITERS)?, walk(&list, 0)?])));
    let woken = Title::new(
        "robust.woken",
        format!("robust walk of {WAITED} locks, a future woken for each, an entry"),
        "ns",
        None,
        Target::Open,
    );
    outcome.figures.extend(groups::alone(plan, plan.rounds, vec![woken], || Ok(vec![wake_all()?])));
    let job = [(format!("robust walk of {FOLLOWED} locks, without waiters, an entry"), "ns")];
    let entrants = [Entrant::new(ENGINE, true), Entrant::new(KERNEL, false)];
    let short = List::new(FOLLOWED);
    let few = Title::new(
        "robust.few",
        format!("robust walk of {FOLLOWED} locks, waiters bits set, an entry"),
        "ns",
        None,
        Target::Open,
    );
    outcome.figures.extend(groups::alone(plan, plan.rounds, vec![few], || Ok(vec![walk(&short, FUTEX_WAITERS)?])));
    let board = contest(plan, plan.rounds, &job, &entrants, |&ours| {
        Ok(vec![if ours { walk(&short, 0)? } else { kernel(&short)? }])
    })
    .remove(0);
    outcome.add(&board);
    let title = Title::new("robust.kernel", job[0].0.clone(), "ns", Some(KERNEL), Target::Open);
    outcome.figures.push(board.figure(ENGINE, title));
    outcome
}

/// Returns an engine for `processors` processors, and its process.
fn parts(processors: u32) -> Result<(Engine<Process>, Process), Error> {
    let engine =
        Engine::new(Config::for_processors(processors, 7), Heap).map_err(|error| Error::new(error.to_string()))?;
    // SAFETY: lists and words are borrowed for as long as they are used.
    Ok((engine, unsafe { Process::new(4, 9) }))
}

/// Returns the time of the engine's walk, in nanoseconds an entry.
fn walk(list: &List, waiters: u32) -> Result<f64, Error> {
    let (engine, process) = parts(2)?;
    list.hold(process.thread_id() | waiters);
    process.set_robust_head(at(&*list.head));
    let began = Instant::now();
    let exit = engine.exit_robust(&process, u32::MAX);
    let length = began.elapsed();
    if exit.marked as usize != list.locks.len() {
        return Err(Error::new("a walk left locks out"));
    }
    Ok(length.as_nanos() as f64 / list.locks.len() as f64)
}

/// Returns the time of the engine's walk where a future waits for each lock, in nanoseconds an
/// entry.
fn wake_all() -> Result<f64, Error> {
    let (list, (engine, process)) = (List::new(WAITED), parts(64)?);
    let held = process.thread_id() | FUTEX_WAITERS;
    list.hold(held);
    let wait = |lock: &Lock| Box::pin(engine.wait_async(&process, Word::shared(at(&lock.word)), held.into(), ANY));
    let mut waiters: Vec<Pin<Box<WaitAsync<'_, Process>>>> = list.locks.iter().map(wait).collect();
    let mut context = Context::from_waker(Waker::noop());
    if waiters.iter_mut().any(|waiter| waiter.as_mut().poll(&mut context).is_ready()) {
        return Err(Error::new("a waiter did not wait"));
    }
    process.set_robust_head(at(&*list.head));
    let began = Instant::now();
    let exit = engine.exit_robust(&process, u32::MAX);
    let length = began.elapsed();
    if exit.woken as usize != WAITED {
        return Err(Error::new("a walk did not wake all"));
    }
    Ok(length.as_nanos() as f64 / WAITED as f64)
}

/// Returns how much longer a thread's exit takes with the list than without, in nanoseconds an
/// entry.
fn kernel(list: &List) -> Result<f64, Error> {
    let end = |with: bool| {
        let thread = std::thread::spawn({
            let head = at(&*list.head);
            let words: Vec<u64> = if with { list.locks.iter().map(|lock| at(&lock.word)).collect() } else { vec![] };
            move || {
                // SAFETY: the call has no arguments.
                let me = unsafe { libc::gettid() } as u32;
                for word in words {
                    let word = std::ptr::with_exposed_provenance_mut::<u32>(word as usize);
                    // SAFETY: the address is that of a lock's word, which lives until the thread
                    // has been joined.
                    let word = unsafe { AtomicU32::from_ptr(word) };
                    // Relaxed: only this thread reads the word, and the kernel on its behalf.
                    word.store(me, Ordering::Relaxed);
                }
                if with {
                    // SAFETY: the list lives until the thread has been joined.
                    unsafe { libc::syscall(libc::SYS_set_robust_list, head, size_of::<Head>()) };
                }
                Instant::now()
            }
        });
        let began = thread.join().map_err(|_| Error::new("a thread did not end"))?;
        Ok::<f64, Error>(began.elapsed().as_nanos() as f64)
    };
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for _ in 0..ENDS / 2 {
        with.push(end(true)?);
        without.push(end(false)?);
    }
    let median = |times: &[f64]| median(times).unwrap_or(0.0);
    Ok((median(&with) - median(&without)) / list.locks.len() as f64)
}
