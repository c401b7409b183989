//! Tells the build scripts of crates that depend on this one where the headers are, as
//! `DEP_LEEWARD_INCLUDE`.

fn main() {
    let root = std::env::var("CARGO_MANIFEST_DIR").expect("cargo tells where the crate is");
    println!("cargo::metadata=include={root}/include");
    println!("cargo::rerun-if-changed=build.rs");
}
