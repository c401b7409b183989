//! What the fuzz targets do, as functions of any bytes: so that what one found is also an ordinary test's input.

pub mod bytes;
pub mod decoder;
pub mod guest;
pub mod robust;
pub mod scripts;
pub mod waitv;
