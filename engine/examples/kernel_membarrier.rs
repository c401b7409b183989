//! Is your kernel's membarrier right? Write its switch path below, run this, and read which barrier
//! is missing: every schedule is tried, under four memory models.
//!
//! `cargo run --release -p leeward-engine --features simulation --example kernel_membarrier [BARRIER]`
//!
//! What to replace: the methods of `impl SwitchPath for Kernel`. Each is the design that was
//! proposed for Linux in 2010; write your kernel's steps in your kernel's order instead.
//! 1. `switch`, `switch_space`: save, switch, load. A step is an access that other processors can
//!    see (`set_current`, `set_mask_bit`), a lock, or a barrier.
//! 2. `enter_lazy`, `leave_lazy`, `shootdown`: what happens where a processor goes to a kernel
//!    thread and keeps the page tables. A kernel that always loads its own clears the bit in
//!    `enter_lazy`.
//! 3. `handler`, `return_to_user`: the interrupt.
//! 4. `membarrier`: the system call's own steps.
//!
//! Give each barrier a name; whatever has one is also left out, to see whether it is needed. Write a
//! barrier that your architecture makes anyway as a barrier, too: the table then says where the
//! kernel relies on it. docs/engine/barriers-by-architecture.md says which those are, and which
//! memory model is which architecture's.
//!
//! What is printed: for each model whether the whole path holds; if it does not, a shortest schedule
//! that goes wrong, a column for each processor, and the values that were read and must not be (x and
//! y are the program's words; a load that is `stale` read an older value than memory's); and a table,
//! barrier by model, of what was missed. With a BARRIER's name, the schedule that goes wrong without
//! it, in the strongest model that has one.

use leeward_engine::simulation::{Cpu, Model, Occupant, SwitchPath, Trial, try_path};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// The kernel whose switch path is tried: yours.
pub struct Kernel;

impl SwitchPath for Kernel {
    /// Takes the processor from a thread, or from the idle loop, and gives it to another.
    fn switch(&self, cpu: &Cpu<'_>, from: Option<Occupant>, to: Option<Occupant>) {
        cpu.lock(cpu.number()); // the run-queue lock
        if let Some(to) = to {
            cpu.restore(to.thread); // its registers, once they are saved where it ran last
        }
        cpu.set_current(to.map(|to| to.space));
        match (cpu.page_tables(), to.map(|to| to.space)) {
            (Some(space), None) => self.enter_lazy(cpu, space),
            (Some(space), Some(to)) if space == to && cpu.is_lazy() => self.leave_lazy(cpu, space),
            (old, Some(to)) if old != Some(to) => self.switch_space(cpu, old, to),
            _ => {} // a thread of the same space, or from idle to idle
        }
        if let Some(from) = from {
            cpu.save(from.thread);
        }
        cpu.unlock(cpu.number());
        self.return_to_user(cpu);
    }

    fn switch_space(&self, cpu: &Cpu<'_>, old: Option<u8>, new: u8) {
        if let Some(old) = old {
            cpu.barrier("S1"); // the outgoing thread's accesses, then its bit
            cpu.clear_mask_bit(old);
        }
        cpu.set_mask_bit(new);
        cpu.barrier("S2"); // the bit, then the incoming thread's accesses (x86: the load of CR3)
    }

    /// Goes idle with the page tables loaded: the bit stays.
    fn enter_lazy(&self, _: &Cpu<'_>, _: u8) {}

    fn leave_lazy(&self, cpu: &Cpu<'_>, space: u8) {
        cpu.set_mask_bit(space);
        cpu.barrier("S3"); // as S2, but no page table is loaded
    }

    /// Tells a lazy processor that a mapping of the space has changed.
    fn shootdown(&self, cpu: &Cpu<'_>, space: u8) {
        cpu.barrier("S1");
        cpu.clear_mask_bit(space);
    }

    fn handler(&self, cpu: &Cpu<'_>) {
        cpu.barrier("handler");
        cpu.acknowledge();
        self.return_to_user(cpu);
    }

    /// Returns to the program: a barrier belongs here if your architecture's return is one.
    fn return_to_user(&self, _: &Cpu<'_>) {}

    fn membarrier(&self, cpu: &Cpu<'_>, space: u8) {
        cpu.barrier("1");
        let marked: Vec<u8> = cpu.others().filter(|other| cpu.mask_bit(space, *other)).collect();
        let runs_ours = |other: &u8| {
            cpu.lock(*other);
            let current = cpu.current(*other);
            cpu.unlock(*other);
            current == Some(space)
        };
        let ours: Vec<u8> = marked.into_iter().filter(runs_ours).collect();
        ours.iter().for_each(|other| cpu.interrupt(*other));
        ours.iter().for_each(|other| cpu.wait(*other));
        cpu.barrier("6");
    }
}

/// The memory models, from the strongest to the weakest.
pub const MODELS: [Model; 4] = [Model::Sc, Model::Tso, Model::Pso, Model::Weak];

/// Tries a path without each of `left_out` in turn, under each model, on all processors.
pub fn try_each(path: &Arc<dyn SwitchPath>, left_out: &[Option<&'static str>]) -> Vec<[Trial; 4]> {
    // The weakest model has most states, and begins.
    let jobs: Vec<(usize, usize)> =
        (0..4).rev().flat_map(|model| (0..left_out.len()).map(move |row| (row, model))).collect();
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        // Relaxed: a counter only.
        while let Some(&(row, model)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let trial = try_path(path, MODELS[model], left_out[row]);
            done.lock().expect("no trial panics").push((row, model, trial));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let mut done = done.into_inner().expect("no trial panics");
    done.sort_by_key(|(row, model, _)| (*row, *model));
    let mut trials = done.into_iter().map(|(_, _, trial)| trial);
    left_out.iter().map(|_| [(); 4].map(|()| trials.next().expect("four of each"))).collect()
}

/// Prints a schedule that goes wrong.
fn explain(path: &Arc<dyn SwitchPath>, trial: &Trial) {
    let Some((case, found)) = &trial.found else { return };
    println!("{:?}, {}, thread {:?}:", case.model, case.shape(), case.situation());
    print!("{}", case.machine_on(path).print(&found.schedule));
    if found.results.contains(&None) {
        println!("The machine stands still: a thread waits forever.");
    } else {
        println!("Program order forbids: {}.", case.forbidden());
    }
}

/// Tries the whole path; returns the names of its barriers if it holds under all models.
fn whole(path: &Arc<dyn SwitchPath>) -> Option<Vec<&'static str>> {
    println!("The whole path, every schedule:");
    let [trials] = <[_; 1]>::try_from(try_each(path, &[None])).expect("one row");
    for (model, trial) in MODELS.iter().zip(&trials) {
        let verdict = if trial.found.is_some() { "A BARRIER IS MISSING" } else { "holds" };
        let Trial { cases, states, schedules, .. } = trial;
        let model = format!("{model:?}");
        println!("  {model:<5}{cases:>3} cases, {states:>7} states, {:>8.1e} schedules: {verdict}", *schedules as f64);
    }
    println!();
    match trials.iter().find(|trial| trial.found.is_some()) {
        Some(trial) => {
            explain(path, trial);
            None
        }
        None => Some(trials[3].barriers.clone()),
    }
}

fn main() {
    let path: Arc<dyn SwitchPath> = Arc::new(Kernel);
    if let Some(name) = std::env::args().nth(1) {
        let known = try_path(&path, Model::Sc, None).barriers;
        let Some(name) = known.iter().copied().find(|known| *known == name) else {
            eprintln!("kernel_membarrier: {name}: the path has {}", known.join(", "));
            std::process::exit(2);
        };
        let trials = MODELS.iter().map(|model| try_path(&path, *model, Some(name)));
        match trials.into_iter().find(|trial| trial.found.is_some()) {
            Some(trial) => explain(&path, &trial),
            None => println!("No schedule goes wrong without {name}, in any model."),
        }
        return;
    }
    let Some(barriers) = whole(&path) else { std::process::exit(1) };
    let head: String = MODELS.iter().map(|model| format!("{:<8}", format!("{model:?}"))).collect();
    println!("Without one of the barriers:\n  {:10}{}", "", head.trim_end());
    let left_out: Vec<_> = barriers.iter().copied().map(Some).collect();
    for (name, trials) in barriers.iter().zip(try_each(&path, &left_out)) {
        let told = |trial: &Trial| if trial.found.is_some() { "wrong" } else { "-" };
        let cells: String = trials.iter().map(|trial| format!("{:<8}", told(trial))).collect();
        println!("  {name:<10}{}", cells.trim_end());
    }
    println!("\nThe schedule that goes wrong without NAME: give NAME as the argument.");
}
