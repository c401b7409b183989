//! membarrier: the commands of today and the flags of 2010, over one implementation. The decoder
//! and hosts call it; it calls [`Processors`].

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

/// Processors in a word of a mask.
const BITS: u32 = 64;
/// In a space's registrations: from the bit of one that is complete to the one that it was asked
/// for.
const REQUESTED: u32 = 16;

/// The commands that a system with these abilities has.
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
    /// `membarrier(command, flags, cpu)` as Linux has it: any arguments. After a barrier's return
    /// every thread that it reaches has passed, since the call, through a point where its accesses
    /// were in program order.
    ///
    /// Memory ordering: a barrier's call and its return are full barriers of the caller, unless it
    /// was the only thread or processor.
    ///
    /// # Errors
    /// `ENOSYS`: the host has no processors. `EINVAL`: a command that there is not, or that the
    /// host cannot do; flags where none are taken. `EPERM`: the space is not registered for it.
    /// What the host answers.
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
        // A command for one processor, if it is given and there can be such a one.
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

    /// `membarrier(flags)` as it was proposed in 2010: the low 16 bits must be understood, the high
    /// 16 may be ignored. Reaches the threads of the caller's space; no registration.
    ///
    /// # Errors
    /// `ENOSYS`: the host has no processors. `EINVAL`: not exactly one of EXPEDITED and DELAYED,
    /// another mandatory flag, or the one that the host cannot do. What the host answers. The same
    /// for the same flags, always.
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
    /// What the space is registered for: the bits of the registering commands that have returned,
    /// or are about to.
    pub fn registrations(&self) -> u32 {
        // Acquire: a barrier that counts on it comes later; partner: `complete_registration`.
        self.registered.load(Ordering::Acquire) & ((1 << REQUESTED) - 1)
    }

    /// What it is registered for, and what is being registered ([`Processors::registered`] is under
    /// way, or has failed): what a context switch goes by that does less for spaces without.
    pub fn registrations_requested(&self) -> u32 {
        // Relaxed: what comes behind it is for the host to order, which waits in
        // `Processors::registered` for those switches that saw nothing.
        self.registered.load(Ordering::Relaxed) >> REQUESTED
    }

    /// A space that is a copy of `parent` (`fork`) is registered as that is; one for a new program
    /// (`exec`) is not.
    pub fn inherit_registrations(&self, parent: &Space<H>) {
        let commands = parent.registrations();
        self.ask_registration(commands);
        self.complete_registration(commands);
    }

    fn ask_registration(&self, commands: u32) {
        // SeqCst, as near to a full barrier as an access is: the host looks next for switches that
        // have not seen it.
        self.registered.fetch_or(commands << REQUESTED, Ordering::SeqCst);
    }

    fn complete_registration(&self, commands: u32) {
        // Release: what the host did for it; partner: `registrations`.
        self.registered.fetch_or(commands, Ordering::Release);
    }
}

/// Whose threads a barrier reaches.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whom {
    /// The caller's space's.
    Space,
    /// The caller's space's, on this processor alone.
    On(u32),
    /// Those of all spaces that are registered for other spaces' barriers.
    Registered,
}

/// One call.
struct Barrier<'a, H: Host> {
    host: &'a H,
    processors: &'a dyn Processors<H>,
}

impl<H: Host> Barrier<'_, H> {
    fn online(&self) -> u32 {
        (0..self.words()).map(|word| self.processors.online(word).count_ones()).sum()
    }

    fn words(&self) -> u32 {
        self.processors.count().div_ceil(BITS)
    }

    fn register(&self, command: u32, what: Option<Interrupt>) -> Result<(), Errno> {
        let space = self.host.space();
        if space.registrations() & command == 0 {
            // Before the host waits: a switch that begins behind its wait must know.
            space.ask_registration(command);
            self.processors.registered(what)?;
            space.complete_registration(command);
        }
        Ok(())
    }

    fn delayed(&self) -> Result<(), Errno> {
        if self.online() > 1 { self.processors.grace_period() } else { Ok(()) }
    }

    /// Each command's registration is the next bit.
    fn private(&self, command: u32, what: Interrupt, only: Option<u32>) -> Result<(), Errno> {
        if self.host.space().registrations() & command << 1 == 0 {
            return Err(Errno::EPERM);
        }
        // Instructions are another's to write also where there is one thread: the caller's
        // processor serializes always.
        if self.processors.alone() && what != Interrupt::Core {
            return Ok(());
        }
        self.expedited(what, only.map_or(Whom::Space, Whom::On));
        Ok(())
    }

    /// Steps 1 to 6 (docs/engine/membarrier.md).
    fn expedited(&self, what: Interrupt, whom: Whom) {
        if self.online() == 1 && what != Interrupt::Core {
            return;
        }
        // Before it is pinned: a host may sleep for it, or have none.
        let mut mask = HostVec::filled(self.host.space().memory(), self.words() as usize, 0);
        // After the mask, so that the mask is freed when the thread is no longer pinned.
        let pinned = Pinned::new(self.processors);
        // (1) The caller's accesses, then the mask and the interrupts; partners: S2, S3 and the
        // handler.
        step!(barrier_before, self.processors.full_barrier());
        match &mut mask {
            Some(mask) => self.together(mask, what, whom, pinned.here),
            None => self.singly(what, whom, pinned.here),
        }
        if what == Interrupt::Core {
            self.processors.here(what);
        }
        // (6) The acknowledgments, then the caller's accesses; partners: the handler and S1.
        step!(barrier_after, self.processors.full_barrier());
    }

    /// Processors of that word that may run somebody whom it reaches.
    fn candidates(&self, word: u32, whom: Whom, here: u32) -> u64 {
        let set = match whom {
            Whom::Space => self.processors.ran_on(word),
            Whom::Registered => self.processors.online(word),
            Whom::On(processor) if processor / BITS == word => self.processors.online(word) & 1 << (processor % BITS),
            Whom::On(_) => 0,
        };
        if here / BITS == word { set & !(1 << (here % BITS)) } else { set }
    }

    /// Copies, filters, interrupts all that are left, waits for all.
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

    /// Without memory for the copy: one after the other.
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

    /// Whether a processor runs somebody whom it reaches, under its run-queue lock.
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

/// The processors of a word.
fn members(word: u32, set: u64) -> impl Iterator<Item = u32> {
    (0..BITS).filter(move |bit| set >> bit & 1 == 1).map(move |bit| word * BITS + bit)
}

/// The calling thread, kept where it is.
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
