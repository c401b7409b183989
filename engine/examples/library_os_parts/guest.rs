//! What the guests of the example do: their instructions, which reach their memory as the guest's
//! own code would, and a mutex by futex calls. `library_os.rs` uses it.

use leeward_engine::abi::{FUTEX_PRIVATE_FLAG, FUTEX_WAIT, FUTEX_WAKE};
use leeward_engine::{Access, Address, Fault, Host, RobustHost};

use crate::host::Thread;

/// Guests read and write their memory by instructions; a missing page is then the library OS's
/// fault handler's. This example's guests are written in Rust, and go through the host instead.
impl Thread {
    fn access<T>(&self, address: Address, access: Access, mut try_it: impl FnMut() -> Result<T, Fault>) -> T {
        loop {
            if let Ok(value) = try_it() {
                return value;
            }
            self.fault_in(address, access).expect("a mapped address");
        }
    }

    /// Returns a word.
    pub fn get(&self, address: Address) -> u32 {
        self.access(address, Access::Read, || self.load(address))
    }

    /// Compares a word, exchanges it, and returns what it was.
    pub fn exchange(&self, address: Address, old: u32, new: u32) -> u32 {
        self.access(address, Access::Write, || self.compare_exchange(address, old, new))
    }

    /// Sets a word, whatever it is.
    pub fn set(&self, address: Address, new: u32) {
        let mut old = self.get(address);
        loop {
            match self.exchange(address, old, new) {
                now if now == old => return,
                now => old = now,
            }
        }
    }

    /// Writes 64-bit numbers, one after the other.
    pub fn write_all(&self, address: Address, numbers: &[u64]) {
        for (number, at) in numbers.iter().zip((address..).step_by(8)) {
            self.access(at, Access::Write, || self.write(at, &number.to_ne_bytes()));
        }
    }

    /// Takes a mutex: 0 is free, 1 taken, 2 taken with threads that wait.
    pub fn lock(&self, word: Address) {
        let mut now = self.exchange(word, 0, 1);
        while now != 0 {
            if now == 2 || self.exchange(word, 1, 2) != 0 {
                self.futex(word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 2, 0);
            }
            now = self.exchange(word, 0, 2);
        }
    }

    /// Gives the mutex up, and wakes a thread that waits.
    pub fn unlock(&self, word: Address) {
        if self.exchange(word, 1, 0) == 2 {
            self.exchange(word, 2, 0);
            self.futex(word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, 0);
        }
    }
}
