//! Two processes that count in one place: a `Region` of shared memory with a mutex and a count in
//! it.
//!
//! `cargo run --release -p leeward --example shared_counter`

use leeward::shared::{Mutex, Region};

fn main() {
    let counter = Region::<Mutex<u64>>::create(1, |_| {}).expect("shared memory");
    // SAFETY: the child counts and ends.
    let child = unsafe { libc::fork() };
    (0..100_000).for_each(|_| *counter.lock() += 1);
    if child > 0 {
        // SAFETY: waits for the child, without asking how it ended.
        unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
        println!("two processes counted to {}", *counter.lock());
        assert_eq!(*counter.lock(), 200_000);
    }
}
