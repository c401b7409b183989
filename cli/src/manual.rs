//! The manual pages: what the command line says of itself, and what a page has beside: exit codes, the
//! environment, examples, and where to read on.

use std::io;
use std::path::Path;

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, italic, roman};

/// An example: what is typed, and what it is good for.
type Example = (&'static str, &'static str);

/// The examples of each page.
const EXAMPLES: [(&str, &[Example]); 10] = [
    (
        "leeward",
        &[
            ("leeward doctor", "Says what this kernel and machine give, what it means, and what to do."),
            ("leeward torture rcu --seconds 60", "Tries to break userspace RCU on this machine for a minute."),
            ("leeward man ~/.local/share/man/man1", "Writes the other pages, for man(1) to find."),
        ],
    ),
    (
        "leeward-doctor",
        &[
            ("leeward doctor", "The report, as wide as the terminal."),
            ("leeward doctor | grep fence", "A finding is one line where standard output is no terminal."),
            ("leeward doctor --json >doctor.json", "The same for programs, with the measured nanoseconds."),
            ("LEEWARD_FENCE=signal leeward doctor", "What is in use where membarrier(2) is refused."),
        ],
    ),
    (
        "leeward-torture",
        &[
            ("leeward torture collect", "Maps, queues and stacks, for ten seconds."),
            ("leeward torture hazard --help", "The options of one torture."),
        ],
    ),
    (
        "leeward-torture-rcu",
        &[
            ("leeward torture rcu --seconds 3600", "Every kind of reader by every strategy, for an hour."),
            ("leeward torture rcu --flavour qsbr --strategy signal", "One kind of reader by one strategy."),
            ("leeward torture rcu --seed 0x1234abcd", "The same choices again as in a run that printed this seed."),
        ],
    ),
    (
        "leeward-torture-c",
        &[
            ("leeward torture c", "Readers that a C compiler inlined; asks for a build with `--features c`."),
            ("leeward torture c --domain bp --seconds 60", "One of the domains of C, for a minute."),
        ],
    ),
    (
        "leeward-torture-collect",
        &[("leeward torture collect --seconds 60 --readers 16", "More readers than processors, for a minute.")],
    ),
    (
        "leeward-torture-hazard",
        &[("leeward torture hazard --strategy signal", "Where each heavy fence signals every thread.")],
    ),
    (
        "leeward-torture-robust",
        &[
            ("leeward torture robust --seconds 120", "Long enough for a kill at every instruction."),
            ("leeward torture robust --processes 16", "More processes at each lock."),
        ],
    ),
    (
        "leeward-completions",
        &[("leeward completions bash >~/.local/share/bash-completion/completions/leeward", "For bash(1).")],
    ),
    ("leeward-man", &[("leeward man ~/.local/share/man/man1", "Where man(1) finds the pages.")]),
];

const FENCE: &str = "How heavy fences reach the other threads: membarrier, membarrier-global or signal. If it is \
    empty, auto or not set, the first of these that works here is taken. Another value is an error (exit code 2).";
const COLUMNS: &str = "The number of columns of a line, where the terminal is not to be asked; also where standard \
    output is no terminal, whose lines are whole otherwise.";

/// Writes a page for `command` and one for each verb below it into `directory`.
pub fn write(mut command: Command, directory: &Path) -> io::Result<()> {
    command.build();
    pages(&command, directory)
}

fn pages(command: &Command, directory: &Path) -> io::Result<()> {
    command.get_subcommands().try_for_each(|verb| pages(verb, directory))?;
    let man = Man::new(command.clone()).source(concat!("leeward ", env!("CARGO_PKG_VERSION"))).manual("leeward");
    // No day; without the quotes the next argument would be one.
    let man = man.date("\"\"");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    let mut roff = Roff::new();
    more(&mut roff, command.get_display_name().unwrap_or_else(|| command.get_name()));
    roff.to_writer(&mut page)?;
    // Each part begins with what a page says once.
    let preamble = Roff::new().render();
    let page = preamble.clone() + &String::from_utf8_lossy(&page).replace(&preamble, "");
    std::fs::write(directory.join(man.get_filename()), page)
}

/// Appends the sections that clap knows nothing of.
fn more(roff: &mut Roff, page: &str) {
    roff.control("SH", ["EXIT STATUS"]);
    for (code, meaning) in
        [("0", "All is well."), ("1", "A violation was found."), ("2", "The command or LEEWARD_FENCE is wrong.")]
    {
        roff.control("TP", []).text([bold(code)]).text([roman(meaning)]);
    }
    // The others neither fence nor report.
    if page == "leeward" || page.starts_with("leeward-doctor") || page.starts_with("leeward-torture") {
        roff.control("SH", ["ENVIRONMENT"]);
        roff.control("TP", []).text([bold("LEEWARD_FENCE")]).text([roman(FENCE)]);
        if !page.starts_with("leeward-torture") {
            roff.control("TP", []).text([bold("COLUMNS")]).text([roman(COLUMNS)]);
        }
    }
    roff.control("SH", ["EXAMPLES"]);
    for (typed, purpose) in examples(page) {
        roff.control("TP", []).text([bold(*typed)]).text([roman(*purpose)]);
    }
    roff.control("SH", ["SEE ALSO"]);
    let others = EXAMPLES.iter().map(|(other, _)| (*other, "1")).filter(|(other, _)| *other != page);
    let further = [("futex", "2"), ("membarrier", "2"), ("seccomp", "2"), ("leeward", "7")];
    let mut references = Vec::new();
    for (name, section) in others.filter(|(other, _)| is_near(page, other)).chain(further) {
        if !references.is_empty() {
            references.push(roman(", "));
        }
        references.extend([italic(name), roman(format!("({section})"))]);
    }
    roff.text(references);
    roff.control("PP", []);
    roff.text([roman(concat!("The book: ", env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/README.md"))]);
}

fn examples(page: &str) -> &'static [Example] {
    EXAMPLES.iter().find(|(of, _)| *of == page).map_or(&[], |(_, examples)| examples)
}

/// Returns true if one of the two pages is of a verb right below the other's, or of one beside it.
fn is_near(page: &str, other: &str) -> bool {
    let parent = |page: &str| page.rsplit_once('-').map_or(String::new(), |(parent, _)| parent.to_string());
    parent(page) == other || parent(other) == page || parent(page) == parent(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of an example are a command line; those of the shell are not looked at.
    #[test]
    fn every_example_is_understood() {
        for (page, examples) in EXAMPLES {
            assert!(!examples.is_empty(), "{page}");
            for (typed, _) in examples {
                let words = typed.split(' ').skip_while(|word| word.contains('='));
                let words = words.take_while(|word| !word.starts_with(['|', '>']));
                let outcome = crate::args::command().try_get_matches_from(words);
                let is_help = |error: &clap::Error| error.kind() == clap::error::ErrorKind::DisplayHelp;
                assert!(outcome.is_ok() || outcome.as_ref().is_err_and(is_help), "{typed}: {outcome:?}");
            }
        }
    }
}
