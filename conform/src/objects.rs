//! Memory that scenarios map: objects (files in memory) at one or two addresses, and anonymous memory.
//! And what one word's sleepers and wakes have to do with another's.

use crate::errno::{Answer, Errno};
use crate::futex::{ALL, wait, wake};
use crate::numbers;
use crate::scenario::{Outcome, Trouble};
use crate::world::{Started, WORDS, World, unfit};

/// The size of each mapping, in bytes: a page of the largest kind.
pub(crate) const SIZE: usize = 64 * 1024;
const SIGCHLD: usize = 17;
const PROT_READ: usize = 1;
const PROT_READ_WRITE: usize = 3;
const PROT_READ_EXECUTE: usize = 5;
const MAP_SHARED: usize = 1;
const MAP_PRIVATE: usize = 2;
const MAP_FIXED: usize = 0x10;
const MAP_ANONYMOUS: usize = 0x20;
const MAP_HUGETLB_2_MIB: usize = 0x4_0000 | 21 << 26;
const MFD_HUGETLB_2_MIB: usize = 4 | 21 << 26;
const MADV_HUGEPAGE: usize = 14;
const MAP_FIXED_NOREPLACE: usize = 0x10_0000;
const MREMAP_MAYMOVE: usize = 1;
const MREMAP_FIXED: usize = 2;

/// The words by which a sleeper learns its word's address and flags, and says that it has.
const ADDRESS: usize = WORDS - 4;
const FLAGS: usize = WORDS - 2;
const TAKEN: usize = WORDS - 1;

/// A file in memory.
#[derive(Clone, Copy)]
pub(crate) struct Object(usize);

/// A mapping, by its address.
#[derive(Clone, Copy)]
pub(crate) struct Region(usize);

impl Region {
    /// Returns the region at an address.
    pub(crate) fn at(address: usize) -> Region {
        Region(address)
    }

    /// Returns the region from its first address on that is a multiple.
    pub(crate) fn aligned(self, to: usize) -> Region {
        Region(self.0.next_multiple_of(to))
    }

    /// Returns the region that begins some bytes later.
    pub(crate) fn after(self, bytes: usize) -> Region {
        Region(self.0 + bytes)
    }

    /// Returns the address of one of its words.
    pub(crate) fn word(self, at: usize) -> usize {
        self.0 + 4 * at
    }
}

/// How memory is mapped.
#[derive(Clone, Copy)]
pub(crate) struct Map {
    protection: usize,
    flags: usize,
    object: Option<Object>,
    offset: usize,
    address: usize,
    size: usize,
}

impl Map {
    /// Anonymous memory of this process.
    pub(crate) const PRIVATE: Map = Map {
        protection: PROT_READ_WRITE,
        flags: MAP_PRIVATE | MAP_ANONYMOUS,
        object: None,
        offset: 0,
        address: 0,
        size: SIZE,
    };

    /// Anonymous memory that is shared with children.
    pub(crate) const SHARED: Map = Map { flags: MAP_SHARED | MAP_ANONYMOUS, ..Map::PRIVATE };

    /// An object, shared.
    pub(crate) const fn of(object: Object) -> Map {
        Map { flags: MAP_SHARED, object: Some(object), ..Map::PRIVATE }
    }

    /// Where in the object it begins.
    pub(crate) const fn from(self, offset: usize) -> Map {
        Map { offset, ..self }
    }

    /// At the address of a region, which it replaces.
    pub(crate) const fn over(self, region: Region) -> Map {
        Map { address: region.0, flags: self.flags | MAP_FIXED, ..self }
    }

    /// At an address where nothing is mapped; a kernel may choose another one.
    pub(crate) const fn at(self, address: usize) -> Map {
        Map { address, flags: self.flags | MAP_FIXED_NOREPLACE, ..self }
    }

    /// Of huge pages, which must have been set aside.
    pub(crate) const fn huge(self) -> Map {
        Map { flags: self.flags | MAP_HUGETLB_2_MIB, ..self }
    }

    /// Of another size than `SIZE`.
    pub(crate) const fn sized(self, size: usize) -> Map {
        Map { size, ..self }
    }

    /// For reading alone.
    pub(crate) const fn read_only(self) -> Map {
        Map { protection: PROT_READ, ..self }
    }

    /// For reading and execution.
    pub(crate) const fn executable(self) -> Map {
        Map { protection: PROT_READ_EXECUTE, ..self }
    }

    /// A copy of the object, of which a page is made when it is written to.
    pub(crate) const fn copied(self) -> Map {
        Map { flags: self.flags & !MAP_SHARED | MAP_PRIVATE, ..self }
    }
}

impl World<'_> {
    /// Makes a file in memory, of zeroes.
    pub(crate) fn object(&self, size: usize) -> Result<Object, Trouble> {
        self.object_with(0, size)
    }

    /// Makes a file in memory, of zeroes, of huge pages.
    pub(crate) fn huge_object(&self, size: usize) -> Result<Object, Trouble> {
        self.object_with(MFD_HUGETLB_2_MIB, size)
    }

    fn object_with(&self, flags: usize, size: usize) -> Result<Object, Trouble> {
        let name = c"conform".as_ptr().expose_provenance();
        // SAFETY: reads a string that ends.
        let object = unsafe { self.call(numbers::MEMFD_CREATE, [name, flags, 0, 0, 0, 0]) };
        let object = object.map_err(|errno| unfit(format_args!("memfd_create with flags {flags:#x}: {errno}")))?;
        let object = Object(object);
        self.resize(object, size).map(|()| object)
    }

    /// Cuts a file in memory, or makes it longer.
    pub(crate) fn resize(&self, object: Object, size: usize) -> Outcome {
        // SAFETY: takes numbers.
        let sized = unsafe { self.call(numbers::FTRUNCATE, [object.0, size, 0, 0, 0, 0]) };
        sized.map(drop).map_err(|errno| unfit(format_args!("ftruncate of a memfd to {size:#x} bytes: {errno}")))
    }

    /// Closes an object. What is mapped of it stays.
    pub(crate) fn close(&self, object: Object) {
        // SAFETY: a descriptor of the scenario's.
        let _ = unsafe { self.call(numbers::CLOSE, [object.0, 0, 0, 0, 0, 0]) };
    }

    /// Maps memory as asked.
    pub(crate) fn map(&self, map: Map) -> Result<Region, Trouble> {
        let descriptor = map.object.map_or(usize::MAX, |object| object.0);
        let arguments = [map.address, map.size, map.protection, map.flags, descriptor, map.offset];
        // SAFETY: a new mapping, or one over a region of the scenario's, to which nothing refers.
        let mapped = unsafe { self.call(numbers::MMAP, arguments) };
        let what = if map.object.is_some() { "a memfd" } else { "anonymous memory" };
        mapped.map(Region).map_err(|errno| unfit(format_args!("mmap of {what}: {errno}")))
    }

    /// Maps memory whose addresses have the lower 32 bits of a region's, and other upper ones.
    pub(crate) fn map_far_from(&self, region: Region, map: Map) -> Result<Region, Trouble> {
        for distance in 1..64_usize {
            for address in [region.0.wrapping_add(distance << 32), region.0.wrapping_sub(distance << 32)] {
                match self.map(map.at(address)) {
                    Ok(far) if far.0 == address => return Ok(far),
                    Ok(elsewhere) => self.unmap_region(elsewhere)?,
                    Err(_) => {}
                }
            }
        }
        Err(unfit(format_args!("mmap has no memory at an address that is 4 GiB, or a multiple, from another's")))
    }

    /// Asks that a region be of huge pages, as far as there are any.
    pub(crate) fn make_huge(&self, region: Region, size: usize) -> Outcome {
        // SAFETY: a region of the scenario's, whose contents stay.
        let advised = unsafe { self.call(numbers::MADVISE, [region.0, size, MADV_HUGEPAGE, 0, 0, 0]) };
        advised.map(drop).map_err(|errno| unfit(format_args!("madvise for huge pages: {errno}")))
    }

    /// Lets a part of a region be written to, or read alone.
    pub(crate) fn protect(&self, region: Region, size: usize, for_writing: bool) -> Outcome {
        let protection = if for_writing { PROT_READ_WRITE } else { PROT_READ };
        // SAFETY: a region of the scenario's, to which nothing refers.
        let protected = unsafe { self.call(numbers::MPROTECT, [region.0, size, protection, 0, 0, 0]) };
        protected.map(drop).map_err(|errno| unfit(format_args!("mprotect: {errno}")))
    }

    /// Unmaps a whole region.
    pub(crate) fn unmap_region(&self, region: Region) -> Outcome {
        self.unmap_all(region, SIZE)
    }

    /// Unmaps a region of another size than `SIZE`.
    pub(crate) fn unmap_all(&self, region: Region, size: usize) -> Outcome {
        // SAFETY: a region of the scenario's, to which nothing refers.
        let unmapped = unsafe { self.call(numbers::MUNMAP, [region.0, size, 0, 0, 0, 0]) };
        unmapped.map(drop).map_err(|errno| unfit(format_args!("munmap: {errno}")))
    }

    /// Maps memory behind which nothing is mapped.
    pub(crate) fn before_a_hole(&self) -> Result<Region, Trouble> {
        let region = self.map(Map::PRIVATE.sized(2 * SIZE))?;
        self.unmap_region(Region(region.0 + SIZE))?;
        Ok(region)
    }

    /// Moves memory to an address that has not been used.
    pub(crate) fn moved(&self, region: Region) -> Result<Region, Trouble> {
        let to = self.map(Map::PRIVATE)?;
        let arguments = [region.0, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, to.0, 0];
        // SAFETY: two regions of the scenario's, to which nothing refers.
        let moved = unsafe { self.call(numbers::MREMAP, arguments) };
        moved.map(Region).map_err(|errno| unfit(format_args!("mremap: {errno}")))
    }

    /// Stores a value in a region that is mapped for writing.
    pub(crate) fn store<T: Copy>(&self, address: usize, value: T) {
        // SAFETY: mapped, and nothing of Rust's.
        unsafe { core::ptr::with_exposed_provenance_mut::<T>(address).write_volatile(value) };
    }

    /// Loads a value from a region that is mapped.
    pub(crate) fn load<T: Copy>(&self, address: usize) -> T {
        // SAFETY: mapped, and nothing of Rust's.
        unsafe { core::ptr::with_exposed_provenance::<T>(address).read_volatile() }
    }

    /// Keeps an address in two of the scenario's words, for threads.
    pub(crate) fn set_address(&self, at: usize, address: usize) {
        self.set(at, address as u32);
        self.set(at + 1, (address as u64 >> 32) as u32);
    }

    /// Returns an address that was kept.
    pub(crate) fn address_in(&self, at: usize) -> usize {
        (u64::from(self.get(at)) | u64::from(self.get(at + 1)) << 32) as usize
    }

    /// Starts a thread that waits while the word at this address is 0, and lets it go to sleep.
    pub(crate) fn sleeper_of(&self, address: usize, flags: u32) -> Result<Started, Trouble> {
        self.sleep_at(address, flags);
        let sleeper = self.start(sleep)?;
        self.wait_until(|| self.get(TAKEN) == 1);
        self.rest();
        Ok(sleeper)
    }

    /// Says where `sleep` is to wait, with which flags.
    pub(crate) fn sleep_at(&self, address: usize, flags: u32) {
        self.set_address(ADDRESS, address);
        self.set(FLAGS, flags);
        self.set(TAKEN, 0);
    }

    /// Asserts that a wake of all at this address finds no sleeper.
    pub(crate) fn misses(&self, address: usize, flags: u32, whom: &str) -> Outcome {
        self.same(format_args!("FUTEX_WAKE of {whom}"), self.futex(wake(address, flags, ALL)), Ok(0))
    }

    /// Asserts that a wake of one at this address finds the sleeper, whose wait then ends.
    pub(crate) fn meets(&self, sleeper: Started, address: usize, flags: u32, whom: &str) -> Outcome {
        self.same(format_args!("FUTEX_WAKE of {whom}"), self.futex(wake(address, flags, 1)), Ok(1))?;
        self.step(&"waits for the end of the sleeper's call");
        self.ends(sleeper, "the sleeper", Ok(0))
    }

    /// Lets time go by until something is so.
    pub(crate) fn wait_until(&self, is_so: impl Fn() -> bool) {
        let _ = self.until_not_zero(|| Ok(usize::from(is_so())));
    }

    /// Lets another thread run on this processor.
    pub(crate) fn lets_others_run(&self) {
        // SAFETY: takes no argument.
        let _ = unsafe { self.call(numbers::SCHED_YIELD, [0; 6]) };
    }

    /// Lets another thread run on this processor after some calls: for loops that do nothing else but call. On a
    /// kernel that takes no processor away they would have no end.
    pub(crate) fn lets_others_run_now_and_then(&self) {
        if self.spins() % 16 == 0 {
            self.lets_others_run();
        }
    }

    /// Does something in a child process, which then ends; returns what it answered there.
    pub(crate) fn in_child(&self, body: impl FnOnce() -> Answer) -> Result<Answer, Trouble> {
        let answered = self.shared()?;
        // SAFETY: the child has a copy of all memory that is not shared.
        let child = unsafe { self.call(numbers::CLONE, [SIGCHLD, 0, 0, 0, 0, 0]) };
        let child = child.map_err(|errno| unfit(format_args!("no child process: {errno}")))?;
        let order = core::sync::atomic::Ordering::SeqCst;
        if child == 0 {
            let (word, value) = body().map_or_else(|errno| (1, u32::from(errno.0)), |answered| (0, answered as u32));
            answered.word(word).store(value, order);
            answered.word(2).store(1, order);
            self.exit();
        }
        self.status_of(crate::processes::Child(child))?;
        let [value, errno, is_done] = [0, 1, 2].map(|at| answered.word(at).load(order));
        match (is_done, errno) {
            (0, _) => Err(unfit(format_args!("a child process died"))),
            (_, 0) => Ok(Ok(value as usize)),
            _ => Ok(Err(Errno(errno as u16))),
        }
    }

    fn exit(&self) -> ! {
        loop {
            // SAFETY: takes a number.
            let _ = unsafe { self.call(numbers::EXIT_GROUP, [0; 6]) };
        }
    }
}

/// The body of a sleeper; also of a child process, whose copy of the words is its own.
pub(crate) fn sleep(world: &World<'_>) -> Answer {
    let (address, flags) = (world.address_in(ADDRESS), world.get(FLAGS));
    world.set(TAKEN, 1);
    world.futex(wait(address, flags, 0, 0))
}
