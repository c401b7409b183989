//! The environment with which the process was started.

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

/// Calls `see` with each byte of the environment until `see` returns false, and with a 0 at the
/// end.
pub(super) fn each_byte(mut see: impl FnMut(u8) -> bool) -> Result<(), Errno> {
    let file = rustix::fs::open(c"/proc/self/environ", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut room = [0; 512];
    loop {
        match rustix::io::read(&file, &mut room) {
            Err(Errno::INTR) => {}
            Err(other) => return Err(other),
            Ok(0) => {
                see(0);
                return Ok(());
            }
            Ok(count) if room[..count].iter().all(|&byte| see(byte)) => {}
            Ok(_) => return Ok(()),
        }
    }
}
