//! Code that is changed while another thread waits to run it: a function that returns a number, in a file in memory
//! that is mapped twice, for writing and for execution.

use core::sync::atomic::{Ordering, fence};

use crate::objects::{Map, SIZE};
use crate::scenario::Trouble;
use crate::world::{World, unfit};

/// A function that returns a number.
#[derive(Clone, Copy)]
pub(crate) struct Code {
    /// Where it is written, and where it is run.
    written: usize,
    pub(crate) run: usize,
}

/// The instructions of a function that returns this number; nothing on a machine for which they are not written.
fn instructions(number: u16) -> Option<[u8; 8]> {
    let [low, high] = number.to_le_bytes();
    let two = |first: u32, second: u32| {
        let ([a, b, c, d], [e, f, g, h]) = (first.to_le_bytes(), second.to_le_bytes());
        [a, b, c, d, e, f, g, h]
    };
    if cfg!(target_arch = "x86_64") {
        // mov eax, number; ret
        Some([0xb8, low, high, 0, 0, 0xc3, 0xcc, 0xcc])
    } else if cfg!(all(target_arch = "aarch64", target_endian = "little")) {
        // movz w0, #number; ret
        Some(two(0x5280_0000 | u32::from(number) << 5, 0xd65f_03c0))
    } else if cfg!(target_arch = "riscv64") {
        // li a0, number, of 11 bits; ret
        Some(two(0x0000_0513 | u32::from(number & 0x7ff) << 20, 0x0000_8067))
    } else if cfg!(all(target_arch = "powerpc64", target_endian = "little")) {
        // li r3, number, of 15 bits; blr
        Some(two(0x3860_0000 | u32::from(number & 0x7fff), 0x4e80_0020))
    } else {
        None
    }
}

impl Code {
    /// Returns the number that the function returns when it was written with this one.
    pub(crate) fn number(round: u32) -> u32 {
        round & 0x7ff
    }

    /// Returns the function that another thread has made.
    pub(crate) fn at(run: usize) -> Code {
        Code { written: 0, run }
    }

    /// Writes the function, so that processors that fetch its instructions anew get these.
    pub(crate) fn write(&self, round: u32) {
        let Some(bytes) = instructions(Code::number(round) as u16) else { return };
        for (at, byte) in bytes.into_iter().enumerate() {
            let place = core::ptr::with_exposed_provenance_mut::<u8>(self.written + at);
            // SAFETY: mapped for writing; no thread runs the function meanwhile.
            unsafe { place.write_volatile(byte) };
        }
        fence(Ordering::SeqCst);
        self.clean();
    }

    /// Takes the old instructions out of the caches that this processor is to take them out of.
    fn clean(&self) {
        #[cfg(target_arch = "aarch64")]
        // SAFETY: both addresses are mapped; nothing in memory changes.
        unsafe {
            core::arch::asm!("dc cvau, {written}", "dsb ish", "ic ivau, {run}", "dsb ish",
                written = in(reg) self.written, run = in(reg) self.run, options(nostack));
        }
        #[cfg(target_arch = "powerpc64")]
        // SAFETY: as on aarch64.
        unsafe {
            core::arch::asm!("dcbst 0, {written}", "sync", "icbi 0, {run}", "sync", "isync",
                written = in(reg) self.written, run = in(reg) self.run, options(nostack));
        }
    }

    /// Lets the calling thread fetch its next instructions anew.
    fn synchronize() {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: no memory changes; `rbx`, which the compiler keeps for itself, is as it was.
        unsafe {
            core::arch::asm!("mov {kept}, rbx", "cpuid", "mov rbx, {kept}", kept = out(reg) _, inout("eax") 0 => _,
                out("ecx") _, out("edx") _, options(nostack));
        }
        #[cfg(target_arch = "aarch64")]
        // SAFETY: as on x86-64.
        unsafe {
            core::arch::asm!("isb", options(nostack));
        }
        #[cfg(target_arch = "riscv64")]
        // SAFETY: as on x86-64.
        unsafe {
            core::arch::asm!("fence.i", options(nostack));
        }
        #[cfg(target_arch = "powerpc64")]
        // SAFETY: as on x86-64.
        unsafe {
            core::arch::asm!("isync", options(nostack));
        }
    }

    /// Runs the function.
    ///
    /// # Safety
    /// It is written, and no thread writes it meanwhile.
    pub(crate) unsafe fn call(&self) -> u32 {
        let function = core::ptr::with_exposed_provenance::<()>(self.run);
        // SAFETY: the instructions of a function that has no arguments and changes nothing.
        let function = unsafe { core::mem::transmute::<*const (), extern "C" fn() -> u32>(function) };
        function()
    }
}

impl World<'_> {
    /// Makes a function that returns 0. Where a thread does not run what it wrote itself, as under an emulator that
    /// does not look at the other mapping, the scenario is unfit.
    pub(crate) fn code(&self) -> Result<Code, Trouble> {
        if instructions(0).is_none() {
            return Err(unfit(format_args!("there is no code for this machine")));
        }
        let object = self.object(SIZE)?;
        let (written, run) = (self.map(Map::of(object))?, self.map(Map::of(object).executable())?);
        let code = Code { written: written.word(0), run: run.word(0) };
        for round in (0..3).rev() {
            code.write(round);
            Code::synchronize();
            // SAFETY: written, and no other thread has it.
            if unsafe { code.call() } != round {
                return Err(unfit(format_args!("a thread does not run the code that it wrote by another mapping")));
            }
        }
        Ok(code)
    }
}
