//! The unlock in one call of robust locks that inherit priorities (`FUTEX_ROBUST_UNLOCK` with
//! UNLOCK_PI): the lock first, then the pending entry.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/guest.rs"]
mod guest;

use common::until;
use guest::{Guest, Page, gettid};
use leeward_engine::abi::{
    FUTEX_OWNER_DIED as DIED, FUTEX_PRIVATE_FLAG, FUTEX_ROBUST_LIST32 as LIST32, FUTEX_ROBUST_UNLOCK as UNLOCK,
    FUTEX_UNLOCK_PI, FUTEX_WAITERS as WAITERS, Numbers,
};
use leeward_engine::{Config, Engine, Errno, Heap, LockPi, ROBUST_LIST_LIMIT, RobustHost, RobustUnlock, Size, Word};

const ANY: u32 = u32::MAX;
const MODES: [RobustUnlock; 2] = [RobustUnlock::StoreZero, RobustUnlock::KeepWaiters];

/// A guest that serves the unlock, with a lock that inherits priorities and a pending entry.
struct Inheriting {
    guest: Guest,
    engine: Engine<Guest>,
}

impl Inheriting {
    fn new(mode: RobustUnlock) -> Inheriting {
        let mut guest = Guest::new();
        guest.unlock = mode;
        let case = Inheriting { guest, engine: Engine::new(Config::for_processors(1, 1), Heap).unwrap() };
        [0, 4].into_iter().for_each(|at| case.guest.store(case.pending() + at, ANY));
        case
    }

    fn lock(&self) -> Word {
        Word::private(self.guest.address(Page::Writable))
    }

    fn pending(&self) -> u64 {
        self.guest.address(Page::Writable) + 64
    }

    fn unlock(&self, width: u32, pending: u64) -> i64 {
        let flags = FUTEX_UNLOCK_PI | FUTEX_PRIVATE_FLAG | UNLOCK | width;
        let arguments = [self.lock().address, flags.into(), 0, 0, pending, 0];
        self.engine.robust_syscall(&self.guest, &Numbers::X86_64, 202, arguments).expect("a flag of 7.2")
    }

    fn word_and_pending(&self) -> (u32, [u32; 2]) {
        (self.guest.value(self.lock().address), [0, 4].map(|at| self.guest.value(self.pending() + at)))
    }
}

#[test]
fn unlock_pi_hands_over_and_then_clears_the_pending_entry() {
    for mode in MODES {
        for (width, left) in [(0, 0), (LIST32, ANY)] {
            let case = Inheriting::new(mode);
            // A lock that the thread does not own: nothing happens.
            for value in [0, 1, 1 | WAITERS] {
                case.guest.store(case.lock().address, value);
                assert_eq!(case.unlock(width, case.pending()), Errno::EPERM.answer());
                assert_eq!(case.word_and_pending(), (value, [ANY, ANY]));
            }
            for value in [gettid(), gettid() | DIED, gettid() | WAITERS] {
                case.guest.store(case.lock().address, value);
                assert_eq!(case.unlock(width, case.pending()), 0);
                assert_eq!(case.word_and_pending(), (0, [0, left]), "{value:#x}");
                case.guest.store(case.pending(), ANY);
            }
        }
    }
}

#[test]
fn unlock_pi_hands_over_also_where_the_pending_entry_cannot_be_cleared() {
    for (clears, answer) in [(true, 0), (false, Errno::EFAULT.answer())] {
        let case = Inheriting::new(RobustUnlock::StoreZero);
        let lock = case.lock();
        assert_eq!(case.engine.try_lock_pi(&case.guest, lock), Ok(true));
        std::thread::scope(|threads| {
            let waiter = threads.spawn(|| {
                assert_eq!(case.engine.lock_pi(&case.guest, lock, None), Ok(LockPi::Acquired));
                let number = gettid();
                assert_eq!(case.guest.value(lock.address), number | WAITERS);
                case.engine.unlock_pi(&case.guest, lock).unwrap();
                number
            });
            until(|| case.engine.stats(&case.guest).waiters + space_waiters(&case.guest) == 1);
            let pending = if clears { case.pending() } else { case.guest.address(Page::Missing) };
            assert_eq!(case.unlock(0, pending), answer);
            assert_ne!(waiter.join().unwrap(), gettid());
        });
        assert_eq!(case.word_and_pending(), (0, if clears { [0, 0] } else { [ANY, ANY] }));
    }
}

fn space_waiters(guest: &Guest) -> u64 {
    leeward_engine::Host::space(guest).stats(guest).waiters
}

#[test]
fn a_walk_leaves_a_lock_that_was_handed_over_alone_whose_entry_is_pending_still() {
    let case = Inheriting::new(RobustUnlock::StoreZero);
    let page = case.guest.address(Page::Writable);
    // The head of an empty list, at 128: its pending entry inherits, and its lock's word is the
    // entry's own, which names another thread.
    for (at, value) in [(128, page + 128), (136, 0), (144, page | 1)] {
        guest::put(&case.guest, page + at, value);
    }
    for value in [0, WAITERS, 1, 1 | WAITERS] {
        case.guest.store(page, value);
        case.guest.set_robust_head(page + 128);
        let exit = case.engine.exit_robust(&case.guest, ROBUST_LIST_LIMIT);
        assert_eq!((exit.marked, exit.woken, case.guest.value(page)), (0, 0, value));
    }
}

#[test]
fn a_host_without_the_call_unlocks_nothing() {
    let case = Inheriting::new(RobustUnlock::Absent);
    case.guest.store(case.lock().address, gettid());
    let unlock = |size| case.engine.robust_unlock_pi(&case.guest, case.lock(), case.pending(), size);
    assert_eq!(unlock(Size::U64), Err(Errno::ENOSYS));
    assert_eq!(case.word_and_pending(), (gettid(), [ANY, ANY]));
    let case = Inheriting::new(RobustUnlock::KeepWaiters);
    case.guest.store(case.lock().address, gettid());
    let unlock = |size| case.engine.robust_unlock_pi(&case.guest, case.lock(), case.pending(), size);
    assert_eq!([Size::U8, Size::U16].map(unlock), [Err(Errno::EINVAL); 2]);
    assert_eq!(case.word_and_pending(), (gettid(), [ANY, ANY]));
}
