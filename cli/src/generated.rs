//! The files that are generated from the command line: completions for shells, and manual pages.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use clap_complete::Shell;

use crate::{args, manual};

/// Prints the script that makes `shell` complete the command's words.
pub fn completions(shell: Shell) -> ExitCode {
    clap_complete::generate(shell, &mut args::command(), "leeward", &mut io::stdout());
    ExitCode::SUCCESS
}

/// Writes a page for the command and one for each verb into `directory`, which is made if it does
/// not exist.
///
/// # Errors
/// Returns a sentence that says what could not be written.
pub fn manual(directory: &Path) -> Result<ExitCode, String> {
    let wrong = |error: io::Error| format!("the manual could not be written to {}: {error}", directory.display());
    std::fs::create_dir_all(directory).map_err(wrong)?;
    manual::write(args::command(), directory).map_err(wrong)?;
    Ok(ExitCode::SUCCESS)
}
