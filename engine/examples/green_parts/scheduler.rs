//! A scheduler of green threads: stacks of their own, a queue of those that are ready, timers, and
//! carriers, which are threads of the system. It knows nothing of futexes.
//!
//! Its time is its own: it goes on when no green thread is ready or runs, to the first timer. A
//! scheduler of real time has its carriers sleep until then.

use std::cell::Cell;
use std::collections::{BTreeSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::thread;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};

const STACK: usize = 512 << 10;

/// The payload with which a cancelled green thread unwinds.
pub struct Cancelled;

/// The green threads that are left when all are parked without a deadline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stuck(pub usize);

/// What a run did, since the scheduler was made.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Report {
    pub finished: usize,
    pub panicked: usize,
    pub cancelled: usize,
    /// How often a carrier slept because no green thread was ready.
    pub sleeps: usize,
    /// How often a green thread went on with another carrier.
    pub migrations: usize,
}

/// The reason why a green thread gives its carrier up.
#[derive(Clone, Copy)]
pub enum Pause {
    /// It is ready, after the others.
    Yield,
    /// It is parked, until that time.
    Park(Option<u64>),
}

/// What a green thread passes to its carrier, and itself to be resumed by.
type Yields = (Pause, *const Yielder<(), Handed>);
struct Handed(Yields);

/// A suspended green thread.
struct Stack {
    coroutine: Coroutine<(), Handed, ()>,
    yielder: *const Yielder<(), Handed>,
    carrier: Option<usize>,
}

// SAFETY: the function of a green thread may be sent, and keeps nothing that belongs to a carrier
// while it is suspended (`Shared::spawn`); the yielder lies on the coroutine's own stack.
unsafe impl Send for Stack {}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Ready,
    Running,
    /// Parked, until that time.
    Parked(Option<u64>),
    Done,
}

struct Thread {
    stage: Stage,
    /// An `unpark` came while the thread was not parked: its next park ends at once.
    token: bool,
    cancelled: bool,
    /// Present while no carrier runs it.
    stack: Option<Stack>,
}

#[derive(Default)]
struct State {
    threads: Vec<Thread>,
    ready: VecDeque<usize>,
    timers: BTreeSet<(u64, usize)>,
    now: u64,
    running: usize,
    report: Report,
}

/// The scheduler's state, which carriers and green threads share. No green thread is suspended
/// while it holds the lock.
#[derive(Default)]
pub struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

/// The green thread that a carrier runs.
#[derive(Clone, Copy)]
struct Current {
    number: usize,
    yielder: *const Yielder<(), Handed>,
}

thread_local! {
    static CURRENT: Cell<Option<Current>> = const { Cell::new(None) };
}

/// Returns the green thread that runs here. Not inlined: a carrier's variable must be found anew
/// after each suspension.
#[inline(never)]
fn current() -> Current {
    CURRENT.get().expect("called by a green thread")
}

#[inline(never)]
fn set_current(current: Option<Current>) {
    CURRENT.set(current);
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing under this lock panics")
    }

    pub fn now(&self) -> u64 {
        self.lock().now
    }

    pub fn threads(&self) -> u32 {
        self.lock().threads.len() as u32
    }

    pub fn report(&self) -> Report {
        self.lock().report
    }

    pub fn current(&self) -> usize {
        current().number
    }

    /// Makes a green thread; returns its number.
    ///
    /// # Safety
    /// The thread may go on with another carrier after each suspension: `function` keeps nothing
    /// across one that belongs to the thread of the system, such as a reference to a thread-local
    /// variable or a guard that must be dropped where it was made.
    pub unsafe fn spawn(&self, function: impl FnOnce() + Send + 'static) -> usize {
        let stack = DefaultStack::new(STACK).expect("memory for a stack");
        let coroutine = Coroutine::with_stack(stack, move |yielder: &Yielder<(), Handed>, ()| {
            set_current(Some(Current { yielder, ..current() }));
            function();
        });
        let stack = Some(Stack { coroutine, yielder: ptr::null(), carrier: None });
        let mut state = self.lock();
        let number = state.threads.len();
        state.threads.push(Thread { stage: Stage::Ready, token: false, cancelled: false, stack });
        state.ready.push_back(number);
        self.changed.notify_one();
        number
    }

    /// Gives the carrier of the current green thread to others. Returns true if the thread was
    /// cancelled, before or meanwhile. A thread that unwinds is not suspended: the count of panics is
    /// its carrier's.
    pub fn suspend(&self, pause: Pause) -> bool {
        let Current { number, yielder } = current();
        if !self.lock().threads[number].cancelled && !thread::panicking() {
            // SAFETY: the yielder lies on this green thread's stack, below this frame.
            unsafe { &*yielder }.suspend(Handed((pause, yielder)));
        }
        self.lock().threads[number].cancelled
    }

    pub fn unpark(&self, thread: usize) {
        let mut state = self.lock();
        match state.threads[thread].stage {
            Stage::Parked(_) => state.make_ready(thread),
            Stage::Ready | Stage::Running => state.threads[thread].token = true,
            Stage::Done => {}
        }
        self.changed.notify_one();
    }

    pub fn cancel(&self, thread: usize) {
        self.lock().threads[thread].cancelled = true;
        self.unpark(thread);
    }

    /// Runs green threads until none is left that can go on: the whole of a carrier.
    pub fn carry(&self, carrier: usize) {
        while let Some((number, mut stack)) = self.next(carrier) {
            set_current(Some(Current { number, yielder: stack.yielder }));
            let end = catch_unwind(AssertUnwindSafe(|| stack.coroutine.resume(())));
            set_current(None);
            let mut state = self.lock();
            state.running -= 1;
            match end {
                Ok(CoroutineResult::Yield(Handed((pause, yielder)))) => {
                    stack.yielder = yielder;
                    // Only now, when the registers are saved, can another carrier take it.
                    state.threads[number].stack = Some(stack);
                    state.paused(number, pause);
                }
                Ok(CoroutineResult::Return(())) => state.end(number, |report| &mut report.finished),
                Err(payload) if payload.is::<Cancelled>() => state.end(number, |report| &mut report.cancelled),
                Err(_) => state.end(number, |report| &mut report.panicked),
            }
            drop(state);
            self.changed.notify_all();
        }
    }

    /// Takes the next green thread. Sleeps only if none is ready and another carrier runs one;
    /// returns `None` if none is ready, none runs and no timer is left.
    fn next(&self, carrier: usize) -> Option<(usize, Stack)> {
        let mut state = self.lock();
        loop {
            if let Some(number) = state.ready.pop_front() {
                let mut stack = state.threads[number].stack.take().expect("a thread that no carrier runs");
                state.threads[number].stage = Stage::Running;
                state.running += 1;
                let migrates = stack.carrier.replace(carrier).is_some_and(|before| before != carrier);
                state.report.migrations += usize::from(migrates);
                return Some((number, stack));
            }
            if state.running > 0 {
                state.report.sleeps += 1;
                state = self.changed.wait(state).expect("nothing under this lock panics");
            } else if !state.advance() {
                self.changed.notify_all();
                return None;
            }
        }
    }

    /// Unwinds the green threads that are left; returns how many. No carrier runs.
    pub fn unwind_all(&self) -> usize {
        let threads = self.lock().threads.len();
        let mut left = 0;
        for number in 0..threads {
            let Some(stack) = self.lock().threads[number].stack.take() else { continue };
            left += 1;
            // A thread that has not begun has no frames: what it owns is dropped here.
            set_current(stack.carrier.map(|_| Current { number, yielder: stack.yielder }));
            // With no lock held: destructors wake others.
            drop(stack);
            set_current(None);
        }
        let mut state = self.lock();
        state.threads.iter_mut().for_each(|thread| thread.stage = Stage::Done);
        state.ready.clear();
        state.timers.clear();
        left
    }
}

impl State {
    fn make_ready(&mut self, thread: usize) {
        if let Stage::Parked(Some(at)) = self.threads[thread].stage {
            self.timers.remove(&(at, thread));
        }
        self.threads[thread].stage = Stage::Ready;
        self.ready.push_back(thread);
    }

    /// Notes that a green thread has given its carrier up.
    fn paused(&mut self, thread: usize, pause: Pause) {
        match pause {
            Pause::Park(until) if !core::mem::take(&mut self.threads[thread].token) => {
                self.threads[thread].stage = Stage::Parked(until);
                if let Some(at) = until {
                    self.timers.insert((at, thread));
                }
            }
            Pause::Park(_) | Pause::Yield => self.make_ready(thread),
        }
    }

    /// Goes on to the time of the first timer; returns false if there is none.
    fn advance(&mut self) -> bool {
        let Some(&(at, _)) = self.timers.first() else { return false };
        self.now = self.now.max(at);
        while let Some(&(at, thread)) = self.timers.first() {
            if at > self.now {
                break;
            }
            self.make_ready(thread);
        }
        true
    }

    fn end(&mut self, thread: usize, count: impl FnOnce(&mut Report) -> &mut usize) {
        self.threads[thread].stage = Stage::Done;
        *count(&mut self.report) += 1;
    }
}
