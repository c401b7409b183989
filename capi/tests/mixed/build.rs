//! Compiles the C parts, and has them linked.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn run(command: &mut Command) {
    let status = command.status().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(status.success(), "{command:?}: {status}");
}

/// Returns true if the compiler finds liburcu's headers.
fn has_liburcu(compiler: &str) -> bool {
    let mut command = Command::new(compiler);
    command.args(["-E", "-include", "urcu.h", "-x", "c", "/dev/null"]).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn main() {
    let out = PathBuf::from(env::var("OUT_DIR").unwrap());
    let compiler = env::var("CC").unwrap_or_else(|_| "cc".into());
    // What the build script of leeward-capi says.
    let include = env::var("DEP_LEEWARD_INCLUDE").unwrap();
    let compile = |flags: &str, object: &Path| {
        run(Command::new(&compiler).args(flags.split_whitespace()).arg("-o").arg(object));
    };
    const STRICT: &str = "-O2 -g -fPIC -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror";
    let mut objects = vec![out.join("part.o")];
    compile(&format!("-std=c11 {STRICT} -I {include} -c part.c"), &objects[0]);

    // Sections that are inlined from liburcu's headers: where `run` says which folder has the library that
    // stands in for it, and this is the machine for that.
    println!("cargo:rustc-check-cfg=cfg(has_inlined, has_liburcu)");
    println!("cargo:rerun-if-env-changed=LEEWARD_URCU");
    let library = env::var("LEEWARD_URCU").ok();
    if let Some(folder) = library.as_ref().filter(|_| env::var("CARGO_CFG_TARGET_ARCH").unwrap() == "x86_64") {
        println!("cargo:rustc-cfg=has_inlined");
        objects.push(out.join("facts.o"));
        compile("-std=gnu11 -O2 -g -fPIC -Wall -Wextra -Werror -DFACTS -DPART=facts_part -c inlined.c", &objects[1]);
        if has_liburcu(&compiler) {
            println!("cargo:rustc-cfg=has_liburcu");
            objects.push(out.join("system.o"));
            compile("-std=gnu11 -O2 -g -fPIC -Wall -Wextra -Werror -DPART=system_part -c inlined.c", &objects[2]);
        }
        println!("cargo:rustc-link-search=native={folder}");
        println!("cargo:rerun-if-changed={folder}/libleeward-urcu-memb.a");
    }

    let archive = out.join("libpart.a");
    let _ = std::fs::remove_file(&archive);
    run(Command::new("ar").arg("rcs").arg(&archive).args(&objects));
    println!("cargo:rustc-link-search=native={}", out.display());
    println!("cargo:rustc-link-lib=static=part");
    if objects.len() > 1 {
        println!("cargo:rustc-link-lib=static=leeward-urcu-memb");
    }
    for changed in ["part.c", "inlined.c", "../inlined/facts.h", &include] {
        println!("cargo:rerun-if-changed={changed}");
    }
    println!("cargo:rerun-if-env-changed=CC");
}
