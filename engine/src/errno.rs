//! Error numbers, as Linux's on every architecture that this engine knows.

/// An error number: what a system call answers, negated.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Errno(u16);

macro_rules! errnos {
    ($($name:ident = $number:literal: $what:literal,)*) => {
        impl Errno {
            $(#[doc = $what] pub const $name: Errno = Errno($number);)*

            /// Its name, if it is one that the engine answers.
            pub const fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($number => Some(stringify!($name)),)*
                    _ => None,
                }
            }
        }
    };
}

errnos! {
    EPERM = 1: "Not permitted.",
    ESRCH = 3: "No such thread.",
    EINTR = 4: "Interrupted by a signal; nothing has happened.",
    EAGAIN = 11: "The word did not hold the expected value.",
    ENOMEM = 12: "No memory.",
    EFAULT = 14: "An address that cannot be used so.",
    EINVAL = 22: "Arguments that make no sense.",
    EDEADLK = 35: "It would wait for itself.",
    ENOSYS = 38: "No such operation.",
    ETIMEDOUT = 110: "The time is up.",
}

impl Errno {
    /// The number, positive.
    pub const fn number(self) -> u16 {
        self.0
    }

    /// What a system call returns for it: the number, negative.
    pub const fn answer(self) -> i64 {
        -(self.0 as i64)
    }

    /// One of the host's own.
    pub const fn from_number(number: u16) -> Errno {
        Errno(number)
    }
}

impl core::fmt::Debug for Errno {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "errno {}", self.0),
        }
    }
}

impl core::fmt::Display for Errno {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        core::fmt::Debug::fmt(self, f)
    }
}

impl core::error::Error for Errno {}
