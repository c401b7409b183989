//! Where the library has no robust locks.

use std::process::ExitCode;

use crate::args::Robust;

pub fn run(_: &Robust) -> Result<ExitCode, String> {
    Err("robust locks need a 64-bit system".to_string())
}
