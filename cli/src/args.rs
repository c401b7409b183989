//! The command line. A wrong one is answered by one sentence and exit code 2.

use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use leeward::fence::Strategy;

/// Diagnose and torture the leeward synchronization library.
#[derive(Parser)]
#[command(
    name = "leeward",
    version,
    disable_help_subcommand = true,
    after_help = "Exit code: 0 all is well, 1 a violation was found, 2 the command or LEEWARD_FENCE is wrong."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Show what this kernel and machine provide, what each part means, and what to do about what
    /// is missing
    Doctor(Doctor),
    /// Try to break the library, for seconds or for hours
    Torture {
        #[command(subcommand)]
        subject: Subject,
    },
    /// Print the completions of a shell: `leeward completions bash >
    /// ~/.local/share/bash-completion/completions/leeward`
    Completions {
        /// The shell that is to complete the words
        shell: Shell,
    },
    /// Write the manual pages, one for each verb: `leeward man ~/.local/share/man/man1`
    Man {
        /// Where the pages are written; made if it does not exist
        directory: PathBuf,
    },
}

#[derive(Subcommand)]
pub enum Subject {
    /// Userspace RCU: poisoned memory, nested sections, signals, forks, short-lived threads, stuck
    /// readers
    Rcu(Rcu),
    /// Userspace RCU through its C face: readers and writers that the compiler of C inlined, beside
    /// those in Rust, in the domains that both share
    C(C),
    /// Containers: maps that grow and shrink all the time, queues and stacks; values that poison
    /// themselves, stuck readers, leaked guards, threads that come and go, forks
    Collect(Storm),
    /// Hazard pointers: poisoned memory, hazard pointers that travel, destructors that retire, a
    /// stuck reader
    Hazard(Storm),
    /// Robust locks: processes that are killed at random instants, just after a wake, and at every
    /// instruction of lock and unlock
    Robust(Robust),
}

/// Returns the whole command line, which the manual and the completions are generated from, too. Where
/// a verb is missing, that is an error which names the verbs, and not the help.
pub fn command() -> clap::Command {
    Cli::command()
        .arg_required_else_help(false)
        .mut_subcommand("torture", |torture| torture.arg_required_else_help(false).disable_help_subcommand(true))
}

#[derive(Args)]
pub struct Doctor {
    /// Print one JSON object to standard output
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct Rcu {
    #[command(flatten)]
    pub storm: Storm,
    /// Which kind of reader, or `all`, one after the other
    #[arg(long, value_enum, value_name = "NAME", default_value = "all")]
    pub flavour: Flavours,
}

#[derive(Args)]
pub struct C {
    #[command(flatten)]
    pub storm: Storm,
    /// Which domain of C, or `all`, one after the other
    #[arg(long, value_enum, value_name = "NAME", default_value = "all")]
    pub domain: Domains,
}

/// What the tortures of RCU, containers and hazard pointers have in common.
#[derive(Args)]
pub struct Storm {
    /// Duration in seconds
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    pub seconds: u32,
    /// Seed of the choice of actions, decimal or hexadecimal with 0x [default: random, and printed]
    #[arg(long, value_name = "S", value_parser = seed)]
    pub seed: Option<u64>,
    /// How the heavy fence reaches the other threads: a strategy's name, or `all`, one after the
    /// other
    #[arg(long, value_name = "NAME", default_value = "all", value_parser = strategies)]
    pub strategy: Strategies,
    /// The number of reading threads
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub readers: u16,
    /// The number of writing threads
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub writers: u16,
}

#[derive(Args)]
pub struct Robust {
    /// Duration in seconds
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    pub seconds: u32,
    /// Seed of the choice of actions, decimal or hexadecimal with 0x [default: random, and printed]
    #[arg(long, value_name = "S", value_parser = seed)]
    pub seed: Option<u64>,
    /// Processes that lock
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(2..=60))]
    pub processes: u16,
}

/// The strategies to go through.
#[derive(Clone, Copy)]
pub enum Strategies {
    All,
    Only(Strategy),
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Flavours {
    /// Registered at a thread's first section
    Auto,
    /// `Reader` handles, some of which move between threads
    Handle,
    /// Readers that announce quiescent states
    Qsbr,
    /// A full fence in the reader
    Mb,
    All,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Domains {
    /// `lee_memb`: no fence in the reader
    Memb,
    /// `lee_bp`: no fence in the reader
    Bp,
    /// `lee_mb`: a full fence in the reader
    Mb,
    /// `lee_qsbr`: readers that announce quiescent states
    Qsbr,
    All,
}

fn seed(text: &str) -> Result<u64, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| "it must be a 64-bit number, decimal or hexadecimal with 0x".to_string())
}

fn strategies(text: &str) -> Result<Strategies, String> {
    if text == "all" {
        return Ok(Strategies::All);
    }
    Strategy::from_name(text).map(Strategies::Only).ok_or_else(|| {
        let known: Vec<_> = Strategy::ALL.iter().map(|strategy| format!("`{strategy}`")).collect();
        format!("it may be `all`, {}", known.join(", "))
    })
}

/// Parses the command line. Otherwise prints the help or a sentence, and returns the exit code.
pub fn parse() -> Result<Command, u8> {
    let parsed = command().try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches));
    parsed.map(|cli| cli.command).map_err(|error| {
        if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
            // If standard output is closed, no reader misses the text.
            let _ = error.print();
            return 0;
        }
        eprintln!("leeward: {}", sentence(&error));
        super::BAD_INPUT
    })
}

/// Returns one sentence that says what is wrong and what would be right.
fn sentence(error: &clap::Error) -> String {
    let said = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        Some(ContextValue::Strings(texts)) => listed(texts),
        _ => String::new(),
    };
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let right = meant(error, ContextKind::SuggestedSubcommand, "`--help` in its place lists the verbs");
            format!("there is no verb `{}` here: {right}", said(ContextKind::InvalidSubcommand))
        }
        ErrorKind::MissingSubcommand => {
            let (command, verbs) = (said(ContextKind::InvalidSubcommand), said(ContextKind::ValidSubcommand));
            format!("`{command}` needs a verb, one of {verbs}: `{command} --help` says more")
        }
        ErrorKind::UnknownArgument => {
            let right = meant(error, ContextKind::SuggestedArg, "`--help` after the same words lists them");
            format!("`{}` is no option here: {right}", said(ContextKind::InvalidArg))
        }
        ErrorKind::MissingRequiredArgument => {
            format!("{} is missing: `--help` after the same words says what it is", said(ContextKind::InvalidArg))
        }
        ErrorKind::InvalidValue if said(ContextKind::InvalidValue).is_empty() => {
            format!("`{}` needs a value", said(ContextKind::InvalidArg))
        }
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
            let (value, option) = (said(ContextKind::InvalidValue), said(ContextKind::InvalidArg));
            let reason = match (std::error::Error::source(error), said(ContextKind::ValidValue)) {
                (Some(source), _) => format!(": {source}"),
                (None, valid) if valid.is_empty() => String::new(),
                (None, valid) => format!(": it may be {valid}"),
            };
            format!("`{value}` is no value for `{option}`{reason}")
        }
        _ => {
            let text = error.to_string();
            text.lines().next().unwrap_or("the command is wrong").trim_start_matches("error: ").to_string()
        }
    }
}

/// Returns what may have been meant, as clap suggests it, and `otherwise` where nothing is similar.
fn meant(error: &clap::Error, kind: ContextKind, otherwise: &str) -> String {
    match error.get(kind) {
        Some(ContextValue::String(text)) => format!("did you mean `{text}`?"),
        Some(ContextValue::Strings(texts)) if !texts.is_empty() => format!("did you mean {}?", listed(texts)),
        _ => otherwise.to_string(),
    }
}

fn listed(texts: &[String]) -> String {
    texts.iter().map(|text| format!("`{text}`")).collect::<Vec<_>>().join(", ")
}
