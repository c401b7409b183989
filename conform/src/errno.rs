//! The errors that scenarios speak of, by Linux's numbers, which are the same on every architecture
//! that this crate knows.

use core::fmt;

/// An error of a system call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Errno(pub u16);

macro_rules! errors {
    ($($(#[$meta:meta])* $name:ident = $number:literal,)*) => {
        impl Errno {
            $($(#[$meta])* pub const $name: Errno = Errno($number);)*

            /// Returns the error's name, where it is one of those that scenarios speak of.
            pub const fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($number => Some(concat!("E", stringify!($name))),)*
                    _ => None,
                }
            }
        }
    };
}

errors! {
    /// The caller does not own the lock.
    PERM = 1,
    /// No thread has this number.
    SRCH = 3,
    /// A signal's handler ran.
    INTR = 4,
    /// The word holds another value.
    AGAIN = 11,
    /// There is no memory.
    NOMEM = 12,
    /// The caller may not do that.
    ACCES = 13,
    /// An address that is not mapped, or not as the call needs it.
    FAULT = 14,
    /// It is held.
    BUSY = 16,
    /// An argument that is never right.
    INVAL = 22,
    /// The caller would wait for itself.
    DEADLK = 35,
    /// There is no such call, or no such operation.
    NOSYS = 38,
    /// The time is up.
    TIMEDOUT = 110,
}

impl fmt::Debug for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "error {}", self.0),
        }
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// What a system call answered.
pub type Answer = Result<usize, Errno>;

/// Reads what a kernel leaves in the register of the answer.
pub const fn answer(register: isize) -> Answer {
    match register {
        -4095..=-1 => Err(Errno(register.unsigned_abs() as u16)),
        _ => Ok(register as usize),
    }
}
