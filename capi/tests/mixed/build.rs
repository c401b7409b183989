//! Compiles the C part, and has it linked.

use std::env;
use std::path::Path;
use std::process::Command;

fn run(command: &mut Command) {
    let status = command.status().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(status.success(), "{command:?}: {status}");
}

fn main() {
    let out = env::var("OUT_DIR").unwrap();
    let (object, archive) = (Path::new(&out).join("part.o"), Path::new(&out).join("libpart.a"));
    let compiler = env::var("CC").unwrap_or_else(|_| "cc".into());
    // What the build script of leeward-capi says.
    let include = env::var("DEP_LEEWARD_INCLUDE").unwrap();
    let flags = "-std=c11 -O2 -g -fPIC -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -c part.c -I";
    run(Command::new(compiler).args(flags.split_whitespace()).arg(&include).arg("-o").arg(&object));
    let _ = std::fs::remove_file(&archive);
    run(Command::new("ar").arg("rcs").arg(&archive).arg(&object));
    println!("cargo:rustc-link-search=native={out}");
    println!("cargo:rustc-link-lib=static=part");
    for changed in ["part.c", &include] {
        println!("cargo:rerun-if-changed={changed}");
    }
    println!("cargo:rerun-if-env-changed=CC");
}
