//! The peers' versions, as build.rs found them.

/// Peers and their versions; `None` where one is absent.
pub type Versions = Vec<(&'static str, Option<String>)>;

/// The version of a peer that this program was built with.
pub fn built(name: &str) -> Option<&'static str> {
    const BUILT: &[(&str, Option<&str>)] = &include!(concat!(env!("OUT_DIR"), "/versions.rs"));
    BUILT.iter().find(|peer| peer.0 == name)?.1
}
