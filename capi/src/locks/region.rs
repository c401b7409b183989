//! Regions: the functions of `<leeward/region.h>`. The closure that makes a value is called by the
//! header, without a frame of Rust in between.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr::{self, NonNull};

use leeward::shared::RegionError;
use leeward::shared::raw_region::{Opened, Parts, RawRegion, Unfinished};

/// The header's `LEE_1_REGION_NEW`.
const IS_NEW: c_int = -1;

/// The number that is no descriptor.
const NONE: c_int = -1;

/// A region, as C has it: `struct lee_region`.
#[repr(C)]
#[derive(Debug)]
pub struct Region {
    value: *mut c_void,
    size: usize,
    fd: c_int,
    locked: c_int,
}

impl Region {
    /// A region that is not open.
    const CLOSED: Region = Region { value: ptr::null_mut(), size: 0, fd: NONE, locked: NONE };

    fn of(parts: Parts) -> Region {
        let number = |file: Option<c_int>| file.unwrap_or(NONE);
        Region {
            value: parts.value.as_ptr().cast(),
            size: parts.size,
            fd: number(parts.file),
            locked: number(parts.locked),
        }
    }

    /// Takes the parts out, and leaves a region that is not open; none if it was not.
    fn take(&mut self) -> Option<Parts> {
        let Region { value, size, fd, locked } = core::mem::replace(self, Region::CLOSED);
        let file = |number| Some(number).filter(|&number| number != NONE);
        let value = NonNull::new(value.cast())?;
        Some(Parts { value, size, file: file(fd), locked: file(locked) })
    }
}

/// Returns the error of C for one of the library's.
fn number_of(error: RegionError) -> c_int {
    match error {
        RegionError::NotARegion => libc::EBADMSG,
        RegionError::WrongSize { .. } => libc::EMSGSIZE,
        RegionError::WrongVersion { .. } => libc::EPROTOTYPE,
        RegionError::WrongLayout { .. } => libc::EPROTO,
        RegionError::NotReady => libc::EAGAIN,
        RegionError::NotSealed => libc::ENOTSUP,
        RegionError::System(number) => number,
        // No other is known.
        _ => libc::ENOTSUP,
    }
}

/// Stores what was opened in `region`; returns what C is told. Of an error, a region that is not
/// open.
///
/// # Safety
/// `region` may be written.
unsafe fn store(region: *mut Region, outcome: Result<Opened, RegionError>) -> c_int {
    let (opened, told) = match outcome {
        Ok(Opened::Finished(raw)) => (Region::of(raw.into_parts()), 0),
        Ok(Opened::Unfinished(new)) => (Region::of(new.into_parts()), IS_NEW),
        Err(error) => (Region::CLOSED, number_of(error)),
    };
    // SAFETY: the caller's promise.
    unsafe { region.write(opened) };
    told
}

/// Makes a region without a name, whose value the caller makes.
///
/// # Safety
/// `region` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lee_1_region_create(region: *mut Region, size: usize, version: u32) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { store(region, RawRegion::create(size, version).map(Opened::Unfinished)) }
}

/// Opens the region in the file of this path.
///
/// # Safety
/// `region` may be written; `path` is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lee_1_region_open(
    region: *mut Region,
    path: *const c_char,
    size: usize,
    version: u32,
) -> c_int {
    let outcome = if path.is_null() {
        Err(RegionError::System(libc::EINVAL))
    } else {
        // SAFETY: the caller's promise.
        RawRegion::open(unsafe { CStr::from_ptr(path) }, size, version)
    };
    // SAFETY: as above.
    unsafe { store(region, outcome) }
}

/// Opens the region of a descriptor.
///
/// # Safety
/// `region` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lee_1_region_open_fd(region: *mut Region, fd: c_int, size: usize, version: u32) -> c_int {
    let outcome = if fd < 0 {
        Err(RegionError::System(libc::EBADF))
    } else {
        // SAFETY: a number; if it is no open file, the calls say so.
        unsafe { RawRegion::from_raw_fd(fd, size, version) }
    };
    // SAFETY: the caller's promise.
    unsafe { store(region, outcome.map(Opened::Finished)) }
}

/// Says that the value is made.
///
/// # Safety
/// `lee_1_region_create` or `lee_1_region_open` returned -1 for it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lee_1_region_finish(region: &mut Region) {
    if let Some(parts) = region.take() {
        // SAFETY: the caller's promise.
        *region = Region::of(unsafe { Unfinished::from_parts(parts) }.finish().into_parts());
    }
}

/// Gives up a region whose value was not made.
///
/// # Safety
/// As [`lee_1_region_finish`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lee_1_region_abandon(region: &mut Region) {
    if let Some(parts) = region.take() {
        // SAFETY: the caller's promise.
        drop(unsafe { Unfinished::from_parts(parts) });
    }
}

/// Unmaps the region, and closes its descriptor.
///
/// # Safety
/// It is as one of these functions left it, and no thread uses the value any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lee_1_region_close(region: &mut Region) {
    if let Some(parts) = region.take() {
        // SAFETY: the caller's promise.
        drop(unsafe { RawRegion::from_parts(parts) });
    }
}
