//! The three ways in which processes are killed: in a storm at random instants, just after a wake,
//! and at every instruction.

use std::fmt;
use std::io;
use std::time::{Duration, Instant};

use super::crew::{Child, Crew};
use super::held::Access;
use super::step;
use super::table::Doing;
use super::worker::Way;
use crate::sys;

/// Runs processes that take and release all locks. One after the other is killed, and a new one
/// takes its seat.
pub fn storm(crew: &mut Crew, workers: usize, slice: Duration) -> io::Result<()> {
    let start = Instant::now();
    crew.table.set_over(false);
    let mut children = Vec::new();
    for seat in 1..=workers {
        children.push(storming(crew, seat)?);
    }
    while start.elapsed() < slice && !crew.table.finding.is_any() {
        let at = crew.random.below(workers as u64) as usize;
        await_moment(crew, children[at]);
        crew.kill(children[at])?;
        children[at] = storming(crew, at + 1)?;
    }
    crew.table.set_over(true);
    for child in children {
        crew.join(child)?;
    }
    crew.audit();
    Ok(())
}

fn storming(crew: &mut Crew, seat: usize) -> io::Result<Child> {
    let random = crew.random.split();
    crew.start(seat, move |worker| worker.storm(random))
}

/// Waits for a random moment; half the time for one at which the process says that it uses a lock.
fn await_moment(crew: &mut Crew, child: Child) {
    if crew.random.one_in(4) {
        sys::sleep(Duration::from_micros(crew.random.below(200)));
    }
    let wanted = match crew.random.below(6) {
        0 => Doing::Locking,
        1 => Doing::Inside,
        2 => Doing::Unlocking,
        _ => return,
    };
    let start = Instant::now();
    while !crew.table.seat(child.life).is(wanted) && start.elapsed() < Duration::from_micros(200) {
        std::hint::spin_loop();
    }
    (0..crew.random.below(200)).for_each(|_| std::hint::spin_loop());
}

/// Wakes a waiter and kills it before it can run, while others wait for the same lock: they must
/// get their turn. Sometimes another process has taken the lock in between.
pub fn woken(crew: &mut Crew, slice: Duration) -> io::Result<()> {
    let allowed = rustix::thread::sched_getaffinity(None)?;
    let start = Instant::now();
    while start.elapsed() < slice && !crew.table.finding.is_any() {
        // The children run on this thread's processor, and the first of them only when no other
        // process wants to: not before it is killed.
        super::super::crew::pin(crew.random.below(64) as usize);
        one_woken(crew)?;
        rustix::thread::sched_setaffinity(None, &allowed)?;
    }
    crew.audit();
    Ok(())
}

fn one_woken(crew: &mut Crew) -> io::Result<()> {
    let me = crew.me;
    let (at, access) = KINDS[crew.random.below(KINDS.len() as u64) as usize];
    let Some(held) = me.enter(at, Way::For(crew.patience), access) else {
        crew.audit();
        return Ok(());
    };
    let mut children = Vec::new();
    for seat in 1..4 {
        // A reader waits for no reader.
        let reads = access == Access::Write && crew.random.one_in(2);
        let wanted = if reads { Access::Read } else { Access::Write };
        let child = crew.start(seat, move |worker| {
            if seat == 1 {
                sys::run_when_idle();
            }
            worker.once(at, wanted);
        })?;
        await_sleep(crew, child);
        children.push(child);
    }
    me.leave(held);
    let thief = if crew.random.one_in(2) { me.enter(at, Way::Try, access) } else { None };
    (0..crew.random.below(50)).for_each(|_| std::hint::spin_loop());
    let victim = if crew.random.one_in(4) { crew.random.below(3) as usize } else { 0 };
    let victim = children.remove(victim);
    crew.kill(victim)?;
    crew.tally.woken += 1;
    if let Some(visit) = thief {
        me.leave(visit);
    }
    for child in children {
        crew.join(child)?;
    }
    Ok(())
}

/// Waits until the child waits for its lock and the kernel says that it sleeps, with a time limit:
/// after it the child is killed on its way.
fn await_sleep(crew: &Crew, child: Child) {
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(20) {
        if crew.table.seat(child.life).is(Doing::Locking) && is_asleep(child.process) {
            return;
        }
        sys::sleep(Duration::from_micros(20));
    }
}

fn is_asleep(process: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('S'))
}

/// The part of a worker's job that is stepped through.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Leg {
    Lock,
    Record,
    Unlock,
    /// An unlock while another process sleeps at the lock.
    AwaitedUnlock,
}

const LEGS: [Leg; 4] = [Leg::Lock, Leg::Record, Leg::Unlock, Leg::AwaitedUnlock];
/// The number of times that a sweep passes over the legs for each kind of lock. Each pass kills at
/// every `STRIDE`th instruction and the next pass at those after them, so that an error is found
/// early.
const STRIDE: usize = 4;
/// A place with a lock of each kind, and what it is asked for.
const KINDS: [(usize, Access); 5] =
    [(0, Access::Write), (1, Access::Write), (2, Access::Write), (2, Access::Read), (2, Access::WriteThenRead)];

/// The progress of a sweep through the instructions of all legs, which advance side by side.
#[derive(Default)]
pub struct Sweep {
    /// The instruction of the last kill in each leg.
    instructions: usize,
    is_ended: [bool; LEGS.len()],
    pass: usize,
    /// The number of complete sweeps.
    pub done: u64,
}

/// The number of passes of a sweep.
const PASSES: usize = STRIDE * KINDS.len();

impl Sweep {
    fn next_pass(&mut self) {
        self.pass = (self.pass + 1) % PASSES;
        (self.instructions, self.is_ended) = (self.pass / KINDS.len(), Default::default());
        self.done += u64::from(self.pass == 0);
    }
}

impl fmt::Display for Sweep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.done {
            0 => {
                write!(f, "not yet at every instruction: {} of {PASSES} passes over them ended, ", self.pass)?;
                f.write_str("and more --seconds end the others")
            }
            1 => f.write_str("at every instruction once"),
            times => write!(f, "at every instruction {times} times"),
        }
    }
}

/// Steps a process through lock, record or unlock, further each time, and kills it there, until a
/// sweep is complete.
pub fn stepped(crew: &mut Crew, sweep: &mut Sweep, slice: Duration) -> io::Result<()> {
    let start = Instant::now();
    let done = sweep.done;
    while sweep.done == done {
        sweep.instructions += STRIDE;
        for (leg, name) in LEGS.into_iter().enumerate() {
            if crew.table.finding.is_any() || start.elapsed() > slice {
                return Ok(());
            }
            if !sweep.is_ended[leg] {
                sweep.is_ended[leg] = !one_stepped(crew, KINDS[sweep.pass % KINDS.len()], name, sweep.instructions)?;
                crew.tally.stepped += 1;
                crew.audit();
            }
        }
        if sweep.is_ended == [true; LEGS.len()] {
            sweep.next_pass();
        }
    }
    Ok(())
}

/// Steps a process through `instructions` of a leg and kills it. Returns false if the leg ended
/// before.
fn one_stepped(crew: &mut Crew, (at, access): (usize, Access), leg: Leg, instructions: usize) -> io::Result<bool> {
    let child = crew.start(1, |worker| worker.in_legs(at, access))?;
    let mut stopped = step::wait(child.process)?;
    let before = match leg {
        Leg::Lock => 0,
        Leg::Record => 1,
        Leg::Unlock | Leg::AwaitedUnlock => 2,
    };
    for _ in 0..before {
        stopped = step::go_on(child.process)?;
    }
    if stopped != Some(libc::SIGSTOP) {
        crew.forget(child);
        return Err(io::Error::other("a child did not let its parent trace it"));
    }
    let mut waiter = None;
    if leg == Leg::AwaitedUnlock {
        let child = crew.start(2, |worker| worker.once(at, Access::Write))?;
        await_sleep(crew, child);
        waiter = Some(child);
    }
    let is_on_the_way = step::steps(child.process, instructions)?;
    // The child is killed after the leg's end too: it holds nothing there, or is announced.
    crew.kill(child)?;
    if let Some(waiter) = waiter {
        crew.join(waiter)?;
    }
    Ok(is_on_the_way)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_says_how_far_it_went() {
        let mut sweep = Sweep::default();
        for pass in 0..PASSES {
            let said = sweep.to_string();
            assert!(said.contains(&format!(" {pass} of {PASSES} passes")) && said.contains("--seconds"), "{said}");
            sweep.next_pass();
        }
        assert_eq!(sweep.to_string(), "at every instruction once");
        (0..PASSES).for_each(|_| sweep.next_pass());
        assert_eq!(sweep.to_string(), "at every instruction 2 times");
    }
}
