//! Which files are programs, and which of them the dynamic linker loads. `run` calls it.

use std::path::Path;

/// What kind of file it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A program that the dynamic linker loads.
    Dynamic,
    /// A program that the kernel starts alone.
    Static,
    /// A file that is no program.
    Other,
}

/// The type of a program header that names the dynamic linker.
const INTERPRETER: u32 = 3;
/// The size of a program header.
const HEADER: usize = 56;

/// Returns the kind of a file: a 64-bit program of this machine, or another file.
pub fn kind(path: &Path) -> Kind {
    use std::os::unix::fs::PermissionsExt;
    let may_run = path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0);
    let bytes = if may_run { std::fs::read(path).unwrap_or_default() } else { Vec::new() };
    // Executables and those that may be loaded anywhere, of 64 bits.
    if !bytes.starts_with(b"\x7fELF\x02") || !matches!(bytes.get(16), Some(2 | 3)) {
        return Kind::Other;
    }
    let number = |at: usize, len: usize| {
        bytes
            .get(at..at + len)
            .map_or(0, |bytes| bytes.iter().rev().fold(0_usize, |sum, byte| sum << 8 | usize::from(*byte)))
    };
    let (headers, count, entry) = (number(32, 8), number(56, 2), number(24, 8));
    let is_loaded = (0..count).any(|i| number(headers + HEADER * i, 4) == INTERPRETER as usize);
    match (is_loaded, bytes[16], entry) {
        (true, ..) => Kind::Dynamic,
        // A library has no interpreter either, but most have no entry.
        (false, 3, 0) => Kind::Other,
        (false, ..) if path.extension().is_some_and(|name| name == "so") => Kind::Other,
        (false, ..) => Kind::Static,
    }
}
