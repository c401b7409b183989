//! The strategy that `LEEWARD_FENCE` asks for, read once from `/proc/self/environ`, as the process
//! was started.
//!
//! The environment that the program has by now is not read. The standard library copies what it
//! finds there to the heap, and the first heavy fence may be that of a lock inside the global
//! allocator; the C library's `getenv` races with threads that change the environment. The kernel's
//! file needs no allocation.

use core::sync::atomic::{AtomicU8, Ordering};

use super::super::strategy::Strategy;
use super::environ::each_byte;
use super::probe;

/// A value of the variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Request {
    /// The variable is not set, empty, `auto`, or cannot be read.
    None,
    /// The variable names this strategy.
    Named(Strategy),
    /// The variable holds a name that no strategy of this platform has.
    Unknown,
}

const NAME: &[u8] = b"LEEWARD_FENCE=";
/// The length of the buffer for the value: longer than any strategy's name.
const LONGEST: usize = 32;

const UNREAD: u8 = 0;
const NONE: u8 = 1;
const UNKNOWN: u8 = 2;
/// The number of the strategy of index 0; those of the further ones follow.
const FIRST: u8 = 3;

/// The answer, by the numbers above. Threads that race to read find the same.
static ANSWER: AtomicU8 = AtomicU8::new(UNREAD);

/// Returns what `LEEWARD_FENCE` asks for. Allocates nothing and takes no lock; errno is left as it
/// was.
pub(super) fn requested() -> Request {
    // Relaxed, both: a number that stands for itself.
    let mut answer = ANSWER.load(Ordering::Relaxed);
    if answer == UNREAD {
        answer = number_of(read());
        ANSWER.store(answer, Ordering::Relaxed);
    }
    match answer.checked_sub(FIRST) {
        Some(index) => Strategy::ALL.get(usize::from(index)).map_or(Request::Unknown, |known| Request::Named(*known)),
        None if answer == UNKNOWN => Request::Unknown,
        None => Request::None,
    }
}

/// Converts a request to its number.
fn number_of(request: Request) -> u8 {
    match request {
        Request::None => NONE,
        Request::Unknown => UNKNOWN,
        Request::Named(strategy) => {
            let index = Strategy::ALL.iter().position(|known| *known == strategy);
            index.map_or(UNKNOWN, |index| FIRST + index as u8)
        }
    }
}

/// Reads the variable, unless a sandbox kills for that.
fn read() -> Request {
    if !probe::reading_is_survived() {
        return Request::None;
    }
    let mut search = Search::new();
    match each_byte(|byte| search.feed(byte)) {
        Ok(()) => search.answer(),
        Err(_) => Request::None,
    }
}

/// The state of a search through the environment, whose entries end with 0.
struct Search {
    /// The number of bytes, from the entry's beginning, that agree with `NAME`.
    agreeing: usize,
    /// True if this entry is another variable.
    is_other: bool,
    /// True if the variable's value is complete.
    is_found: bool,
    value: [u8; LONGEST],
    length: usize,
}

impl Search {
    fn new() -> Search {
        Search { agreeing: 0, is_other: false, is_found: false, value: [0; LONGEST], length: 0 }
    }

    /// Takes the next byte. Returns false when the variable's value is complete: of several entries
    /// the first counts.
    fn feed(&mut self, byte: u8) -> bool {
        if byte == 0 {
            self.is_found = self.agreeing == NAME.len();
            if !self.is_found {
                (self.agreeing, self.is_other) = (0, false);
            }
        } else if self.agreeing == NAME.len() {
            if let Some(place) = self.value.get_mut(self.length) {
                *place = byte;
            }
            self.length += 1;
        } else if !self.is_other && NAME[self.agreeing] == byte {
            self.agreeing += 1;
        } else {
            self.is_other = true;
        }
        !self.is_found
    }

    /// Returns what the value asks for.
    fn answer(&self) -> Request {
        if !self.is_found {
            return Request::None;
        }
        let value = self.value.get(..self.length).and_then(|value| core::str::from_utf8(value).ok());
        match value {
            Some("" | "auto") => Request::None,
            Some(name) => Strategy::from_name(name).map_or(Request::Unknown, Request::Named),
            None => Request::Unknown,
        }
    }
}
