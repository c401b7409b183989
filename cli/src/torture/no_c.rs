//! The torture of the C face, in a command that was built without a compiler of C.

use std::process::ExitCode;

use crate::args::C;

pub fn run(_: &C) -> Result<ExitCode, String> {
    Err("this command was built without its part in C: `cargo install leeward-cli --features c`".to_string())
}
