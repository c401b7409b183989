//! `cargo compare readme`: README.md's picture and the table of docs/measured.md, taken from pages of
//! `bench/results`: the newest of each kind. It measures nothing. The pages' figures are the items
//! that `markdown::figures` writes.

mod picture;

use std::fs;
use std::path::{Path, PathBuf};

use crate::cli::Readme;
use crate::error::Error;
use crate::figure::more_is_better;
use crate::markdown::table;
use crate::report::short;

/// The picture, and where README.md finds it: on a registry's page a relative link leads nowhere.
const PICTURE: &str = "docs/measured.svg";
const RAW: &str = "https://raw.githubusercontent.com/leeward-rs/leeward/main/";
const PAGES: &str = "https://github.com/leeward-rs/leeward/blob/main/";

/// What is written stands between these lines of a document.
const BEGIN: &str = "<!-- measured: begin; `cargo compare readme` writes these lines -->";
const END: &str = "<!-- measured: end -->";

/// The widest line of a document.
const WIDTH: usize = 120;

/// A ratio this close to 1 is neither better nor worse: runs of the same code differ by as much.
const EQUAL: f64 = 0.02;

/// What the names of pages end in: those of the C face, of the containers, and of all else.
const KINDS: [&str; 3] = ["-c", "-collect", ""];

/// The rows: what the documents call each, and what the page calls the figure. They are the operations
/// that users of each part make most often, beside the strongest peer there, and two in which the
/// peer is well ahead of us. Of the containers they are the four best and the four worst.
const ROWS: [(&str, &str); 18] = [
    ("RCU section: enter, load, leave", "enter + load + leave, one thread, rcu::read()"),
    ("`synchronize`, one busy reader", "synchronize, one busy reader, empty sections"),
    (
        "a reader's sections beside 16 writers that synchronize",
        "16 writers, one reader with 100 us sections: the reader's sections",
    ),
    ("`asym::RwLock`: one read", "asym::RwLock, one read, uncontended"),
    ("`sync::Mutex`: lock and unlock, uncontended", "Mutex, lock + unlock, uncontended"),
    (
        "`sync::Condvar`: two threads hand over to each other",
        "Condvar, two threads hand over to each other: notify_one with the lock held, wait",
    ),
    ("`robust::Mutex`: lock and unlock, uncontended", "robust Mutex, shared: lock + unlock, uncontended"),
    ("engine: `UNLOCK_PI` beside 100 waiters", "UNLOCK_PI, 100 waiters, the call"),
    ("C: lock, dereference, unlock, in a shared library", "C, memb: lock + dereference + unlock, in a shared library"),
    ("C: lock and unlock within a section", "C, memb: lock + unlock within a section, in a program"),
    ("`HashMap`, 1 k entries: `get`", "leeward HashMap, map, 1k entries, 1 thread, uniform, 100/0"),
    ("`HashMap`, 1 k entries, two threads, 5 % writes", "leeward HashMap, map, 1k entries, 2 threads, uniform, 95/5"),
    ("`ShardMap`, 1 k entries, two threads: `get`", "leeward ShardMap, map, 1k entries, 2 threads, Zipf 0.99, 100/0"),
    (
        "`OrderedMap`, 1 k entries: a scan of 100",
        "leeward OrderedMap, ordered map, 1k entries, 1 thread, scan of 100, 100/0",
    ),
    ("`HashMap`, 1 k entries, one thread, 50 % writes", "leeward HashMap, map, 1k entries, 1 thread, uniform, 50/50"),
    ("`ShardMap`, 1 k entries, one thread, 5 % writes", "leeward ShardMap, map, 1k entries, 1 thread, uniform, 95/5"),
    (
        "`Queue`: from a push until a consumer that slept has it",
        "leeward Queue, pop, queue, a consumer that sleeps: from a push until its pop has returned",
    ),
    ("`Stack`, two threads: a pop and a push", "stack, 2 threads: pairs of a pop and a push"),
];

/// Writes the picture and the two documents, or prints the table, or fails if they are others.
pub fn write(options: &Readme) -> Result<bool, Error> {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let pages = match options.pages.as_slice() {
        [] => KINDS.iter().rev().map(|kind| newest(&root.join("bench/results"), kind)).collect(),
        pages => pages.iter().map(|page| Page::read(Path::new(page))).collect::<Result<Vec<_>, _>>(),
    }?;
    let items: Vec<_> = pages.iter().flat_map(|page| items(&page.text)).collect();
    let rows = ROWS.iter().map(|(label, figure)| row(label, figure, &items)).collect::<Result<Vec<_>, _>>()?;
    if options.print {
        print!("{}", measured(&pages, &rows));
        return Ok(true);
    }
    let block = |name: &str, block: String| Ok((name.to_string(), replaced(name, &read(&root.join(name))?, &block)?));
    let files: [Result<_, Error>; 3] = [
        block("README.md", shown(&pages, &rows)),
        block("docs/measured.md", measured(&pages, &rows)),
        Ok((PICTURE.to_string(), picture::svg(&rows))),
    ];
    for file in files {
        let (name, then) = file?;
        let file = root.join(&name);
        if fs::read_to_string(&file).is_ok_and(|now| now == then) {
            continue;
        }
        if options.check {
            let names: Vec<_> = pages.iter().map(|page| page.name.as_str()).collect();
            return Err(Error::new(format!(
                "{name} is not what {} give: `cargo compare readme` writes it.",
                names.join(" and ")
            )));
        }
        fs::write(file, then)?;
    }
    Ok(true)
}

/// A page of `bench/results`.
struct Page {
    name: String,
    text: String,
}

impl Page {
    fn read(path: &Path) -> Result<Page, Error> {
        Ok(Page { name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(), text: read(path)? })
    }

    /// When and where it was measured.
    fn origin(&self) -> (&str, &str) {
        let title = self.text.lines().find_map(|line| line.strip_prefix("# Measured on ")).unwrap_or("this day: here");
        title.split_once(": ").unwrap_or((title, "here"))
    }

    /// What the page has, as a link to it.
    fn link(&self) -> String {
        let kind = KINDS.iter().find(|kind| self.name.trim_end_matches(".md").ends_with(*kind)).unwrap_or(&"");
        let what = match *kind {
            "-c" => "the C face",
            "-collect" => "containers",
            _ => "RCU, locks, engine",
        };
        format!("[{what}]({PAGES}bench/results/{})", self.name)
    }
}

/// The page of a kind whose name, which begins with its date, is the last.
fn newest(results: &Path, kind: &str) -> Result<Page, Error> {
    let files = fs::read_dir(results)?.collect::<Result<Vec<_>, _>>()?;
    let is_page = |path: &PathBuf| {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        path.extension().is_some_and(|extension| extension == "md")
            && KINDS.iter().find(|kind| stem.ends_with(*kind)) == Some(&kind)
    };
    let page = files.into_iter().map(|file| file.path()).filter(is_page).max();
    Page::read(&page.ok_or_else(|| Error::new(format!("bench/results lacks a page whose name ends in `{kind}`.")))?)
}

fn read(file: &Path) -> Result<String, Error> {
    fs::read_to_string(file).map_err(|error| Error::new(format!("{} could not be read: {error}.", file.display())))
}

/// Returns the document with the lines between the marks replaced.
fn replaced(name: &str, document: &str, block: &str) -> Result<String, Error> {
    let missing = || Error::new(format!("{name} lacks the line `{BEGIN}` or, after it, `{END}`."));
    let (head, rest) = document.split_once(BEGIN).ok_or_else(missing)?;
    let (_, tail) = rest.split_once(END).ok_or_else(missing)?;
    Ok(format!("{head}{BEGIN}\n{block}{END}{tail}"))
}

/// What README.md has between the marks: the picture, and where the numbers come from.
fn shown(pages: &[Page], rows: &[Row]) -> String {
    let picture = filled(&format!("![{}]({RAW}{PICTURE})", picture::summary(rows)));
    format!("{picture}\n{}", origin(pages, &format!(" ([as a table]({PAGES}docs/measured.md))")))
}

/// What docs/measured.md has there: the same as a table.
fn measured(pages: &[Page], rows: &[Row]) -> String {
    let titles = ["what", "ours", "the peer's", "ratio", ""].map(str::to_string).to_vec();
    format!("{}\n{}", origin(pages, ""), table(std::iter::once(titles).chain(rows.iter().map(Row::cells))))
}

/// Says where the numbers come from, each machine once, and `more` of what they are.
fn origin(pages: &[Page], more: &str) -> String {
    let mut machines: Vec<(&str, Vec<String>)> = Vec::new();
    for page in pages {
        let (day, machine) = page.origin();
        let link = format!("{} ({day})", page.link());
        match machines.iter_mut().find(|(name, _)| *name == machine) {
            Some((_, links)) => links.push(link),
            None => machines.push((machine, vec![link])),
        }
    }
    let machines: Vec<_> = machines.iter().map(|(name, links)| format!("{name}: {}.", links.join(", "))).collect();
    filled(&format!(
        "{} Medians of interleaved rounds{more}; these pages have all rows, and say what was missed and what was \
         tried.",
        machines.join(" ")
    ))
}

/// Returns a paragraph in the lines of a document.
fn filled(text: &str) -> String {
    // Links are whole words.
    let options = textwrap::Options::new(WIDTH)
        .break_words(false)
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    format!("{}\n", textwrap::fill(text, options))
}

/// The items of the page's lists, each in one line.
fn items(text: &str) -> Vec<String> {
    let mut items: Vec<String> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        if let Some(first) = line.strip_prefix("- ") {
            items.push(first.to_string());
            inside = true;
        } else if let (true, Some(more), Some(item)) = (inside, line.strip_prefix("  "), items.last_mut()) {
            item.push(' ');
            item.push_str(more);
        } else {
            inside = false;
        }
    }
    items
}

/// A row: ours beside the peer's.
struct Row {
    label: String,
    ours: String,
    /// The peer's name, and its number; empty: no peer has the operation.
    peer: String,
    peers: String,
    /// Ours to the peer's.
    ratio: Option<f64>,
    more_is_better: bool,
    verdict: &'static str,
}

impl Row {
    /// How many times better ours is; less than 1: worse.
    fn factor(&self) -> Option<f64> {
        self.ratio.map(|ratio| if self.more_is_better { ratio } else { 1.0 / ratio })
    }

    fn theirs(&self) -> String {
        if self.peer.is_empty() { "absent".to_string() } else { format!("{}, {}", self.peers, self.peer) }
    }

    fn cells(&self) -> Vec<String> {
        let ratio = self.ratio.map_or("–".to_string(), short);
        // In a document a name in angle brackets would be a tag.
        let theirs = self.theirs().replace('<', "\\<");
        vec![self.label.clone(), self.ours.clone(), theirs, ratio, self.verdict.to_string()]
    }
}

fn row(label: &str, figure: &str, items: &[String]) -> Result<Row, Error> {
    let no = |why| Error::new(format!("The pages {why} `{figure}`, which the table has."));
    // Several figures may share a name: the first one's peer is the row's.
    let measured = items.iter().find_map(|item| item.strip_prefix(figure)?.strip_prefix(": **"));
    let (ours, rest) = measured.ok_or_else(|| no("lack"))?.split_once("**").ok_or_else(|| no("do not give"))?;
    let ours = Amount::parse(ours).ok_or_else(|| no("have no number for"))?;
    let more_is_better = more_is_better(&ours.unit);
    let mut row = Row {
        label: label.to_string(),
        ours: ours.text(),
        peer: String::new(),
        peers: String::new(),
        ratio: None,
        more_is_better,
        verdict: "",
    };
    let Some((peer, ratio)) = rest.trim_start_matches(", ").split_once("; ratio ") else { return Ok(row) };
    let (peer, theirs) = peer_of(peer).ok_or_else(|| no("have no peer's number for"))?;
    row.peer = peer.to_string();
    row.peers = ours.like(theirs).text();
    row.ratio = ratio.split(' ').next().and_then(|ratio| ratio.parse().ok());
    row.verdict = row.ratio.map_or("", |ratio| verdict(ratio, more_is_better));
    Ok(row)
}

/// Splits the peer's name from its number, with which the text ends.
fn peer_of(text: &str) -> Option<(&str, f64)> {
    let has_scale = [" k", " M", " G"].iter().any(|scale| text.ends_with(scale));
    let (at, _) = text.rmatch_indices(' ').nth(usize::from(has_scale))?;
    Some((&text[..at], number_of(&text[at + 1..])?.0))
}

/// A number as `report::short` writes it, and what follows it.
fn number_of(text: &str) -> Option<(f64, &str)> {
    let (digits, rest) = text.split_once(' ').unwrap_or((text, ""));
    let number: f64 = digits.parse().ok()?;
    let scales = [("k", 1e3), ("M", 1e6), ("G", 1e9)];
    let scaled = scales.iter().find_map(|(suffix, scale)| {
        let rest = rest.strip_prefix(suffix)?;
        (rest.is_empty() || rest.starts_with(' ')).then(|| (number * scale, rest.trim_start()))
    });
    Some(scaled.unwrap_or((number, rest)))
}

/// A number with its unit.
struct Amount {
    value: f64,
    unit: String,
}

impl Amount {
    fn parse(text: &str) -> Option<Amount> {
        let (value, unit) = number_of(text)?;
        Some(Amount { value, unit: unit.to_string() })
    }

    /// Another number of the same unit.
    fn like(&self, value: f64) -> Amount {
        Amount { value, unit: self.unit.clone() }
    }

    /// Writes thousands of nanoseconds as microseconds, and of a rate `/s` alone: the label says of
    /// what.
    fn text(&self) -> String {
        match self.unit.as_str() {
            "ns" if self.value >= 1e3 => format!("{} µs", short(self.value / 1e3)),
            unit if unit.ends_with("/s") => format!("{}/s", short(self.value)),
            unit => format!("{} {unit}", short(self.value)),
        }
    }
}

fn verdict(ratio: f64, more_is_better: bool) -> &'static str {
    match ratio {
        _ if (ratio - 1.0).abs() <= EQUAL => "equal",
        _ if (ratio > 1.0) == more_is_better => "better",
        _ => "worse",
    }
}

#[cfg(test)]
mod tests {
    use super::{BEGIN, END, items, replaced, row};

    const PAGE: &str = "\
text
- a rate, two threads: **756 k /s**,
  pthread robust, shared 189 k; ratio 4.04 (2.89 .. 4.90); target ≥ 1: met.
- a time: **16.9 k ns**, the kernel's futex 9229; ratio 1.88 (1.41 .. 2.24).
- absent: **2.00 ns**, usync is absent (1.00 .. 3.00).

not an item
";

    fn cells(figure: &str) -> Vec<String> {
        row("label", figure, &items(PAGE)).unwrap().cells()
    }

    #[test]
    fn a_row_is_read_from_an_item() {
        assert_eq!(
            cells("a rate, two threads"),
            ["label", "756 k/s", "189 k/s, pthread robust, shared", "4.04", "better"]
        );
        assert_eq!(cells("a time"), ["label", "16.9 µs", "9.23 µs, the kernel's futex", "1.88", "worse"]);
        assert_eq!(cells("absent"), ["label", "2.00 ns", "absent", "–", ""]);
        assert!(row("label", "another", &items(PAGE)).is_err());
    }

    #[test]
    fn only_what_is_between_the_marks_is_replaced() {
        let document = format!("above\n{BEGIN}\nold\n{END}\nbelow\n");
        let replaced = replaced("a page", &document, "new\n").unwrap();
        assert_eq!(replaced, format!("above\n{BEGIN}\nnew\n{END}\nbelow\n"));
        assert!(super::replaced("a page", "no marks", "new\n").is_err());
    }
}
