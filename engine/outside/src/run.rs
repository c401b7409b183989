//! Runs of programs, with a time limit, and builds of directories. `main` calls it.

use std::ffi::OsStr;
use std::fmt::{self, Display};
use std::fs::{self, File};
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::counts::Counts;
use crate::elf::{self, Kind};

/// How long a run may take, and where files are kept.
pub struct Limits {
    /// The seconds of a run.
    pub seconds: u64,
    /// The directory of copies, outputs and counters.
    pub work: PathBuf,
}

/// A program that is run.
pub struct Subject {
    /// Its name in the table, which is its command line if that is all.
    pub name: String,
    /// The file and its directory; `None`: the name is a line for the shell.
    file: Option<(PathBuf, PathBuf)>,
    /// True if it is not loaded by the dynamic linker.
    pub is_static: bool,
}

impl Subject {
    /// Returns a command line as a subject.
    pub fn program(line: &str) -> Subject {
        Subject { name: line.into(), file: None, is_static: false }
    }

    /// Returns the command.
    fn command(&self) -> Command {
        match &self.file {
            Some((file, directory)) => {
                let mut command = Command::new(file);
                command.current_dir(directory);
                command
            }
            None => {
                let mut command = Command::new("sh");
                command.args(["-c", &format!("exec {}", self.name)]);
                command
            }
        }
    }
}

/// How a run ended.
#[derive(PartialEq, Eq)]
pub enum End {
    /// The program exited.
    Exit(i32),
    /// A signal killed it.
    Signal(i32),
    /// It took too long and was killed.
    Limit,
}

/// A run's end, and how long it took.
pub struct Outcome {
    /// How it ended.
    pub end: End,
    took: Duration,
}

impl Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.took.as_secs_f64();
        match self.end {
            End::Exit(0) => write!(f, "passed, {seconds:.1} s"),
            End::Exit(code) => write!(f, "exit {code}, {seconds:.1} s"),
            End::Signal(signal) => write!(f, "signal {signal}, {seconds:.1} s"),
            End::Limit => write!(f, "killed after {seconds:.0} s"),
        }
    }
}

/// Returns an error with what it was about.
fn about(what: impl Display) -> impl FnOnce(io::Error) -> String {
    move |error| format!("{what}: {error}")
}

impl Limits {
    /// Returns the limits with the work directory made, and named in full.
    pub fn prepared(&self) -> Result<Limits, String> {
        fs::create_dir_all(&self.work).map_err(about(self.work.display()))?;
        let work = self.work.canonicalize().map_err(about(self.work.display()))?;
        Ok(Limits { seconds: self.seconds, work })
    }

    /// Copies a directory, runs make there, and returns the programs.
    pub fn build(&self, directory: &Path) -> Result<Vec<Subject>, String> {
        let name = directory.canonicalize().map_err(about(directory.display()))?;
        let name = name.file_name().unwrap_or(OsStr::new("root"));
        let copy = self.work.join("built").join(name);
        let _ = fs::remove_dir_all(&copy);
        fs::create_dir_all(&copy).map_err(about(copy.display()))?;
        let copied = Command::new("cp").arg("-a").arg(directory.join(".")).arg(&copy).status().map_err(about("cp"))?;
        let log = File::create(self.work.join("make.log")).map_err(about("make.log"))?;
        let errors = log.try_clone().map_err(about("make.log"))?;
        let made =
            Command::new("make").arg("-C").arg(&copy).stdout(log).stderr(errors).status().map_err(about("make"))?;
        if !copied.success() || !made.success() {
            return Err(format!("{}: make failed; see {}", directory.display(), self.work.join("make.log").display()));
        }
        let mut subjects = Vec::new();
        add_programs(&copy, &copy, &mut subjects).map_err(about(copy.display()))?;
        subjects.sort_by(|one, other| one.name.cmp(&other.name));
        if subjects.is_empty() { Err(format!("{} has no programs", directory.display())) } else { Ok(subjects) }
    }

    /// Runs a subject: on the engine if there are counts, to which its calls are added; else
    /// natively.
    pub fn run(&self, subject: &Subject, counts: Option<&Counts>) -> Result<Outcome, String> {
        let kind = if counts.is_some() { "engine" } else { "native" };
        let name: String =
            subject.name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(80).collect();
        let output = self.work.join(format!("{name}.{kind}.log"));
        let output = File::create(&output).map_err(about(output.display()))?;
        let errors = output.try_clone().map_err(about("a file's descriptor"))?;
        let mut command = subject.command();
        command.stdin(Stdio::null()).stdout(output).stderr(errors).process_group(0);
        let files = self.work.join("counts");
        if counts.is_some() {
            let library =
                std::env::current_exe().map_err(about("this program"))?.with_file_name("libleeward_outside.so");
            if !library.exists() {
                return Err(format!("{} is not there: build both", library.display()));
            }
            let _ = fs::remove_dir_all(&files);
            fs::create_dir_all(&files).map_err(about(files.display()))?;
            command.env("LD_PRELOAD", library).env("LEEWARD_OUTSIDE_COUNTS", &files);
        }
        let began = Instant::now();
        let mut child = command.spawn().map_err(about(&subject.name))?;
        let status = self.wait(&mut child, began).map_err(about(&subject.name))?;
        let took = began.elapsed();
        if let Some(counts) = counts {
            for file in fs::read_dir(&files).map_err(about(files.display()))?.flatten() {
                counts.add_file(&fs::read(file.path()).unwrap_or_default());
            }
        }
        let end = match status {
            None => End::Limit,
            Some(status) => status.code().map_or_else(|| End::Signal(status.signal().unwrap_or(0)), End::Exit),
        };
        Ok(Outcome { end, took })
    }

    /// Waits for a child's end; `None`: it took too long, and it and its children were killed.
    fn wait(&self, child: &mut Child, began: Instant) -> io::Result<Option<ExitStatus>> {
        while began.elapsed() < Duration::from_secs(self.seconds) {
            if let Some(status) = child.try_wait()? {
                return Ok(Some(status));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        // SAFETY: the child is not waited for yet, so the number is that of its group.
        unsafe { libc::kill(-(child.id() as i32), libc::SIGKILL) };
        child.wait()?;
        Ok(None)
    }
}

/// Adds the programs below a directory.
fn add_programs(root: &Path, directory: &Path, subjects: &mut Vec<Subject>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            add_programs(root, &path, subjects)?;
            continue;
        }
        let kind = elf::kind(&path);
        if kind != Kind::Other {
            let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
            let file = Some((path, directory.to_owned()));
            subjects.push(Subject { name, file, is_static: kind == Kind::Static });
        }
    }
    Ok(())
}
