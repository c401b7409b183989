//! Writers of the storm, which unlink objects and free them after a grace period, in every way that
//! the library offers.

use std::sync::atomic::Ordering;

use leeward::rcu::{Cookie, RcuOption, Retired, qsbr};

use super::arena::Name;
use super::crew::{Member, is_over};
use super::fixture::{Fixture, Flavour, Line, ROOTS};
use super::random::Random;
use super::violation::{Kind, report};

/// The number of objects that a writer may be waiting for at a time.
const PENDING: usize = 24;
/// The domain's limit, low enough to be reached.
pub const LIMIT: usize = 256;

/// An owned, unlinked object, which is freed when the token is dropped.
pub struct Token<D: Flavour> {
    fixture: &'static Fixture<D>,
    name: Name,
    came_back: Option<&'static Line>,
}

impl<D: Flavour> Drop for Token<D> {
    fn drop(&mut self) {
        // A child that adopts callbacks has no use for objects; and their lock may be another thread's.
        if D::ADOPTS && self.fixture.arena.is_copy() {
            return;
        }
        self.fixture.arena.free(self.name);
        if let Some(count) = self.came_back {
            // Relaxed: `barrier` orders the count.
            count.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// A writer, whose ways to free an object are a function.
pub struct Writer<D: Flavour> {
    me: &'static Member,
    pub fixture: &'static Fixture<D>,
    pub random: Random,
    number: usize,
    writers: usize,
    polled: Vec<(Cookie<D>, Name)>,
    retired: Vec<Retired<Token<D>, D>>,
    give_back: fn(&mut Writer<D>, Name),
}

/// Writes until the phase is over, and frees objects in every way that Rust has.
pub fn write<D: Flavour>(me: &'static Member, random: Random, number: usize, writers: usize) {
    write_by::<D>(me, random, number, writers, Writer::give_back);
}

/// Writes until the phase is over, and then waits for everything that it retired. The function
/// frees an object that was unlinked, now or later.
pub fn write_by<D: Flavour>(
    me: &'static Member,
    random: Random,
    number: usize,
    writers: usize,
    give_back: fn(&mut Writer<D>, Name),
) {
    let fixture = D::fixture();
    let (polled, retired) = (Vec::new(), Vec::new());
    let mut writer = Writer::<D> { me, fixture, random, number, writers, polled, retired, give_back };
    while !is_over() {
        writer.update();
        writer.collect();
    }
    me.waits(|| {
        while !(writer.polled.is_empty() && writer.retired.is_empty()) {
            writer.collect();
            std::thread::yield_now();
        }
    });
    writer.barrier();
}

impl<D: Flavour> Writer<D> {
    fn update(&mut self) {
        let Some(new) = self.fixture.arena.take() else { return self.barrier() };
        // The roots that no other thread writes.
        let own = (ROOTS - self.number).div_ceil(self.writers);
        let root = self.number + self.writers * self.random.below(own as u64) as usize;
        if self.random.one_in(2) {
            self.fixture.jam(new.0);
        }
        let old = self.fixture.publish(root, new, self.random.one_in(2));
        self.fixture.arena.retire(old);
        let me = self.me;
        me.waits(|| (self.give_back)(self, old));
    }

    fn give_back(&mut self, old: Name) {
        match self.random.below(64) {
            0..16 => self.synchronize(old),
            16..18 => self.synchronize_as_reader(old),
            18..26 => self.defer(old),
            26..32 => drop(self.retire(old, false).synchronize()),
            32..38 => self.retire(old, true).defer(),
            38..42 => self.retire(old, true).defer_bytes(4096),
            42..46 => drop(self.retire(old, true)),
            46..50 => {
                if let Err(full) = self.retire(old, true).try_defer() {
                    drop(full.synchronize());
                }
            }
            50..56 => {
                self.polled.push((D::start_poll(), old));
            }
            56..62 => {
                let retired = self.retire(old, false);
                self.retired.push(retired);
            }
            _ => {
                self.synchronize(old);
                self.barrier();
            }
        }
    }

    fn synchronize(&mut self, old: Name) {
        D::synchronize();
        self.fixture.arena.free(old);
    }

    /// Synchronizes through a reader of its own, which would otherwise block the grace period.
    fn synchronize_as_reader(&mut self, old: Name) {
        let mut reader = qsbr::Reader::<D>::register_in();
        let name = self.fixture.look(self.random.next() as usize);
        self.fixture.check(name);
        reader.synchronize();
        self.fixture.arena.free(old);
    }

    fn defer(&mut self, old: Name) {
        let token = self.token(old, true);
        let panics = self.random.one_in(64);
        D::defer(move || {
            let fixture = token.fixture;
            drop(token);
            if panics {
                fixture.panics.fetch_add(1, Ordering::Relaxed);
                // Unlike `panic!`, this calls no hook and prints nothing.
                std::panic::resume_unwind(Box::new(()));
            }
        });
    }

    fn retire(&mut self, old: Name, counted: bool) -> Retired<Token<D>, D> {
        let cell = RcuOption::<Token<D>, D>::some_in(self.token(old, counted));
        match cell.take() {
            Some(retired) => retired,
            None => unreachable!("it was put in just now"),
        }
    }

    /// Returns a token of an object. `counted` is true if the library will run a callback for it.
    pub fn token(&mut self, name: Name, counted: bool) -> Token<D> {
        if counted {
            // Relaxed: only this thread writes the count.
            self.fixture.deferred[self.number].0.fetch_add(1, Ordering::Relaxed);
        }
        Token { fixture: self.fixture, name, came_back: counted.then(|| &self.fixture.came_back[self.number]) }
    }

    /// Frees what has become ready, and waits if too much is pending.
    fn collect(&mut self) {
        let fixture = self.fixture;
        self.polled.retain(|(cookie, name)| {
            let ready = D::poll_state(cookie);
            if ready {
                if !D::poll_state(cookie) {
                    report(Kind::CookieTakenBack, [0, 0]);
                }
                fixture.arena.free(*name);
            }
            !ready
        });
        let retired = std::mem::take(&mut self.retired);
        self.retired = retired.into_iter().filter_map(|retired| retired.try_into_box().err()).collect();
        if self.polled.len() + self.retired.len() > PENDING {
            self.me.waits(D::synchronize);
        }
    }

    /// Waits for everything deferred so far, and checks that it has run.
    fn barrier(&mut self) {
        let queued = D::stats().callbacks_queued;
        let limit = LIMIT as u64 + D::stats().over_limit;
        if queued > limit {
            report(Kind::OverLimit, [queued, limit]);
        }
        self.me.waits(D::barrier);
        self.check_callbacks();
    }

    /// Checks, after a barrier, that all callbacks of this writer have run.
    pub fn check_callbacks(&self) {
        let [deferred, came_back] =
            [&self.fixture.deferred, &self.fixture.came_back].map(|counts| &counts[self.number].0);
        // Relaxed, both: one count is this thread's own, and `barrier` orders the callbacks' count
        // before the load.
        let (before, behind) = (deferred.load(Ordering::Relaxed), came_back.load(Ordering::Relaxed));
        if behind < before {
            report(Kind::BarrierEarly, [before, behind]);
        }
    }
}
