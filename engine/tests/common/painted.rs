//! A painted stack: how many bytes of it an operation writes.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The size of a painted stack.
const STACK: usize = 256 << 10;
const PAINT: u64 = 0x5ca1_ab1e_0ddb_a11d;

/// Where the stack was when the operation began.
static TOP: AtomicUsize = AtomicUsize::new(0);

extern "C" fn start(operation: *mut c_void) -> *mut c_void {
    // SAFETY: `depth` passes a `fn()`.
    let operation = unsafe { std::mem::transmute::<*mut c_void, fn()>(operation) };
    let here = 0_u8;
    TOP.store((&raw const here).addr(), Ordering::SeqCst);
    operation();
    null_mut()
}

/// Returns how many bytes below its caller's frame an operation writes.
pub fn depth(operation: fn()) -> usize {
    let mut stack = vec![PAINT; STACK / 8];
    let mut attributes = MaybeUninit::uninit();
    // SAFETY: fills ours.
    assert_eq!(unsafe { libc::pthread_attr_init(attributes.as_mut_ptr()) }, 0);
    // SAFETY: memory that outlives the thread, which is joined.
    assert_eq!(unsafe { libc::pthread_attr_setstack(attributes.as_mut_ptr(), stack.as_mut_ptr().cast(), STACK) }, 0);
    let mut thread = MaybeUninit::uninit();
    // SAFETY: a function that takes such an argument.
    let made = unsafe {
        libc::pthread_create(thread.as_mut_ptr(), attributes.as_ptr(), start, operation as *const () as *mut c_void)
    };
    assert_eq!(made, 0);
    // SAFETY: it was made.
    let thread = unsafe { thread.assume_init() };
    // SAFETY: not joined yet.
    assert_eq!(unsafe { libc::pthread_join(thread, null_mut()) }, 0);
    // The compiler does not know what the thread did to it.
    let bottom = std::hint::black_box(&stack).iter().position(|word| *word != PAINT).unwrap();
    TOP.load(Ordering::SeqCst) - (stack.as_ptr().addr() + 8 * bottom)
}
