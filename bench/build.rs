//! Finds the peers that may be missing: liburcu (C headers) and kovan (a newer compiler than the
//! rest asks for). For a missing one a `cfg` is not set, and the tables say that it is absent.
//! Writes down every peer's version too.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const FLAVOURS: [&str; 5] = ["memb", "mb", "bp", "qsbr", "signal"];
const PEER_CRATES: [&str; 21] = [
    "arc-swap",
    "crossbeam-epoch",
    "haphazard",
    "hazarc",
    "parking_lot",
    "parking_lot_core",
    "sdd",
    "seize",
    "usync",
    "tokio",
    "async-lock",
    "papaya",
    "dashmap",
    "scc",
    "flurry",
    "rpds",
    "evmap",
    "crossbeam-skiplist",
    "crossbeam-queue",
    "crossbeam-channel",
    "flume",
];

fn main() {
    let shared = ["src/alignment.rs", "src/rcu/loops.rs", "src/rcu/scheme.rs", "src/rcu/stage.rs", "src/rcu/table.rs"];
    for file in
        ["build.rs", "c/scheme.h", "c/urcu.c", "kovan/src", "kovan/Cargo.toml", "kovan/Cargo.lock", "Cargo.lock"]
            .into_iter()
            .chain(shared)
    {
        println!("cargo::rerun-if-changed={file}");
    }
    let mut versions = vec![("liburcu", liburcu()), ("kovan", kovan()), ("std", rustc_version())];
    let lock = fs::read_to_string("Cargo.lock").unwrap_or_default();
    for name in PEER_CRATES {
        versions.push((name, locked(&lock, name)));
    }
    let out = out_dir().join("versions.rs");
    let entries: Vec<_> = versions.iter().map(|(name, version)| format!("({name:?}, {version:?})")).collect();
    fs::write(out, format!("[{}]", entries.join(", "))).expect("the build directory can be written");
}

fn out_dir() -> PathBuf {
    PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"))
}

/// Returns the version that a lock file has of a crate: the newest one, which is ours, if it has
/// several.
fn locked(lock: &str, name: &str) -> Option<String> {
    let entries = lock.split("[[package]]").filter(|entry| entry.contains(&format!("\nname = \"{name}\"\n")));
    let entry = entries.last()?;
    let line = entry.lines().find(|line| line.starts_with("version = "))?;
    Some(line.trim_start_matches("version = ").trim_matches('"').to_string())
}

/// Builds the shim once for each flavour whose header is installed, and returns liburcu's version
/// if there is one.
fn liburcu() -> Option<String> {
    let found: Vec<_> = FLAVOURS.into_iter().filter(|flavour| has_header(flavour)).collect();
    for flavour in &found {
        shim(flavour).compile(&format!("compare_urcu_{flavour}"));
        println!("cargo::rustc-cfg=liburcu=\"{flavour}\"");
        println!("cargo::rustc-link-lib=urcu-{flavour}");
    }
    if found.is_empty() {
        println!("cargo::rerun-if-changed=no-such-file"); // look again next time
        return None;
    }
    println!("cargo::rustc-link-lib=urcu-common");
    let version = Command::new("pkg-config").args(["--modversion", "liburcu"]).output().ok();
    let version = version.filter(|output| output.status.success());
    let version = version.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_string());
    Some(version.unwrap_or_else(|| "of unknown version (no pkg-config)".to_string()))
}

/// Returns true if the flavour's shim compiles.
fn has_header(flavour: &str) -> bool {
    let mut probe = shim(flavour);
    probe
        .cargo_metadata(false)
        .cargo_warnings(false)
        .warnings(false)
        .out_dir(out_dir().join(format!("probe-{flavour}")));
    probe.try_compile("probe").is_ok()
}

fn shim(flavour: &str) -> cc::Build {
    let mut build = cc::Build::new();
    // As distributions build a C program: -O2 -fPIE. The -fPIC that cc adds costs the read side a
    // load for each global.
    build.file("c/urcu.c").include("c").opt_level(2).pic(false).flag("-fPIE").force_frame_pointer(false);
    build.define("URCU_HEADER", Some(format!("<urcu/urcu-{flavour}.h>").as_str()));
    build.define("COMPARE_TABLE", Some(format!("compare_urcu_{flavour}").as_str()));
    build.define("COMPARE_QSBR", Some(if flavour == "qsbr" { "1" } else { "0" }));
    build
}

fn rustc_version() -> Option<String> {
    let output = Command::new(env::var_os("RUSTC")?).arg("--version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.split_whitespace().nth(1).map(str::to_string)
}

/// Builds kovan's library if the compiler is new enough, and returns its version if that succeeded.
fn kovan() -> Option<String> {
    let version = rustc_version()?;
    let minor: u32 = version.strip_prefix("1.")?.split('.').next()?.parse().ok()?;
    if minor < 90 {
        return None;
    }
    let target = out_dir().join("kovan");
    let mut cargo = Command::new(env::var_os("CARGO")?);
    cargo
        .args(["build", "--release", "--locked", "--quiet", "--manifest-path", "kovan/Cargo.toml", "--target-dir"])
        .arg(&target);
    cargo.env_remove("CARGO_BUILD_TARGET").env_remove("RUSTC_WORKSPACE_WRAPPER").env_remove("RUSTFLAGS");
    cargo.env("CARGO_ENCODED_RUSTFLAGS", kovan_flags());
    let built = cargo.status().is_ok_and(|status| status.success());
    let library = target.join("release").join("libcompare_kovan.so");
    if !built || !Path::new(&library).exists() {
        println!("cargo::warning=kovan could not be built: it is left out of the tables, which say so");
        return None;
    }
    println!("cargo::rustc-cfg=kovan");
    println!("cargo::rustc-env=COMPARE_KOVAN={}", library.display());
    locked(&fs::read_to_string("kovan/Cargo.lock").ok()?, "kovan")
}

/// Returns the flags that everything else is built with, and the one that kovan's documentation
/// asks for on x86-64.
fn kovan_flags() -> String {
    let mut flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    if env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch == "x86_64") {
        let between = if flags.is_empty() { "" } else { "\u{1f}" };
        flags += &format!("{between}-Ctarget-feature=+cmpxchg16b");
    }
    flags
}
