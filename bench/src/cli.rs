//! The command line. A wrong one is answered by one sentence and exit code 2.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, Parser, Subcommand};

use crate::c::GROUPS;
use crate::collect::keys::Keys;
use crate::collect::{self, size};
use crate::plan::Plan;
use crate::rcu::figures::memory::Case;

/// leeward beside what may be used instead, measured in one run
#[derive(Parser)]
#[command(
    name = "cargo compare",
    bin_name = "cargo compare",
    version,
    subcommand_value_name = "TABLE",
    subcommand_help_heading = "Tables"
)]
#[command(
    disable_help_subcommand = true,
    after_help = "Exit code: 0 whether targets are met or not, 1 when something could not be \
    measured, 2 for a wrong command."
)]
pub struct Cli {
    #[command(subcommand)]
    pub table: Table,
}

#[derive(Subcommand)]
pub enum Table {
    /// RCU: every scheme of ours and every peer, readers and writers flat out; then the figures of
    /// the target table
    Rcu(Rcu),
    /// Locks and condition variables: every kind of ours and every peer, and the cost of futex
    /// calls
    Locks(Contests),
    /// The embedded futex engine on a process's threads, beside the kernel's futex and
    /// parking_lot_core
    Engine(Contests),
    /// The C face: leeward's headers and shared library beside liburcu's, inlined, in C programs of
    /// one compiler
    C(Face),
    /// Containers: maps, ordered maps, lists and queues, ours and every peer
    Collect(Containers),
    /// Read rate and grace-period time for 1 to 64 readers and for 1 to 10,000 idle ones, as JSON
    /// and as a picture
    RcuScaling(Scaling),
    /// Measure nothing: write README.md's picture and docs/measured.md from the pages of `bench/results`
    Readme(Readme),
    #[command(hide = true)]
    MemoryChild { row: String, case: Case, seconds: f64 },
    #[command(hide = true)]
    EntriesChild { map: String, entries: usize },
}

#[derive(Args)]
pub struct Rcu {
    /// Reading threads of the rows (the figures have their own)
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub readers: u16,
    /// Writing threads of the rows
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(0..=4096))]
    pub writers: u16,
    /// Write the results as Markdown to this file, as `bench/results` has them (`-`: to standard
    /// output)
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<String>,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Args)]
pub struct Contests {
    /// Write the results as Markdown to this file, as `bench/results` has them (`-`: to standard
    /// output)
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<String>,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Args)]
pub struct Face {
    /// Compile both faces by this command
    #[arg(long, value_name = "COMMAND", default_value = "cc")]
    pub compiler: String,
    /// Measure the figures of one group alone
    #[arg(long, value_name = "GROUP", value_parser = GROUPS)]
    pub only: Option<String>,
    /// Write the results as Markdown to this file, as `bench/results` has them (`-`: to standard
    /// output)
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<String>,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Args)]
pub struct Containers {
    /// Measure the lines of one group alone
    #[arg(long, value_name = "GROUP", value_parser = collect::GROUPS)]
    pub only: Option<String>,
    /// Entries of the maps [default: 1k,100k,4M, quick: 1k,100k]
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = size::parse)]
    pub sizes: Vec<usize>,
    /// Threads of the maps
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1,2,8",
        value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Vec<u16>,
    /// Shares of writes, in percent
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "0,5,50",
        value_parser = clap::value_parser!(u32).range(0..=100))]
    pub writes: Vec<u32>,
    /// Distributions of the keys [default: all]
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_enum)]
    pub keys: Vec<Keys>,
    /// Entries of the maps whose bytes are counted, such as 10M
    #[arg(long, value_name = "N", default_value = "1M", value_parser = size::parse)]
    pub entries: usize,
    /// Write the results as Markdown to this file, as `bench/results` has them (`-`: to standard
    /// output)
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<String>,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Args)]
pub struct Scaling {
    /// Draw the picture to this file
    #[arg(long, value_name = "FILE")]
    pub svg: Option<String>,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Args)]
pub struct Readme {
    /// The pages to take the numbers from [default: the newest of `bench/results`, and the newest of C]
    #[arg(value_name = "PAGE")]
    pub pages: Vec<String>,
    /// Write nothing; fail if picture or table are not what the pages give
    #[arg(long)]
    pub check: bool,
    /// Write the table to standard output and leave the files alone
    #[arg(long)]
    pub print: bool,
}

#[derive(Args)]
pub struct Common {
    /// Time of a row, all its rounds together [default: 3, quick: 0.45]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub seconds: Option<f64>,
    /// Rounds; in each, ours and the peers are measured by turns [default: 5, quick: 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub rounds: Option<u16>,
    /// Take under a minute: the same figures from fewer and shorter rounds
    #[arg(long)]
    pub quick: bool,
    /// Describe each figure: what was measured, beside which peer, and the best rounds
    #[arg(long)]
    pub verbose: bool,
    /// Write everything as JSON to this file (`-`: to standard output, and the table to standard
    /// error)
    #[arg(long, value_name = "FILE")]
    pub json: Option<String>,
}

impl Common {
    pub fn plan(&self, readers: usize, writers: usize) -> Plan {
        let seconds = self.seconds.unwrap_or(if self.quick { 0.45 } else { 3.0 });
        let rounds = self.rounds.unwrap_or(if self.quick { 3 } else { 5 });
        Plan::new(readers, writers, seconds, rounds.into(), self.quick)
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.01..=86_400.0).contains(&seconds) => Ok(seconds),
        _ => Err("it must be a number of seconds, 0.01 or more".to_string()),
    }
}

/// Parses the command line. Otherwise prints the help or a sentence, and returns the exit code.
pub fn parse() -> Result<Cli, u8> {
    Cli::try_parse().map_err(|error| {
        if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
            let _ = error.print();
            return 0;
        }
        eprintln!("{}", sentence(&error));
        2
    })
}

/// Returns one sentence that says what is wrong and what would be right.
fn sentence(error: &clap::Error) -> String {
    let said = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        _ => String::new(),
    };
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            format!(
                "There is no table `{}`: the tables are `rcu`, `rcu-scaling`, `locks`, `engine`, `c` and \
                 `collect`; \
                 `readme` writes README.md's.",
                said(ContextKind::InvalidSubcommand)
            )
        }
        ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            "Name a table: `cargo compare rcu`, `cargo compare rcu-scaling`, `cargo compare locks`, \
             `cargo compare engine`, `cargo compare c` or `cargo compare collect` (`cargo compare --help` tells more)."
                .to_string()
        }
        ErrorKind::UnknownArgument => {
            format!(
                "`{}` is no option of this table: `cargo compare TABLE --help` lists them.",
                said(ContextKind::InvalidArg)
            )
        }
        ErrorKind::InvalidValue if said(ContextKind::InvalidValue).is_empty() => {
            format!("`{}` needs a value.", said(ContextKind::InvalidArg))
        }
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
            let reason = std::error::Error::source(error).map(|source| format!(": {source}")).unwrap_or_default();
            format!(
                "`{}` is no value for `{}`{reason}.",
                said(ContextKind::InvalidValue),
                said(ContextKind::InvalidArg)
            )
        }
        ErrorKind::ArgumentConflict => format!("`{}` is given twice.", said(ContextKind::InvalidArg)),
        _ => error
            .to_string()
            .lines()
            .next()
            .unwrap_or("The command is wrong.")
            .trim_start_matches("error: ")
            .to_string(),
    }
}
