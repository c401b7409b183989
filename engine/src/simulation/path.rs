//! A kernel's switch path: what its context switch, its handler of the interrupt and its membarrier
//! do to memory, step by step. Authors of kernels implement [`SwitchPath`] and give it to
//! [`try_path`](super::try_path); `kernel` and `thread` run it; it asks the machine, by requests.

use std::vec::Vec;

use super::kernel::{Request, Sender};
use super::machine::Layout;

/// A thread that a context switch takes off a processor or gives to it.
///
/// [`SwitchPath`] has an example.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Occupant {
    /// The thread's number.
    pub thread: u8,
    /// The number of its address space.
    pub space: u8,
}

/// The switch path of a kernel, and its membarrier: each method is a sequence of steps over a
/// [`Cpu`]. The methods that are here are the design that was proposed for Linux in 2010, with a
/// mask of processors for each space; a kernel that does otherwise overrides those in which it
/// differs, as `examples/kernel_membarrier.rs` does.
///
/// A barrier has a name, by which it is left out and by which printed schedules show it. What an
/// architecture does anyway (a write of the page-table register on x86) is written as a barrier
/// too: then leaving it out shows where the path relies on it.
///
/// ```
/// use leeward_engine::simulation::{Cpu, Model, Occupant, SwitchPath, try_path};
/// use std::sync::Arc;
///
/// /// A kernel whose membarrier goes by what each processor runs: it has no masks and no
/// /// run-queue locks.
/// struct Small;
///
/// impl SwitchPath for Small {
///     fn switch(&self, cpu: &Cpu<'_>, from: Option<Occupant>, to: Option<Occupant>) {
///         if let Some(to) = to {
///             cpu.restore(to.thread);
///         }
///         cpu.barrier("leave");
///         cpu.set_current(to.map(|to| to.space));
///         cpu.barrier("enter");
///         if let Some(from) = from {
///             cpu.save(from.thread);
///         }
///     }
///     fn shootdown(&self, _: &Cpu<'_>, _: u8) {}
///     fn membarrier(&self, cpu: &Cpu<'_>, space: u8) {
///         cpu.barrier("first");
///         for other in cpu.others().filter(|other| cpu.current(*other) == Some(space)) {
///             cpu.interrupt(other);
///             cpu.wait(other);
///         }
///         cpu.barrier("last");
///     }
/// }
///
/// let path: Arc<dyn SwitchPath> = Arc::new(Small);
/// let whole = try_path(&path, Model::Tso, None);
/// assert!(whole.found.is_none());
/// assert_eq!(whole.barriers, ["enter", "first", "handler", "last", "leave"]);
/// // On x86 too there must be a barrier after the space is noted.
/// assert!(try_path(&path, Model::Tso, Some("enter")).found.is_some());
/// ```
pub trait SwitchPath: Send + Sync {
    /// Switches a processor from a thread (`None`: it ran a kernel's own, or was idle) to another
    /// (`None`: it will). Interrupts are off. No page table is written here: the machine notes that
    /// the incoming thread's are loaded, or that the processor has become lazy.
    fn switch(&self, cpu: &Cpu<'_>, from: Option<Occupant>, to: Option<Occupant>) {
        cpu.lock(cpu.number());
        if let Some(to) = to {
            cpu.restore(to.thread);
        }
        cpu.set_current(to.map(|to| to.space));
        match (cpu.page_tables(), to.map(|to| to.space)) {
            (Some(space), None) => self.enter_lazy(cpu, space),
            (None, None) => {}
            (Some(old), Some(new)) if old != new => self.switch_space(cpu, Some(old), new),
            (Some(space), Some(_)) if cpu.is_lazy() => self.leave_lazy(cpu, space),
            // Another thread of the space: its bit is set.
            (Some(_), Some(_)) => {}
            (None, Some(new)) => self.switch_space(cpu, None, new),
        }
        if let Some(from) = from {
            cpu.save(from.thread);
        }
        cpu.unlock(cpu.number());
        self.return_to_user(cpu);
    }

    /// Changes the address space, of which `switch` is a part.
    fn switch_space(&self, cpu: &Cpu<'_>, old: Option<u8>, new: u8) {
        if let Some(old) = old {
            cpu.barrier("S1");
            cpu.clear_mask_bit(old);
        }
        cpu.set_mask_bit(new);
        cpu.barrier("S2");
    }

    /// Goes to a thread of the kernel's own, or to idle: the page tables of `space` stay loaded, and
    /// in this design its mask keeps the bit.
    fn enter_lazy(&self, cpu: &Cpu<'_>, space: u8) {
        let _ = (cpu, space);
    }

    /// Goes from a thread of the kernel's own, or from idle, to a thread of the space whose page
    /// tables are loaded still.
    fn leave_lazy(&self, cpu: &Cpu<'_>, space: u8) {
        cpu.set_mask_bit(space);
        cpu.barrier("S3");
    }

    /// Serves the interrupt that tells a lazy processor that mappings of `space`, whose page tables
    /// it has loaded, have changed: it need not be told again.
    fn shootdown(&self, cpu: &Cpu<'_>, space: u8) {
        cpu.barrier("S1");
        cpu.clear_mask_bit(space);
    }

    /// Serves membarrier's interrupt. Without [`Cpu::acknowledge`] the caller waits forever.
    fn handler(&self, cpu: &Cpu<'_>) {
        cpu.barrier("handler");
        cpu.acknowledge();
        self.return_to_user(cpu);
    }

    /// Returns to the program, from a switch or from the handler: the place for a barrier that the
    /// architecture's return has.
    fn return_to_user(&self, cpu: &Cpu<'_>) {
        let _ = cpu;
    }

    /// Serves membarrier for a thread of `space`, which is pinned to its processor and takes
    /// interrupts. Called again with the same answers it takes the same steps.
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

/// The design that was proposed for Linux in 2010: each method of [`SwitchPath`] as it is.
///
/// ```
/// use leeward_engine::simulation::{Linux2010, Model, SwitchPath, try_path};
/// use std::sync::Arc;
///
/// let path: Arc<dyn SwitchPath> = Arc::new(Linux2010);
/// let without = try_path(&path, Model::Tso, Some("S2"));
/// let (case, found) = without.found.unwrap();
/// assert!(case.machine_on(&path).print(&found.schedule).contains("NO BARRIER S2 HERE"));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Linux2010;

impl SwitchPath for Linux2010 {}

/// A processor, as the kernel's code that runs on it sees it. Each method is one step, between which
/// the other processors take theirs; loads and stores order nothing but where it is said.
///
/// [`SwitchPath`] has an example.
pub struct Cpu<'a> {
    pub(crate) here: u8,
    /// The space whose page tables are loaded.
    pub(crate) loaded: Option<u8>,
    /// True if no thread of that space runs.
    pub(crate) lazy: bool,
    /// The interrupt that is served, if one is.
    pub(crate) serves: Option<Sender>,
    pub(crate) layout: &'a Layout,
    pub(crate) ask: &'a dyn Fn(Request) -> u64,
}

impl Cpu<'_> {
    fn load(&self, at: u16) -> u32 {
        (self.ask)(Request::Load { at }) as u32
    }

    fn store(&self, at: u16, value: u32, release: bool) {
        (self.ask)(Request::Store { at, value, release });
    }

    /// Returns the processor's number.
    pub fn number(&self) -> u8 {
        self.here
    }

    /// Returns the numbers of the other processors.
    pub fn others(&self) -> impl Iterator<Item = u8> {
        let here = self.here;
        (0..self.layout.processors).filter(move |other| *other != here)
    }

    /// Returns the space whose page tables are loaded where a switch begins; `None`: no program's.
    pub fn page_tables(&self) -> Option<u8> {
        self.loaded
    }

    /// Returns true if the processor ran no thread of [`page_tables`](Self::page_tables) where the
    /// switch begins.
    pub fn is_lazy(&self) -> bool {
        self.lazy
    }

    /// Makes a full barrier, unless the one of that name is left out. A name may stand in several
    /// places, which are left out together.
    pub fn barrier(&self, name: &'static str) {
        let left_out = self.layout.cuts.iter().any(|cut| cut.name() == name);
        (self.ask)(if left_out { Request::Missing { name } } else { Request::Fence { name } });
    }

    /// Sets this processor's bit in a space's mask.
    pub fn set_mask_bit(&self, space: u8) {
        self.store(self.layout.bit(space, self.here), 1, false);
    }

    /// Clears this processor's bit in a space's mask.
    pub fn clear_mask_bit(&self, space: u8) {
        self.store(self.layout.bit(space, self.here), 0, false);
    }

    /// Loads a processor's bit in a space's mask.
    pub fn mask_bit(&self, space: u8, processor: u8) -> bool {
        self.load(self.layout.bit(space, processor)) != 0
    }

    /// Stores the space of the thread that this processor runs; `None`: no program's.
    pub fn set_current(&self, space: Option<u8>) {
        self.store(self.layout.current(self.here), space.map_or(0, |space| u32::from(space) + 1), false);
    }

    /// Loads the space of the thread that a processor runs.
    pub fn current(&self, processor: u8) -> Option<u8> {
        self.load(self.layout.current(processor)).checked_sub(1).map(|space| space as u8)
    }

    /// Takes a processor's run-queue lock: an acquire, and up to PSO a full barrier.
    pub fn lock(&self, processor: u8) {
        (self.ask)(Request::Lock { at: self.layout.queue(processor) });
    }

    /// Gives a processor's run-queue lock up: a release.
    pub fn unlock(&self, processor: u8) {
        (self.ask)(Request::Unlock { at: self.layout.queue(processor) });
    }

    /// Marks an outgoing thread as saved, so that any processor may run it: a release.
    pub fn save(&self, thread: u8) {
        self.store(self.layout.on_processor(thread), 0, true);
    }

    /// Waits until an incoming thread was saved where it ran last, and marks it as running: an
    /// acquire.
    pub fn restore(&self, thread: u8) {
        let at = self.layout.on_processor(thread);
        (self.ask)(Request::Await { at, value: 0 });
        self.store(at, 1, false);
    }

    /// Interrupts another processor, which then runs [`SwitchPath::handler`] when it may; orders
    /// nothing. For membarrier.
    pub fn interrupt(&self, processor: u8) {
        let kick = super::kernel::Kick::Interrupt(crate::Interrupt::Barrier);
        (self.ask)(Request::Send { to: processor, kick });
    }

    /// Waits until a processor has acknowledged the last interrupt from here; orders nothing. For
    /// membarrier.
    pub fn wait(&self, processor: u8) {
        (self.ask)(Request::Acknowledged { by: processor });
    }

    /// Acknowledges the interrupt that is served, by a plain store; elsewhere than in the handler it
    /// does nothing.
    pub fn acknowledge(&self) {
        if let Some(Sender { from, number }) = self.serves {
            self.store(self.layout.acknowledged(from, self.here), number, false);
        }
    }
}

impl core::fmt::Debug for Cpu<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Cpu").field("number", &self.here).finish_non_exhaustive()
    }
}
