//! A dying thread's walk over any memory. It ends within its cap, writes only its own locks, and
//! wakes at most one waiter for each. Where no other thread writes meanwhile, it leaves the memory
//! and the waiters that a plain walk leaves.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use leeward_engine::abi::{FUTEX_OWNER_DIED as DIED, FUTEX_TID_MASK as OWNER, FUTEX_WAITERS as WAITERS};
use leeward_engine::{Config, Engine, Heap, Host, RobustExit, Wait, WaitAsync, WalkEnd, Word};

use crate::bytes::Bytes;
use crate::guest::{Guest, PAGE};

const HEAD: u64 = 128;

pub fn run(data: &[u8]) {
    walk(data);
}

fn walk(data: &[u8]) -> RobustExit {
    let bytes = &mut Bytes::of(data);
    let guest = Guest::default();
    guest.thread.set([77, 77, 128, 0, 0x3fff_ffff, bytes.number() as u32][bytes.below(6)]);
    let cap = [2048, 2048, 64, 3, 0][bytes.below(5)];
    // The list's pointers have 64 bits or 32.
    let size = if bytes.byte() % 4 == 0 { 4 } else { 8 };
    let (head, locks) = list(bytes, &guest, size);
    if size == 4 { &guest.compat_head } else { &guest.head }.set(head);
    let engine = Engine::new(Config::small(3), Heap).expect("memory");
    let mut waiters = waiters(bytes, &engine, &guest, &locks);
    // Memory of any contents, then what others do meanwhile.
    for _ in 0..bytes.below(32).saturating_sub(20) {
        let (address, value) = (address(bytes), word(bytes, &guest));
        guest.cell(address).inspect(|word| word.set(value));
    }
    for _ in 0..bytes.below(24).saturating_sub(12) {
        let meddling = (1 + u32::from(bytes.byte()), address(bytes), word(bytes, &guest));
        guest.meddling.borrow_mut().push(meddling);
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
    assert!(guest.contents() == memory.contents(), "the memory differs");
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

/// Writes what is mostly a list, and returns its head and its locks.
fn list(bytes: &mut Bytes<'_>, guest: &Guest, size: u64) -> (u64, Vec<u64>) {
    let limit = u64::MAX >> (64 - 8 * size);
    let head = if bytes.byte() == 255 { address(bytes) & limit } else { HEAD };
    let offset = match bytes.byte() {
        255 => bytes.number(),
        byte => [8, 4, 12, 8_u64.wrapping_neg()][usize::from(byte) % 4],
    };
    let put = |at: u64, value: u64| {
        if size == 8 {
            guest.put(at, value);
        } else {
            guest.cell(at).inspect(|word| word.set(value as u32));
        }
    };
    let mut locks = Vec::new();
    let mut from = head;
    for _ in 0..bytes.below(20) {
        let entry = address(bytes) & limit & !7;
        put(from, entry | u64::from(bytes.byte() % 8 == 0));
        let value = word(bytes, guest);
        let lock = entry.wrapping_add(offset) & limit;
        guest.cell(lock).inspect(|word| word.set(value));
        locks.push(lock);
        from = entry;
    }
    put(from, if bytes.byte() % 4 == 0 { address(bytes) } else { head });
    put(head.wrapping_add(size), offset);
    let pending = if bytes.byte() % 2 == 0 { 0 } else { address(bytes) | u64::from(bytes.byte() % 8 == 0) };
    put(head.wrapping_add(2 * size), pending);
    locks.push((pending & !1).wrapping_add(offset) & limit);
    (head, locks)
}

fn address(bytes: &mut Bytes<'_>) -> u64 {
    match bytes.byte() {
        255 => bytes.number(),
        // An address in the missing page, or in the one that cannot be written.
        page @ 248.. => [1, 5][usize::from(page % 2)] * PAGE + u64::from(bytes.byte()),
        page => [0, 2, 3, 4, 6][usize::from(page % 5)] * PAGE + u64::from(bytes.byte()),
    }
}

/// Returns a lock's word, or any number.
fn word(bytes: &mut Bytes<'_>, guest: &Guest) -> u32 {
    let thread = guest.thread.get() & OWNER;
    match bytes.byte() % 8 {
        0 => bytes.number() as u32,
        1 => thread,
        2..5 => thread | WAITERS,
        5 => thread ^ 1 | WAITERS,
        6 => WAITERS | DIED,
        _ => 0,
    }
}

type Waiter<'a> = Pin<Box<WaitAsync<'a, Guest>>>;

/// Returns futures that wait on shared words, and the names of their words.
fn waiters<'a>(
    bytes: &mut Bytes<'_>,
    engine: &'a Engine<Guest>,
    guest: &'a Guest,
    locks: &[u64],
) -> Vec<(u64, Waiter<'a>)> {
    let mut waiters = Vec::new();
    for _ in 0..bytes.below(8) {
        let address = locks[bytes.below(locks.len())] & !3;
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
    #[test]
    fn random_memory_is_walked_as_by_a_plain_walk() {
        let (mut ends, mut woken) = ([0; 4], 0);
        for seed in 0..8_000 {
            let exit = super::walk(&crate::bytes::random(seed, 400));
            ends[exit.end as usize] += 1;
            woken += exit.woken;
        }
        assert!(ends.iter().all(|count| *count > 50) && woken > 50, "{ends:?}, {woken}");
    }
}
