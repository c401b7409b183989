//! A host whose memory has missing, read-only and doubly mapped parts: the process's own pages at
//! their own addresses, so that the kernel can be asked the same questions.

// Each test program uses its part.
#![allow(dead_code)]

use std::cell::Cell;
use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use leeward_engine::parking::{self, Parked};
use leeward_engine::{
    Access, Address, Clock, Deadline, Errno, Fault, Flag, Heap, Host, Inheritance, Nodes, Owner, ParkEnd, Priority,
    RobustHost, RobustUnlock, SharedKey, Size, Space, Thread,
};

pub const PAGE: usize = 4096;

thread_local! {
    /// The calling thread's place among the waiters of a word.
    pub static URGENCY: Cell<Priority> = const { Cell::new(Priority::NORMAL) };
}

/// The pages of the arena, in their order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Page {
    /// An anonymous writable page.
    Writable,
    /// An anonymous read-only page.
    ReadOnly,
    Missing,
    /// The first page of a shared memory object.
    Object,
    /// That first page of the object, mapped once more.
    Alias,
}

const PAGES: [Page; 5] = [Page::Writable, Page::ReadOnly, Page::Missing, Page::Object, Page::Alias];

pub struct Guest {
    space: Space<Guest>,
    base: usize,
    /// How often a thread asked for its word to be compared again.
    pub rechecks: AtomicU32,
    /// True if words of every size are served, false if of 32 bits alone, as by the kernel.
    pub all_sizes: bool,
    pub unlock: RobustUnlock,
    /// Called when a thread has given a lock of the engine's up.
    pub unlocked: fn(),
    exiting: Mutex<HashSet<u32>>,
}

impl Guest {
    pub fn new() -> Guest {
        Guest::mapped(0)
    }

    /// Makes a guest whose addresses have 32 bits.
    #[cfg(target_arch = "x86_64")]
    pub fn low() -> Guest {
        Guest::mapped(libc::MAP_32BIT)
    }

    fn mapped(how: libc::c_int) -> Guest {
        let (any, both) = (libc::MAP_ANONYMOUS | libc::MAP_PRIVATE | how, libc::PROT_READ | libc::PROT_WRITE);
        // SAFETY: a new mapping.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), PAGES.len() * PAGE, both, any, -1, 0) };
        assert_ne!(base, libc::MAP_FAILED);
        let guest = Guest {
            space: Space::new(1, 99, Heap),
            base: base.expose_provenance(),
            rechecks: AtomicU32::new(0),
            all_sizes: false,
            unlock: RobustUnlock::Absent,
            unlocked: || (),
            exiting: Mutex::default(),
        };
        guest.store(guest.address(Page::ReadOnly), 5);
        // SAFETY: a name.
        let object = unsafe { libc::memfd_create(c"leeward".as_ptr(), 0) };
        // SAFETY: a file of ours.
        assert_eq!(unsafe { libc::ftruncate(object, PAGE as libc::off_t) }, 0);
        for page in [Page::Object, Page::Alias] {
            let place = std::ptr::with_exposed_provenance_mut(guest.address(page) as usize);
            // SAFETY: over a part of our mapping that is not in use yet.
            let there = unsafe { libc::mmap(place, PAGE, both, libc::MAP_SHARED | libc::MAP_FIXED, object, 0) };
            assert_eq!(there, place);
        }
        for (page, access) in [(Page::ReadOnly, libc::PROT_READ), (Page::Missing, libc::PROT_NONE)] {
            let place = std::ptr::with_exposed_provenance_mut(guest.address(page) as usize);
            // SAFETY: a part of our mapping.
            assert_eq!(unsafe { libc::mprotect(place, PAGE, access) }, 0);
        }
        guest
    }

    pub fn address(&self, page: Page) -> Address {
        let place = PAGES.iter().position(|there| *there == page).unwrap();
        (self.base + place * PAGE) as Address
    }

    fn page(&self, address: Address) -> Option<Page> {
        let offset = (address as usize).checked_sub(self.base)?;
        PAGES.get(offset / PAGE).copied()
    }

    fn word(&self, address: Address) -> &AtomicU32 {
        let word = std::ptr::with_exposed_provenance_mut(address as usize);
        // SAFETY: the callers have checked: a word of our pages, aligned.
        unsafe { AtomicU32::from_ptr(word) }
    }

    fn check(&self, address: Address, access: Access) -> Result<(), Fault> {
        match (self.page(address), access) {
            (None | Some(Page::Missing), _) | (Some(Page::ReadOnly), Access::Write) => Err(Fault),
            _ => Ok(()),
        }
    }

    /// Writes a value into a writable word, as the test.
    pub fn store(&self, address: Address, value: u32) {
        self.word(address).store(value, Ordering::SeqCst);
    }

    /// Returns what a readable word holds.
    pub fn value(&self, address: Address) -> u32 {
        self.word(address).load(Ordering::SeqCst)
    }

    /// Says that the calling thread has begun; its number may have been another thread's.
    pub fn begins(&self) {
        self.exiting.lock().unwrap().remove(&gettid());
    }

    /// Says that the calling thread is about to exit.
    pub fn exits(&self) {
        self.exiting.lock().unwrap().insert(gettid());
    }

    /// Returns all of the memory that can be read.
    pub fn contents(&self) -> Vec<u32> {
        let pages = [Page::Writable, Page::ReadOnly, Page::Object];
        let words = |page| (0..PAGE as u64 / 4).map(move |i| self.address(page) + 4 * i);
        pages.into_iter().flat_map(words).map(|word| self.word(word).load(Ordering::SeqCst)).collect()
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        // SAFETY: our mapping; the guest is gone.
        unsafe { libc::munmap(std::ptr::with_exposed_provenance_mut(self.base), PAGES.len() * PAGE) };
    }
}

/// A time in which a lock is held, and what is called at its end.
pub struct Locked(fn());

impl Drop for Locked {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// The answers of a machine with one node.
impl Nodes for Guest {
    fn local(&self) -> u32 {
        0
    }
    fn has(&self, node: u32) -> bool {
        node == 0
    }
}

impl Host for Guest {
    type Task = Parked;
    type Memory = Heap;
    type Preemption<'a> = Locked;

    fn space(&self) -> &Space<Guest> {
        &self.space
    }
    fn threads(&self) -> u32 {
        8
    }
    fn in_range(&self, address: Address) -> bool {
        address < (1 << 47) - PAGE as u64
    }
    fn load(&self, address: Address) -> Result<u32, Fault> {
        self.check(address, Access::Read)?;
        Ok(self.word(address).load(Ordering::SeqCst))
    }
    fn serves(&self, size: Size) -> bool {
        self.all_sizes || size == Size::U32
    }
    fn load_sized(&self, address: Address, size: Size) -> Result<u64, Fault> {
        self.check(address, Access::Read)?;
        assert!(self.serves(size) && size != Size::U32 && address % size.bytes() == 0, "{size:?} at {address:#x}");
        // SAFETY: a word of our pages, aligned, that can be read.
        let word = unsafe { AtomicU64::from_ptr(std::ptr::with_exposed_provenance_mut(address as usize & !7)) };
        let bytes = word.load(Ordering::SeqCst).to_ne_bytes();
        let from = address as usize & 7;
        let mut number = [0; 8];
        number[..size.bytes() as usize].copy_from_slice(&bytes[from..from + size.bytes() as usize]);
        Ok(if cfg!(target_endian = "little") {
            u64::from_le_bytes(number)
        } else {
            u64::from_be_bytes(number) >> (64 - 8 * size.bytes())
        })
    }
    fn compare_exchange(&self, address: Address, old: u32, new: u32) -> Result<u32, Fault> {
        self.check(address, Access::Write)?;
        let (Ok(was) | Err(was)) = self.word(address).compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst);
        Ok(was)
    }
    fn read(&self, address: Address, to: &mut [u8]) -> Result<(), Fault> {
        for (i, byte) in to.iter_mut().enumerate() {
            let place = address.wrapping_add(i as u64);
            self.check(place, Access::Read)?;
            *byte = self.word(place & !3).load(Ordering::SeqCst).to_ne_bytes()[place as usize & 3];
        }
        Ok(())
    }
    fn fault_in(&self, address: Address, access: Access) -> Result<(), Errno> {
        self.check(address, access).map_err(|_| Errno::EFAULT)
    }
    fn resolve_shared(&self, address: Address, access: Access) -> Result<SharedKey, Errno> {
        self.check(address, access).map_err(|_| Errno::EFAULT)?;
        match self.page(address) {
            Some(Page::Object | Page::Alias) => Ok(SharedKey::Object { object: 1, offset: address % PAGE as u64 }),
            Some(Page::Writable) => Ok(SharedKey::Anonymous),
            _ => Err(Errno::EFAULT),
        }
    }
    fn task(&self, flag: &Flag) -> Parked {
        Parked::with(flag)
    }
    fn park(&self, flag: &Flag, until: Option<Deadline>) -> ParkEnd {
        // A sleep with a deadline is ended by every signal, whatever its handler is: without a
        // deadline, the kernel would restart it by itself.
        let far = || Deadline { clock: Clock::Monotonic, at: parking::now(Clock::Monotonic) + (1 << 60) };
        let end = parking::park(flag, Some(until.unwrap_or_else(far)));
        self.rechecks.fetch_add(u32::from(end == ParkEnd::Recheck), Ordering::SeqCst);
        end
    }
    fn unpark(&self, task: Parked) {
        task.unpark();
    }
    fn now(&self, clock: Clock) -> u64 {
        parking::now(clock)
    }
    fn preempt_off(&self) -> Locked {
        Locked(self.unlocked)
    }
    fn nodes(&self) -> Option<&dyn Nodes> {
        Some(self)
    }
    fn spin(&self, tries: u32) {
        parking::spin(tries);
    }
    fn priority(&self) -> Priority {
        URGENCY.get()
    }
    fn inheritance(&self) -> Option<&dyn Inheritance<Guest>> {
        Some(self)
    }
}

/// Returns the calling thread's number.
pub fn gettid() -> u32 {
    // SAFETY: no arguments.
    unsafe { libc::gettid() as u32 }
}

/// The threads of this machine, all of one priority.
impl Inheritance<Guest> for Guest {
    fn current(&self) -> Thread {
        Thread { id: u64::from(gettid()), number: gettid() }
    }
    fn find(&self, number: u32) -> Owner {
        if self.exiting.lock().unwrap().contains(&number) {
            return Owner::Nobody;
        }
        // The name, which may hold anything, ends with the last parenthesis; then come the state
        // and, as the seventh, the flags.
        let stat = std::fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
        let fields: Vec<_> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        match fields.as_slice() {
            [] | ["Z" | "X", ..] => Owner::Nobody,
            [_, _, _, _, _, _, flags, ..] if flags.parse::<u64>().unwrap() & 0x20_0000 != 0 => Owner::Forbidden,
            _ if std::fs::exists(format!("/proc/self/task/{number}")).unwrap() => Owner::Thread(u64::from(number)),
            _ => Owner::Outside(u64::from(number)),
        }
    }
    fn priority(&self, _: u64) -> Priority {
        Priority::NORMAL
    }
    fn lend(&self, _: u64, _: Option<Priority>) {}
}

/// Returns the kernel's answer to `futex`.
pub fn kernel(arguments: [u64; 6]) -> i64 {
    system(libc::SYS_futex as u64, arguments)
}

/// Returns the kernel's answer to a call by number.
pub fn system(number: u64, arguments: [u64; 6]) -> i64 {
    let [a, b, c, d, e, f] = arguments;
    // SAFETY: futex calls, which write into our pages at most, where a word that is written is in
    // one of them.
    let answer = unsafe { libc::syscall(number as libc::c_long, a, b, c, d, e, f) };
    if answer >= 0 {
        return answer;
    }
    -i64::from(std::io::Error::last_os_error().raw_os_error().unwrap())
}

/// Returns the kernel's answer to a call of a 32-bit program with three arguments.
#[cfg(target_arch = "x86_64")]
pub fn compat_system(number: u64, [first, second, third, ..]: [u64; 6]) -> i64 {
    let answer: i32;
    // SAFETY: robust list calls, which write into our pages at most. What the gate does not keep is
    // named; rbx is put back.
    unsafe {
        std::arch::asm!("xchg rsi, rbx", "int 0x80", "xchg rsi, rbx", inout("rsi") first => _,
            inlateout("eax") number as i32 => answer, in("ecx") second as u32, in("edx") third as u32,
            out("r8") _, out("r9") _, out("r10") _, out("r11") _);
    }
    i64::from(answer)
}

/// Returns true if the kernel serves 32-bit programs: a child makes a call, and dies of it if not.
#[cfg(target_arch = "x86_64")]
pub fn serves_compat() -> bool {
    // SAFETY: the child makes one call and ends.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // getpid.
        let status = i32::from(compat_system(20, [0; 6]) <= 0);
        // SAFETY: ends the child.
        unsafe { libc::_exit(status) };
    }
    let mut status = 1;
    // SAFETY: our child.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    status == 0
}

/// Stores a number of 64 bits.
pub fn put(guest: &Guest, at: Address, value: u64) {
    guest.store(at, value as u32);
    guest.store(at + 4, (value >> 32) as u32);
}

/// An element of waitv's array: value, address, flags and what must be 0.
pub type Element = (u64, u64, u32, u32);

/// Stores an array for waitv.
pub fn put_waitv(guest: &Guest, array: Address, elements: &[Element]) {
    for (i, (value, address, flags, reserved)) in elements.iter().enumerate() {
        let at = array + 24 * i as u64;
        put(guest, at, *value);
        put(guest, at + 8, *address);
        put(guest, at + 16, u64::from(*flags) | u64::from(*reserved) << 32);
    }
}

thread_local! {
    static HEAD: std::cell::Cell<Address> = const { std::cell::Cell::new(0) };
    static COMPAT_HEAD: std::cell::Cell<Address> = const { std::cell::Cell::new(0) };
}

impl RobustHost for Guest {
    fn thread_id(&self) -> u32 {
        gettid()
    }
    fn robust_head(&self, thread: u32) -> Result<Address, Errno> {
        if thread == 0 || thread == self.thread_id() { Ok(HEAD.get()) } else { Err(Errno::ESRCH) }
    }
    fn set_robust_head(&self, head: Address) {
        HEAD.set(head);
    }
    fn compat_robust_head(&self, thread: u32) -> Result<Address, Errno> {
        if thread == 0 || thread == self.thread_id() { Ok(COMPAT_HEAD.get()) } else { Err(Errno::ESRCH) }
    }
    fn set_compat_robust_head(&self, head: Address) -> Result<(), Errno> {
        COMPAT_HEAD.set(head);
        Ok(())
    }
    fn robust_unlock(&self) -> RobustUnlock {
        self.unlock
    }
    fn write(&self, address: Address, from: &[u8]) -> Result<(), Fault> {
        for (i, byte) in from.iter().enumerate() {
            let place = address.wrapping_add(i as u64);
            self.check(place, Access::Write)?;
            let word = self.word(place & !3);
            let mut bytes = word.load(Ordering::SeqCst).to_ne_bytes();
            bytes[place as usize & 3] = *byte;
            word.store(u32::from_ne_bytes(bytes), Ordering::SeqCst);
        }
        Ok(())
    }
}
