//! membarrier: Linux's commands of today and the flags proposed in 2010, over one implementation.

use crate::atomic::Ordering;
use crate::host::host_vec::HostVec;
use crate::linux::abi::{
    MEMBARRIER_CMD_FLAG_CPU, MEMBARRIER_CMD_GET_REGISTRATIONS, MEMBARRIER_CMD_GLOBAL, MEMBARRIER_CMD_GLOBAL_EXPEDITED,
    MEMBARRIER_CMD_PRIVATE_EXPEDITED, MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ,
    MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, MEMBARRIER_CMD_QUERY, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED,
    MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ,
    MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, MEMBARRIER_DELAYED, MEMBARRIER_EXPEDITED,
    MEMBARRIER_MANDATORY, MEMBARRIER_QUERY,
};
use crate::mutant::step;
use crate::{Abilities, Engine, Errno, Host, Interrupt, Processors, Space};

/// The number of processors in a word of a mask.
const BITS: u32 = 64;
/// The distance, in a space's registrations, from the bit of a complete registration to the bit
/// that says that it was asked for.
const REQUESTED: u32 = 16;

/// Returns the commands that a system with these abilities has.
const fn supported(abilities: Abilities) -> u32 {
    let mut commands = MEMBARRIER_CMD_GET_REGISTRATIONS;
    if abilities.delayed {
        commands |= MEMBARRIER_CMD_GLOBAL;
    }
    if !abilities.expedited {
        return commands;
    }
    commands |= MEMBARRIER_CMD_GLOBAL_EXPEDITED | MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED;
    commands |= MEMBARRIER_CMD_PRIVATE_EXPEDITED | MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED;
    if abilities.sync_core {
        commands |= MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE;
        commands |= MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE;
    }
    if abilities.rseq {
        commands |= MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ | MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ;
    }
    commands
}

impl<H: Host> Engine<H> {
    /// Serves `membarrier(command, flags, cpu)` as Linux 6.18 does, whatever the arguments; returns
    /// what the system call returns. After a barrier command has returned, every thread that it
    /// reaches has passed, since the call began, through a point at which its accesses were in
    /// program order. Commands other than QUERY and GET_REGISTRATIONS may sleep.
    ///
    /// Memory ordering: the call and the return of a barrier command are full barriers of the
    /// caller, unless the caller is its space's only thread or only one processor is online.
    ///
    /// # Cost
    /// An expedited command: one look at each processor of the space's mask (of those online, for
    /// GLOBAL_EXPEDITED) under that processor's run-queue lock, an interrupt for each that runs a
    /// thread that it reaches, and one wait for each of them; and an allocation of a bit for each
    /// processor. Without memory for that, the interrupts are sent one after the other.
    ///
    /// # Errors
    /// `ENOSYS`: the host has no processors. `EINVAL`: an unknown command, one that the host cannot
    /// do, or flags where none are taken. `EPERM`: the space is not registered for the command.
    /// Also each error of [`Processors::grace_period`] and [`Processors::registered`].
    pub fn membarrier(&self, host: &H, command: u32, flags: u32, cpu: i32) -> Result<u32, Errno> {
        let processors = host.processors().ok_or(Errno::ENOSYS)?;
        let takes = if command == MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ { MEMBARRIER_CMD_FLAG_CPU } else { 0 };
        if flags & !takes != 0 {
            return Err(Errno::EINVAL);
        }
        let supported = supported(processors.abilities());
        if command == MEMBARRIER_CMD_QUERY {
            return Ok(supported);
        }
        if !command.is_power_of_two() || command & supported == 0 {
            return Err(Errno::EINVAL);
        }
        let call = Barrier { host, processors };
        // The one processor that the command is for, if one is named and there can be such a
        // processor.
        let only = if flags & MEMBARRIER_CMD_FLAG_CPU != 0 { u32::try_from(cpu).ok() } else { None };
        match command {
            MEMBARRIER_CMD_GLOBAL => call.delayed()?,
            MEMBARRIER_CMD_GLOBAL_EXPEDITED => call.expedited(Interrupt::Barrier, Whom::Registered),
            MEMBARRIER_CMD_PRIVATE_EXPEDITED => call.private(command, Interrupt::Barrier, None)?,
            MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE => call.private(command, Interrupt::Core, None)?,
            MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ => call.private(command, Interrupt::Restart, only)?,
            MEMBARRIER_CMD_GET_REGISTRATIONS => return Ok(host.space().registrations()),
            MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED => call.register(command, None)?,
            MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED => call.register(command, Some(Interrupt::Barrier))?,
            MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE => call.register(command, Some(Interrupt::Core))?,
            MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ => call.register(command, Some(Interrupt::Restart))?,
            _ => return Err(Errno::EINVAL),
        }
        Ok(0)
    }

    /// Serves `membarrier(flags)` as it was proposed in 2010: the low 16 bits of the flags must be
    /// understood, and the high 16 may be ignored. Reaches the threads of the caller's space, which
    /// needs no registration. Promise, memory ordering and cost are those of
    /// [`membarrier`](Self::membarrier).
    ///
    /// # Errors
    /// `ENOSYS`: the host has no processors. `EINVAL`: not exactly one of EXPEDITED and DELAYED,
    /// another mandatory flag, or one that the host cannot do; the answer to the same flags is
    /// always the same. Also each error of [`Processors::grace_period`].
    pub fn membarrier_2010(&self, host: &H, flags: u32) -> Result<u32, Errno> {
        let processors = host.processors().ok_or(Errno::ENOSYS)?;
        let abilities = processors.abilities();
        let can = match flags & MEMBARRIER_MANDATORY {
            MEMBARRIER_EXPEDITED => abilities.expedited,
            MEMBARRIER_DELAYED => abilities.delayed,
            _ => false,
        };
        if !can {
            return Err(Errno::EINVAL);
        }
        let call = Barrier { host, processors };
        if flags & MEMBARRIER_QUERY != 0 || processors.alone() {
            return Ok(0);
        }
        if flags & MEMBARRIER_EXPEDITED != 0 {
            call.expedited(Interrupt::Barrier, Whom::Space);
        } else {
            call.delayed()?;
        }
        Ok(0)
    }
}

impl<H: Host> Space<H> {
    /// Returns what the space is registered for: the bits of the registering commands that have
    /// returned, or are about to.
    pub fn registrations(&self) -> u32 {
        // Acquire: a barrier that relies on the registration comes after it; partner:
        // `complete_registration`.
        self.registered.load(Ordering::Acquire) & ((1 << REQUESTED) - 1)
    }

    /// Returns what the space is registered for and what it is being registered for: the bits of
    /// the registering commands for which [`Processors::registered`] has returned, is running, or
    /// has failed. A context switch that does less for spaces without registrations goes by this.
    pub fn registrations_requested(&self) -> u32 {
        // Relaxed: the host orders what comes after it, by waiting in `Processors::registered` for
        // those switches that did not see the bit.
        self.registered.load(Ordering::Relaxed) >> REQUESTED
    }

    /// Registers the space, a new copy of `parent` (`fork`), for what `parent` is registered for. A
    /// space for a new program (`exec`) starts without registrations, and does not call this.
    pub fn inherit_registrations(&self, parent: &Space<H>) {
        let commands = parent.registrations();
        self.ask_registration(commands);
        self.complete_registration(commands);
    }

    /// Sets the bits that say that registrations were asked for.
    fn ask_registration(&self, commands: u32) {
        // SeqCst: as near to a full barrier as an access can be. The host looks next for context
        // switches that have not seen the bit.
        self.registered.fetch_or(commands << REQUESTED, Ordering::SeqCst);
    }

    /// Sets the bits that say that registrations are complete.
    fn complete_registration(&self, commands: u32) {
        // Release: what the host did for the registration happens before a barrier that relies on
        // it; partner: `registrations`.
        self.registered.fetch_or(commands, Ordering::Release);
    }
}

/// The threads that a barrier reaches.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whom {
    /// The threads of the caller's space.
    Space,
    /// The threads of the caller's space, on this processor alone.
    On(u32),
    /// The threads of all spaces that are registered for other spaces' barriers.
    Registered,
}

/// A call of membarrier.
struct Barrier<'a, H: Host> {
    host: &'a H,
    processors: &'a dyn Processors<H>,
}

impl<H: Host> Barrier<'_, H> {
    /// Returns the number of processors that are online.
    fn online(&self) -> u32 {
        (0..self.words()).map(|word| self.processors.online(word).count_ones()).sum()
    }

    /// Returns the number of words of a mask of all processors.
    fn words(&self) -> u32 {
        self.processors.count().div_ceil(BITS)
    }

    /// Registers the caller's space for a command; `what` is what an interrupt then does, `None`
    /// for other spaces' barriers.
    fn register(&self, command: u32, what: Option<Interrupt>) -> Result<(), Errno> {
        let space = self.host.space();
        if space.registrations() & command == 0 {
            // Before the host waits: a context switch that begins after the host's wait must see
            // the bit.
            space.ask_registration(command);
            self.processors.registered(what)?;
            space.complete_registration(command);
        }
        Ok(())
    }

    /// Waits for a grace period of context switches, unless only one processor is online.
    fn delayed(&self) -> Result<(), Errno> {
        if self.online() > 1 { self.processors.grace_period() } else { Ok(()) }
    }

    /// Serves a private expedited command, if its registration, whose bit is the command's next, is
    /// complete.
    fn private(&self, command: u32, what: Interrupt, only: Option<u32>) -> Result<(), Errno> {
        if self.host.space().registrations() & command << 1 == 0 {
            return Err(Errno::EPERM);
        }
        // Another thread may have written instructions before it ended, so the caller's processor
        // serializes even if the caller is the only thread.
        if self.processors.alone() && what != Interrupt::Core {
            return Ok(());
        }
        self.expedited(what, only.map_or(Whom::Space, Whom::On));
        Ok(())
    }

    /// Reaches the threads by interrupts: steps 1 to 6 of docs/engine/membarrier.md.
    fn expedited(&self, what: Interrupt, whom: Whom) {
        if self.online() == 1 && what != Interrupt::Core {
            return;
        }
        // Before the thread is pinned: the host may sleep for memory, or have none.
        let mut mask = HostVec::filled(self.host.space().memory(), self.words() as usize, 0);
        // After the mask, so that the mask is freed when the thread is no longer pinned.
        let pinned = Pinned::new(self.processors);
        // (1) Full barrier: the caller's accesses come before the loads of the mask and the
        // interrupts; partners: S2, S3 and the handler.
        step!(barrier_before, self.processors.full_barrier());
        match &mut mask {
            Some(mask) => self.together(mask, what, whom, pinned.here),
            None => self.singly(what, whom, pinned.here),
        }
        if what == Interrupt::Core {
            self.processors.here(what);
        }
        // (6) Full barrier: the acknowledgments come before the caller's accesses; partners: the
        // handler and S1.
        step!(barrier_after, self.processors.full_barrier());
    }

    /// Returns the processors of that word, without `here`, that may run a thread that the barrier
    /// reaches.
    fn candidates(&self, word: u32, whom: Whom, here: u32) -> u64 {
        let set = match whom {
            Whom::Space => self.processors.ran_on(word),
            Whom::Registered => self.processors.online(word),
            Whom::On(processor) if processor / BITS == word => self.processors.online(word) & 1 << (processor % BITS),
            Whom::On(_) => 0,
        };
        if here / BITS == word { set & !(1 << (here % BITS)) } else { set }
    }

    /// Fills the mask with candidates, drops those that run no thread that the barrier reaches,
    /// interrupts all that are left, and then waits for all of them (steps 2 to 5).
    fn together(&self, mask: &mut [u64], what: Interrupt, whom: Whom, here: u32) {
        for (word, set) in (0..).zip(&mut *mask) {
            *set = self.candidates(word, whom, here);
        }
        for (word, set) in (0..).zip(&mut *mask) {
            for processor in members(word, *set) {
                if !self.runs(processor, whom) {
                    *set &= !(1 << (processor % BITS));
                }
            }
        }
        members_of(mask).for_each(|processor| self.processors.send(processor, what));
        step!(barrier_wait, members_of(mask).for_each(|processor| self.processors.wait(processor)));
    }

    /// Looks, interrupts and waits for one processor after the other: there is no memory for the
    /// mask.
    #[cold]
    #[inline(never)]
    fn singly(&self, what: Interrupt, whom: Whom, here: u32) {
        for word in 0..self.words() {
            for processor in members(word, self.candidates(word, whom, here)) {
                if self.runs(processor, whom) {
                    self.processors.send(processor, what);
                    step!(barrier_singly_wait, self.processors.wait(processor));
                }
            }
        }
    }

    /// Returns true if a processor runs a thread that the barrier reaches, seen under the
    /// processor's run-queue lock.
    fn runs(&self, processor: u32, whom: Whom) -> bool {
        let mut runs = false;
        self.processors.inspect(processor, &mut |space| {
            runs = match whom {
                Whom::Space | Whom::On(_) => space.number() == self.host.space().number(),
                Whom::Registered => space.registrations() & MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED != 0,
            };
        });
        runs
    }
}

/// Returns the processors of a mask.
fn members_of(mask: &[u64]) -> impl Iterator<Item = u32> {
    (0..).zip(mask).flat_map(|(word, set)| members(word, *set))
}

/// Returns the processors of a mask's word.
fn members(word: u32, set: u64) -> impl Iterator<Item = u32> {
    (0..BITS).filter(move |bit| set >> bit & 1 == 1).map(move |bit| word * BITS + bit)
}

/// A guard that keeps the calling thread on its processor, whose number is `here`.
struct Pinned<'a, H: Host> {
    processors: &'a dyn Processors<H>,
    here: u32,
}

impl<'a, H: Host> Pinned<'a, H> {
    fn new(processors: &'a dyn Processors<H>) -> Self {
        Pinned { processors, here: processors.pin() }
    }
}

impl<H: Host> Drop for Pinned<'_, H> {
    fn drop(&mut self) {
        self.processors.unpin();
    }
}
