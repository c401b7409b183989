//! The decoder of the futex2 calls: `futex_waitv`, `futex_wake`, `futex_wait`, `futex_requeue`.
//! Each word has its flags; times are points in time, on a clock that is named. Called by
//! `Engine::syscall` and the host, calls the operations.

use crate::host::host_vec::HostVec;
use crate::linux::abi::{
    CLOCK_MONOTONIC, CLOCK_REALTIME, FUTEX_WAITV_MAX, FUTEX2_MPOL, FUTEX2_NUMA, FUTEX2_PRIVATE, FUTEX2_SIZE_MASK,
    FUTEX2_SIZE_U8, FUTEX2_SIZE_U16, FUTEX2_SIZE_U32, Numbers, WAITV_SIZE,
};
use crate::linux::futex::answer;
use crate::linux::user;
use crate::{Address, Clock, Deadline, Engine, Errno, Host, Node, Requeue, Scope, Size, WaitAny, WaitEntry, Word};

/// The greatest number of words whose waiters `futex_waitv` keeps on the stack.
const FEW: usize = 4;

/// An element of the array that `futex_waitv` and `futex_requeue` read, decoded.
#[derive(Clone, Copy)]
struct Element {
    word: Word,
    value: u64,
}

impl<H: Host> Engine<H> {
    /// Serves the futex2 calls by number, with any arguments; returns what the system call returns,
    /// or `None` if it is another call.
    ///
    /// # Errors
    /// Those of Linux, which are those of [`wait`](Self::wait), [`waitv`](Self::waitv),
    /// [`wake`](Self::wake) and [`requeue`](Self::requeue). `EINVAL`: also a word of a size that
    /// the host does not [serve](Host::serves), as every size but 32 bits on Linux 6.18, and a word
    /// with a node or a memory policy (`FUTEX2_NUMA`, `FUTEX2_MPOL`) where the host knows no
    /// [`Nodes`](crate::Nodes). `ENOMEM`: `futex_waitv` found no memory for the waiters of more than
    /// 4 words; [`futex_waitv_in`](Self::futex_waitv_in) needs none.
    pub fn futex2(&self, host: &H, numbers: &Numbers, number: u64, arguments: [u64; 6]) -> Option<Result<u32, Errno>> {
        let [a, b, c, d, e, f] = arguments;
        Some(if number == numbers.futex_waitv {
            self.futex_waitv(host, arguments)
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

    /// Serves `futex_waitv(array, length, flags, time, clock)` in room of the caller's: a page of
    /// the calling thread's, say. Allocates nothing. For hosts that must not allocate where the
    /// call comes in: they compare the number with [`Numbers::futex_waitv`] and call this, and
    /// [`syscall`](Self::syscall) otherwise, which allocates where the program waits for more than
    /// 4 words. What the entries hold is overwritten, and empty afterwards.
    ///
    /// ```
    /// # #[cfg(feature = "std")] {
    /// use leeward_engine::{Config, Engine, Errno, Heap, WaitEntry, Word, parking::Process};
    /// use std::sync::atomic::AtomicU32;
    ///
    /// /// The kernel's `struct futex_waitv`.
    /// #[repr(C)]
    /// struct Element { value: u64, address: u64, flags: u32, zero: u32 }
    ///
    /// let engine = Engine::new(Config::small(7), Heap).unwrap();
    /// // SAFETY: the words that are named are aligned, and outlive the call, as the array does.
    /// let host = unsafe { Process::new(2, 7) };
    /// let word = AtomicU32::new(5);
    /// let address = word.as_ptr().expose_provenance() as u64;
    /// let array = [Element { value: 0, address, flags: 2, zero: 0 }];
    /// let at = array.as_ptr().expose_provenance() as u64;
    /// let mut room = [const { WaitEntry::new(Word::private(0), 0) }; 8];
    /// // The word does not hold 0.
    /// let answer = engine.futex_waitv_in(&host, &mut room, [at, 1, 0, 0, 0, 0]);
    /// assert_eq!(answer, Err(Errno::EAGAIN));
    /// assert_eq!(engine.futex_waitv_in(&host, &mut [], [at, 1, 0, 0, 0, 0]), Err(Errno::ENOMEM));
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of [`futex2`](Self::futex2). `ENOMEM`: the program waits for more words than there is
    /// room for; [`MOST_WORDS`](crate::MOST_WORDS) entries are always enough.
    pub fn futex_waitv_in(&self, host: &H, room: &mut [WaitEntry<H>], arguments: [u64; 6]) -> Result<u32, Errno> {
        let (length, until) = self.waitv_arguments(host, arguments)?;
        let entries = room.get_mut(..length).ok_or(Errno::ENOMEM)?;
        self.waitv_of(host, entries, arguments[0], until)
    }

    /// Serves `futex_waitv`: the waiters of few words on the stack, those of more in memory.
    fn futex_waitv(&self, host: &H, arguments: [u64; 6]) -> Result<u32, Errno> {
        let (length, until) = self.waitv_arguments(host, arguments)?;
        if length <= FEW {
            self.waitv_of_few(host, length, arguments[0], until)
        } else {
            self.waitv_of_many(host, length, arguments[0], until)
        }
    }

    /// Serves `futex_waitv` for up to [`FEW`] words. A function of its own, so that only such a call
    /// takes the stack.
    #[inline(never)]
    fn waitv_of_few(&self, host: &H, length: usize, array: Address, until: Option<Deadline>) -> Result<u32, Errno> {
        let mut entries = [const { WaitEntry::new(Word::private(0), 0) }; FEW];
        self.waitv_of(host, &mut entries[..length], array, until)
    }

    /// Serves `futex_waitv` for any number of words.
    #[inline(never)]
    fn waitv_of_many(&self, host: &H, length: usize, array: Address, until: Option<Deadline>) -> Result<u32, Errno> {
        let mut entries = HostVec::with_capacity(self.memory(), length).ok_or(Errno::ENOMEM)?;
        (0..length).for_each(|_| entries.push(WaitEntry::new(Word::private(0), 0)));
        self.waitv_of(host, &mut entries, array, until)
    }

    /// Decodes the arguments of `futex_waitv`: the number of words, and until when the call waits.
    fn waitv_arguments(
        &self,
        host: &H,
        [array, length, flags, time, clock, _]: [u64; 6],
    ) -> Result<(usize, Option<Deadline>), Errno> {
        let (length, flags) = (length as u32, flags as u32);
        if flags != 0 || length == 0 || length > FUTEX_WAITV_MAX || array == 0 {
            return Err(Errno::EINVAL);
        }
        Ok((length as usize, self.point(host, time, clock as u32)?))
    }

    /// Reads an array of words into as many entries, and waits for them. The entries are empty
    /// afterwards: no handle of a task stays there.
    fn waitv_of(
        &self,
        host: &H,
        entries: &mut [WaitEntry<H>],
        array: Address,
        until: Option<Deadline>,
    ) -> Result<u32, Errno> {
        for (entry, i) in entries.iter_mut().zip(0..) {
            let element = self.element(host, array, i)?;
            *entry = WaitEntry::new(element.word, element.value);
        }
        let end = self.waitv(host, entries, until);
        entries.iter_mut().for_each(|entry| *entry = WaitEntry::new(Word::private(0), 0));
        match end? {
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
        let (value, mask) = (fitting(value, &word)?, small(mask)?);
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
        Ok(Element { word, value: fitting(value, &word)? })
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

/// Decodes a word's flags: its size, which the host serves; private or not; and where the host
/// knows nodes, a node or a memory policy.
fn word<H: Host>(host: &H, address: Address, flags: u32) -> Result<Word, Errno> {
    const PLACES: u32 = FUTEX2_NUMA | FUTEX2_MPOL;
    let known = FUTEX2_SIZE_MASK | FUTEX2_PRIVATE | if host.nodes().is_some() { PLACES } else { 0 };
    let size = match flags & FUTEX2_SIZE_MASK {
        FUTEX2_SIZE_U8 => Size::U8,
        FUTEX2_SIZE_U16 => Size::U16,
        FUTEX2_SIZE_U32 => Size::U32,
        _ => Size::U64,
    };
    if flags & !known != 0 || !host.serves(size) {
        return Err(Errno::EINVAL);
    }
    let scope = if flags & FUTEX2_PRIVATE != 0 { Scope::Private } else { Scope::Shared };
    let node = match flags & PLACES {
        FUTEX2_NUMA => Node::Beside,
        FUTEX2_MPOL => Node::Policy,
        PLACES => Node::BesideOrPolicy,
        _ => Node::Hashed,
    };
    Ok(Word { address, scope, node, size })
}

/// Returns a 64-bit argument as a word's value, which the word must be able to hold.
fn fitting(value: u64, word: &Word) -> Result<u64, Errno> {
    if word.size.holds(value) { Ok(value) } else { Err(Errno::EINVAL) }
}

/// Returns a 64-bit argument as a bitset, which has 32 bits.
fn small(value: u64) -> Result<u32, Errno> {
    u32::try_from(value).map_err(|_| Errno::EINVAL)
}
