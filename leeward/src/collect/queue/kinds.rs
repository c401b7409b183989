//! The kinds of futex on which consumers of this process sleep for slots. All of them sleep on one
//! word, each by the futex of its queue, so a producer that takes the mark of several away has to
//! wake by kinds that are not its own.

use core::ptr;

use crate::atomic::{AtomicPtr, AtomicU32, Ordering, const_fn};
use crate::futex::{ALL, Futex};

/// The wake of one kind of futex, as a function's address; null: no kind has the place.
type Place = AtomicPtr<()>;

/// The kinds that consumers have slept by, in the order in which they came. A kind keeps its place:
/// there is one for each type of futex in the program. So the code of
/// such a type must stay loaded once a consumer has slept by it.
pub(super) struct Kinds {
    /// No place is null below one that is taken.
    places: [Place; 8],
}

impl Kinds {
    const_fn! {
        pub(super) fn new() -> Self {
            let [a, b, c, d] = [free(), free(), free(), free()];
            let [e, f, g, h] = [free(), free(), free(), free()];
            Kinds { places: [a, b, c, d, e, f, g, h] }
        }
    }

    /// Gives the kind `F` a place. Returns false if there is none left: then
    /// [`wake_others`](Self::wake_others) does not wake its sleepers.
    pub(super) fn enter<F: Futex>(&self) -> bool {
        let own = address::<F>();
        self.places.iter().any(|place| {
            // Relaxed, both: a producer that takes the caller's mark away has acquired it, and what
            // the caller has found here with it. The function's code is there from the beginning.
            let known = place.load(Ordering::Relaxed);
            known == own
                || known.is_null()
                    && place
                        .compare_exchange(ptr::null_mut(), own, Ordering::Relaxed, Ordering::Relaxed)
                        .map_or_else(|known| known == own, |_| true)
        })
    }

    /// Wakes all threads that sleep on the word by another kind than `F`.
    pub(super) fn wake_others<F: Futex>(&self, word: &AtomicU32) {
        for place in &self.places {
            // Relaxed: as in `enter`.
            let wake = place.load(Ordering::Relaxed);
            if wake.is_null() {
                return;
            }
            if wake != address::<F>() {
                // SAFETY: `enter` stored a function of this type.
                let wake = unsafe { core::mem::transmute::<*mut (), fn(&AtomicU32)>(wake) };
                wake(word);
            }
        }
    }
}

const_fn! {
    /// Returns a place that no kind has.
    fn free() -> Place {
        AtomicPtr::new(ptr::null_mut())
    }
}

/// Wakes all threads that sleep on the word by the kind `F`.
fn wake_all<F: Futex>(word: &AtomicU32) {
    F::wake(word, ALL);
}

/// Returns the address that stands for the kind `F`. Two kinds whose functions are the same code may
/// have one address, and one kind may have several, which costs a place and a wake.
fn address<F: Futex>() -> *mut () {
    (wake_all::<F> as fn(&AtomicU32)) as *mut ()
}
