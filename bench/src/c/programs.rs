//! The C programs: builds `libleeward.so` as users get it, then `c/face/` once for each face and
//! flavour, and runs what was built.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use super::flavour::Flavour;
use crate::error::Error;
use crate::locks::processors;

/// The sources of a program, and those of the shared library that `plugin.c` loads.
const PROGRAM: [&str; 9] =
    ["main.c", "sections.c", "crew.c", "grace.c", "callbacks.c", "latency.c", "threads.c", "queues.c", "map.c"];
const LIBRARY: &str = "sections.c";
const PLUGIN: &str = "plugin.c";

/// The face that a program is compiled for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    Ours,
    Theirs,
}

/// What was built: the programs of each face and flavour, and their shared libraries.
pub struct Programs {
    command: String,
    version: String,
    /// Where the programs are.
    folder: PathBuf,
    /// The flavours of liburcu that are installed.
    installed: Vec<Flavour>,
    /// True if liburcu has grace periods that are polled for (0.14 and later).
    polls: bool,
}

fn bench() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the folder of `libleeward.so`.
fn leeward() -> PathBuf {
    bench().join("../target/capi")
}

impl Programs {
    /// Builds everything with the C compiler of that command.
    pub fn build(compiler: &str) -> Result<Programs, Error> {
        let version = version(compiler)?;
        make()?;
        let name = Path::new(compiler).file_name().unwrap_or_default();
        let folder = bench().join("target/c").join(name);
        fs::create_dir_all(&folder)?;
        let mut programs =
            Programs { command: compiler.to_string(), version, folder, installed: Vec::new(), polls: false };
        programs.installed = Flavour::ALL.into_iter().filter(|flavour| programs.is_installed(*flavour)).collect();
        programs.polls = programs.installed.first().is_some_and(|flavour| programs.has_polling(*flavour));
        run(programs.cc().arg(bench().join("c/face").join(PLUGIN)).arg("-o").arg(programs.plugin()).arg("-ldl"))?;
        for flavour in Flavour::ALL {
            programs.compile(Side::Ours, flavour)?;
            if programs.has(flavour) {
                programs.compile(Side::Theirs, flavour)?;
            }
        }
        Ok(programs)
    }

    /// Returns the compiler's name and version.
    pub fn compiler(&self) -> &str {
        &self.version
    }

    /// Returns true if liburcu has the flavour here.
    pub fn has(&self, flavour: Flavour) -> bool {
        self.installed.contains(&flavour)
    }

    /// Returns true if liburcu has grace periods that are polled for.
    pub fn polls(&self) -> bool {
        self.polls
    }

    pub fn program(&self, side: Side, flavour: Flavour) -> PathBuf {
        self.folder.join(format!("{}-{}", face(side), flavour.name()))
    }

    pub fn library(&self, side: Side, flavour: Flavour) -> PathBuf {
        self.folder.join(format!("{}-{}.so", face(side), flavour.name()))
    }

    fn plugin(&self) -> PathBuf {
        self.folder.join("plugin")
    }

    /// Runs a program, and returns the numbers that it prints.
    pub fn run(&self, side: Side, flavour: Flavour, figure: &str, args: &[u64]) -> Result<Vec<f64>, Error> {
        numbers(Command::new(self.program(side, flavour)).arg(figure).args(args.iter().map(u64::to_string)))
    }

    /// Does what `run` does, on one processor.
    pub fn run_alone(&self, side: Side, flavour: Flavour, figure: &str, args: &[u64]) -> Result<Vec<f64>, Error> {
        processors::on(1, || self.run(side, flavour, figure, args))?
    }

    /// Runs a loop of the shared library, on one processor.
    pub fn run_library(&self, side: Side, flavour: Flavour, figure: &str, n: u64) -> Result<Vec<f64>, Error> {
        let library = self.library(side, flavour);
        let mut command = Command::new(self.plugin());
        command.arg(library).arg(figure).arg(n.to_string());
        processors::on(1, || numbers(&mut command))?
    }

    /// Returns the file of a library of liburcu, or of `libleeward`, that programs are linked with.
    pub fn shared(&self, side: Side, flavour: Flavour) -> Result<PathBuf, Error> {
        match side {
            Side::Ours => Ok(leeward().join("libleeward.so")),
            Side::Theirs => {
                let name = format!("-print-file-name=lib{}.so", urcu(flavour));
                Ok(PathBuf::from(run(Command::new(&self.command).arg(name))?.trim()))
            }
        }
    }

    /// Returns the compiler with the flags of all sources: those of a distribution's C programs, and
    /// those of the environment's `CFLAGS`.
    fn cc(&self) -> Command {
        let mut cc = Command::new(&self.command);
        cc.args(["-O2", "-D_GNU_SOURCE", "-Wall", "-Wextra"]);
        cc.args(env::var("CFLAGS").unwrap_or_default().split_whitespace());
        cc
    }

    /// Compiles the program and the shared library of a face and flavour.
    fn compile(&self, side: Side, flavour: Flavour) -> Result<(), Error> {
        let source = |name: &&str| bench().join("c/face").join(name);
        let mut cc = self.cc();
        cc.args(["-fPIE", "-pie"]).args(self.flags(side, flavour)).args(PROGRAM.iter().map(source));
        run(cc.arg("-o").arg(self.program(side, flavour)).args(libraries(side, flavour)))?;
        let mut cc = self.cc();
        cc.args(["-fPIC", "-shared"]).args(self.flags(side, flavour)).arg(source(&LIBRARY));
        run(cc.arg("-o").arg(self.library(side, flavour)).args(libraries(side, flavour)))?;
        Ok(())
    }

    fn flags(&self, side: Side, flavour: Flavour) -> Vec<String> {
        let is = |what: bool| u8::from(what);
        let mut flags = vec![
            format!("-DFACE_FLAVOUR={}", flavour.name()),
            format!("-DFACE_QSBR={}", is(flavour == Flavour::Qsbr)),
            format!("-DFACE_POLLS={}", is(side == Side::Ours || self.polls)),
        ];
        match side {
            Side::Ours => flags.push(format!("-I{}", bench().join("../capi/include").display())),
            Side::Theirs => flags.push(format!("-DFACE_HEADER=<{}>", header(flavour))),
        }
        flags
    }

    fn is_installed(&self, flavour: Flavour) -> bool {
        self.is_valid(&format!("#include <{}>\n", header(flavour)))
    }

    fn has_polling(&self, flavour: Flavour) -> bool {
        let use_it = "void use(void) { struct urcu_gp_poll_state state = start_poll_synchronize_rcu(); (void)state; }";
        self.is_valid(&format!("#define URCU_API_MAP\n#include <{}>\n{use_it}\n", header(flavour)))
    }

    /// Returns true if the text compiles. What the compiler has to say is of no interest.
    fn is_valid(&self, text: &str) -> bool {
        let file = self.folder.join("probe.c");
        let flags = ["-fsyntax-only", "-Werror=implicit-function-declaration"];
        fs::write(&file, text).is_ok() && run(self.cc().args(flags).arg(&file)).is_ok()
    }
}

fn face(side: Side) -> &'static str {
    match side {
        Side::Ours => "leeward",
        Side::Theirs => "liburcu",
    }
}

fn urcu(flavour: Flavour) -> String {
    format!("urcu-{}", flavour.name())
}

fn header(flavour: Flavour) -> String {
    format!("urcu/{}.h", urcu(flavour))
}

fn libraries(side: Side, flavour: Flavour) -> Vec<String> {
    let here = leeward();
    match side {
        Side::Ours => vec![
            format!("-L{}", here.display()),
            "-lleeward".to_string(),
            format!("-Wl,-rpath,{}", here.display()),
            "-lpthread".to_string(),
        ],
        Side::Theirs => {
            let more = ["-lurcu-cds", "-lurcu-common", "-lpthread"].map(str::to_string);
            [format!("-l{}", urcu(flavour))].into_iter().chain(more).collect()
        }
    }
}

/// Returns the compiler's name and version, as the first line of its `--version` ends.
fn version(compiler: &str) -> Result<String, Error> {
    let text = run(Command::new(compiler).arg("--version"))?;
    Ok(text.lines().next().unwrap_or(compiler).trim().to_string())
}

/// Builds `libleeward.so` by the command that users have. The profile of this program is not the
/// library's.
fn make() -> Result<(), Error> {
    let mut make = Command::new("make");
    for (name, _) in env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("CARGO_PROFILE_")) {
        make.env_remove(name);
    }
    run(make.args(["--no-print-directory", "-C"]).arg(bench().join("../capi"))).map(|_| ())
}

/// Runs a command, and returns what it prints.
pub fn run(command: &mut Command) -> Result<String, Error> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| Error::new(format!("{name} could not be run: {error}")))?;
    let (text, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if !output.status.success() {
        return Err(Error::new(format!("{name} failed ({}): {}", output.status, said.trim())));
    }
    Ok(text.into_owned())
}

/// Runs a program that prints numbers.
fn numbers(command: &mut Command) -> Result<Vec<f64>, Error> {
    let text = run(command)?;
    let numbers: Result<Vec<f64>, _> = text.split_whitespace().map(str::parse).collect();
    numbers.map_err(|_| Error::new(format!("a C program printed no numbers: `{}`", text.trim())))
}
