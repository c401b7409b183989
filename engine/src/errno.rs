//! Error numbers: those of Linux, which are the same on every architecture that this engine knows.

/// An error number of Linux's. A system call answers it negated.
///
/// ```
/// use leeward_engine::Errno;
///
/// assert_eq!(Errno::EAGAIN.number(), 11);
/// assert_eq!(Errno::EAGAIN.answer(), -11);
/// assert_eq!(Errno::EAGAIN.to_string(), "EAGAIN");
/// // A host may answer with numbers that the engine has no name for.
/// assert_eq!(Errno::from_number(13).name(), None);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Errno(u16);

macro_rules! errnos {
    ($($name:ident = $number:literal: $what:literal,)*) => {
        impl Errno {
            $(#[doc = $what] pub const $name: Errno = Errno($number);)*

            /// Returns the number's name if the engine answers that number itself.
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
    EPERM = 1: "The operation is not permitted.",
    ESRCH = 3: "There is no such thread.",
    EINTR = 4: "A signal interrupted the operation, which has done nothing.",
    EAGAIN = 11: "The word did not hold the expected value.",
    ENOMEM = 12: "There is no memory.",
    EFAULT = 14: "An address cannot be used in this way.",
    EINVAL = 22: "The arguments make no sense.",
    EDEADLK = 35: "The thread would wait for itself.",
    ENOSYS = 38: "There is no such operation.",
    ETIMEDOUT = 110: "The deadline has passed.",
}

impl Errno {
    /// Returns the number, positive.
    pub const fn number(self) -> u16 {
        self.0
    }

    /// Returns what a system call answers for this error: the number, negated.
    pub const fn answer(self) -> i64 {
        -(self.0 as i64)
    }

    /// Makes an error of a number of the host's own, which need not be one that the engine knows.
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
