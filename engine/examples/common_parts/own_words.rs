//! The half of a host whose words are its own process's: a call borrows each word that it names. No page
//! is absent, and nothing is shared with another process. `async_parts` and `green_parts` are such hosts.

use std::ptr;
use std::sync::atomic::AtomicU32;

use leeward_engine::{Address, Word};

/// Returns the name by which the engine knows a word.
pub fn name(word: &AtomicU32) -> Word {
    Word::private(word.as_ptr().expose_provenance() as u64)
}

/// Returns the word at an address.
///
/// # Safety
/// The address is that of a word that a call of the engine names, and borrows while it runs.
pub unsafe fn word<'a>(address: Address) -> &'a AtomicU32 {
    // SAFETY: the caller's promise; `name` has exposed the word's address.
    unsafe { AtomicU32::from_ptr(ptr::with_exposed_provenance_mut(address as usize)) }
}

/// Writes the methods of `leeward_engine::Host` that are about memory, for such a host.
macro_rules! own_words {
    () => {
        fn in_range(&self, _: Address) -> bool {
            true
        }

        fn load(&self, address: Address) -> Result<u32, Fault> {
            // SAFETY: the engine asks for words only that its caller named, and borrows.
            let word = unsafe { own_words::word(address) };
            // Relaxed: what a wait learns it learns by the wake, or by a load of its own.
            Ok(word.load(Ordering::Relaxed))
        }

        fn compare_exchange(&self, address: Address, old: u32, new: u32) -> Result<u32, Fault> {
            // SAFETY: as in `load`.
            let word = unsafe { own_words::word(address) };
            // SeqCst: full ordering is asked for.
            let (Ok(was) | Err(was)) = word.compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst);
            Ok(was)
        }

        fn read(&self, _: Address, _: &mut [u8]) -> Result<(), Fault> {
            Err(Fault)
        }

        fn fault_in(&self, _: Address, _: Access) -> Result<(), Errno> {
            Err(Errno::EFAULT)
        }

        fn resolve_shared(&self, _: Address, _: Access) -> Result<SharedKey, Errno> {
            Err(Errno::EFAULT)
        }
    };
}
