//! A dying thread's walk over any memory. It ends within its cap, writes only its own locks, and
//! wakes at most one waiter for each. Where no other thread writes meanwhile, it leaves the memory
//! and the waiters that a plain walk leaves.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use leeward_engine::abi::{FUTEX_OWNER_DIED as DIED, FUTEX_TID_MASK as OWNER, FUTEX_WAITERS as WAITERS};
use leeward_engine::{Config, Engine, Heap, Host, RobustExit, Wait, WaitAsync, WalkEnd, Word};

use crate::guest::{Guest, PAGE};
use crate::sequences::{Choices, check_input};

/// Where most lists begin.
const HEAD: u64 = 128;
/// The number of steps of one input.
const STEPS: usize = 64;

/// The dying thread, and where its list begins and ends.
#[derive(Debug)]
struct Dying {
    thread: u32,
    cap: u32,
    /// The size of the list's pointers, in bytes.
    size: u64,
    head: u64,
    /// The distance of a lock from its entry.
    offset: u64,
    /// Where the last pointer leads, if not back to the head.
    last: Option<u64>,
    pending: u64,
    /// True if memory gets any contents, by [`Step::Store`].
    is_damaged: bool,
    /// True if other threads write meanwhile, by [`Step::Meddle`].
    is_disturbed: bool,
}

#[derive(Debug)]
enum Step {
    /// The list has one entry more.
    Entry {
        at: u64,
        inherits: bool,
        lock: Lock,
    },
    /// A thread waits for one of the locks.
    Wait {
        lock: usize,
    },
    Store {
        at: u64,
        value: Lock,
    },
    /// Another thread stores at this access of the walk.
    Meddle {
        access: u32,
        at: u64,
        value: Lock,
    },
}

/// What a lock's word holds.
#[derive(Clone, Copy, Debug)]
enum Lock {
    Free,
    Mine,
    MineWithWaiters,
    Others,
    OwnerDied,
    Number(u32),
}

impl Lock {
    fn word(self, thread: u32) -> u32 {
        let thread = thread & OWNER;
        match self {
            Lock::Free => 0,
            Lock::Mine => thread,
            Lock::MineWithWaiters => thread | WAITERS,
            Lock::Others => thread ^ 1 | WAITERS,
            Lock::OwnerDied => WAITERS | DIED,
            Lock::Number(number) => number,
        }
    }
}

pub fn run(input: &[u8]) {
    check_input(input, STEPS, dying, step, |dying, steps| {
        play(dying, steps);
    });
}

fn dying(choices: &mut Choices) -> Dying {
    let any = choices.any();
    // The list's pointers have 64 bits or 32.
    let size = if choices.chance(25) { 4 } else { 8 };
    Dying {
        thread: choices.pick(&[77, 77, 128, 0, 0x3fff_ffff, any]),
        cap: choices.pick(&[2048, 2048, 64, 3, 0]),
        size,
        head: if choices.below(256) == 255 { address(choices) & limit(size) } else { HEAD },
        offset: match choices.below(256) {
            255 => choices.any_long(),
            _ => choices.pick(&[8, 4, 12, 8_u64.wrapping_neg()]),
        },
        last: choices.chance(25).then(|| address(choices)),
        pending: if choices.chance(50) { address(choices) | u64::from(choices.chance(12)) } else { 0 },
        is_damaged: choices.chance(33),
        is_disturbed: choices.chance(45),
    }
}

fn step(choices: &mut Choices) -> Step {
    choices.one_of(&[
        (10, &|choices| Step::Entry { at: address(choices), inherits: choices.chance(12), lock: lock(choices) }),
        (4, &|choices| Step::Wait { lock: choices.below(256) as usize }),
        (3, &|choices| Step::Store { at: address(choices), value: lock(choices) }),
        (3, &|choices| Step::Meddle {
            access: 1 + choices.below(256) as u32,
            at: address(choices),
            value: lock(choices),
        }),
    ])
}

fn address(choices: &mut Choices) -> u64 {
    match choices.below(256) {
        255 => choices.any_long(),
        // An address in the missing page, or in the one that cannot be written.
        page @ 248.. => [1, 5][page as usize % 2] * PAGE + choices.below(256),
        page => [0, 2, 3, 4, 6][page as usize % 5] * PAGE + choices.below(256),
    }
}

fn lock(choices: &mut Choices) -> Lock {
    match choices.below(8) {
        0..2 => Lock::Free,
        2 => Lock::Mine,
        3..6 => Lock::MineWithWaiters,
        6 => choices.pick(&[Lock::Others, Lock::OwnerDied]),
        _ => Lock::Number(choices.any()),
    }
}

/// Returns the greatest address that a pointer of this size holds.
fn limit(size: u64) -> u64 {
    u64::MAX >> (64 - 8 * size)
}

/// Has the thread die. Returns what its walk came to.
fn play(dying: &Dying, steps: &[Step]) -> RobustExit {
    let guest = Guest::default();
    let Dying { thread, cap, size, head, .. } = *dying;
    guest.thread.set(thread);
    let locks = dying.write(&guest, steps);
    if size == 4 { &guest.compat_head } else { &guest.head }.set(head);
    let engine = Engine::new(Config::small(3), Heap).expect("memory");
    let mut waiters = waiters(steps, &engine, &guest, &locks);
    for step in steps {
        match *step {
            Step::Store { at, value } if dying.is_damaged => {
                guest.cell(at).inspect(|word| word.set(value.word(thread)));
            }
            Step::Meddle { access, at, value } if dying.is_disturbed => {
                guest.meddling.borrow_mut().push((access, at, value.word(thread)));
            }
            _ => {}
        }
    }
    guest.swap_out();
    let plain = Guest::default();
    plain.copy(&guest);
    guest.writes.take();
    guest.accesses.set(0);
    let walk = if size == 4 { Engine::exit_robust_compat } else { Engine::exit_robust };
    let exit = walk(&engine, &guest, cap);
    bounds(&guest, &exit, cap);
    let woken: Vec<bool> = waiters.iter_mut().map(|(_, waiter)| is_woken(waiter)).collect();
    assert_eq!(woken.iter().filter(|woken| **woken).count(), exit.woken as usize);
    if guest.meddling.borrow().is_empty() {
        compare(&guest, &plain, &exit, (head, size, cap), waiters.iter().map(|(name, _)| *name).zip(woken).collect());
    }
    drop(waiters);
    assert_eq!(guest.space().stats(&guest).waiters + engine.stats(&guest).waiters, 0, "a waiter is left in a list");
    exit
}

impl Dying {
    /// Writes what is mostly a list, and returns its locks.
    fn write(&self, guest: &Guest, steps: &[Step]) -> Vec<u64> {
        let &Dying { thread, size, head, offset, last, pending, .. } = self;
        let put = |at: u64, value: u64| {
            if size == 8 {
                guest.put(at, value);
            } else {
                guest.cell(at).inspect(|word| word.set(value as u32));
            }
        };
        let mut locks = Vec::new();
        let mut from = head;
        for step in steps {
            let Step::Entry { at, inherits, lock } = *step else { continue };
            let entry = at & limit(size) & !7;
            put(from, entry | u64::from(inherits));
            let word = entry.wrapping_add(offset) & limit(size);
            guest.cell(word).inspect(|word| word.set(lock.word(thread)));
            locks.push(word);
            from = entry;
        }
        put(from, last.unwrap_or(head));
        put(head.wrapping_add(size), offset);
        put(head.wrapping_add(2 * size), pending);
        locks.push((pending & !1).wrapping_add(offset) & limit(size));
        locks
    }
}

/// Checks what holds for any memory, whatever other threads change in it.
fn bounds(guest: &Guest, exit: &RobustExit, cap: u32) {
    let thread = guest.thread.get();
    assert!(exit.entries <= cap && exit.marked <= exit.entries + 1 && exit.woken <= exit.entries + 1, "{exit:?}");
    // An entry takes a pointer, a load and an exchange, each of which may fault first, and a wake.
    let meddlings = guest.meddling.borrow().len() as u32;
    let accesses = guest.accesses.get();
    assert!(accesses <= 3 + 8 * (exit.entries + 1) + 4 * meddlings, "{accesses} accesses, {exit:?}");
    let writes = guest.writes.borrow();
    assert_eq!(writes.len(), exit.marked as usize);
    for (address, old, new) in &*writes {
        assert_eq!((old & OWNER, *new), (thread, old & WAITERS | DIED), "{address:#x} held {old:#x}");
    }
    assert_eq!((guest.head.get(), guest.compat_head.get()), (0, 0), "the list is forgotten");
}

/// Compares with a plain walk over the same memory.
fn compare(
    guest: &Guest,
    memory: &Guest,
    exit: &RobustExit,
    (head, size, cap): (u64, u64, u32),
    waiters: Vec<(u64, bool)>,
) {
    let mut plain = Plain { memory, size, thread: guest.thread.get(), offset: 0, waiters, marked: 0 };
    // A walk that detects a cycle stops earlier, and may meet a fault after that, at the pending
    // entry. As far as it went, all is the same.
    let round = exit.end == WalkEnd::Cycle;
    let end = match plain.walk(head, if round || exit.end == WalkEnd::Fault { exit.entries } else { cap }) {
        _ if head == 0 => WalkEnd::Whole,
        None => WalkEnd::Fault,
        Some(true) => WalkEnd::Whole,
        Some(false) if round => WalkEnd::Cycle,
        Some(false) => WalkEnd::Truncated,
    };
    assert_eq!((exit.end, exit.marked), (end, plain.marked));
    assert_eq!(guest.difference(memory), None, "the memory differs");
    assert!(plain.waiters.iter().all(|(_, woken)| !woken), "others were woken");
}

/// A plain walk: a loop without detection of cycles.
struct Plain<'a> {
    memory: &'a Guest,
    /// The size of a pointer, in bytes.
    size: u64,
    thread: u32,
    offset: u64,
    /// For each waiter the name of its word, and true if it was woken and has not been counted.
    waiters: Vec<(u64, bool)>,
    marked: u32,
}

impl Plain<'_> {
    /// Returns true if the walk came back to its head, or none after a fault.
    fn walk(&mut self, head: u64, cap: u32) -> Option<bool> {
        if head == 0 {
            return Some(true);
        }
        let size = self.size;
        let mut entry = self.memory.number(head, size)?;
        self.offset = self.memory.number(head.wrapping_add(size), size)?;
        let pending = self.memory.number(head.wrapping_add(2 * size), size)?;
        let mut entries = 0;
        while entry & !1 != head && entries < cap {
            entries += 1;
            let next = self.memory.number(entry & !1, size);
            if entry & !1 != pending & !1 {
                self.die(entry, false)?;
            }
            entry = next?;
        }
        if pending & !1 != 0 {
            self.die(pending, true)?;
        }
        Some(entry & !1 == head)
    }

    fn die(&mut self, entry: u64, pending: bool) -> Option<()> {
        let address = (entry & !1).wrapping_add(self.offset) & (u64::MAX >> (64 - 8 * self.size));
        let inherits = entry & 1 == 1;
        if address % 4 != 0 {
            return None;
        }
        let word = self.memory.cell(address)?;
        let value = word.get();
        if pending && !inherits && value & OWNER == 0 {
            self.wake(address);
        } else if value & OWNER == self.thread {
            if !Guest::is_writable(address) {
                return None;
            }
            word.set(value & WAITERS | DIED);
            self.marked += 1;
            if !inherits && value & WAITERS != 0 {
                self.wake(address);
            }
        }
        Some(())
    }

    /// Checks that the waiter that has waited longest was woken.
    fn wake(&mut self, address: u64) {
        let name = Guest::name(address);
        if let Some(at) = self.waiters.iter().position(|(waits, _)| Some(*waits) == name) {
            let (_, woken) = self.waiters.remove(at);
            assert!(woken, "a waiter at {address:#x} was not woken");
        }
    }
}

type Waiter<'a> = Pin<Box<WaitAsync<'a, Guest>>>;

/// Returns futures that wait on shared words, and the names of their words.
fn waiters<'a>(steps: &[Step], engine: &'a Engine<Guest>, guest: &'a Guest, locks: &[u64]) -> Vec<(u64, Waiter<'a>)> {
    let mut waiters = Vec::new();
    for step in steps {
        let Step::Wait { lock } = step else { continue };
        let address = locks[lock % locks.len()] & !3;
        let (Some(name), Some(word)) = (Guest::name(address), guest.cell(address)) else { continue };
        let mut waiter = Box::pin(engine.wait_async(guest, Word::shared(address), word.get().into(), u32::MAX));
        assert!(!is_woken(&mut waiter));
        waiters.push((name, waiter));
    }
    waiters
}

fn is_woken(waiter: &mut Waiter<'_>) -> bool {
    match waiter.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer == Ok(Wait::Woken),
        Poll::Pending => false,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::{dying, play, step};

    #[test]
    fn random_memory_is_walked_as_by_a_plain_walk() {
        let all = Cell::new(([0; 4], 0));
        crate::sequences::check_headed(8_000, 0..40, dying, step, |dying, steps| {
            let (exit, (mut ends, woken)) = (play(dying, steps), all.get());
            ends[exit.end as usize] += 1;
            all.set((ends, woken + exit.woken));
        });
        let (ends, woken) = all.get();
        assert!(ends.iter().all(|count| *count > 50) && woken > 50, "{ends:?}, {woken}");
    }
}
