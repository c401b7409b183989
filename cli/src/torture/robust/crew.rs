//! The parent's side: starts, kills and waits for processes, with a time limit for each wait.

use std::io;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use super::super::random::Random;
use super::Tally;
use super::finding::Kind;
use super::held::Access;
use super::table::{SEATS, Table};
use super::worker::{Way, Worker};
use crate::sys::{self, Ended};

/// A process of the crew.
#[derive(Clone, Copy)]
pub struct Child {
    pub life: u64,
    pub process: i32,
}

/// All processes, with the table that they share and the parent's own worker.
pub struct Crew {
    pub table: &'static Table,
    pub random: Random,
    pub tally: Tally,
    /// The time that an expected event may take.
    pub patience: Duration,
    /// The parent's own worker.
    pub me: Worker,
    alive: Vec<Child>,
    lives: u64,
}

impl Crew {
    pub fn new(table: &'static Table, random: Random, patience: Duration) -> Crew {
        let life = SEATS as u64;
        table.seat(life).life.store(life, Ordering::SeqCst);
        let me = Worker { table, life };
        Crew { table, random, tally: Tally::default(), patience, me, alive: Vec::new(), lives: 1 }
    }

    /// Starts a process in a seat of its own, below [`SEATS`]; seat 0 is the parent's.
    pub fn start(&mut self, seat: usize, work: impl FnOnce(Worker)) -> io::Result<Child> {
        self.lives += 1;
        let life = self.lives * SEATS as u64 + seat as u64;
        let table = self.table;
        table.seat(life).life.store(life, Ordering::SeqCst);
        let body = move || {
            // The child dies with its parent. If that is refused, it ends when the table says that
            // all is over.
            let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
            let work = std::panic::AssertUnwindSafe(|| work(Worker { table, life }));
            u8::from(std::panic::catch_unwind(work).is_err())
        };
        // SAFETY: this process has one thread.
        let process = unsafe { sys::fork(body) }?;
        let child = Child { life, process };
        self.alive.push(child);
        Ok(child)
    }

    /// Kills a child and waits for its end.
    pub fn kill(&mut self, child: Child) -> io::Result<()> {
        // Store before the signal: a process that is told of the death may check at once.
        self.table.seat(child.life).doomed.store(child.life, Ordering::SeqCst);
        signal(child);
        self.forget(child);
        match sys::wait_for(child.process)? {
            Ended::Killed(libc::SIGKILL) => {}
            // The child had ended before.
            Ended::Exited(0) => return Ok(()),
            other => self.failed(other),
        }
        self.tally.kills += 1;
        Ok(())
    }

    /// Waits until a child has ended by itself, within the time limit.
    pub fn join(&mut self, child: Child) -> io::Result<()> {
        let start = Instant::now();
        loop {
            if let Some(ended) = sys::has_ended(child.process)? {
                self.forget(child);
                if ended != Ended::Exited(0) {
                    self.failed(ended);
                }
                return Ok(());
            }
            let waited = start.elapsed();
            if self.table.finding.is_any() {
                return Ok(());
            }
            if waited > self.patience {
                let at = self.table.seat(child.life).place();
                let details = [waited.as_millis() as u64, self.word(at)];
                self.table.finding.report(Kind::Stuck, at, details);
                return Ok(());
            }
            sys::sleep(Duration::from_micros(if waited.as_millis() < 5 { 50 } else { 1000 }));
        }
    }

    /// Forgets a child that is waited for elsewhere.
    pub fn forget(&mut self, child: Child) {
        self.alive.retain(|other| other.life != child.life);
    }

    fn failed(&self, ended: Ended) {
        let (Ended::Exited(number) | Ended::Killed(number)) = ended;
        self.table.finding.report(Kind::ChildFailed, 0, [number as u64, 0]);
    }

    /// Returns the lock word.
    pub fn word(&self, at: usize) -> u64 {
        u64::from(self.table.word(at).load(Ordering::SeqCst))
    }

    /// Checks that every lock can be taken, and that its record is whole or its owner's death is
    /// reported.
    pub fn audit(&self) {
        for at in 0..self.table.places.len() {
            let start = Instant::now();
            match self.me.enter(at, Way::For(self.patience), Access::Write) {
                Some(visit) => self.me.leave(visit),
                None => {
                    let details = [start.elapsed().as_millis() as u64, self.word(at)];
                    self.table.finding.report(Kind::Lost, at, details);
                }
            }
        }
    }
}

fn signal(child: Child) {
    if let Some(process) = Pid::from_raw(child.process) {
        // The child has not been waited for, so the process exists.
        let _ = rustix::process::kill_process(process, Signal::KILL);
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        for child in self.alive.drain(..) {
            signal(child);
            let _ = sys::wait_for(child.process);
        }
    }
}
