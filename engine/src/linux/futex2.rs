//! The decoder of the futex2 calls: `futex_waitv`, `futex_wake`, `futex_wait`, `futex_requeue`.
//! Each word has its flags; times are points in time, on a clock that is named. Called by
//! `Engine::syscall` and the host, calls the operations.

use crate::host::host_vec::HostVec;
use crate::linux::abi::{
    CLOCK_MONOTONIC, CLOCK_REALTIME, FUTEX_WAITV_MAX, FUTEX2_MPOL, FUTEX2_NUMA, FUTEX2_PRIVATE, FUTEX2_SIZE_MASK,
    FUTEX2_SIZE_U32, Numbers, WAITV_SIZE,
};
use crate::linux::futex::answer;
use crate::linux::user;
use crate::{Address, Clock, Deadline, Engine, Errno, Host, Node, Requeue, Scope, WaitAny, WaitEntry, Word};

/// An element of the array that `futex_waitv` and `futex_requeue` read, decoded.
#[derive(Clone, Copy)]
struct Element {
    word: Word,
    value: u32,
}

impl<H: Host> Engine<H> {
    /// Serves the futex2 calls by number, with any arguments; returns what the system call returns,
    /// or `None` if it is another call.
    ///
    /// # Errors
    /// Those of Linux, which are those of [`wait`](Self::wait), [`waitv`](Self::waitv),
    /// [`wake`](Self::wake) and [`requeue`](Self::requeue). `EINVAL`: also a word with a node or a
    /// memory policy (`FUTEX2_NUMA`, `FUTEX2_MPOL`) where the host knows no
    /// [`Nodes`](crate::Nodes). `ENOMEM`: `futex_waitv` found no memory for its waiters.
    pub fn futex2(&self, host: &H, numbers: &Numbers, number: u64, arguments: [u64; 6]) -> Option<Result<u32, Errno>> {
        let [a, b, c, d, e, f] = arguments;
        Some(if number == numbers.futex_waitv {
            self.futex_waitv(host, a, b as u32, c as u32, d, e as u32)
        } else if number == numbers.futex_wake {
            self.futex_wake(host, a, b, c as i32, d as u32)
        } else if number == numbers.futex_wait {
            self.futex_wait(host, [a, b, c, d, e, f])
        } else if number == numbers.futex_requeue {
            self.futex_requeue(host, a, b as u32, c as i32, d as i32)
        } else {
            return None;
        })
    }

    /// Serves `futex_waitv(array, length, flags, time, clock)`.
    fn futex_waitv(
        &self,
        host: &H,
        array: Address,
        length: u32,
        flags: u32,
        time: Address,
        clock: u32,
    ) -> Result<u32, Errno> {
        if flags != 0 || length == 0 || length > FUTEX_WAITV_MAX || array == 0 {
            return Err(Errno::EINVAL);
        }
        let until = self.point(host, time, clock)?;
        let mut entries = HostVec::with_capacity(self.memory(), length as usize).ok_or(Errno::ENOMEM)?;
        for i in 0..u64::from(length) {
            let element = self.element(host, array, i)?;
            entries.push(WaitEntry::new(element.word, element.value));
        }
        match self.waitv(host, &mut entries, until)? {
            WaitAny::Woken(index) => Ok(index as u32),
            WaitAny::Changed => Err(Errno::EAGAIN),
            WaitAny::TimedOut => Err(Errno::ETIMEDOUT),
            WaitAny::Interrupted => Err(Errno::EINTR),
        }
    }

    /// Serves `futex_wake(word, mask, count, flags)`: a count of 0 wakes no thread, a negative
    /// count one.
    fn futex_wake(&self, host: &H, address: Address, mask: u64, count: i32, flags: u32) -> Result<u32, Errno> {
        let word = word(host, address, flags)?;
        let count = if count < 0 { 1 } else { count as u32 };
        self.wake(host, word, count, small(mask)?)
    }

    /// Serves `futex_wait(word, value, mask, flags, time, clock)`.
    fn futex_wait(&self, host: &H, [address, value, mask, flags, time, clock]: [u64; 6]) -> Result<u32, Errno> {
        let word = word(host, address, flags as u32)?;
        let (value, mask) = (small(value)?, small(mask)?);
        let until = self.point(host, time, clock as u32)?;
        answer(self.wait(host, word, value, mask, until)?)
    }

    /// Serves `futex_requeue(array of two, flags, wake, requeue)`.
    fn futex_requeue(&self, host: &H, array: Address, flags: u32, wake: i32, requeue: i32) -> Result<u32, Errno> {
        if flags != 0 || array == 0 {
            return Err(Errno::EINVAL);
        }
        let (from, to) = (self.element(host, array, 0)?, self.element(host, array, 1)?);
        if wake < 0 || requeue < 0 {
            return Err(Errno::EINVAL);
        }
        match self.requeue(host, from.word, to.word, wake as u32, requeue as u32, Some(from.value))? {
            Requeue::Done(count) => Ok(count),
            Requeue::Changed => Err(Errno::EAGAIN),
        }
    }

    /// Reads an element of an array of `struct futex_waitv`: value (64 bits), address (64), flags
    /// (32), zeroes (32).
    fn element(&self, host: &H, array: Address, index: u64) -> Result<Element, Errno> {
        let mut bytes = [0_u8; WAITV_SIZE];
        self.read_user(host, array.wrapping_add(WAITV_SIZE as u64 * index), &mut bytes)?;
        let (value, address) = (user::double(&bytes, 0), user::double(&bytes, 8));
        let (flags, reserved) = (user::single(&bytes, 16), user::single(&bytes, 20));
        let word = word(host, address, flags)?;
        if reserved != 0 {
            return Err(Errno::EINVAL);
        }
        Ok(Element { word, value: small(value)? })
    }

    /// Reads a point in time on a clock; `None` if the address is 0, whatever the clock.
    fn point(&self, host: &H, time: Address, clock: u32) -> Result<Option<Deadline>, Errno> {
        if time == 0 {
            return Ok(None);
        }
        let clock = match clock {
            CLOCK_REALTIME => Clock::Realtime,
            CLOCK_MONOTONIC => Clock::Monotonic,
            _ => return Err(Errno::EINVAL),
        };
        Ok(Some(Deadline { clock, at: self.time(host, time)?.unwrap_or(u64::MAX) }))
    }
}

/// Decodes a word's flags: 32 bits, private or not; and where the host knows nodes, a node or a
/// memory policy.
fn word<H: Host>(host: &H, address: Address, flags: u32) -> Result<Word, Errno> {
    const PLACES: u32 = FUTEX2_NUMA | FUTEX2_MPOL;
    let known = FUTEX2_SIZE_MASK | FUTEX2_PRIVATE | if host.nodes().is_some() { PLACES } else { 0 };
    if flags & !known != 0 || flags & FUTEX2_SIZE_MASK != FUTEX2_SIZE_U32 {
        return Err(Errno::EINVAL);
    }
    let scope = if flags & FUTEX2_PRIVATE != 0 { Scope::Private } else { Scope::Shared };
    let node = match flags & PLACES {
        FUTEX2_NUMA => Node::Beside,
        FUTEX2_MPOL => Node::Policy,
        PLACES => Node::BesideOrPolicy,
        _ => Node::Hashed,
    };
    Ok(Word { address, scope, node })
}

/// Returns a 64-bit argument as a word's value, which it must fit.
fn small(value: u64) -> Result<u32, Errno> {
    u32::try_from(value).map_err(|_| Errno::EINVAL)
}
