//! The torture of robust locks on systems where the library has none.

use std::process::ExitCode;

use crate::args::Robust;

pub fn run(_: &Robust) -> Result<ExitCode, String> {
    Err("robust locks need a 64-bit system".to_string())
}
