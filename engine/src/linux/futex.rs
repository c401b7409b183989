//! The decoder of Linux's `futex` call, and of a system call by its number, for hosts that serve
//! Linux programs.

use crate::linux::abi::{
    FUTEX_BITSET_MATCH_ANY, FUTEX_CLOCK_REALTIME, FUTEX_CMD_MASK, FUTEX_CMP_REQUEUE, FUTEX_CMP_REQUEUE_PI,
    FUTEX_LOCK_PI, FUTEX_LOCK_PI2, FUTEX_PRIVATE_FLAG, FUTEX_REQUEUE, FUTEX_TRYLOCK_PI, FUTEX_UNLOCK_PI, FUTEX_WAIT,
    FUTEX_WAIT_BITSET, FUTEX_WAIT_REQUEUE_PI, FUTEX_WAKE, FUTEX_WAKE_BITSET, FUTEX_WAKE_OP, Numbers,
};
use crate::linux::user;
use crate::ops::call::Call;
use crate::{Address, Clock, Deadline, Engine, Errno, Host, LockPi, Requeue, Scope, Wait, WaitPi, WakeOp, Word};

/// The nanosecond at which the kernel's clock ends (292 years): a time that never comes.
const END_OF_TIME: u64 = i64::MAX as u64;
/// The number of nanoseconds in a second.
const NANOS: u64 = 1_000_000_000;

impl<H: Host> Engine<H> {
    /// Serves a system call by its number, with any arguments: `futex`, the futex2 calls and
    /// membarrier. Returns what the system call returns, an error as its negative number; or `None`
    /// if the number is not one of these calls. For the calls about robust lists, ask
    /// [`robust_syscall`](Self::robust_syscall) first.
    pub fn syscall(&self, host: &H, numbers: &Numbers, number: u64, arguments: [u64; 6]) -> Option<i64> {
        let [first, second, third, ..] = arguments;
        let answer = if number == numbers.futex {
            self.futex(host, arguments)
        } else if number == numbers.membarrier {
            self.membarrier(host, first as u32, second as u32, third as i32)
        } else if Some(number) == numbers.membarrier_2010 {
            self.membarrier_2010(host, first as u32)
        } else {
            self.futex2(host, numbers, number, arguments)?
        };
        Some(match answer {
            Ok(count) => i64::from(count),
            Err(errno) => errno.answer(),
        })
    }

    /// Serves `futex(word, operation, value, time or second count, second word, third value)`, with
    /// any arguments; returns what the system call returns.
    ///
    /// A call that ends with `EINTR` has done nothing: a host that restarts calls makes it again
    /// where [`Numbers::restarts`] says so.
    ///
    /// # Errors
    /// Those of Linux, which are those of the operation: [`wait`](Self::wait),
    /// [`wake`](Self::wake), [`requeue`](Self::requeue), [`wake_op`](Self::wake_op),
    /// [`lock_pi`](Self::lock_pi), [`unlock_pi`](Self::unlock_pi),
    /// [`requeue_pi`](Self::requeue_pi). `ENOSYS`: an unknown operation, or a clock flag with an
    /// operation that takes none. `EINVAL`: an invalid time, or a negative count of a requeue.
    /// `EFAULT`: the time cannot be read.
    pub fn futex(&self, host: &H, arguments: [u64; 6]) -> Result<u32, Errno> {
        let [address, operation, value, time, second, third] = arguments;
        let (operation, value, third) = (operation as u32, value as u32, third as u32);
        let command = operation & FUTEX_CMD_MASK;
        let realtime = operation & FUTEX_CLOCK_REALTIME != 0;
        // As on Linux, the time is read before anything else is checked.
        let until = match command {
            FUTEX_LOCK_PI | FUTEX_LOCK_PI2 | FUTEX_WAIT_REQUEUE_PI if host.inheritance().is_none() => {
                return Err(Errno::ENOSYS);
            }
            FUTEX_WAIT | FUTEX_WAIT_BITSET | FUTEX_LOCK_PI | FUTEX_LOCK_PI2 | FUTEX_WAIT_REQUEUE_PI if time != 0 => {
                Some(self.deadline(host, command, realtime || command == FUTEX_LOCK_PI, time)?)
            }
            _ => None,
        };
        if realtime && !matches!(command, FUTEX_WAIT_BITSET | FUTEX_LOCK_PI2 | FUTEX_WAIT_REQUEUE_PI) {
            return Err(Errno::ENOSYS);
        }
        let scope = if operation & FUTEX_PRIVATE_FLAG != 0 { Scope::Private } else { Scope::Shared };
        let (word, on) = (word(address, scope), word(second, scope));
        match command {
            FUTEX_WAIT => answer(self.wait(host, word, value.into(), FUTEX_BITSET_MATCH_ANY, until)?),
            FUTEX_WAIT_BITSET => answer(self.wait(host, word, value.into(), third, until)?),
            FUTEX_WAKE => self.wake(host, word, at_least_one(value), FUTEX_BITSET_MATCH_ANY),
            FUTEX_WAKE_BITSET => self.wake(host, word, at_least_one(value), third),
            FUTEX_REQUEUE | FUTEX_CMP_REQUEUE => {
                let (wake, requeue) = (value, time as u32);
                if (wake | requeue) >> 31 != 0 {
                    return Err(Errno::EINVAL);
                }
                let expected = (command == FUTEX_CMP_REQUEUE).then_some(third.into());
                match self.requeue(host, word, on, wake, requeue, expected)? {
                    Requeue::Done(count) => Ok(count),
                    Requeue::Changed => Err(Errno::EAGAIN),
                }
            }
            FUTEX_WAKE_OP => self.wake_op_encoded(host, word, value, on, third, time as u32),
            FUTEX_LOCK_PI | FUTEX_LOCK_PI2 => match self.lock_pi(host, word, until)? {
                LockPi::Acquired => Ok(0),
                LockPi::TimedOut => Err(Errno::ETIMEDOUT),
                LockPi::Interrupted => Err(Errno::EINTR),
            },
            FUTEX_TRYLOCK_PI => self.try_lock_pi(host, word)?.then_some(0).ok_or(Errno::EAGAIN),
            FUTEX_UNLOCK_PI => self.unlock_pi(host, word).map(|()| 0),
            FUTEX_WAIT_REQUEUE_PI => match self.wait_requeue_pi(host, word, value, until, on)? {
                WaitPi::Acquired => Ok(0),
                WaitPi::Changed => Err(Errno::EAGAIN),
                WaitPi::TimedOut => Err(Errno::ETIMEDOUT),
                WaitPi::Interrupted => Err(Errno::EINTR),
            },
            FUTEX_CMP_REQUEUE_PI => self.requeue_pi_encoded(host, word, on, value, time as u32, third),
            _ => Err(Errno::ENOSYS),
        }
    }

    /// Serves CMP_REQUEUE_PI, whose wake count must be one.
    fn requeue_pi_encoded(
        &self,
        host: &H,
        word: Word,
        lock: Word,
        wake: u32,
        requeue: u32,
        expected: u32,
    ) -> Result<u32, Errno> {
        if host.inheritance().is_none() {
            return Err(Errno::ENOSYS);
        }
        if wake != 1 || requeue >> 31 != 0 {
            return Err(Errno::EINVAL);
        }
        match self.requeue_pi(host, word, lock, requeue, expected)? {
            Requeue::Done(count) => Ok(count),
            Requeue::Changed => Err(Errno::EAGAIN),
        }
    }

    /// Serves WAKE_OP with its operation encoded. As on Linux, an error of the words comes before
    /// an unknown operation.
    fn wake_op_encoded(
        &self,
        host: &H,
        word: Word,
        wake: u32,
        on: Word,
        encoded: u32,
        wake_on: u32,
    ) -> Result<u32, Errno> {
        match WakeOp::decode(encoded) {
            Ok(op) => self.wake_op(host, word, at_least_one(wake), on, op, at_least_one(wake_on)),
            Err(errno) => {
                Call::new(self, host).check_two(word, on)?;
                Err(errno)
            }
        }
    }

    /// Reads a `timespec` of user memory as a deadline: for WAIT it is relative, for the others a
    /// point in time.
    fn deadline(&self, host: &H, command: u32, realtime: bool, time: Address) -> Result<Deadline, Errno> {
        let clock = if realtime { Clock::Realtime } else { Clock::Monotonic };
        let length = self.time(host, time)?.unwrap_or(END_OF_TIME);
        let at = match command {
            FUTEX_WAIT => host.now(clock).saturating_add(length),
            _ => length,
        };
        Ok(Deadline { clock, at: if at >= END_OF_TIME { u64::MAX } else { at } })
    }

    /// Reads a `timespec` of user memory in nanoseconds; `None` if it is at the end of time or
    /// later.
    pub(crate) fn time(&self, host: &H, time: Address) -> Result<Option<u64>, Errno> {
        let mut bytes = [0_u8; 16];
        self.read_user(host, time, &mut bytes)?;
        let (seconds, nanos) = (user::double(&bytes, 0) as i64, user::double(&bytes, 8));
        if seconds < 0 || nanos >= NANOS {
            return Err(Errno::EINVAL);
        }
        let length = (seconds as u64).saturating_mul(NANOS).saturating_add(nanos);
        Ok((length < END_OF_TIME).then_some(length))
    }

    /// Reads the user memory that an argument points to.
    pub(crate) fn read_user(&self, host: &H, address: Address, to: &mut [u8]) -> Result<(), Errno> {
        if !user::in_range(host, address, to.len()) {
            return Err(Errno::EFAULT);
        }
        host.read(address, to).map_err(|_| Errno::EFAULT)
    }
}

/// Returns what a system call returns for the end of a wait.
pub(crate) fn answer(wait: Wait) -> Result<u32, Errno> {
    match wait {
        Wait::Woken => Ok(0),
        Wait::Changed => Err(Errno::EAGAIN),
        Wait::TimedOut => Err(Errno::ETIMEDOUT),
        Wait::Interrupted => Err(Errno::EINTR),
    }
}

/// Returns a word of 32 bits, as all are that `futex` names.
pub(crate) const fn word(address: Address, scope: Scope) -> Word {
    match scope {
        Scope::Private => Word::private(address),
        Scope::Shared => Word::shared(address),
    }
}

/// Returns a count of waiters to wake: 1 for a count of 0 or less, as on Linux.
pub(crate) const fn at_least_one(count: u32) -> u32 {
    if (count as i32) < 1 { 1 } else { count }
}
