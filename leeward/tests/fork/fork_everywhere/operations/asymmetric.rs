//! The operations of asymmetric locks.

use leeward::asym;

use super::super::case::Beside;
use super::Operation;

operations! {
    "asymmetric";
    mutex: || drop(MUTEX.lock()) => left(mutex_is_usable);
    mutex_earned: earn_it => left(mutex_is_usable);
    mutex_revoked: || drop(MUTEX.lock()) => beside(earns_it).left(mutex_is_usable);
    mutex_awaited: || drop(MUTEX.lock()) => beside(holds_its_own).left(mutex_is_usable);
    read: || drop(RWLOCK.read()) => left(rwlock_is_usable);
    read_twice: || drop((RWLOCK.read(), RWLOCK.read_recursive())) => left(rwlock_is_usable);
    written: || drop(RWLOCK.write()) => left(rwlock_is_usable);
    written_behind_a_reader: || drop(RWLOCK.write()) => beside(reads).left(rwlock_is_usable);
    read_behind_a_writer: || drop(RWLOCK.read()) => beside(writes).left(rwlock_is_usable);
    end_of_a_reader: || drop(RWLOCK.read()) => left(rwlock_is_usable).until_the_thread_ends();
    end_of_an_owner: earn_it => left(mutex_is_usable).until_the_thread_ends();
}

static MUTEX: asym::Mutex<u32> = asym::Mutex::new(0);
static RWLOCK: asym::RwLock<u32> = asym::RwLock::new(0);

/// Locks as often in a row as earns a mutex's bias, and more.
fn earn_it() {
    (0..80).for_each(|_| *MUTEX.lock() += 1);
}

fn mutex_is_usable() -> bool {
    MUTEX.is_locked() || MUTEX.try_lock_for(super::super::common::patience() / 2).is_some()
}

fn rwlock_is_usable() -> bool {
    RWLOCK.is_locked() || {
        drop(RWLOCK.read());
        drop(RWLOCK.write());
        true
    }
}

fn earns_it(beside: &Beside<'_>) {
    earn_it();
    beside.is_ready();
}

fn holds_its_own(beside: &Beside<'_>) {
    earn_it();
    let guard = MUTEX.lock();
    beside.until_it_sleeps();
    drop(guard);
}

holding! {
    reads: RWLOCK.read();
    writes: RWLOCK.write();
}

/// Tries the operations that issue heavy fences.
#[test]
fn with_signals() {
    crate::with_signals("asymmetric", &["mutex_revoked", "mutex_awaited", "written", "written_behind_a_reader"]);
}
