//! The reasons why a region was not made or opened. Made by [`raw_region`](super::raw_region).

use core::fmt;

use rustix::io::Errno;

use super::header::LAYOUT;

/// The reason why a region was not made or opened.
///
/// ```
/// use leeward::shared::{Mutex, Region, RegionError};
/// use std::os::fd::AsRawFd;
/// let file = std::fs::File::open("/dev/null").unwrap();
/// // SAFETY: the file is open, and no process uses it as a region.
/// let region = unsafe { Region::<Mutex<u32>>::from_raw_fd(file.as_raw_fd(), 1) };
/// assert_eq!(region.unwrap_err(), RegionError::NotSealed);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum RegionError {
    /// The file begins with something else than a region.
    NotARegion,
    /// The region was made for a value of another size.
    WrongSize {
        /// The size of the region in bytes.
        found: u64,
        /// The size that a region with this program's value has, in bytes.
        expected: u64,
    },
    /// The region was made by a program of another version.
    WrongVersion {
        /// The version of the region.
        found: u32,
        /// The version that this program gave.
        expected: u32,
    },
    /// The locks of the region are laid out as by another version of this library.
    WrongLayout {
        /// The number of the region's layout.
        found: u32,
    },
    /// The process that made the region has not finished.
    NotReady,
    /// The file is not sealed against shrinking: a process could make it shorter under its users,
    /// and a signal would kill those that touch what is gone.
    NotSealed,
    /// The system refused; the value is the number of its error.
    System(i32),
}

impl fmt::Display for RegionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RegionError::NotARegion => f.write_str("this is not a region of shared memory that leeward has made"),
            RegionError::WrongSize { found, expected } => {
                write!(f, "the region has {found} bytes and this program's value needs {expected}")
            }
            RegionError::WrongVersion { found, expected } => {
                write!(f, "the region is of version {found} and this program of version {expected}")
            }
            RegionError::WrongLayout { found } => {
                write!(f, "the region's locks are of layout {found} and this library's of layout {LAYOUT}")
            }
            RegionError::NotReady => f.write_str("the process that made the region has not finished"),
            RegionError::NotSealed => f.write_str("the region's file is not sealed against being made shorter"),
            RegionError::System(errno) => write!(f, "the system refuses the region: error {errno}"),
        }
    }
}

impl core::error::Error for RegionError {}

/// For this module. Hidden, and no part of the interface: rustix is not.
#[doc(hidden)]
impl From<Errno> for RegionError {
    fn from(errno: Errno) -> RegionError {
        RegionError::System(errno.raw_os_error())
    }
}
