//! The static library of the C face: all of it is in `leeward-capi`.

extern crate leeward_capi;
