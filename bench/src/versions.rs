//! The peers' versions, as build.rs found them.

/// Peers and their versions. The version of an absent peer is `None`.
pub type Versions = Vec<(&'static str, Option<String>)>;

/// Returns the version of a peer that this program was built with.
pub fn built(name: &str) -> Option<&'static str> {
    const BUILT: &[(&str, Option<&str>)] = &include!(concat!(env!("OUT_DIR"), "/versions.rs"));
    BUILT.iter().find(|peer| peer.0 == name)?.1
}
