//! Compiles the part in C of `leeward torture c`.

fn main() {
    #[cfg(feature = "c")]
    {
        // What the build script of leeward-capi says.
        let include = std::env::var("DEP_LEEWARD_INCLUDE").expect("leeward-capi tells where its headers are");
        cc::Build::new()
            .file("src/torture/c/part.c")
            .include(&include)
            .std("c11")
            .warnings(true)
            .extra_warnings(true)
            .compile("leeward-torture-part");
        println!("cargo::rerun-if-changed=src/torture/c/part.c");
        println!("cargo::rerun-if-changed={include}");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
