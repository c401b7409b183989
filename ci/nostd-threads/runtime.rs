//! What std would bring: an allocator that counts, a panic handler that says where, threads,
//! processes.

use alloc::boxed::Box;
use core::alloc::{GlobalAlloc, Layout};
use core::ffi::{CStr, c_void};
use core::fmt::Write;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;

struct Malloc;

/// The number of allocations of this program and of leeward.
pub static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: aligned_alloc serves every alignment.
unsafe impl GlobalAlloc for Malloc {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        let align = layout.align().max(16);
        let size = layout.size().div_ceil(align) * align;
        // SAFETY: a power of two, and a multiple of it.
        unsafe { libc::aligned_alloc(align, size).cast() }
    }
    unsafe fn dealloc(&self, memory: *mut u8, _: Layout) {
        // SAFETY: it came from `alloc`.
        unsafe { libc::free(memory.cast()) }
    }
}
#[global_allocator]
static MALLOC: Malloc = Malloc;

/// The number of mappings that leeward asked for: of slots beyond the first, and two pages of its own.
pub static MAPPINGS: AtomicUsize = AtomicUsize::new(0);

/// What leeward calls instead of the C library's function of that name, which the C library itself
/// does not call by its name.
///
/// # Safety
/// As the system's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mmap(
    address: *mut c_void,
    length: usize,
    access: i32,
    flags: i32,
    file: i32,
    offset: i64,
) -> *mut c_void {
    MAPPINGS.fetch_add(1, Ordering::Relaxed);
    // SAFETY: the caller's promise.
    unsafe { libc::syscall(libc::SYS_mmap, address, length, access, flags, file, offset) as *mut c_void }
}

struct Stderr;

impl Write for Stderr {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        // SAFETY: reads the text.
        let _ = unsafe { libc::write(2, text.as_ptr().cast(), text.len()) };
        Ok(())
    }
}

#[panic_handler]
fn panic(info: &core::panic::PanicInfo) -> ! {
    let _ = writeln!(Stderr, "{info}");
    // SAFETY: ends the process.
    unsafe { libc::abort() }
}

/// core and alloc are built to unwind; nothing here does.
#[unsafe(no_mangle)]
pub extern "C" fn rust_eh_personality() {}

pub fn say(line: &CStr) {
    // SAFETY: a string that ends with 0.
    unsafe { libc::puts(line.as_ptr()) };
}

pub fn nap() {
    // SAFETY: has no precondition.
    unsafe { libc::usleep(1000) };
}

/// Waits until `is_so`, for ten seconds at most.
pub fn until(is_so: impl Fn() -> bool) {
    for _ in 0..10_000 {
        if is_so() {
            return;
        }
        nap();
    }
    panic!("waited for ten seconds");
}

/// A thread that has not been joined.
pub struct Thread(pub libc::pthread_t);

/// Runs `work` on a new thread.
pub fn spawn(work: impl FnOnce() + Send + 'static) -> Thread {
    extern "C" fn begin(work: *mut c_void) -> *mut c_void {
        // SAFETY: `spawn` passes this box.
        let work = unsafe { Box::from_raw(work.cast::<Box<dyn FnOnce()>>()) };
        work();
        core::ptr::null_mut()
    }
    let work: Box<Box<dyn FnOnce()>> = Box::new(Box::new(work));
    let mut thread = core::mem::MaybeUninit::uninit();
    let argument = Box::into_raw(work).cast();
    // SAFETY: a function that takes the box.
    let error = unsafe { libc::pthread_create(thread.as_mut_ptr(), core::ptr::null(), begin, argument) };
    assert!(error == 0);
    // SAFETY: written above.
    Thread(unsafe { thread.assume_init() })
}

impl Thread {
    pub fn join(self) {
        // SAFETY: a thread that was not joined.
        assert!(unsafe { libc::pthread_join(self.0, core::ptr::null_mut()) } == 0);
    }
}

/// Runs `work` on a new thread, and waits for its end.
pub fn on_a_thread(work: impl FnOnce() + Send + 'static) {
    spawn(work).join();
}

/// Returns true if `work` returns true in a child.
pub fn in_child(work: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child uses nothing but leeward and what the C library repairs.
    let child = unsafe { libc::fork() };
    assert!(child >= 0);
    if child == 0 {
        // SAFETY: ends a child that hangs.
        unsafe { libc::alarm(60) };
        let code = if work() { 0 } else { 1 };
        // SAFETY: ends the child.
        unsafe { libc::_exit(code) }
    }
    let mut status = 0;
    // SAFETY: a local variable, and a child of this process.
    assert!(unsafe { libc::waitpid(child, &mut status, 0) } == child);
    status == 0
}

pub const SHORT: Duration = Duration::from_millis(2);
