//! The work of a process until it is killed: it takes one lock or two, writes a record in two parts
//! or reads it twice, and unlocks.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::super::random::Random;
use super::finding::Kind;
use super::held::{self, Access, Held, Outcome};
use super::step;
use super::table::{Doing, PLACES, Table};

/// The worker of one process.
#[derive(Clone, Copy)]
pub struct Worker {
    pub table: &'static Table,
    pub life: u64,
}

/// The way to ask for a lock.
#[derive(Clone, Copy)]
pub enum Way {
    Wait,
    Try,
    For(Duration),
}

/// A lock that is held, until [`Worker::leave`].
pub struct Visit {
    pub guard: Held,
    at: usize,
    /// The writer reads on before it unlocks.
    reads_on: bool,
}

impl Worker {
    /// Takes and releases locks until the run is over or the process is killed.
    pub fn storm(self, mut random: Random) {
        while !self.table.is_over() && !self.table.finding.is_any() {
            let at = random.below(PLACES as u64) as usize;
            let way = match random.below(8) {
                0 => Way::Try,
                1 => Way::For(Duration::from_micros(random.below(300))),
                _ => Way::Wait,
            };
            let Some(mut visit) = self.enter(at, way, any_access(&mut random)) else { continue };
            self.write(&mut visit, &mut random);
            if at + 1 < PLACES && random.one_in(8) {
                // Locks are taken in the order of their numbers, so that there is no deadlock.
                if let Some(mut second) = self.enter(at + 1, Way::Wait, any_access(&mut random)) {
                    self.write(&mut second, &mut random);
                    self.leave(second);
                }
            }
            self.leave(visit);
            self.table.seat(self.life).does(Doing::Other, at);
        }
    }

    /// Waits for one lock and unlocks it.
    pub fn once(self, at: usize, access: Access) {
        if let Some(visit) = self.enter(at, Way::Wait, access) {
            self.leave(visit);
        }
    }

    /// Takes a lock and checks that its record is what the outcome says. Returns none if the lock
    /// is held, or a violation was found.
    pub fn enter(self, at: usize, way: Way, access: Access) -> Option<Visit> {
        self.table.seat(self.life).does(Doing::Locking, at);
        self.judge(at, self.table.ask(at, way, access), access)
    }

    fn judge(self, at: usize, outcome: Outcome, access: Access) -> Option<Visit> {
        let (guard, told) = match outcome {
            // A reader that leaves the repair to the next one.
            Outcome::Taken(Held::Write(_), true) if access == Access::Read && self.life % 2 == 1 => return None,
            Outcome::Taken(guard, told) => (guard, told),
            Outcome::Held => return None,
            Outcome::Lost(owner) => {
                self.table.finding.report(Kind::OwnerLost, at, [owner.into(), 0]);
                return None;
            }
            Outcome::Refused(error) => {
                self.table.finding.report(Kind::Refused, at, [error, 0]);
                return None;
            }
        };
        self.table.seat(self.life).does(Doing::Inside, at);
        let reads_on = access == Access::WriteThenRead && matches!(guard, Held::Write(_));
        let visit = self.look(Visit { guard, at, reads_on }, told);
        (!self.table.finding.is_any()).then_some(visit)
    }

    fn look(self, mut visit: Visit, told: bool) -> Visit {
        let place = &self.table.places[visit.at];
        let report = |kind, details| self.table.finding.report(kind, visit.at, details);
        let [one, other] = visit.guard.get();
        let before = match visit.guard.is_reading() {
            true => place.inside.load(Ordering::SeqCst),
            false => place.inside.swap(self.life, Ordering::SeqCst),
        };
        match (before, told) {
            (0, false) if one == other => {}
            (0, false) => report(Kind::NobodyWasTold, [one, other]),
            (_, false) if self.table.is_doomed(before) => report(Kind::NobodyWasTold, [one, other]),
            (_, false) => report(Kind::TwoOwners, [self.life, before]),
            (0, true) => {}
            (_, true) if self.table.is_doomed(before) => {}
            (_, true) => report(Kind::ToldOfTheLiving, [self.life, before]),
        }
        // Relaxed, both: only the sums count.
        place.taken.fetch_add(1, Ordering::Relaxed);
        if told {
            place.told.fetch_add(1, Ordering::Relaxed);
            visit.guard.with(|record| record[1] = record[0]);
            visit.guard.mark_consistent();
        }
        visit
    }

    /// Writes one half, sometimes waits, and writes the other half.
    fn write(self, visit: &mut Visit, random: &mut Random) {
        let stamp = random.next();
        self.write_half(visit, 0, stamp);
        match random.below(64) {
            0 => crate::sys::sleep(Duration::from_micros(60)),
            1..8 => (0..random.below(2000)).for_each(|_| std::hint::spin_loop()),
            _ => {}
        }
        self.write_half(visit, 1, stamp);
    }

    fn write_half(self, visit: &mut Visit, half: usize, stamp: u64) {
        // SAFETY: the lock is held, so the record is ours. The write is volatile so that the
        // compiler does not merge the two stores.
        visit.guard.with(|record| unsafe { (&raw mut record[half]).write_volatile(stamp) });
    }

    pub fn leave(self, visit: Visit) {
        self.says_goodbye(&visit);
        self.gives_up(visit);
    }

    /// Unlocks, or becomes a reader first, which must not find a writer.
    fn gives_up(self, mut visit: Visit) {
        if visit.reads_on {
            visit.guard = visit.guard.read_on();
            self.says_goodbye(&visit);
        }
        drop(visit.guard);
    }

    fn says_goodbye(self, visit: &Visit) {
        let inside = &self.table.places[visit.at].inside;
        if visit.guard.is_reading() {
            let [one, other] = visit.guard.get();
            let writer = inside.load(Ordering::SeqCst);
            if writer != 0 || one != other {
                self.table.finding.report(Kind::TwoOwners, visit.at, [writer, self.life]);
            }
            return self.table.seat(self.life).does(Doing::Unlocking, visit.at);
        }
        let seen = inside.compare_exchange(self.life, 0, Ordering::SeqCst, Ordering::SeqCst);
        if let Err(other) = seen {
            self.table.finding.report(Kind::TwoOwners, visit.at, [other, self.life]);
        }
        self.table.seat(self.life).does(Doing::Unlocking, visit.at);
    }

    /// Locks, writes the record or reads it, and unlocks: three legs, each from one stop to the next, for the
    /// parent that steps through one of them.
    pub fn in_legs(self, at: usize, access: Access) {
        // Questions that are asked once a thread are asked beforehand. A lock at which a process
        // has slept is unlocked by an exchange for some hundred times.
        (0..if held::kind(at) == held::Kind::Store { 600 } else { 1 }).for_each(|_| self.once(at, access));
        if !step::let_the_parent_trace() {
            return;
        }
        self.table.seat(self.life).does(Doing::Locking, at);
        step::stop();
        let outcome = self.table.ask(at, Way::Wait, access);
        step::stop();
        let Some(mut visit) = self.judge(at, outcome, access) else { return };
        self.write_half(&mut visit, 0, self.life);
        self.write_half(&mut visit, 1, self.life);
        self.says_goodbye(&visit);
        step::stop();
        self.gives_up(visit);
        step::stop();
    }
}

fn any_access(random: &mut Random) -> Access {
    [Access::Read, Access::Read, Access::Write, Access::WriteThenRead][random.below(4) as usize]
}
