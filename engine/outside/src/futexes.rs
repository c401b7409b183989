//! A futex call of the program: which words it uses, which of the engine and the kernel serves it,
//! and how a wait ends where a signal comes. `trap` calls it.
//!
//! The kernel serves, which is counted as *passed on*:
//!
//! - words without the PRIVATE flag in memory that other processes may share: each process has its
//!   own engine;
//! - addresses that cannot be read, or that cannot be written where that matters: the host loads
//!   what it is told to;
//! - a wait without the PRIVATE flag for a word that holds the number of a thread: the kernel clears
//!   and wakes it at the thread's end (`pthread_join`);
//! - words with a NUMA node or a memory policy: the host knows no nodes;
//! - calls that the trap itself makes, by way of the C library.
//!
//! A wake that the engine serves goes on to the kernel as long as threads sleep there for reasons
//! like the last two.

use core::sync::atomic::Ordering;

use leeward_engine::abi::{
    FUTEX_BITSET_MATCH_ANY, FUTEX_CMD_MASK, FUTEX_CMP_REQUEUE, FUTEX_CMP_REQUEUE_PI, FUTEX_LOCK_PI, FUTEX_LOCK_PI2,
    FUTEX_OWNER_DIED, FUTEX_PRIVATE_FLAG, FUTEX_REQUEUE, FUTEX_TRYLOCK_PI, FUTEX_UNLOCK_PI, FUTEX_WAIT,
    FUTEX_WAIT_BITSET, FUTEX_WAIT_REQUEUE_PI, FUTEX_WAITV_MAX, FUTEX_WAKE, FUTEX_WAKE_BITSET, FUTEX_WAKE_OP,
    FUTEX2_MPOL, FUTEX2_NUMA, WAITV_SIZE,
};
use leeward_engine::{Clock, parking};

use crate::counts::add;
use crate::page::page;
use crate::signals;
use crate::state::{Arrived, NUMBERS, Own, State, counts, own};
use crate::{native, regions};

/// The end of a call.
pub enum End {
    /// The call returns that.
    Answer(i64),
    /// The call is made again, after the handlers of the signals that came.
    Restart,
}

/// The place of the first operation that is no command of `futex`.
const WAITV: usize = 15;
/// The place of commands that are not known.
const UNKNOWN: usize = 14;
/// The answer of a call that a signal ended.
const EINTR: i64 = -(libc::EINTR as i64);
/// The nanoseconds in a second.
const SECOND: u64 = 1_000_000_000;

/// A futex call.
#[derive(Clone, Copy)]
pub struct Call {
    /// The number of the system call.
    pub number: i64,
    /// The six arguments of the call.
    pub arguments: [u64; 6],
}

/// What a call does with a word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    /// The word is a name.
    Name,
    /// The word is read.
    Read,
    /// The word is written.
    Write,
}

impl Call {
    /// Returns the command and true if it has the PRIVATE flag, of a call of `futex`.
    fn command(&self) -> Option<(u32, bool)> {
        let operation = self.arguments[1] as u32;
        let is_futex = self.number == libc::SYS_futex;
        is_futex.then_some((operation & FUTEX_CMD_MASK, operation & FUTEX_PRIVATE_FLAG != 0))
    }

    /// Returns the call's place among the counters.
    pub fn place(&self) -> usize {
        match self.command() {
            Some((command, _)) => (command as usize).min(UNKNOWN),
            None if self.number == libc::SYS_futex_waitv => WAITV,
            None => WAITV + 1 + (self.number - 454) as usize,
        }
    }

    /// Returns true if the call may sleep for long.
    fn is_wait(&self) -> bool {
        match self.command() {
            Some((command, _)) => matches!(
                command,
                FUTEX_WAIT | FUTEX_WAIT_BITSET | FUTEX_LOCK_PI | FUTEX_LOCK_PI2 | FUTEX_WAIT_REQUEUE_PI
            ),
            None => matches!(self.number, libc::SYS_futex_waitv | 455),
        }
    }

    /// Returns true if the engine may be given the call.
    fn is_for_engine(&self) -> bool {
        let [first, .., second, _] = self.arguments;
        let Some((command, is_private)) = self.command() else { return self.is_new_for_engine() };
        let fits = |address: u64, used: Use| word_fits(address, used, is_private);
        let words = match command {
            FUTEX_WAIT | FUTEX_WAIT_BITSET => fits(first, Use::Read) && !self.is_join(is_private),
            FUTEX_WAKE | FUTEX_WAKE_BITSET => fits(first, Use::Name),
            FUTEX_REQUEUE => fits(first, Use::Name) && fits(second, Use::Name),
            FUTEX_CMP_REQUEUE => fits(first, Use::Read) && fits(second, Use::Name),
            FUTEX_WAKE_OP => fits(first, Use::Name) && fits(second, Use::Write),
            FUTEX_LOCK_PI | FUTEX_LOCK_PI2 | FUTEX_TRYLOCK_PI | FUTEX_UNLOCK_PI => fits(first, Use::Write),
            FUTEX_WAIT_REQUEUE_PI | FUTEX_CMP_REQUEUE_PI => fits(first, Use::Read) && fits(second, Use::Write),
            _ => true,
        };
        words && (!self.is_wait() || time_fits(self.arguments[3]))
    }

    /// Returns true if the wait is for the end of a thread, whose word the kernel clears.
    fn is_join(&self, is_private: bool) -> bool {
        let value = self.arguments[2] as u32;
        !is_private && value != 0 && value < FUTEX_OWNER_DIED && native::has_thread(value)
    }

    /// Returns true if the engine may be given a call of futex2.
    fn is_new_for_engine(&self) -> bool {
        let [first, second, _, flags, time, _] = self.arguments;
        match self.number {
            libc::SYS_futex_waitv => words_fit(first, second as u32) && time_fits(flags),
            454 => new_word_fits(first, Use::Name, flags),
            455 => new_word_fits(first, Use::Read, flags) && time_fits(time),
            _ => words_fit(first, 2),
        }
    }
}

/// Returns true if the engine may use a word. Without the PRIVATE flag it must be possible to write
/// it: of words that can only be read the kernel knows what kind of memory they are in.
fn word_fits(address: u64, used: Use, is_private: bool) -> bool {
    let at = address as usize;
    if is_private && used == Use::Name {
        return native::is_user(at);
    }
    // A misaligned address is an error whatever is there.
    let must_write = (used == Use::Write || !is_private) && at % 4 == 0;
    native::is_readable(at) && (!must_write || native::is_writable(at)) && (is_private || !regions::is_shared(at))
}

/// Returns true if the engine may use a word with flags of futex2.
fn new_word_fits(address: u64, used: Use, flags: u64) -> bool {
    let flags = flags as u32;
    flags & (FUTEX2_NUMA | FUTEX2_MPOL) == 0 && word_fits(address, used, flags & FUTEX_PRIVATE_FLAG != 0)
}

/// Returns true if a time can be read.
fn time_fits(address: u64) -> bool {
    address == 0 || native::is_readable(address as usize) && native::is_readable(address as usize + 15)
}

/// Returns true if the engine may read an array of words, and use each of them.
fn words_fit(array: u64, count: u32) -> bool {
    if array == 0 || count == 0 || count > FUTEX_WAITV_MAX {
        return true;
    }
    let bytes = WAITV_SIZE * count as usize;
    let array = array as usize;
    if !(0..bytes).step_by(8).all(|at| native::is_readable(array + at)) || !native::is_readable(array + bytes - 1) {
        return false;
    }
    (0..count as usize).all(|i| {
        let entry = core::ptr::with_exposed_provenance::<[u64; 3]>(array + WAITV_SIZE * i);
        // SAFETY: it can be read, as was found out just now.
        let [_, address, flags] = unsafe { entry.read_unaligned() };
        new_word_fits(address, Use::Read, flags)
    })
}

/// Serves a call of the program's, whose thread has that mask of signals.
pub fn serve(call: Call, mask: u64) -> End {
    let counters = &counts().calls[call.place()];
    if !call.is_for_engine() {
        add(&counters[0], 1);
        return pass_on(call, mask);
    }
    let state = State::get();
    let ask = |arguments| {
        state.engine.robust_syscall(&state.process, &NUMBERS, call.number as u64, arguments).unwrap_or_else(|| {
            let answer = state.engine.syscall(&state.process, &NUMBERS, call.number as u64, arguments);
            answer.unwrap_or(-i64::from(libc::ENOSYS))
        })
    };
    let end = if call.is_wait() { wait(call, mask, ask) } else { End::Answer(wake_kernel(call, ask(call.arguments))) };
    let kind = match end {
        End::Restart => 5,
        End::Answer(answer) => match -answer as i32 {
            ..=0 => 1,
            libc::EAGAIN => 2,
            libc::ETIMEDOUT => 3,
            libc::EINTR => 4,
            _ => 6,
        },
    };
    add(&counters[kind], 1);
    end
}

/// Makes a wait, and decides how it ends if signals came.
fn wait(call: Call, mask: u64, ask: impl Fn([u64; 6]) -> i64) -> End {
    let Call { number, mut arguments } = call;
    let began = parking::now(Clock::Monotonic);
    let mut left = [0_u64; 2];
    own(|own: &Own| {
        loop {
            let answer = signals::let_in(own, mask, || ask(arguments));
            if answer != EINTR {
                return End::Answer(answer);
            }
            let restarts = match own.arrived.get() {
                Arrived::None => {
                    // Nothing that the program would hear of, as where it was stopped: it waits on.
                    shorten(&call, &mut arguments, &mut left, began);
                    continue;
                }
                Arrived::Ends => NUMBERS.restarts_always(number as u64, arguments),
                Arrived::Restarts => NUMBERS.restarts(number as u64, arguments),
            };
            return if restarts { End::Restart } else { End::Answer(EINTR) };
        }
    })
}

/// Has a wait that begins anew wait for what is left of its relative time.
fn shorten(call: &Call, arguments: &mut [u64; 6], left: &mut [u64; 2], began: u64) {
    let is_relative = call.command().is_some_and(|(command, _)| command == FUTEX_WAIT);
    if is_relative && call.arguments[3] != 0 {
        let time = core::ptr::with_exposed_provenance::<[u64; 2]>(call.arguments[3] as usize);
        // SAFETY: it can be read, as was found out before the wait.
        let [seconds, nanos] = unsafe { time.read_unaligned() };
        let whole = seconds.saturating_mul(SECOND).saturating_add(nanos);
        let rest = whole.saturating_sub(parking::now(Clock::Monotonic) - began);
        *left = [rest / SECOND, rest % SECOND];
        arguments[3] = core::ptr::from_ref(left).expose_provenance() as u64;
    }
}

/// Wakes threads in the kernel, too, if the engine woke fewer than the call wants and there may be
/// some.
fn wake_kernel(call: Call, answer: i64) -> i64 {
    let [address, operation, count, .., bits] = call.arguments;
    let (bits, is_wake) = match call.command() {
        Some((FUTEX_WAKE, _)) => (FUTEX_BITSET_MATCH_ANY, true),
        Some((FUTEX_WAKE_BITSET, _)) => (bits as u32, true),
        _ => (0, false),
    };
    let rest = i64::from((count as i32).max(1)) - answer;
    // SeqCst: the engine's fence came before; partner: the addition in `sleep_in_kernel`.
    if !is_wake || answer < 0 || rest <= 0 || page().sleepers.load(Ordering::SeqCst) == 0 {
        return answer;
    }
    let is_private = operation as u32 & FUTEX_PRIVATE_FLAG;
    answer + native::wake(address as usize, FUTEX_WAKE_BITSET | is_private, rest as u32, bits).max(0)
}

/// Has the kernel serve a call.
fn pass_on(call: Call, mask: u64) -> End {
    let ask = |arguments: [u64; 6]| {
        // SAFETY: the program's own call.
        unsafe { native::call(call.number, arguments.map(|argument| argument as usize)) }
    };
    if !call.is_wait() {
        return End::Answer(ask(call.arguments));
    }
    // SeqCst: before the kernel compares the word; partner: the load in `wake_kernel`.
    page().sleepers.fetch_add(1, Ordering::SeqCst);
    let end = wait(call, mask, ask);
    // Relaxed: no thread is missed by a count that is too high.
    page().sleepers.fetch_sub(1, Ordering::Relaxed);
    end
}

/// Serves a call that the trap made itself by way of the C library: a wait in the kernel; a wake
/// there, and of threads that wait by the engine.
pub fn serve_own(call: Call) -> i64 {
    if call.is_wait() {
        page().sleepers.fetch_add(1, Ordering::SeqCst);
    }
    // SAFETY: the C library's own call.
    let answer = unsafe { native::call(call.number, call.arguments.map(|argument| argument as usize)) };
    if call.is_wait() {
        // Relaxed: as in `pass_on`.
        page().sleepers.fetch_sub(1, Ordering::Relaxed);
        return answer;
    }
    let rest = i64::from(call.arguments[2] as i32) - answer;
    if !matches!(call.command(), Some((FUTEX_WAKE | FUTEX_WAKE_BITSET, _))) || answer < 0 || rest <= 0 {
        return answer;
    }
    let state = State::get();
    let arguments = {
        let mut arguments = call.arguments;
        arguments[2] = rest as u64;
        arguments
    };
    let woken = state.engine.syscall(&state.process, &NUMBERS, call.number as u64, arguments).unwrap_or(0);
    answer + woken.max(0)
}
