//! `membarrier`, and whether it is a barrier: threads that reorder as much as the machine lets them.
//!
//! Two threads store to a word each and then load the other's. Where both have a full barrier in between,
//! one of them at least loads the new value. Here the light one has a compiler's barrier alone, and the
//! heavy one a call of `membarrier`. Before its store the light one stores to lines of memory that the
//! other processor holds, so that its store becomes visible microseconds after its load. The heavy one
//! stores a while after the round began, sometimes a longer and sometimes a shorter one.

use core::mem::size_of;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering, compiler_fence, fence};

use crate::clocks::CLOCK_MONOTONIC;
use crate::code::Code;
use crate::errno::{Answer, Errno};
use crate::futex::Time;
use crate::numbers;
use crate::objects::{Map, Region};
use crate::processes::{Child, SHARER};
use crate::scenario::{Outcome, Trouble};
use crate::text::Text;
use crate::world::{Body, World, proven, unfit};

/// The commands of `membarrier`.
pub(crate) const QUERY: usize = 0;
pub(crate) const GLOBAL: usize = 1;
pub(crate) const GLOBAL_EXPEDITED: usize = 1 << 1;
pub(crate) const REGISTER_GLOBAL_EXPEDITED: usize = 1 << 2;
pub(crate) const PRIVATE_EXPEDITED: usize = 1 << 3;
pub(crate) const REGISTER_PRIVATE_EXPEDITED: usize = 1 << 4;
pub(crate) const SYNC_CORE: usize = 1 << 5;
pub(crate) const REGISTER_SYNC_CORE: usize = 1 << 6;
pub(crate) const RSEQ: usize = 1 << 7;
pub(crate) const REGISTER_RSEQ: usize = 1 << 8;
pub(crate) const GET_REGISTRATIONS: usize = 1 << 9;
/// The flag of `RSEQ`: on one processor alone.
pub(crate) const ONE_PROCESSOR: usize = 1;

/// What this process has registered for: a registration lasts as long as the process.
static REGISTERED: AtomicUsize = AtomicUsize::new(0);

/// The most rounds of a litmus test, and the most milliseconds.
const ROUNDS: u32 = 50_000;
const MILLISECONDS: i64 = 1000;
/// The word of the world where the threads find the memory of a litmus test.
const MEMORY: usize = 0;
/// The word of the world that says by which command a child registers, or 0.
const COMMAND: usize = 2;
/// The word of the world that says on which processor the light thread runs: its number and one, or 0.
const PROCESSOR: usize = 3;
/// The words of the world where the light thread finds the code that it runs.
const CODE: usize = 4;
/// The words of a line of memory that processors pass on as a whole; 128 bytes on some.
const LINE: usize = 32;
/// The words of a litmus test: its two; the round that has begun, and the one that the light thread has
/// ended; what that loaded from each word; the end; the round in which it has run the old code; and the lines that
/// slow its store down.
const X: usize = 0;
const Y: usize = LINE;
const BEGUN: usize = 2 * LINE;
const ENDED: usize = 3 * LINE;
const LOADED: usize = 3 * LINE + 1;
const OVER: usize = 4 * LINE;
const READY: usize = 5 * LINE;
const SLOW: usize = 1024;
/// The lines are a page apart each, so that a cache has few places for them; and how many there are.
const SLOW_STEP: usize = 1024;
const SLOW_LINES: usize = 160;
/// The size of the memory, in bytes.
const SIZE: usize = 4 * (SLOW + SLOW_LINES * SLOW_STEP);

/// What the light thread's side of a litmus test is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Light {
    Thread,
    /// A process that shares the memory of this one.
    Sharer,
    /// A child process, which first registers by this command.
    Child(usize),
}

impl World<'_> {
    /// Calls `membarrier`. Linux may have no memory for a moment.
    pub(crate) fn membarrier(&self, command: usize, flags: usize, processor: usize) -> Answer {
        let mut answered = Err(Errno::NOMEM);
        for _ in 0..100 {
            // SAFETY: takes numbers.
            answered =
                self.step.long(|| unsafe { self.call(numbers::MEMBARRIER, [command, flags, processor, 0, 0, 0]) });
            if answered != Err(Errno::NOMEM) {
                break;
            }
            self.rest();
        }
        answered
    }

    /// Ends the scenario as absent if the kernel does not say that it has all of these commands.
    pub(crate) fn has_barriers(&self, commands: usize) -> Outcome {
        let has = self.membarrier(QUERY, 0, 0);
        match has {
            Ok(has) if has & commands == commands => Ok(()),
            Ok(has) => Err(Trouble::Absent(Text::of(format_args!("membarrier's commands {:#x}", commands & !has)))),
            Err(_) => self.same("membarrier's QUERY", has, Ok(0)),
        }
    }

    /// Registers this process.
    pub(crate) fn register(&self, command: usize) -> Outcome {
        REGISTERED.fetch_or(command, Ordering::SeqCst);
        self.same(format_args!("membarrier's registration {command:#x}"), self.membarrier(command, 0, 0), Ok(0))
    }

    /// Ends the scenario as unfit if this process has been registered for one of these.
    pub(crate) fn is_unregistered(&self, commands: usize) -> Outcome {
        let asked = self.membarrier(GET_REGISTRATIONS, 0, 0).unwrap_or(0);
        if (REGISTERED.load(Ordering::SeqCst) | asked) & commands == 0 {
            return Ok(());
        }
        Err(unfit(format_args!("this process was registered before")))
    }

    /// Returns the processors that this thread may run on, if the kernel says so.
    pub(crate) fn processors(&self) -> Option<Processors> {
        let mut set = Processors([0; 16]);
        let arguments = [0, size_of::<Processors>(), (&raw mut set).expose_provenance(), 0, 0, 0];
        // SAFETY: writes the set.
        unsafe { self.call(numbers::SCHED_GETAFFINITY, arguments) }.ok().map(|_| set)
    }

    /// Lets a thread run on these processors alone; 0 is the calling one.
    fn run_on(&self, thread: usize, set: &Processors) -> Answer {
        let arguments = [thread, size_of::<Processors>(), (&raw const *set).expose_provenance(), 0, 0, 0];
        // SAFETY: reads the set.
        unsafe { self.call(numbers::SCHED_SETAFFINITY, arguments) }
    }

    /// Lets the calling thread run on one processor alone.
    pub(crate) fn run_on_one(&self, processor: usize) -> Answer {
        self.run_on(0, &Processors::one(processor))
    }

    /// Lets the thread with this number run on one processor alone.
    pub(crate) fn send_away(&self, thread: u32, processor: usize) -> Answer {
        self.run_on(thread as usize, &Processors::one(processor))
    }

    /// Returns the number of the processor that the calling thread runs on.
    pub(crate) fn processor(&self) -> Result<u32, Trouble> {
        let mut number = 0_u32;
        let arguments = [(&raw mut number).expose_provenance(), 0, 0, 0, 0, 0];
        // SAFETY: writes the number.
        let answered = unsafe { self.call(numbers::GETCPU, arguments) };
        answered.map(|_| number).map_err(|errno| unfit(format_args!("getcpu: {errno}")))
    }

    /// Asserts that `heavy` is a barrier for a thread that stores and then loads with no barrier.
    pub(crate) fn orders_stores(&self, light: Light, heavy: &dyn Fn() -> Answer) -> Outcome {
        let what = "a store of each of two threads was missed by the other";
        self.litmus(light, store_and_load, what, |memory, round| {
            memory.word(Y).store(round, Ordering::Relaxed);
            heavy()?;
            let x = memory.word(X).load(Ordering::Relaxed);
            wait_for_the_end(self, memory, round);
            Ok(usize::from(x != round && memory.word(LOADED).load(Ordering::Relaxed) != round))
        })
    }

    /// Asserts that a thread that loads two words with no barrier in between sees in their order the
    /// stores between which `heavy` is called.
    pub(crate) fn orders_loads(&self, heavy: &dyn Fn() -> Answer) -> Outcome {
        let what = "of two stores with a barrier in between the second was seen without the first";
        self.litmus(Light::Thread, load_and_load, what, |memory, round| {
            memory.word(X).store(round, Ordering::Relaxed);
            heavy()?;
            memory.word(Y).store(round, Ordering::Relaxed);
            wait_for_the_end(self, memory, round);
            Ok(memory.word(LOADED).load(Ordering::Relaxed) as usize)
        })
    }

    /// Asserts that a thread that has run code, and learns after `heavy` that it was changed before, runs the new code.
    pub(crate) fn refetches_code(&self, heavy: &dyn Fn() -> Answer) -> Outcome {
        let code = self.code()?;
        self.set_address(CODE, code.run);
        let what = "code that was changed before it was run as it had been";
        self.litmus(Light::Thread, run_twice, what, |memory, round| {
            spin_until(self, || memory.word(READY).load(Ordering::Acquire) == round || memory.is_over());
            code.write(round);
            heavy()?;
            memory.word(Y).store(round, Ordering::Release);
            wait_for_the_end(self, memory, round);
            Ok(memory.word(LOADED).load(Ordering::Relaxed) as usize)
        })
    }

    fn litmus(&self, light: Light, body: Body, what: &str, round: impl Fn(Memory, u32) -> Answer) -> Outcome {
        let processors = self.processors();
        let first = processors.as_ref().and_then(|set| set.numbers().next());
        let last = processors.as_ref().and_then(|set| set.numbers().last());
        if first.is_some() && first == last {
            return Err(unfit(format_args!("there is one processor, and nothing to reorder")));
        }
        // Each on its own, if the kernel lets threads choose: beside other programs they would share one.
        self.set(PROCESSOR, last.map_or(0, |last| 1 + last as u32));
        let _ = first.map(|first| self.run_on_one(first));
        let memory = Memory(self.map(Map::SHARED.sized(SIZE))?);
        self.set_address(MEMORY, memory.0.word(0));
        self.set(COMMAND, if let Light::Child(command) = light { command as u32 } else { 0 });
        let (thread, child) = match light {
            Light::Thread => (Some(self.start(body)?), None),
            Light::Sharer => {
                let (thread, number) = self.start_as(SHARER, [COMMAND; 2], body)?;
                (Some(thread), Some(Child(number)))
            }
            Light::Child(_) => (None, Some(self.child(body)?)),
        };
        let end = self.ahead(CLOCK_MONOTONIC, Time::milliseconds(MILLISECONDS));
        let (mut rounds, mut last) = (0, Ok(0));
        self.step(&"runs rounds of a litmus test");
        // The clock is looked at seldom, but after the first rounds as well: a call may take 100 ms on a busy machine.
        let asks_the_clock = |rounds: u32| rounds % 64 == 0 || rounds.is_power_of_two();
        while last == Ok(0) && !memory.is_over() && rounds < ROUNDS && (!asks_the_clock(rounds) || self.is_before(&end))
        {
            rounds += 1;
            begin(memory, rounds);
            last = round(memory, rounds);
        }
        memory.word(OVER).store(1, Ordering::SeqCst);
        let _ = processors.map(|set| self.run_on(0, &set));
        self.step(&"waits for the end of a litmus test's other thread");
        thread.map_or(Ok(()), |thread| self.ends(thread, "a litmus test's other thread", Ok(0)))?;
        child.map_or(Ok(()), |child| self.ends_well(child, "a litmus test's other process"))?;
        match last {
            Ok(0) => Ok(()),
            Ok(_) => proven(format_args!("it is no barrier: {what}, in round {rounds}; on Linux in none")),
            Err(_) => self.same("membarrier", last, Ok(0)),
        }
    }

    fn is_before(&self, end: &Result<Time, Trouble>) -> bool {
        let now = self.ahead(CLOCK_MONOTONIC, Time::milliseconds(0));
        match (now, end) {
            (Ok(now), Ok(end)) => (now.seconds, now.nanoseconds) < (end.seconds, end.nanoseconds),
            _ => true,
        }
    }
}

/// A set of processors, of 1024: a bit for each.
pub(crate) struct Processors([u64; 16]);

impl Processors {
    fn one(processor: usize) -> Processors {
        Processors(core::array::from_fn(|word| if word == processor / 64 { 1 << (processor % 64) } else { 0 }))
    }

    pub(crate) fn numbers(&self) -> impl Iterator<Item = usize> {
        (0..1024).filter(|number| self.0[number / 64] >> (number % 64) & 1 == 1)
    }
}

/// The memory of a litmus test.
#[derive(Clone, Copy)]
struct Memory(Region);

impl Memory {
    fn word(&self, at: usize) -> &AtomicU32 {
        assert!(at < SIZE / 4);
        let word = core::ptr::with_exposed_provenance_mut(self.0.word(at));
        // SAFETY: mapped by `litmus`, zeroed, for atomics alone, and never unmapped.
        unsafe { AtomicU32::from_ptr(word) }
    }

    fn is_over(&self) -> bool {
        self.word(OVER).load(Ordering::Relaxed) != 0
    }

    /// Stores to the lines that slow down: fewer in some rounds.
    fn store_slowly(&self, round: u32, value: u32) {
        let lines = SLOW_LINES - 30 * (round as usize % 3);
        (0..lines).for_each(|line| self.word(SLOW + line * SLOW_STEP).store(value, Ordering::Relaxed));
    }
}

/// Lets a round begin: takes the light thread's lines away, and lets it go a while before the caller.
fn begin(memory: Memory, round: u32) {
    memory.store_slowly(round, 0);
    fence(Ordering::SeqCst);
    memory.word(BEGUN).store(round, Ordering::Release);
    for _ in 0..round.wrapping_mul(37) % 4096 {
        core::hint::black_box(round);
    }
}

/// Spins until something is so; lets others run now and then.
fn spin_until(world: &World<'_>, is_so: impl Fn() -> bool) {
    for spins in 1_u32.. {
        if is_so() {
            return;
        }
        if spins % 4096 == 0 {
            world.lets_others_run();
        }
        core::hint::spin_loop();
    }
}

/// Waits until the light thread has ended a round, or has gone.
fn wait_for_the_end(world: &World<'_>, memory: Memory, round: u32) {
    spin_until(world, || memory.word(ENDED).load(Ordering::Acquire) == round || memory.is_over());
}

/// Calls `each` on the light thread for each round.
fn each_round(world: &World<'_>, each: impl Fn(Memory, u32)) -> Answer {
    let _ = world.get(PROCESSOR).checked_sub(1).map(|processor| world.run_on_one(processor as usize));
    let memory = Memory(Region::at(world.address_in(MEMORY)));
    let command = world.get(COMMAND) as usize;
    if command != 0 {
        let registered = world.membarrier(command, 0, 0);
        if registered.is_err() {
            memory.word(OVER).store(1, Ordering::SeqCst);
            return registered;
        }
    }
    let mut last = 0;
    loop {
        spin_until(world, || memory.word(BEGUN).load(Ordering::Acquire) != last || memory.is_over());
        if memory.is_over() {
            return Ok(0);
        }
        last = memory.word(BEGUN).load(Ordering::Acquire);
        each(memory, last);
        memory.word(ENDED).store(last, Ordering::Release);
    }
}

fn store_and_load(world: &World<'_>) -> Answer {
    each_round(world, |memory, round| {
        // The line of the word that is loaded: near, unless the other thread has stored there already.
        core::hint::black_box(memory.word(Y).load(Ordering::Relaxed));
        memory.store_slowly(round, round);
        memory.word(X).store(round, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        let y = memory.word(Y).load(Ordering::Relaxed);
        memory.word(LOADED).store(y, Ordering::Relaxed);
    })
}

fn run_twice(world: &World<'_>) -> Answer {
    let code = Code::at(world.address_in(CODE));
    each_round(world, |memory, round| {
        // SAFETY: written before the thread began; and in a round not before the next line.
        core::hint::black_box(unsafe { code.call() });
        memory.word(READY).store(round, Ordering::Release);
        spin_until(world, || memory.word(Y).load(Ordering::Acquire) == round || memory.is_over());
        // SAFETY: written before `Y` was stored, and not again before this round has ended.
        let number = unsafe { code.call() };
        memory.word(LOADED).store(u32::from(number != Code::number(round)), Ordering::Relaxed);
    })
}

fn load_and_load(world: &World<'_>) -> Answer {
    each_round(world, |memory, round| {
        spin_until(world, || {
            let y = memory.word(Y).load(Ordering::Relaxed);
            compiler_fence(Ordering::SeqCst);
            let x = memory.word(X).load(Ordering::Relaxed);
            let is_missed = y == round && x != round;
            memory.word(LOADED).store(u32::from(is_missed), Ordering::Relaxed);
            y == round || memory.is_over()
        });
    })
}
