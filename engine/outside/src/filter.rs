//! The seccomp filter: which calls are trapped, and from which code. The constructor in `lib`
//! installs it.
//!
//! A filter outlives exec, and handlers of signals do not: a program that begins would be killed by
//! its first call, before this library is there. So the filter traps calls of the code that was
//! loaded when it was made (the C library's above all), by address. Another program has its code
//! elsewhere, as addresses are random, and is not touched until it has a filter of its own; nor is
//! the dynamic linker, which runs first. This library's own calls pass, too. What the filter does
//! not see is code that is loaded later and makes futex calls by its own instruction.

use core::ffi::{c_int, c_void};
use std::vec::Vec;

use crate::native;

/// The calls that are trapped from anywhere in the code.
const TRAPPED: [i64; 11] = [
    libc::SYS_futex,
    libc::SYS_futex_waitv,
    454,
    455,
    456,
    libc::SYS_set_robust_list,
    libc::SYS_get_robust_list,
    libc::SYS_exit,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_mremap,
];
/// Where the kernel has a call's number, architecture, code and fourth argument, as it shows them
/// to a filter.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const CODE: u32 = 8;
const FOURTH: u32 = 40;
/// The architecture of x86-64 programs.
const X86_64: u32 = 0xc000_003e;

const LOAD: u16 = 0x20;
const IS: u16 = 0x15;
const IS_AT_LEAST: u16 = 0x35;
const HAS: u16 = 0x45;
const JUMP: u16 = 0x05;
const ANSWER: u16 = 0x06;

/// Returns an instruction of a filter.
const fn step(code: u16, yes: u8, no: u8, k: u32) -> libc::sock_filter {
    libc::sock_filter { code, jt: yes, jf: no, k }
}

/// Traps the calls of all code that is loaded now, on all threads.
pub fn install() {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    // SAFETY: the function takes what it is given here, and keeps nothing.
    unsafe { libc::dl_iterate_phdr(Some(add_object), (&raw mut ranges).cast()) };
    let program = assemble(&ranges);
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut() };
    let flags = libc::SECCOMP_FILTER_FLAG_TSYNC | libc::SECCOMP_FILTER_FLAG_SPEC_ALLOW;
    let arguments =
        [libc::SECCOMP_SET_MODE_FILTER as usize, flags as usize, (&raw const filter).expose_provenance(), 0, 0, 0];
    // Programs that change who they are must go on to work, if that can be had.
    // SAFETY: a filter, which the kernel copies.
    if unsafe { native::call(libc::SYS_seccomp, arguments) } == 0 {
        return;
    }
    // SAFETY: takes numbers only.
    unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    // SAFETY: as above.
    if unsafe { native::call(libc::SYS_seccomp, arguments) } != 0 {
        native::die("the kernel takes no filter");
    }
}

/// Adds the code of an object: all but this library's, the dynamic linker's and the kernel's.
unsafe extern "C" fn add_object(object: *mut libc::dl_phdr_info, _: usize, ranges: *mut c_void) -> c_int {
    // SAFETY: the vector of `install`.
    let ranges = unsafe { &mut *ranges.cast::<Vec<(u64, u64)>>() };
    // SAFETY: the dynamic linker's description of an object.
    let object = unsafe { &*object };
    // SAFETY: the object's headers, as many as it says.
    let headers = unsafe { core::slice::from_raw_parts(object.dlpi_phdr, object.dlpi_phnum.into()) };
    // SAFETY: a string, or null.
    let name = (!object.dlpi_name.is_null()).then(|| unsafe { core::ffi::CStr::from_ptr(object.dlpi_name) });
    let name = name.map_or(&b""[..], core::ffi::CStr::to_bytes);
    let file = name.rsplit(|byte| *byte == b'/').next().unwrap_or(name);
    let ours = (install as fn()) as usize as u64;
    let code = headers.iter().filter(|header| header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_X != 0);
    let code: Vec<(u64, u64)> = code
        .map(|header| (object.dlpi_addr + header.p_vaddr, object.dlpi_addr + header.p_vaddr + header.p_memsz))
        .collect();
    let is_ours = code.iter().any(|(start, end)| (*start..*end).contains(&ours));
    if !is_ours && !file.starts_with(b"ld-linux") && !file.starts_with(b"linux-vdso") {
        ranges.extend(code);
    }
    0
}

/// Returns the filter's program.
fn assemble(ranges: &[(u64, u64)]) -> Vec<libc::sock_filter> {
    let allow = step(ANSWER, 0, 0, libc::SECCOMP_RET_ALLOW);
    let mut program = vec![step(LOAD, 0, 0, ARCHITECTURE), step(IS, 1, 0, X86_64), allow, step(LOAD, 0, 0, NUMBER)];
    // A call that is trapped jumps over the rest of this list and the answer after it.
    let mut jumps = Vec::new();
    for number in TRAPPED {
        program.push(step(IS, 0, 1, number as u32));
        jumps.push(program.len());
        program.push(step(JUMP, 0, 0, 0));
    }
    // Memory that is shared with other processes is noted (`regions`).
    program.push(step(IS, 0, 3, libc::SYS_mmap as u32));
    program.push(step(LOAD, 0, 0, FOURTH));
    program.push(step(HAS, 0, 1, libc::MAP_SHARED as u32));
    jumps.push(program.len());
    program.push(step(JUMP, 0, 0, 0));
    program.push(allow);
    let code = program.len();
    for at in jumps {
        program[at].k = (code - at - 1) as u32;
    }
    let halves = |address: u64| ((address >> 32) as u32, address as u32);
    for &(start, end) in ranges {
        // Each piece lies between multiples of 4 GiB, so that the upper halves are the same.
        let mut at = start;
        while at < end {
            let next = end.min((at >> 32 << 32) + (1 << 32));
            let ((upper, first), (_, last)) = (halves(at), halves(next - 1));
            program.extend([
                step(LOAD, 0, 0, CODE + 4),
                step(IS, 0, 4, upper),
                step(LOAD, 0, 0, CODE),
                step(IS_AT_LEAST, 0, 2, first),
                step(0x25, 1, 0, last),
                step(ANSWER, 0, 0, libc::SECCOMP_RET_TRAP),
            ]);
            at = next;
        }
    }
    program.push(allow);
    program
}
