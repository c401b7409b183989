//! Regions of shared memory: made once, however many processes begin and whichever of them is
//! killed, and found in every broken state.

#![cfg(all(target_os = "linux", not(leeward_symmetric)))]
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/killed.rs"]
mod killed;
#[path = "../common/processes.rs"]
mod processes;
#[path = "../common/seccomp.rs"]
mod seccomp;
#[path = "../common/step.rs"]
mod step;

use common::*;
use processes::*;

use std::ffi::CString;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use leeward::shared::{AnyBytes, Mutex, Region, RegionError};

/// The name of a file of the test's own, which is removed when the test ends.
struct Name(CString);

impl Name {
    fn new(what: &str) -> Name {
        Name(CString::new(format!("/dev/shm/leeward-test-{what}-{}", std::process::id())).unwrap())
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }

    fn open<T: AnyBytes + Sync>(&self, version: u32, make: impl FnOnce(&mut T)) -> Result<Region<T>, RegionError> {
        // SAFETY: only these tests use it, and they keep to its layout.
        unsafe { Region::open(&self.0, version, make) }
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(self.path());
    }
}

#[test]
fn many_processes_begin_at_once() {
    let _dog = Watchdog::new("many_processes_begin_at_once");
    for round in 0..10 {
        let name = Name::new(&format!("race-{round}"));
        let work = || {
            let region = name.open::<[AtomicU64; 2]>(1, |values| {
                *values[0].get_mut() += 1_000;
                std::thread::sleep(Duration::from_millis(1));
                *values[1].get_mut() += 1_000;
            });
            region.unwrap().iter().all(|value| value.fetch_add(1, Ordering::Relaxed) >= 1_000)
        };
        let children: Vec<_> = (0..8).map(|_| child(work)).collect();
        assert!(children.into_iter().all(|child| status_of(child) == 0));
        let values = name.open::<[AtomicU64; 2]>(1, |_| panic!("made twice")).unwrap();
        assert!(values.iter().all(|value| value.load(Ordering::Relaxed) == 1_008));
    }
}

#[test]
fn a_maker_that_is_killed_in_the_middle() {
    let _dog = Watchdog::new("a_maker_that_is_killed_in_the_middle");
    let name = Name::new("killed");
    let killed = child(|| {
        let made = name.open::<[u64; 2]>(1, |values| {
            values[0] = 77;
            // SAFETY: ends this process at once.
            unsafe { libc::raise(libc::SIGKILL) };
        });
        made.is_err()
    });
    assert_eq!(status_of(killed), libc::SIGKILL);
    let region = name.open::<[u64; 2]>(1, |values| {
        assert_eq!(*values, [0, 0], "what the dead one began is there");
        values[1] = 5;
    });
    assert_eq!(*region.unwrap(), [0, 5]);
    // A maker that panics.
    let name = Name::new("panicked");
    assert_eq!(panic_of(|| _ = name.open::<u64>(1, |_| panic!("at first"))), "at first");
    assert_eq!(*name.open::<u64>(1, |value| *value = 6).unwrap(), 6);
}

/// A child that was forked while the value was made has the file open, and with it the file's lock.
#[test]
fn a_child_forked_meanwhile() {
    let _dog = Watchdog::new("a_child_forked_meanwhile");
    let name = Name::new("forked");
    let mut stays = 0;
    let region = name.open::<u64>(1, |value| {
        *value = 7;
        stays = child(|| {
            loop {
                std::thread::sleep(Duration::from_secs(1));
            }
        });
    });
    assert_eq!(*region.unwrap(), 7);
    assert_eq!(*name.open::<u64>(1, |_| panic!("made twice")).unwrap(), 7);
    // SAFETY: a child of ours that was not waited for.
    unsafe { libc::kill(stays, libc::SIGKILL) };
    assert_eq!(status_of(stays), libc::SIGKILL);
}

/// What another program's library finds in a region: `layouts_are_as_documented` (`shared.rs`) has the
/// locks. Where one of the two tests has to change, `LAYOUT` grows (`header.rs`), and its number here.
#[test]
fn the_layout_is_that_of_its_number() {
    let name = Name::new("layout");
    drop(name.open::<[u8; 3]>(9, |value| *value = [1, 2, 3]).unwrap());
    let bytes = std::fs::read(name.path()).unwrap();
    let word = |place: usize| u32::from_ne_bytes(bytes[place..][..4].try_into().unwrap());
    // "lwrd", the layout, the program's version, ready.
    assert_eq!([word(0), word(4), word(8), word(12)], [0x6c77_7264, 1, 9, 1]);
    assert_eq!((bytes.len(), &bytes[64..]), (67, &[1, 2, 3][..]));
    #[cfg(all(target_env = "gnu", target_pointer_width = "64"))]
    {
        use leeward::robust;
        assert_eq!((size_of::<robust::Mutex<u64>>(), align_of::<robust::Mutex<u64>>()), (48, 8));
        assert_eq!((size_of::<robust::LightMutex<u64>>(), size_of::<robust::RwLock<u64, 2>>()), (48, 256));
    }
}

#[test]
fn regions_that_are_not_this_programs() {
    let name = Name::new("wrong");
    drop(name.open::<u64>(3, |value| *value = 5).unwrap());
    assert_eq!(*name.open::<u64>(3, |_| panic!("made twice")).unwrap(), 5);
    let wrong = RegionError::WrongSize { found: 72, expected: 64 + 12 };
    assert_eq!(name.open::<[u32; 3]>(3, |_| {}).unwrap_err(), wrong);
    assert_eq!(wrong.to_string(), "the region has 72 bytes and this program's value needs 76");
    let wrong = RegionError::WrongVersion { found: 3, expected: 4 };
    assert_eq!(name.open::<u64>(4, |_| {}).unwrap_err(), wrong);
    let mut bytes = std::fs::read(name.path()).unwrap();
    bytes[4] ^= 2;
    std::fs::write(name.path(), &bytes).unwrap();
    assert_eq!(name.open::<u64>(3, |_| {}).unwrap_err(), RegionError::WrongLayout { found: 3 });
    bytes[0] ^= 1;
    std::fs::write(name.path(), &bytes).unwrap();
    assert_eq!(name.open::<u64>(3, |_| {}).unwrap_err(), RegionError::NotARegion);
    // Another program's file, whose beginning happens to be empty, is left alone.
    bytes.fill(0);
    bytes[70] = 1;
    std::fs::write(name.path(), &bytes).unwrap();
    assert_eq!(name.open::<u64>(3, |_| panic!("overwritten")).unwrap_err(), RegionError::NotARegion);
    std::fs::write(name.path(), [0; 72]).unwrap();
    assert_eq!(*name.open::<u64>(3, |value| *value = 6).unwrap(), 6);
    // SAFETY: a name that is not there.
    let none = unsafe { Region::<u64>::open(c"/dev/shm/no/such/folder", 1, |_| {}) };
    assert_eq!(none.unwrap_err(), RegionError::System(libc::ENOENT));
}

#[test]
fn regions_by_descriptor() {
    let region = region::<AtomicU64>(|value| *value.get_mut() = 5);
    let file = region.raw_fd().unwrap();
    // SAFETY: open, and of the same type.
    let again = unsafe { Region::<AtomicU64>::from_raw_fd(file, 1) }.unwrap();
    again.fetch_add(1, Ordering::Relaxed);
    assert_eq!(region.load(Ordering::Relaxed), 6);
    // SAFETY: as above.
    let other = unsafe { Region::<AtomicU64>::from_raw_fd(file, 2) };
    assert_eq!(other.unwrap_err(), RegionError::WrongVersion { found: 1, expected: 2 });
    // A file that any process may make shorter.
    let name = Name::new("unsealed");
    drop(name.open::<AtomicU64>(1, |_| {}).unwrap());
    let file = std::fs::File::options().read(true).write(true).open(name.path()).unwrap();
    // SAFETY: open, and of the same type.
    let unsealed = unsafe { Region::<AtomicU64>::from_raw_fd(std::os::fd::AsRawFd::as_raw_fd(&file), 1) };
    assert_eq!(unsealed.unwrap_err(), RegionError::NotSealed);
    let file = region.raw_fd().unwrap();
    // Sealed: its size stays.
    // SAFETY: takes numbers only.
    assert_eq!(unsafe { libc::ftruncate(file, 0) }, -1);
    assert_eq!(region.leak().load(Ordering::Relaxed), 6);
}

/// On ext4 a full disk leaves a file that is longer than nothing and too short: it is not taken for
/// finished later, when there is room.
#[test]
fn no_room() {
    fn half(arguments: [i64; 3]) -> i64 {
        // SAFETY: the call's own file.
        unsafe { libc::ftruncate(arguments[0] as i32, 50) };
        -i64::from(libc::ENOSPC)
    }
    let _dog = Watchdog::new("no_room");
    let name = Name::new("no-room");
    let refused = child(|| {
        if !seccomp::answer_by(libc::SYS_fallocate, half) {
            return true;
        }
        let region = name.open::<AtomicU64>(1, |_| panic!("there is no room"));
        matches!(region, Err(RegionError::System(libc::ENOSPC)))
    });
    assert_eq!(status_of(refused), 0);
    let value = name.open::<AtomicU64>(1, |value| *value.get_mut() = 7).unwrap();
    assert_eq!(value.load(Ordering::Relaxed), 7);
}

/// Whatever system call a maker was killed at, the next maker succeeds, and makes the value anew if
/// it was not finished.
#[test]
fn a_maker_that_is_killed_at_any_call() {
    let _dog = Watchdog::new("a_maker_that_is_killed_at_any_call");
    let name = Name::new("killed-at");
    let (mut begun_anew, mut finished) = (0, 0);
    let killed = killed::at_every_call(
        || name.open::<[u64; 600]>(1, |values| values[599] += 7).is_ok(),
        |stop| {
            let mut is_anew = false;
            let region = name.open::<[u64; 600]>(1, |values| {
                is_anew = true;
                assert!(values.iter().all(|&value| value == 0), "stop {stop}: what the dead one began is there");
                values[599] += 7;
            });
            assert_eq!(region.unwrap_or_else(|error| panic!("stop {stop}: {error}"))[599], 7);
            *(if is_anew { &mut begun_anew } else { &mut finished }) += 1;
            let _ = std::fs::remove_file(name.path());
        },
    );
    if let Some(killed) = killed {
        assert!(
            begun_anew > 5 && finished > 0 && begun_anew + finished == killed,
            "{begun_anew} and {finished} of {killed}"
        );
    }
}

/// Leaves a file of `length` bytes, with `bytes` at its beginning and zeroes after them, as a maker
/// does that is killed while its memory is allocated.
fn left_behind(name: &Name, length: u64, bytes: &[u8]) {
    std::fs::write(name.path(), bytes).unwrap();
    std::fs::File::options().write(true).open(name.path()).unwrap().set_len(length).unwrap();
}

/// Asserts that the value is made now.
#[track_caller]
fn begins_anew<T: AnyBytes + Sync + PartialEq + std::fmt::Debug>(name: &Name, version: u32, value: T) {
    let mut made = false;
    let region = name.open::<T>(version, |place| {
        made = true;
        *place = value;
    });
    region.unwrap();
    assert!(made, "taken for finished");
    name.open::<T>(version, |_| panic!("made twice")).unwrap();
}

#[test]
fn a_maker_that_is_killed_while_its_memory_is_allocated() {
    let _dog = Watchdog::new("a_maker_that_is_killed_while_its_memory_is_allocated");
    let name = Name::new("allocating");
    // Some file systems make a file longer piece by piece.
    for length in [1, 15, 16, 63, 64, 65, 4096, 64 + 8 * 600 - 1, 64 + 8 * 600] {
        left_behind(&name, length, &[]);
        begins_anew(&name, 1, [7_u64; 600]);
        std::fs::remove_file(name.path()).unwrap();
    }
    // A maker of another program had begun.
    let header = [0x6c77_7264_u32, 1, 9, 0].map(u32::to_ne_bytes).concat();
    for length in [16, 63, 64 + 8, 64 + 8 * 600, 64 + 8 * 5_000] {
        left_behind(&name, length, &header);
        begins_anew(&name, 1, [7_u64; 600]);
        std::fs::remove_file(name.path()).unwrap();
    }
    let killed = child(|| {
        let _ = name.open::<[u64; 5_000]>(9, |_| {
            // SAFETY: ends this process at once.
            unsafe { libc::raise(libc::SIGKILL) };
        });
        false
    });
    assert_eq!(status_of(killed), libc::SIGKILL);
    begins_anew(&name, 1, 7_u64);
    std::fs::remove_file(name.path()).unwrap();
    // Another program's file that is longer and empty is no unfinished region of ours.
    left_behind(&name, 5_000, &[]);
    let wrong = RegionError::WrongSize { found: 5_000, expected: 72 };
    assert_eq!(name.open::<u64>(1, |_| panic!("overwritten")).unwrap_err(), wrong);
    // A file with other contents is no unfinished region either.
    left_behind(&name, 40, b"something");
    let wrong = RegionError::WrongSize { found: 40, expected: 72 };
    assert_eq!(name.open::<u64>(1, |_| panic!("overwritten")).unwrap_err(), wrong);
    assert!(std::fs::read(name.path()).unwrap().starts_with(b"something\0"));
}

/// A file that is long enough already, and has no memory: the memory is allocated before it is
/// used, and if there is none the file is left as it was.
#[test]
fn a_file_without_memory() {
    let _dog = Watchdog::new("a_file_without_memory");
    for length in [30, 72] {
        let name = Name::new(&format!("sparse-{length}"));
        left_behind(&name, length, &[]);
        let refused = child(|| {
            if !seccomp::answer_by(libc::SYS_fallocate, |_| -i64::from(libc::ENOSPC)) {
                return true;
            }
            let region = name.open::<AtomicU64>(1, |_| panic!("there is no room"));
            matches!(region, Err(RegionError::System(libc::ENOSPC)))
        });
        assert_eq!(status_of(refused), 0);
        assert_eq!(std::fs::metadata(name.path()).unwrap().len(), length);
    }
}

/// A region holds no program; hardened systems (`vm.memfd_noexec` of 2) demand that a flag says so.
#[test]
fn a_region_cannot_be_executed() {
    let region = region::<AtomicU64>(|_| {});
    let file = region.raw_fd().unwrap();
    // SAFETY: takes numbers only.
    let seals = unsafe { libc::fcntl(file, libc::F_GET_SEALS) };
    // SAFETY: a name that ends, and a flag of Linux 6.3.
    if unsafe { libc::memfd_create(c"asked".as_ptr(), libc::MFD_NOEXEC_SEAL) } == -1 {
        println!("skipped: this kernel seals nothing against being executed");
        return;
    }
    const SEAL_EXEC: i32 = 0x20;
    assert_ne!(seals & SEAL_EXEC, 0);
    // SAFETY: takes numbers only.
    assert_eq!(unsafe { libc::fchmod(file, 0o700) }, -1, "it was made executable");
}

/// On a kernel that does not know the flag a region is made as well.
#[test]
fn a_kernel_that_seals_nothing_against_being_executed() {
    fn older(arguments: [i64; 3]) -> i64 {
        match arguments[1] & i64::from(libc::MFD_NOEXEC_SEAL) {
            0 => seccomp::let_through(libc::SYS_memfd_create, arguments),
            _ => -i64::from(libc::EINVAL),
        }
    }
    let created = child(|| {
        if !seccomp::answer_by(libc::SYS_memfd_create, older) {
            return true;
        }
        *region::<Mutex<u64>>(|_| {}).lock() == 0
    });
    assert_eq!(status_of(created), 0);
}

/// A process with the descriptor may write, and do nothing that takes the memory away.
#[test]
fn what_the_descriptor_is_good_for() {
    let region = region::<[AtomicU64; 2]>(|values| *values[1].get_mut() = 5);
    let file = region.raw_fd().unwrap();
    // SAFETY: takes numbers only.
    let refused = |length| unsafe { libc::ftruncate(file, length) } == -1;
    assert!(refused(0) && refused(64) && refused(1 << 20), "it was made shorter or longer");
    // SAFETY: takes numbers only.
    let sealed = unsafe { libc::fcntl(file, libc::F_ADD_SEALS, libc::F_SEAL_WRITE) };
    assert_eq!(sealed, -1, "another seal was added");
    let value = 77_u64.to_ne_bytes();
    // SAFETY: as many bytes as are there; the value is an atomic one.
    assert_eq!(unsafe { libc::pwrite(file, value.as_ptr().cast(), 8, 64) }, 8);
    assert_eq!(region[0].load(Ordering::Relaxed), 77);
    // A hole reads as zeroes, and is filled when it is written.
    let hole = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    // SAFETY: takes numbers only.
    assert_eq!(unsafe { libc::fallocate(file, hole, 0, 4096) }, 0);
    assert_eq!(region[1].fetch_add(1, Ordering::Relaxed), 0);
    // SAFETY: open, and of the same type.
    let none = unsafe { Region::<[AtomicU64; 2]>::from_raw_fd(file, 1) };
    assert_eq!(none.unwrap_err(), RegionError::NotARegion);
    // A descriptor for reading only is refused: locks are words that their readers write.
    let read_only = std::fs::File::open(format!("/proc/self/fd/{file}")).unwrap();
    // SAFETY: open, and of the same type.
    let none = unsafe { Region::<[AtomicU64; 2]>::from_raw_fd(std::os::fd::AsRawFd::as_raw_fd(&read_only), 1) };
    assert_eq!(none.unwrap_err(), RegionError::System(libc::EACCES));
}
