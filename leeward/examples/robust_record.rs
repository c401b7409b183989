//! Two processes share a record. One is killed between writing its two halves; the other is told,
//! repairs the record and goes on.
//!
//! `cargo run --release -p leeward --example robust_record`

#[cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]
fn main() {
    use leeward::robust::{LockError, Mutex};
    use leeward::shared::Region;

    // The balances of two accounts: 100 together whenever the lock is free.
    let accounts: &'static Mutex<[u64; 2]> =
        Region::create(1, |new: &mut Mutex<[u64; 2]>| *new = Mutex::new([100, 0])).expect("shared memory").leak();

    // SAFETY: this process has one thread.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "fork");
    if child == 0 {
        let mut guard = accounts.lock().expect("no owner has died yet");
        guard.with(|accounts| {
            accounts[0] -= 30;
            // No other code in this process reads it, so the compiler might delay the store.
            std::hint::black_box(&mut accounts[0]);
            // SAFETY: ends this process, as `kill -9` would, before the other half is written.
            unsafe { libc::raise(libc::SIGKILL) };
            accounts[1] += 30;
        });
    }

    // SAFETY: no status is asked for.
    unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
    let guard = match accounts.lock() {
        Err(LockError::OwnerDied(mut guard)) => {
            println!("the owner died inside; the accounts hold {:?}", guard.get());
            guard.with(|accounts| accounts[1] = 100 - accounts[0]);
            guard.mark_consistent();
            guard
        }
        other => panic!("its death was not reported: {other:?}"),
    };
    println!("repaired: {:?}", guard.get());
    assert_eq!(guard.get(), [70, 30]);
    drop(guard);
    assert!(accounts.lock().is_ok(), "consistent, and unlocked");
}

#[cfg(not(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64")))]
fn main() {
    println!("robust locks need 64-bit Linux with glibc");
}
