//! A state of the search: the lock's word and list, and where each thread is.

/// How many threads there are. Those that a test does not need are done before they begin.
pub const MOST: usize = 4;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Word {
    /// The owner's number; 0: free.
    pub owner: u8,
    pub waiters: bool,
    /// True if the owner died; with an owner, the word is being settled.
    pub died: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum At {
    #[default]
    Begin,
    Fast,
    Look,
    Take(Word),
    Announce(Word),
    Wait(Word),
    Asleep,
    Link,
    EndTaking,
    Enter,
    Leave,
    Name,
    Unlink,
    Release,
    WakeOne,
    Settle,
    SettleAsk,
    SettleClear,
    SettleRelease,
    SettleWake,
    EndGiving,
    Done,
    /// Killed; the kernel still has one thread to wake.
    Dying,
    Dead,
    // Of the lock that is unlocked by a store, beside all of the above.
    /// It has taken the lock, and says that it stays.
    Stay,
    /// It says that it is leaving.
    SayLeaving,
    LookWhoIsCounted,
    LookAtOwnWord,
    StoreFree,
    Quieten,
    Count,
    LookForFence,
    /// The heavy fence: which threads have executed it.
    Fence(u8),
    SetFenced,
    LookAtOwner,
    /// It sleeps for a while.
    Nap,
    Uncount,
}

/// A plain store that other threads do not see yet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Store {
    Leaving(bool),
    Free,
}

/// The largest number of stores in a thread's buffer: stay, leaving, free.
pub const BUFFERED: usize = 3;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Thread {
    pub at: At,
    pub rounds: u8,
    pub pending: bool,
    /// True if the thread learned of a death.
    pub told: bool,
    pub slept: bool,
    /// The stores that wait, the oldest first.
    pub buffer: [Option<Store>; BUFFERED],
    pub counted: bool,
    /// The word, held, as the thread found it before all that a sleeper does.
    pub found: Word,
    /// True if every unlock sees its mark.
    pub seen: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct State {
    pub word: Word,
    pub threads: [Thread; MOST],
    /// The thread on whose list the node is.
    pub linked: Option<u8>,
    pub inside: Option<u8>,
    pub half_written: bool,
    pub deaths: u8,
    /// True if the owner is, or was, leaving.
    pub leaving: bool,
    /// How many sleepers are counted, the killed ones among them.
    pub count: u8,
    /// True if the word of sleepers is not all zeroes: unlocks are exchanges.
    pub raised: bool,
    pub fenced: bool,
}

impl State {
    /// Makes the thread's oldest store visible.
    pub fn drain(&mut self, me: usize) {
        let buffer = &mut self.threads[me].buffer;
        match buffer[0] {
            None => return,
            Some(Store::Leaving(whether)) => self.leaving = whether,
            Some(Store::Free) => self.word = Word::default(),
        }
        buffer.rotate_left(1);
        buffer[BUFFERED - 1] = None;
    }

    /// Returns this state with its threads in an order of their own: no thread is special, so what
    /// holds of one order holds of all.
    pub fn sorted(&self) -> State {
        let as_seen_by = |name: u8, owner: u8| u8::from(owner != 0) + u8::from(owner == name);
        let mut order = [0, 1, 2, 3];
        order.sort_by_key(|&old: &usize| {
            let name = old as u8 + 1;
            let thread = self.threads[old].renamed(|owner| as_seen_by(name, owner));
            (thread, as_seen_by(name, self.word.owner), self.linked == Some(name), self.inside == Some(name))
        });
        let mut new = [0; MOST + 1];
        order.iter().zip(1..).for_each(|(old, name)| new[old + 1] = name);
        let rename = |owner: u8| new[owner as usize];
        let word = Word { owner: rename(self.word.owner), ..self.word };
        let threads = order.map(|old| self.threads[old].renamed(rename));
        State { word, threads, linked: self.linked.map(rename), inside: self.inside.map(rename), ..*self }
    }
}

/// Renames a set of threads, a bit each.
fn renamed_set(set: u8, rename: impl Fn(u8) -> u8) -> u8 {
    (1..=MOST as u8).filter(|name| set >> (name - 1) & 1 != 0).fold(0, |new, name| new | 1 << (rename(name) - 1))
}

impl Thread {
    pub fn has_stored_all(&self) -> bool {
        self.buffer[0].is_none()
    }

    pub fn store(&mut self, what: Store) {
        let place = self.buffer.iter_mut().find(|place| place.is_none());
        *place.expect("a release follows the third") = Some(what);
    }

    fn renamed(self, rename: impl Fn(u8) -> u8) -> Thread {
        let seen = |word: Word| Word { owner: rename(word.owner), ..word };
        let at = match self.at {
            At::Take(word) => At::Take(seen(word)),
            At::Announce(word) => At::Announce(seen(word)),
            At::Wait(word) => At::Wait(seen(word)),
            At::Fence(done) => At::Fence(renamed_set(done, &rename)),
            other => other,
        };
        Thread { at, found: seen(self.found), ..self }
    }
}
