//! A host for a microcontroller: one address space of 64 words, 16 threads, no heap. The programs
//! beside it call the engine on it; `ci/small` measures them.
//!
//! Orderings. Relaxed: the host's own words, of one processor. SeqCst: what the engine's contract asks
//! of user memory, of an unpark and of an interrupt.
//!
//! Blocking, time and the heap's absence are what a real system would put here; they are kept as
//! small as they can be, so that what is measured is the engine.

#![no_std]

use core::alloc::{GlobalAlloc, Layout};
use core::mem::MaybeUninit;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, Ordering};

use leeward_engine::{
    Abilities, Access, Address, Clock, Config, Deadline, Engine, Errno, Fault, Flag, Host, Inheritance, Interrupt,
    Memory, Owner, ParkEnd, Priority, Processors, RobustHost, SharedKey, Space, Thread,
};

/// The words that programs can name, from address 0 on.
pub static WORDS: [AtomicU32; 64] = [const { AtomicU32::new(0) }; 64];
/// The number of the thread that runs.
pub static CURRENT: AtomicU8 = AtomicU8::new(0);
/// What the `stack` program does when a thread is to sleep.
pub static ON_PARK: AtomicPtr<()> = AtomicPtr::new(core::ptr::null_mut());
/// The threads that were unparked, a bit each.
static READY: AtomicU32 = AtomicU32::new(0);
/// The head of each thread's robust list.
static HEADS: [AtomicU32; 16] = [const { AtomicU32::new(0) }; 16];

/// The most bytes that the engine's table may take.
const ARENA: usize = 16 * 128 + 128;
/// The bytes of it that the engine asked for.
pub static TABLE_BYTES: AtomicU32 = AtomicU32::new(0);

/// The only memory for tables: given once.
#[repr(align(128))]
struct Arena(core::cell::UnsafeCell<MaybeUninit<[u8; ARENA]>>);
// SAFETY: `Once` gives it to one user.
unsafe impl Sync for Arena {}

static TABLE: Arena = Arena(core::cell::UnsafeCell::new(MaybeUninit::uninit()));
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Memory that one table is allocated from.
#[derive(Clone)]
pub struct Once;

// SAFETY: the block is a static that is given once.
unsafe impl Memory for Once {
    fn allocate(&self, layout: Layout, _: Option<u32>) -> Option<NonNull<u8>> {
        let fits = layout.size() <= ARENA && layout.align() <= 128;
        // Relaxed: one processor.
        if !fits || TAKEN.swap(true, Ordering::Relaxed) {
            return None;
        }
        TABLE_BYTES.store(layout.size() as u32, Ordering::Relaxed);
        NonNull::new(TABLE.0.get().cast())
    }

    unsafe fn free(&self, _: NonNull<u8>, _: Layout) {}
}

/// The global allocator that there must be: it has nothing to give, and is never asked.
struct NoHeap;

// SAFETY: it gives nothing.
unsafe impl GlobalAlloc for NoHeap {
    unsafe fn alloc(&self, _: Layout) -> *mut u8 {
        core::ptr::null_mut()
    }
    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

#[global_allocator]
static NO_HEAP: NoHeap = NoHeap;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}

/// The calling thread; `ALL` has the optional parts too.
pub struct Mcu<const ALL: bool> {
    /// The only address space.
    pub space: Space<Mcu<ALL>>,
}

/// Returns the engine and the thread.
pub fn start<const ALL: bool>() -> Option<(Engine<Mcu<ALL>>, Mcu<ALL>)> {
    let engine = Engine::new(Config::small(7), Once).ok()?;
    Some((engine, Mcu { space: Space::new(1, 7, Once) }))
}

fn word(address: Address) -> Result<&'static AtomicU32, Fault> {
    WORDS.get((address / 4) as usize).ok_or(Fault)
}

impl<const ALL: bool> Host for Mcu<ALL> {
    type Task = u8;
    type Memory = Once;
    type Preemption<'a> = ();

    fn space(&self) -> &Space<Self> {
        &self.space
    }
    fn threads(&self) -> u32 {
        16
    }
    fn in_range(&self, address: Address) -> bool {
        address < 4 * WORDS.len() as u64
    }
    fn load(&self, address: Address) -> Result<u32, Fault> {
        Ok(word(address)?.load(Ordering::SeqCst))
    }
    fn compare_exchange(&self, address: Address, old: u32, new: u32) -> Result<u32, Fault> {
        let (Ok(was) | Err(was)) = word(address)?.compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst);
        Ok(was)
    }
    fn read(&self, address: Address, to: &mut [u8]) -> Result<(), Fault> {
        for (place, byte) in (address..).zip(to) {
            *byte = word(place)?.load(Ordering::Relaxed).to_ne_bytes()[(place & 3) as usize];
        }
        Ok(())
    }
    fn fault_in(&self, _: Address, _: Access) -> Result<(), Errno> {
        Err(Errno::EFAULT)
    }
    fn resolve_shared(&self, _: Address, _: Access) -> Result<SharedKey, Errno> {
        Ok(SharedKey::Anonymous)
    }
    fn task(&self, _: &Flag) -> u8 {
        CURRENT.load(Ordering::Relaxed)
    }
    fn park(&self, flag: &Flag, until: Option<Deadline>) -> ParkEnd {
        let hook = ON_PARK.load(Ordering::Relaxed);
        if !hook.is_null() {
            // SAFETY: the `stack` program stores functions of this type.
            let hook = unsafe { core::mem::transmute::<*mut (), fn()>(hook) };
            hook();
        }
        while flag.is_waiting() {
            if until.is_some_and(|until| until.at <= u64::from(READY.load(Ordering::Relaxed))) {
                return ParkEnd::TimedOut;
            }
        }
        ParkEnd::Unparked
    }
    fn unpark(&self, task: u8) {
        READY.fetch_or(1 << task, Ordering::SeqCst);
    }
    fn now(&self, _: Clock) -> u64 {
        u64::from(READY.load(Ordering::Relaxed))
    }
    fn preempt_off(&self) {}
    fn processors(&self) -> Option<&dyn Processors<Self>> {
        if ALL { Some(self) } else { None }
    }
    fn inheritance(&self) -> Option<&dyn Inheritance<Self>> {
        if ALL { Some(self) } else { None }
    }
}

impl<const ALL: bool> Inheritance<Mcu<ALL>> for Mcu<ALL> {
    fn current(&self) -> Thread {
        let number = CURRENT.load(Ordering::Relaxed);
        Thread { id: number.into(), number: number.into() }
    }
    fn find(&self, number: u32) -> Owner {
        if number < 16 { Owner::Thread(number.into()) } else { Owner::Nobody }
    }
    fn priority(&self, thread: u64) -> Priority {
        Priority(thread as u32)
    }
    fn lend(&self, thread: u64, priority: Option<Priority>) {
        if priority.is_some() {
            READY.fetch_or(1 << thread, Ordering::Relaxed);
        }
    }
}

impl<const ALL: bool> RobustHost for Mcu<ALL> {
    fn thread_id(&self) -> u32 {
        CURRENT.load(Ordering::Relaxed).into()
    }
    fn robust_head(&self, thread: u32) -> Result<Address, Errno> {
        HEADS.get(thread as usize).map(|head| head.load(Ordering::Relaxed).into()).ok_or(Errno::ESRCH)
    }
    fn set_robust_head(&self, head: Address) {
        if let Some(own) = HEADS.get(self.thread_id() as usize) {
            own.store(head as u32, Ordering::Relaxed);
        }
    }
    fn write(&self, address: Address, from: &[u8]) -> Result<(), Fault> {
        for (place, bytes) in (address..).step_by(4).zip(from.chunks_exact(4)) {
            let number = u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            word(place)?.store(number, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// One processor, which interrupts itself.
impl<const ALL: bool> Processors<Mcu<ALL>> for Mcu<ALL> {
    fn abilities(&self) -> Abilities {
        Abilities { delayed: true, expedited: true, sync_core: true, rseq: true }
    }
    fn count(&self) -> u32 {
        2
    }
    fn online(&self, _: u32) -> u64 {
        0b11
    }
    fn alone(&self) -> bool {
        false
    }
    fn pin(&self) -> u32 {
        0
    }
    fn unpin(&self) {}
    fn full_barrier(&self) {
        core::sync::atomic::fence(Ordering::SeqCst);
    }
    fn ran_on(&self, _: u32) -> u64 {
        READY.load(Ordering::Relaxed).into()
    }
    fn inspect(&self, _: u32, see: &mut dyn FnMut(&Space<Self>)) {
        see(&self.space);
    }
    fn send(&self, processor: u32, _: Interrupt) {
        READY.fetch_or(1 << processor, Ordering::SeqCst);
    }
    fn wait(&self, _: u32) {}
    fn here(&self, _: Interrupt) {
        core::sync::atomic::fence(Ordering::SeqCst);
    }
    fn grace_period(&self) -> Result<(), Errno> {
        Ok(())
    }
}

/// The arguments of a system call, which nothing in the program decides: the compiler leaves no case
/// out.
pub fn arguments() -> (u64, [u64; 6]) {
    // Hidden from the compiler: where no program stores to the words, they are 0, and so is the number of the call.
    let argument = |i: usize| core::hint::black_box(u64::from(WORDS[i].load(Ordering::Relaxed)));
    (argument(0), core::array::from_fn(|i| argument(i + 1)))
}
