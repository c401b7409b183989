//! The work of the fuzz targets, as functions of any bytes, so that an input that a fuzzer has
//! found can be an ordinary test's.

pub mod bytes;
pub mod decoder;
pub mod guest;
pub mod robust;
pub mod scripts;
pub mod unlock;
pub mod waitv;
