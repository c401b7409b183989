//! A state of the modelled machine: shared memory, and for every thread its registers, its place in
//! the program and its window of pending accesses. And the state's fingerprint.

use super::lang::{Pc, Src};

pub const THREADS: usize = 4;
pub const REGS: usize = 12;
pub const WORDS: usize = 64;
/// The largest window; a model may use less.
pub const WINDOW: usize = 6;

/// A value that may not be known yet: `n`, or `n` plus what the pending access `tag - 1` will
/// give.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Val {
    pub tag: u8,
    pub n: u8,
}

impl Val {
    pub fn known(n: u8) -> Self {
        Self { tag: 0, n }
    }

    pub fn get(self) -> Option<u8> {
        (self.tag == 0).then_some(self.n)
    }

    /// Replaces the access at `at`, which gave `n` and left the window, by its value.
    fn resolve(&mut self, at: u8, n: u8) {
        if self.tag == at + 1 {
            *self = Self::known(self.n.wrapping_add(n));
        } else if self.tag > at + 1 {
            self.tag -= 1;
        }
    }
}

/// A pending access: its instruction, with the operands as far as they are known.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Entry {
    pub pc: Pc,
    /// The index of its address.
    pub index: Val,
    pub val: Val,
    pub other: Val,
    /// A predicted branch's guess.
    pub guess: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Thread {
    pub pc: Pc,
    pub regs: [Val; REGS],
    pub window: [Entry; WINDOW],
    pub len: u8,
    /// How many of the oldest entries were passed by a later access. Where it is 0, nothing after
    /// the oldest pending access has begun: the thread stands, as an interrupt would find it, just
    /// before that access.
    pub passed: u8,
    /// The threads that this one's heavy fence has yet to reach, as bits.
    pub heavy: u8,
    /// The word that it sleeps on, plus one; 0: awake.
    pub asleep: u8,
    /// How many signals may still arrive.
    pub signals: u8,
    /// How many handlers are running.
    pub depth: u8,
    /// The interrupted places.
    pub frames: [Pc; 2],
}

impl Thread {
    pub fn entries(&self) -> &[Entry] {
        &self.window[..usize::from(self.len)]
    }

    pub fn read(&self, src: Src) -> Val {
        match src {
            Src::Imm(n) => Val::known(n),
            Src::Reg(r) => self.regs[usize::from(r)],
            Src::Plus(r, n) => {
                let val = self.regs[usize::from(r)];
                Val { n: val.n.wrapping_add(n), ..val }
            }
        }
    }

    pub fn push(&mut self, entry: Entry) {
        self.window[usize::from(self.len)] = entry;
        self.len += 1;
    }

    /// Takes the entry at `at` out; all entries that waited for its value get `n`.
    pub fn retire(&mut self, at: usize, n: u8) {
        let len = usize::from(self.len);
        self.window.copy_within(at + 1..len, at);
        self.window[len - 1] = Entry::default();
        self.len -= 1;
        let at = u8::try_from(at).expect("a small window");
        if at < self.passed {
            self.passed -= 1;
        }
        for val in &mut self.regs {
            val.resolve(at, n);
        }
        for entry in &mut self.window[..len - 1] {
            entry.index.resolve(at, n);
            entry.val.resolve(at, n);
            entry.other.resolve(at, n);
        }
    }
}

#[derive(Clone, PartialEq, Eq)]
pub struct State {
    pub memory: [u8; WORDS],
    pub threads: [Thread; THREADS],
}

impl State {
    /// Returns 128 bits that stand for the state: the search keeps these and not the states. With
    /// 2^25 states the chance that any two fall together is 2^-78.
    pub fn fingerprint(&self, threads: usize) -> u128 {
        let mut hash = Hash::new();
        for word in self.memory.chunks_exact(8) {
            hash.add(u64::from_le_bytes(word.try_into().expect("8 bytes")));
        }
        for thread in &self.threads[..threads] {
            let [f0, f1] = thread.frames;
            let small = [thread.len, thread.passed, thread.heavy, thread.asleep];
            let places = [thread.pc, f0, f1, u16::from(thread.signals) << 8 | u16::from(thread.depth)];
            hash.add(u64::from(u32::from_le_bytes(small)));
            hash.add(places.iter().fold(0, |sum, &p| sum << 16 | u64::from(p)));
            for regs in thread.regs.chunks(4) {
                hash.add(regs.iter().fold(0, |sum, r| sum << 16 | u64::from(r.tag) << 8 | u64::from(r.n)));
            }
            for e in thread.entries() {
                let vals = [e.index.tag, e.index.n, e.val.tag, e.val.n, e.other.tag, e.other.n];
                let vals = vals.iter().fold(0, |sum, &v| sum << 8 | u64::from(v));
                hash.add(u64::from(e.pc) << 49 | vals << 1 | u64::from(e.guess));
            }
        }
        hash.finish()
    }
}

/// A hash of two lanes of multiply and xor-shift.
struct Hash(u64, u64);

impl Hash {
    fn new() -> Self {
        Self(0x9e37_79b9_7f4a_7c15, 0xc2b2_ae3d_27d4_eb4f)
    }

    fn add(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd);
        self.0 ^= self.0 >> 32;
        self.1 = (self.1.rotate_left(23) ^ word).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        self.1 ^= self.1 >> 29;
    }

    fn finish(mut self) -> u128 {
        self.add(0x94d0_49bb_1331_11eb);
        u128::from(self.0) << 64 | u128::from(self.1)
    }
}
