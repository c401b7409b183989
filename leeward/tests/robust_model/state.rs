//! What a schedule has come to: the lock's word and list, and where each thread is.

/// Threads. Those that a test has no use for are done before they begin.
pub const MOST: usize = 4;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Word {
    /// 0: free.
    pub owner: u8,
    pub waiters: bool,
    /// The owner died; of a held one, settling.
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
    /// Killed; the kernel still has one to wake.
    Dying,
    Dead,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Thread {
    pub at: At,
    pub rounds: u8,
    pub pending: bool,
    /// Was told of a death.
    pub told: bool,
    pub slept: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct State {
    pub word: Word,
    pub threads: [Thread; MOST],
    /// Whose list the node is on.
    pub linked: Option<u8>,
    pub inside: Option<u8>,
    pub half_written: bool,
    pub deaths: u8,
}

impl State {
    /// The same state with its threads in an order of their own: none of them is special, so that what holds of one order holds of all.
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

impl Thread {
    fn renamed(self, rename: impl Fn(u8) -> u8) -> Thread {
        let seen = |word: Word| Word { owner: rename(word.owner), ..word };
        let at = match self.at {
            At::Take(word) => At::Take(seen(word)),
            At::Announce(word) => At::Announce(seen(word)),
            At::Wait(word) => At::Wait(seen(word)),
            other => other,
        };
        Thread { at, ..self }
    }
}
