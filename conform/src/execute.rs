//! A program that ends at once, and its execution: a process that executes another program is the
//! death of the one before.

use crate::errno::{Answer, Errno};
use crate::numbers;
use crate::processes::Child;
use crate::scenario::Outcome;
use crate::world::{World, unfit};

const AT_EMPTY_PATH: usize = 0x1000;
/// Where the program lies in the memory of its process.
const BASE: u64 = 0x0040_0000;
/// The bytes of a file's header, and of a segment's.
const HEADERS: usize = 64 + 56;
const SIZE: usize = HEADERS + CODE.len();

/// The instructions that end a process with code 0.
#[cfg(target_arch = "x86_64")]
const CODE: [u8; 9] = [0x31, 0xff, 0xb8, 60, 0, 0, 0, 0x0f, 0x05];
#[cfg(target_arch = "aarch64")]
const CODE: [u8; 12] = words([0xd280_0000, 0xd280_0ba8, 0xd400_0001]);
#[cfg(target_arch = "riscv64")]
const CODE: [u8; 12] = words([0x0000_0513, 0x05d0_0893, 0x0000_0073]);
#[cfg(target_arch = "powerpc64")]
const CODE: [u8; 12] = words([0x3860_0000, 0x3800_0001, 0x4400_0002]);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64", target_arch = "powerpc64")))]
const CODE: [u8; 0] = [];

/// The architecture, as the header names it, and its flags.
const MACHINE: (u16, u32) = if cfg!(target_arch = "x86_64") {
    (62, 0)
} else if cfg!(target_arch = "aarch64") {
    (183, 0)
} else if cfg!(target_arch = "riscv64") {
    (243, 0)
} else {
    // The second version of the calling convention.
    (21, 2)
};

#[cfg(any(target_arch = "aarch64", target_arch = "riscv64", target_arch = "powerpc64"))]
const fn words([a, b, c]: [u32; 3]) -> [u8; 12] {
    let [a, b, c] = [a.to_ne_bytes(), b.to_ne_bytes(), c.to_ne_bytes()];
    [a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3], c[0], c[1], c[2], c[3]]
}

/// The file: a header, one segment that is the whole file, and the instructions.
fn program() -> [u8; SIZE] {
    let mut file = [0; SIZE];
    let mut at = 0;
    let mut put = |bytes: &[u8]| {
        file[at..at + bytes.len()].copy_from_slice(bytes);
        at += bytes.len();
    };
    let order = if cfg!(target_endian = "little") { 1 } else { 2 };
    put(&[0x7f, b'E', b'L', b'F', 2, order, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    // A program that is not moved.
    put(&2_u16.to_ne_bytes());
    put(&MACHINE.0.to_ne_bytes());
    put(&1_u32.to_ne_bytes());
    put(&(BASE + HEADERS as u64).to_ne_bytes());
    // Segments' headers follow; sections' there are none.
    put(&64_u64.to_ne_bytes());
    put(&0_u64.to_ne_bytes());
    put(&MACHINE.1.to_ne_bytes());
    for size in [64_u16, 56, 1, 0, 0, 0] {
        put(&size.to_ne_bytes());
    }
    // To be loaded, to be read and executed.
    put(&1_u32.to_ne_bytes());
    put(&5_u32.to_ne_bytes());
    for number in [0, BASE, BASE, SIZE as u64, SIZE as u64, 0x1_0000] {
        put(&number.to_ne_bytes());
    }
    put(&CODE);
    file
}

impl World<'_> {
    /// Executes a program that ends at once with code 0. Returns why it cannot.
    pub(crate) fn execute_nothing(&self) -> Answer {
        let (name, file, end) = (c"conform", program(), 0_usize);
        // SAFETY: reads the name, which ends.
        let file_number =
            unsafe { self.call(numbers::MEMFD_CREATE, [name.as_ptr().expose_provenance(), 0, 0, 0, 0, 0]) }?;
        let from = file.as_ptr().expose_provenance();
        // SAFETY: reads the bytes.
        let written = unsafe { self.call(numbers::WRITE, [file_number, from, SIZE, 0, 0, 0]) }?;
        if written != SIZE {
            return Err(Errno::NOMEM);
        }
        let (path, none) = (c"".as_ptr().expose_provenance(), (&raw const end).expose_provenance());
        // SAFETY: reads the empty path, and lists without an entry.
        unsafe { self.call(numbers::EXECVEAT, [file_number, path, none, none, AT_EMPTY_PATH, 0]) }
    }

    /// Asks for the execution of a file that there is not.
    pub(crate) fn execute_missing(&self) -> Answer {
        let (path, end) = (c"/leeward-conform/there is no such file", 0_usize);
        let none = (&raw const end).expose_provenance();
        // SAFETY: reads the path, and lists without an entry.
        unsafe { self.call(numbers::EXECVE, [path.as_ptr().expose_provenance(), none, none, 0, 0, 0]) }
    }

    /// Waits for the end of a child that does what a scenario needs; unfit if it could not.
    pub(crate) fn has_done(&self, child: Child, what: &str) -> Outcome {
        match self.status_of(child)? {
            0 => Ok(()),
            status if status & 0x7f == 0 => {
                Err(unfit(format_args!("a child cannot {what}: {}", Errno((status >> 8 & 0xff) as u16))))
            }
            status => Err(unfit(format_args!("a child that should {what} was killed by signal {}", status & 0x7f))),
        }
    }
}
