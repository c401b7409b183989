//! Three small programs, each for one kind of error, on threads of their own with nothing else
//! running: a store-buffer litmus of the real code, a litmus of sleeping and waking, and a crowd of
//! callers that share grace periods.

use std::marker::PhantomData;
use std::sync::atomic::Ordering;

use leeward::rcu::{Reader, qsbr};

use super::crew::{self, Hired, Member, is_over, pin};
use super::fixture::{Flavour, think};
use super::random::Random;
use super::violation::found;

/// A way to read: through the thread's own slot or a handle.
pub trait Way<D: Flavour> {
    fn new() -> Self;
    /// Runs `before` outside and, immediately afterwards, `body` inside a section.
    fn section(&mut self, before: impl FnOnce(), body: impl FnOnce());
    /// Runs `body` outside any section.
    fn outside(&mut self, body: impl FnOnce());
}

/// The way through the thread's own slot.
pub struct OwnSlot<D>(PhantomData<D>);

impl<D: Flavour> Way<D> for OwnSlot<D> {
    fn new() -> Self {
        OwnSlot(PhantomData)
    }

    #[inline(always)]
    fn section(&mut self, before: impl FnOnce(), body: impl FnOnce()) {
        before();
        let guard = D::read();
        body();
        drop(guard);
    }

    fn outside(&mut self, body: impl FnOnce()) {
        body();
    }
}

impl<D: Flavour> Way<D> for Reader<D> {
    fn new() -> Self {
        Reader::register_in()
    }

    #[inline(always)]
    fn section(&mut self, before: impl FnOnce(), body: impl FnOnce()) {
        before();
        let guard = self.read();
        body();
        drop(guard);
    }

    fn outside(&mut self, body: impl FnOnce()) {
        body();
    }
}

impl<D: Flavour> Way<D> for qsbr::Reader<D> {
    fn new() -> Self {
        qsbr::Reader::register_in()
    }

    #[inline(always)]
    fn section(&mut self, before: impl FnOnce(), body: impl FnOnce()) {
        self.offline(before);
        body();
        self.quiescent();
    }

    fn outside(&mut self, body: impl FnOnce()) {
        self.offline(body);
    }
}

/// Hires the threads of the store-buffer litmus: the reader's announcement waits in a full store
/// buffer while it loads what is published.
pub fn store_buffer<D: Flavour, W: Way<D>>(random: &mut Random) -> Vec<Hired> {
    let (reads, writes) = (random.split(), random.split());
    let reader = crew::hire(move |me| {
        pin(0);
        read_behind_stores::<D, W>(me, reads);
    });
    let writer = crew::hire(move |me| {
        pin(1);
        write_at_once::<D>(me, writes);
    });
    reader.into_iter().chain(writer).collect()
}

fn read_behind_stores<D: Flavour, W: Way<D>>(me: &Member, mut random: Random) {
    let fixture = D::fixture();
    me.enters();
    let mut way = W::new();
    while !is_over() {
        let wait = random.below(300);
        me.enters();
        let inside = || {
            let name = fixture.look(0);
            think(wait);
            fixture.check(name);
        };
        way.section(|| fixture.jam(wait), inside);
    }
    drop(way);
    me.left();
}

fn write_at_once<D: Flavour>(me: &Member, mut random: Random) {
    let fixture = D::fixture();
    while !is_over() {
        let Some(new) = fixture.arena.take() else { return };
        fixture.jam(new.0);
        think(random.below(100));
        let old = fixture.publish(0, new, random.one_in(2));
        me.waits(D::synchronize);
        fixture.arena.retire(old);
        fixture.arena.free(old);
    }
}

/// Hires the threads of the litmus of sleeping and waking. Sections are about as long as a writer
/// spins before it sleeps, and are left with a full store buffer. Then the reader does nothing
/// until a grace period has ended, so that nothing repairs a lost wake-up.
pub fn wake<D: Flavour, W: Way<D>>(random: &mut Random) -> Vec<Hired> {
    let reads = random.split();
    let reader = crew::hire(move |me| {
        pin(0);
        leave_and_wait::<D, W>(me, reads);
    });
    let writer = crew::hire(move |me| {
        pin(1);
        while !is_over() {
            // The reader's stores have to wait for their lines.
            D::fixture().jam(1);
            me.waits(D::synchronize);
            // Relaxed: the count is only compared.
            D::fixture().passed.0.fetch_add(1, Ordering::Relaxed);
        }
    });
    reader.into_iter().chain(writer).collect()
}

fn leave_and_wait<D: Flavour, W: Way<D>>(me: &Member, mut random: Random) {
    let fixture = D::fixture();
    let passed = || fixture.passed.0.load(Ordering::Relaxed);
    me.enters();
    let mut way = W::new();
    // The length of a section that is about as long as the writer spins, found by trial.
    let mut most = 400;
    while !is_over() {
        let wait = random.below(most);
        let sleeps = D::stats().sleeps;
        me.enters();
        let inside = || {
            think(wait);
            fixture.jam(wait);
        };
        way.section(|| (), inside);
        way.outside(|| {
            me.left();
            let before = passed();
            while passed() == before && !is_over() && found().is_none() {
                std::hint::spin_loop();
            }
            me.enters();
        });
        most = if D::stats().sleeps > sleeps { (most * 15 / 16).max(50) } else { (most + most / 64 + 1).min(20_000) };
    }
    drop(way);
    me.left();
}

/// Hires callers that share grace periods, in bursts: no later caller wakes one that is left asleep
/// at the end of a burst.
pub fn crowd<D: Flavour>(random: &mut Random) -> Vec<Hired> {
    const CALLERS: u64 = 5;
    let caller = |own: Random| {
        crew::hire(move |me| {
            let mut random = own;
            let calls = 10 + random.below(40);
            for _ in 0..calls {
                if is_over() {
                    return;
                }
                me.waits(D::synchronize);
                think(random.below(100));
            }
        })
    };
    (0..CALLERS).filter_map(|_| caller(random.split())).collect()
}
