//! The guest's memory: a range of addresses of its own, each page of which is somewhere in the
//! process; and the library OS's table of what is mapped there. `host.rs` asks it.

use std::ptr::{null_mut, with_exposed_provenance_mut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use leeward_engine::parking::user_memory;
use leeward_engine::{Access, Address, Errno, Fault, SharedKey};

pub const PAGE: Address = 4096;
/// Where the guest's addresses begin. The first page is left out, so that null is no address.
pub const START: Address = PAGE;
pub const PAGES: Address = 16;
/// The first address after the guest's.
pub const END: Address = START + PAGES * PAGE;

/// An object that guests share: pages of a file. Its number is never given to another one.
pub struct Object {
    number: u64,
    file: i32,
}

impl Object {
    pub fn new(pages: Address) -> Arc<Object> {
        static LAST: AtomicU64 = AtomicU64::new(0);
        // SAFETY: a name.
        let file = unsafe { libc::memfd_create(c"object".as_ptr(), libc::MFD_CLOEXEC) };
        assert!(file >= 0, "a file in memory");
        // Relaxed: a number, and no more.
        let object = Object { number: LAST.fetch_add(1, Ordering::Relaxed) + 1, file };
        object.truncate(pages);
        Arc::new(object)
    }

    /// Cuts or extends the object. What was cut is mapped as before, and faults.
    pub fn truncate(&self, pages: Address) {
        // SAFETY: the object's file.
        assert_eq!(unsafe { libc::ftruncate(self.file, (pages * PAGE) as i64) }, 0);
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        // SAFETY: the object's file.
        unsafe { libc::close(self.file) };
    }
}

/// What the guest's page shows.
enum Area {
    /// Memory of its own, which comes when it is first touched.
    Anonymous,
    /// A page of an object.
    Object { object: Arc<Object>, index: u64 },
}

/// The memory of a guest.
pub struct Memory {
    /// Where the guest's first page is in the process.
    base: u64,
    areas: RwLock<[Option<Area>; PAGES as usize]>,
}

impl Memory {
    /// Reserves a place in the process for all of a guest's pages, without a page.
    pub fn new() -> Memory {
        let len = (PAGES * PAGE) as usize;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping.
        let base = unsafe { libc::mmap(null_mut(), len, libc::PROT_NONE, flags, -1, 0) };
        assert_ne!(base, libc::MAP_FAILED, "a place for the guest");
        Memory { base: base.expose_provenance() as u64, areas: RwLock::default() }
    }

    /// Maps memory of the guest's own at a page. It is not there until it is touched.
    pub fn map_anonymous(&self, page: Address) {
        self.set(page, Area::Anonymous);
    }

    /// Maps a page of an object.
    pub fn map(&self, page: Address, object: &Arc<Object>, index: u64, writable: bool) {
        let protection = if writable { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_READ };
        let place = with_exposed_provenance_mut(self.base as usize + (page - START) as usize);
        let flags = libc::MAP_SHARED | libc::MAP_FIXED;
        let offset = (index * PAGE) as i64;
        // SAFETY: a page of the guest's, in the place that was reserved for it.
        let mapped = unsafe { libc::mmap(place, PAGE as usize, protection, flags, object.file, offset) };
        assert_ne!(mapped, libc::MAP_FAILED, "a mapping");
        self.set(page, Area::Object { object: Arc::clone(object), index });
    }

    fn set(&self, page: Address, area: Area) {
        let mut areas = self.areas.write().unwrap_or_else(PoisonError::into_inner);
        areas[((page - START) / PAGE) as usize] = Some(area);
    }

    /// Returns where an address of the guest's is in the process. What is there need not be.
    #[inline]
    pub fn translate(&self, address: Address) -> Result<u64, Fault> {
        if (START..END).contains(&address) { Ok(self.base + (address - START)) } else { Err(Fault) }
    }

    /// Returns where a range of the guest's is in the process.
    pub fn translate_range(&self, address: Address, len: usize) -> Result<u64, Fault> {
        if len as u64 > END - START || address > END - len as u64 {
            return Err(Fault);
        }
        self.translate(address)
    }

    /// Brings a page in, if the guest may access it so.
    pub fn fault_in(&self, address: Address, access: Access) -> Result<(), Errno> {
        let place = self.translate(address).map_err(|_| Errno::EFAULT)?;
        let areas = self.areas.read().unwrap_or_else(PoisonError::into_inner);
        match &areas[((address - START) / PAGE) as usize] {
            None => Err(Errno::EFAULT),
            Some(Area::Anonymous) => {
                let page = with_exposed_provenance_mut((place & !(PAGE - 1)) as usize);
                // SAFETY: a page of the guest's own. Another thread may have been faster: it keeps
                // what it has.
                let made = unsafe { libc::mprotect(page, PAGE as usize, libc::PROT_READ | libc::PROT_WRITE) };
                if made == 0 { Ok(()) } else { Err(Errno::ENOMEM) }
            }
            // The system knows whether the object is as long, and may be written.
            Some(Area::Object { .. }) => user_memory::fault_in(place, access),
        }
    }

    /// Returns what a shared word is known by. The table answers it; `/proc/self/maps` would, too,
    /// for some microseconds a mapping, and would not say which objects are the same.
    pub fn resolve(&self, address: Address) -> Result<SharedKey, Errno> {
        let areas = self.areas.read().unwrap_or_else(PoisonError::into_inner);
        self.translate(address).map_err(|_| Errno::EFAULT)?;
        match &areas[((address - START) / PAGE) as usize] {
            None => Err(Errno::EFAULT),
            Some(Area::Anonymous) => Ok(SharedKey::Anonymous),
            Some(Area::Object { object, index }) => {
                Ok(SharedKey::Object { object: object.number, offset: index * PAGE + address % PAGE })
            }
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let base = with_exposed_provenance_mut(self.base as usize);
        // SAFETY: the guest's place, which no thread uses any more.
        unsafe { libc::munmap(base, (PAGES * PAGE) as usize) };
    }
}
