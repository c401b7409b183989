//! The strategy that `LEEWARD_FENCE` asks for, as the process was started: read once, from
//! `/proc/self/environ`.
//!
//! Not from the environment that the program has by now: std copies what it finds there to the
//! heap, and the first heavy fence may be that of a lock inside the global allocator; the C
//! library's `getenv` races with whoever changes the environment. What the kernel shows is what the
//! process was started with, and nothing is allocated. Called by [`choice`](super::choice).

use core::sync::atomic::{AtomicU8, Ordering};

use super::super::strategy::Strategy;
use super::environ::each_byte;
use super::probe;

/// What the variable says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Request {
    /// It is not set, or empty, or `auto`; or nobody can tell.
    None,
    Named(Strategy),
    /// No strategy of this platform has that name.
    Unknown,
}

const NAME: &[u8] = b"LEEWARD_FENCE=";
/// Longer than any strategy's name.
const LONGEST: usize = 32;

const UNREAD: u8 = 0;
const NONE: u8 = 1;
const UNKNOWN: u8 = 2;
/// The strategy of index 0; further ones follow.
const FIRST: u8 = 3;

/// The answer, by the numbers above. Whoever races to read finds the same.
static ANSWER: AtomicU8 = AtomicU8::new(UNREAD);

/// What was asked for. Allocates nothing and takes no lock; errno is as it was.
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

/// Where in the environment, entries that end with 0, the reading has come.
struct Search {
    /// Bytes of this entry so far, of which each is that of `NAME`.
    agreeing: usize,
    /// This entry is another variable.
    is_other: bool,
    is_found: bool,
    value: [u8; LONGEST],
    length: usize,
}

impl Search {
    fn new() -> Search {
        Search { agreeing: 0, is_other: false, is_found: false, value: [0; LONGEST], length: 0 }
    }

    /// Takes the next byte; false when the variable's value is known to its end. The first of
    /// several counts.
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
