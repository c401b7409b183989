//! `cargo compare TABLE`: leeward beside every peer, in one run. README.md beside this crate
//! describes what is measured and how. `rcu`, `locks`, `engine`, `c` and `collect` are the tables; the
//! modules here are what they share.

mod alignment;
mod c;
mod cli;
mod collect;
mod crew;
mod engine;
mod error;
mod figure;
mod groups;
mod interleave;
mod locks;
mod machine;
mod markdown;
mod plan;
mod processor;
mod rcu;
mod readme;
mod report;
mod rounds;
mod tails;
mod versions;

use std::process::ExitCode;

use cli::Table;

fn main() -> ExitCode {
    let outcome = match cli::parse() {
        Err(code) => return ExitCode::from(code),
        Ok(command) => match command.table {
            Table::Rcu(options) => rcu::compare(&options),
            Table::RcuScaling(options) => rcu::scale(&options),
            Table::Locks(options) => locks::compare(&options),
            Table::Engine(options) => engine::compare(&options),
            Table::C(options) => c::compare(&options),
            Table::Collect(options) => collect::compare(&options),
            Table::Readme(options) => readme::write(&options),
            Table::EntriesChild { map, entries } => collect::memory::child(&map, entries).map(|()| true),
            Table::MemoryChild { row, case, seconds } => {
                rcu::figures::memory::child(&row, case, seconds).map(|()| true)
            }
        },
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(1)
        }
    }
}
