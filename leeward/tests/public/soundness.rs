//! What must not compile: every claim of safety that the types make. Each file in `tests/ui` is a
//! program that compiles once its marked lines (`//~ BREAKS E0xxx`) are taken out, and fails with
//! that error and no other while they are in. So hardly any message is compared, and any compiler
//! will do.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
#[macro_use]
#[path = "../common/auto_traits.rs"]
mod auto_traits;
#[path = "soundness/declared.rs"]
mod declared;
#[path = "soundness/types.rs"]
mod types;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use leeward::rcu::{Cookie, DetachedReader, Domain, Global, Guard, RcuCell, RcuOption, Reader, Retired, qsbr};

const MARK: &str = "//~ BREAKS ";

/// The compiler, and where the crate lies that this test is linked with.
struct Compiler {
    program: String,
    libraries: PathBuf,
    /// Where the macros lie that the compiler loads, when built for another machine.
    host_libraries: Option<PathBuf>,
    candidates: Vec<PathBuf>,
    target: Option<String>,
}

impl Compiler {
    /// Finds the compiler; `None`, with a printed reason, where there is none.
    fn find() -> Option<Compiler> {
        let program = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
        if let Err(error) = Command::new(&program).arg("--version").output() {
            println!("skipped: no compiler to be run ({program}: {error})");
            return None;
        }
        let libraries = std::env::current_exe().unwrap().parent().unwrap().to_owned();
        let mut candidates: Vec<_> = std::fs::read_dir(&libraries)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| {
                let name = path.file_name().unwrap().to_string_lossy();
                name.starts_with("libleeward-") && name.ends_with(".rlib")
            })
            .collect();
        // Builds with other flags lie there too; the newest is tried first (`library`).
        candidates.sort_by_key(|path| std::cmp::Reverse(path.metadata().and_then(|data| data.modified()).ok()));
        // target/<triple>/<profile>/deps when built for another machine.
        let target =
            libraries.ancestors().nth(2).and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        let target = target.filter(|name| name.matches('-').count() >= 2 && name.contains("linux"));
        let host_libraries = target.as_ref().and_then(|_| {
            let profile = libraries.ancestors().nth(1)?.file_name()?;
            Some(libraries.ancestors().nth(3)?.join(profile).join("deps"))
        });
        Some(Compiler { program, libraries, host_libraries, candidates, target })
    }

    fn compile(&self, library: &Path, name: &str, source: &str) -> Output {
        let folder = std::env::temp_dir().join(format!("leeward-soundness-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join(format!("{name}.rs"));
        std::fs::write(&file, source).unwrap();
        let mut command = Command::new(&self.program);
        command.args([
            "--edition",
            "2024",
            "--crate-type",
            "bin",
            "--emit",
            "metadata",
            "--error-format",
            "short",
            "-A",
            "warnings",
        ]);
        command.args(std::env::var("RUSTFLAGS").unwrap_or_default().split_whitespace());
        if let Some(target) = &self.target {
            command.args(["--target", target]);
        }
        command.arg("--extern").arg(format!("leeward={}", library.display()));
        command.arg("-L").arg(format!("dependency={}", self.libraries.display()));
        if let Some(host) = &self.host_libraries {
            command.arg("-L").arg(format!("dependency={}", host.display()));
        }
        let output = command.arg("--out-dir").arg(&folder).arg(&file).output().unwrap();
        let _ = std::fs::remove_dir_all(&folder);
        output
    }

    /// Returns the library with which a program can be compiled, and that was built without the feature
    /// `send_guard`, as this test's is: with it some of the programs compile.
    fn library(&self) -> PathBuf {
        // One test at a time: what is compiled here has the same name for each.
        static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
        let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let program = "fn main() { let _ = \
        leeward::rcu::Reader::<leeward::rcu::Global>::register_in(); drop(leeward::rcu::read()); }";
        let sent = "fn main() { send::<leeward::sync::MutexGuard<'static, u8>>(); } fn send<T: Send>() {}";
        let compiles = |library: &Path, program| self.compile(library, "control", program).status.success();
        let works = |library: &&PathBuf| compiles(library, program) && !compiles(library, sent);
        self.candidates
            .iter()
            .find(works)
            .unwrap_or_else(|| panic!("nothing compiles with any of {:?}", self.candidates))
            .clone()
    }
}

/// Checks one program; returns what is wrong with it.
fn check(compiler: &Compiler, library: &Path, path: &Path) -> Result<(), String> {
    let name = path.file_stem().unwrap().to_string_lossy();
    let source = std::fs::read_to_string(path).unwrap();
    let breaks: Vec<_> = source
        .lines()
        .enumerate()
        .filter_map(|(line, text)| text.split_once(MARK).map(|(_, error)| (line + 1, error.trim().to_owned())))
        .collect();
    if breaks.is_empty() {
        return Err(format!("{name}: no line is marked"));
    }
    // Blank lines take their place, so that line numbers stay.
    let sound: Vec<_> = source.lines().map(|line| if line.contains(MARK) { "" } else { line }).collect();
    let output = compiler.compile(library, &name, &sound.join("\n"));
    if !output.status.success() {
        return Err(format!(
            "{name}: does not compile without its marked lines:\n{}",
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    let output = compiler.compile(library, &name, &source);
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        return Err(format!("{name}: COMPILES, and must not"));
    }
    let expected = |error: &str| breaks.iter().any(|(_, what)| error.contains(what.as_str()));
    let errors: Vec<_> = said.lines().filter(|line| line.contains(" error") && line.contains(".rs:")).collect();
    // Each error is one that is expected, and each that is expected is there.
    let is_met = |what: &str| errors.iter().any(|error| error.contains(what));
    if !errors.iter().all(|error| expected(error)) || !breaks.iter().all(|(_, what)| is_met(what)) {
        return Err(format!("{name}: fails for another reason than {breaks:?}:\n{said}"));
    }
    Ok(())
}

#[test]
fn what_must_not_compile() {
    let Some(compiler) = Compiler::find() else { return };
    let library = compiler.library();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("ui");
    let mut programs: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    programs.retain(|path| path.extension().is_some_and(|extension| extension == "rs"));
    programs.sort();
    assert!(programs.len() >= 15, "{programs:?}");
    let next = std::sync::atomic::AtomicUsize::new(0);
    let work = || {
        let index = || next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let mine = std::iter::repeat_with(index).map_while(|index| programs.get(index));
        mine.filter_map(|path| check(&compiler, &library, path).err()).collect::<Vec<_>>()
    };
    let wrong = std::thread::scope(|scope| {
        let workers = common::processors().into_iter().take(8).map(|_| scope.spawn(work)).collect::<Vec<_>>();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect::<Vec<_>>()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

type NotSync = std::cell::Cell<u32>;
type NotSend = std::rc::Rc<u32>;
/// A type that is Sync and not Send.
type Locked = std::sync::MutexGuard<'static, u32>;

assert_not!(Send:
    Guard<'static>, Reader, qsbr::Reader, RcuCell<NotSend>, RcuCell<Locked>,
    RcuOption<NotSend>, Retired<NotSync>
);
assert_not!(Sync:
    Guard<'static>, Reader, qsbr::Reader, RcuCell<NotSync>, RcuCell<NotSend>, RcuCell<Locked>,
    RcuOption<NotSync>, Retired<NotSync>
);
assert_is!(Send: RcuCell<u32>, RcuCell<NotSync>, RcuOption<String>, Retired<u32>, DetachedReader, Cookie, Global);
assert_is!(Sync: RcuCell<u32>, RcuOption<String>, Retired<u32>, DetachedReader, Cookie);
assert_is!(Unpin: Guard<'static>, Reader, RcuCell<u32>);

/// A guard is cheap to carry: the slot's address, with room for an `Option`.
#[test]
fn sizes() {
    assert_eq!(size_of::<Guard<'static>>(), size_of::<usize>());
    assert_eq!(size_of::<Option<Guard<'static>>>(), size_of::<usize>());
    assert_eq!(size_of::<Reader>(), size_of::<usize>());
    assert_eq!(size_of::<RcuCell<[u8; 100]>>(), size_of::<usize>());
}

/// A program can define functions that take any domain.
#[test]
fn domains_are_types() {
    fn twice<D: Domain>() -> u64 {
        drop(D::read());
        D::synchronize();
        D::synchronize();
        D::stats().grace_periods
    }
    leeward::rcu_domain! { struct Own; }
    assert_eq!(twice::<Own>(), 2);
}
