//! Links the program by itself: no C library, no code of the compiler's that starts it, and no addresses
//! that have to be relocated.

fn main() {
    // A C compiler that links is told to bring nothing along; a linker brings nothing.
    let is_compiler = std::env::var("RUSTC_LINKER").map_or(true, |linker| !linker.ends_with("lld"));
    if is_compiler {
        println!("cargo::rustc-link-arg-bins=-nostartfiles");
    }
    for argument in ["-nostdlib", "-static", "-no-pie"] {
        println!("cargo::rustc-link-arg-bins={argument}");
    }
}
