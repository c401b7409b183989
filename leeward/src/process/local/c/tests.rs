//! Words and exits by the C library's conventions, which are tested in builds with `std` too.

use core::ptr::{null, null_mut};
use core::sync::atomic::{AtomicU32, Ordering};
use std::sync::Mutex;
use std::thread;
use std::vec::Vec;

use super::super::Word;
use super::{exit, place, word};

static TARGET: AtomicU32 = AtomicU32::new(7);
static OTHER: AtomicU32 = AtomicU32::new(8);
const MANY: u64 = 0xFEDC_BA98_7654_3210;

word! { static TEST_ZERO: u64 = 0 }
word! { static TEST_NULL: *const AtomicU32 = 0 }
word! { static TEST_MANY: u64 = MANY }
word! { static TEST_TARGET: *const AtomicU32 = &raw const TARGET }
word! { static TEST_PAIR: (u64, *const AtomicU32) = (MANY, 0) }
word! { #[symbol = "lee_test_exported"] static TEST_EXPORTED: usize = 9 }

#[test]
fn each_thread_has_words_of_its_own() {
    let look = || {
        assert_eq!((TEST_ZERO.get(), TEST_MANY.get(), TEST_EXPORTED.get()), (0, MANY, 9));
        assert!(TEST_NULL.get().is_null());
        assert_eq!(TEST_TARGET.get(), &raw const TARGET);
        assert_eq!(TEST_PAIR.get(), (MANY, null()));
    };
    thread::spawn(move || {
        look();
        TEST_ZERO.set(u64::MAX);
        TEST_MANY.set(1);
        TEST_EXPORTED.set(2);
        TEST_NULL.set(&raw const OTHER);
        TEST_TARGET.set(null());
        TEST_PAIR.set((3, &raw const OTHER));
        thread::spawn(look).join().unwrap();
        assert_eq!((TEST_ZERO.get(), TEST_MANY.get(), TEST_EXPORTED.get()), (u64::MAX, 1, 2));
        assert_eq!(TEST_PAIR.get(), (3, &raw const OTHER));
        assert!(TEST_NULL.get() == &raw const OTHER && TEST_TARGET.get().is_null());
    })
    .join()
    .unwrap();
}

#[test]
fn words_are_found_by_address_and_by_symbol() {
    thread::spawn(|| {
        let address = TEST_MANY::place().address();
        // SAFETY: the calling thread's word.
        assert_eq!(unsafe { address.read() }.addr() as u64, MANY);
        TEST_EXPORTED.set(5);
        let named = place!("lee_test_exported");
        assert_eq!(named.load().addr(), 5);
        named.store(null_mut());
        assert_eq!(TEST_EXPORTED.get(), 0);
    })
    .join()
    .unwrap();
}

/// What ran at exits, in order: names, and whether something could be armed meanwhile.
static RAN: Mutex<Vec<(&str, bool)>> = Mutex::new(Vec::new());

exit! { static TEST_FIRST = || ran("first") }
exit! { static TEST_SECOND = || ran("second") }
exit! { static TEST_NEVER = || ran("never") }

fn ran(name: &'static str) {
    RAN.lock().unwrap().push((name, TEST_NEVER.arm()));
}

/// A key of the program's own, whose destructor comes back in the next round, as long as there are
/// any.
extern "C" fn later(rounds: *mut libc::c_void) {
    ran("later");
    let left = rounds.addr() - 1;
    if left != 0 {
        let key = LATER.load(Ordering::Relaxed);
        // SAFETY: a key that is not deleted.
        unsafe { libc::pthread_setspecific(key, core::ptr::without_provenance(left)) };
    }
}
static LATER: AtomicU32 = AtomicU32::new(0);

#[test]
fn a_thread_runs_once_what_it_armed_and_nothing_can_be_armed_afterwards() {
    let mut key = 0;
    // SAFETY: a local variable, and a function that lives as long as the program.
    assert_eq!(unsafe { libc::pthread_key_create(&mut key, Some(later)) }, 0);
    LATER.store(key, Ordering::Relaxed);
    thread::spawn(|| assert!(TEST_FIRST.arm())).join().unwrap();
    assert_eq!(core::mem::take(&mut *RAN.lock().unwrap()), [("first", false)]);
    thread::spawn(move || {
        // SAFETY: a key that is not deleted.
        assert_eq!(unsafe { libc::pthread_setspecific(key, core::ptr::without_provenance(3)) }, 0);
        assert!(TEST_FIRST.arm() && TEST_SECOND.arm());
        assert!(TEST_SECOND.arm() && TEST_FIRST.arm());
    })
    .join()
    .unwrap();
    let ran = core::mem::take(&mut *RAN.lock().unwrap());
    assert_eq!(ran[..2], [("second", false), ("first", false)]);
    assert_eq!(ran[2..], [("later", false); 3]);
}
