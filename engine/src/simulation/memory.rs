//! Memory as the machine's processors see it: a store buffer each, and, in the weakest model, loads
//! that read what was there before. `steps` calls it.

use std::vec;
use std::vec::Vec;

use super::Model;

/// The number of a word of the machine's memory.
pub(crate) type At = u16;

/// A store that has not reached memory yet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Pending {
    pub(crate) at: At,
    pub(crate) value: u32,
    release: bool,
}

/// What a word held until a later store.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Version {
    at: At,
    time: u8,
    value: u32,
}

/// One processor's view of memory.
#[derive(Clone, PartialEq, Eq, Hash)]
struct View {
    buffer: Vec<Pending>,
    /// The processor reads nothing that was overwritten at this time or before.
    floor: u8,
    /// The same bound for single words: nothing that was overwritten at that word's time or before
    /// is read.
    seen: Vec<u8>,
}

/// The memory of a machine and each processor's view of it. Times are ranks: only their order means
/// something.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Memory {
    /// The value of each word, and since when.
    words: Vec<(u8, u32)>,
    /// The values that some processor may still read beside those; by word, the oldest first.
    old: Vec<Version>,
    views: Vec<View>,
    /// Words below this are never read older than their newest value: locks, and numbers that only
    /// grow and are awaited.
    timeless: At,
}

impl Memory {
    pub(crate) fn new(words: usize, timeless: At, processors: usize) -> Memory {
        let view = View { buffer: Vec::new(), floor: 0, seen: vec![0; words] };
        Memory { words: vec![(0, 0); words], old: Vec::new(), views: vec![view; processors], timeless }
    }

    /// Sets a word before the machine starts.
    pub(crate) fn set(&mut self, at: At, value: u32) {
        self.words[usize::from(at)].1 = value;
    }

    /// Returns what memory itself holds.
    pub(crate) fn get(&self, at: At) -> u32 {
        self.words[usize::from(at)].1
    }

    /// Returns true if all that a processor stored is in memory.
    pub(crate) fn is_drained(&self, processor: usize) -> bool {
        self.views[processor].buffer.is_empty()
    }

    /// Returns how many values a load may read: choice 0 is the newest.
    pub(crate) fn choices(&self, processor: usize, at: At) -> u8 {
        if self.forwarded(processor, at).is_some() {
            return 1;
        }
        let readable = self.old.iter().filter(|v| v.at == at && self.readable(processor, v)).count();
        1 + u8::try_from(readable).expect("few versions")
    }

    /// Returns what a load would read.
    pub(crate) fn peek(&self, processor: usize, at: At, choice: u8) -> u32 {
        self.forwarded(processor, at).unwrap_or_else(|| self.version(processor, at, choice).1)
    }

    /// Loads a word.
    pub(crate) fn load(&mut self, processor: usize, at: At, choice: u8, acquire: bool) -> u32 {
        if let Some(value) = self.forwarded(processor, at) {
            return value;
        }
        let (time, value) = self.version(processor, at, choice);
        let view = &mut self.views[processor];
        let seen = &mut view.seen[usize::from(at)];
        *seen = (*seen).max(time);
        if acquire {
            view.floor = view.floor.max(time);
        }
        self.tidy();
        value
    }

    /// Returns the processor's own newest store to a word, if that has not reached memory.
    fn forwarded(&self, processor: usize, at: At) -> Option<u32> {
        self.views[processor].buffer.iter().rev().find(|pending| pending.at == at).map(|pending| pending.value)
    }

    /// Returns the time at and before which a word's overwritten values are not read.
    fn floor(&self, processor: usize, at: At) -> u8 {
        let view = &self.views[processor];
        view.floor.max(view.seen[usize::from(at)])
    }

    /// Returns when a version was overwritten.
    fn until(&self, version: &Version) -> u8 {
        let next = self.old.iter().find(|v| v.at == version.at && v.time > version.time);
        next.map_or(self.words[usize::from(version.at)].0, |v| v.time)
    }

    /// Returns true if a processor may still read a version.
    fn readable(&self, processor: usize, version: &Version) -> bool {
        self.until(version) > self.floor(processor, version.at)
    }

    /// Returns the value that a load chooses, and since when the word held it.
    fn version(&self, processor: usize, at: At, choice: u8) -> (u8, u32) {
        let mut readable = self.old.iter().rev().filter(|v| v.at == at && self.readable(processor, v));
        match choice {
            0 => self.words[usize::from(at)],
            _ => readable.nth(usize::from(choice) - 1).map(|v| (v.time, v.value)).expect("as many as `choices` says"),
        }
    }

    /// Stores a word: into the buffer, where the model has one.
    pub(crate) fn store(&mut self, model: Model, processor: usize, at: At, value: u32, release: bool) {
        self.views[processor].buffer.push(Pending { at, value, release });
        if model == Model::Sc {
            self.commit(model, processor, 0);
        }
    }

    /// Returns true if a buffered store may reach memory now.
    pub(crate) fn may_commit(&self, model: Model, processor: usize, index: usize) -> bool {
        let (before, rest) = self.views[processor].buffer.split_at(index);
        match model {
            Model::Sc | Model::Tso => index == 0,
            Model::Pso | Model::Weak => {
                before.is_empty() || (!rest[0].release && before.iter().all(|earlier| earlier.at != rest[0].at))
            }
        }
    }

    /// Returns the stores that have not reached memory.
    pub(crate) fn buffered(&self, processor: usize) -> &[Pending] {
        &self.views[processor].buffer
    }

    /// Writes a buffered store to memory.
    pub(crate) fn commit(&mut self, model: Model, processor: usize, index: usize) {
        let Pending { at, value, .. } = self.views[processor].buffer.remove(index);
        self.write(model, processor, at, value);
    }

    /// Writes to memory, and keeps the old value where the model lets others read it.
    fn write(&mut self, model: Model, processor: usize, at: At, value: u32) {
        let now = self.now() + 1;
        let (time, old) = self.words[usize::from(at)];
        self.words[usize::from(at)] = (if model == Model::Weak { now } else { 0 }, value);
        if model != Model::Weak {
            return;
        }
        self.views[processor].seen[usize::from(at)] = now;
        if at < self.timeless {
            return;
        }
        let place = self.old.iter().position(|v| v.at > at).unwrap_or(self.old.len());
        self.old.insert(place, Version { at, time, value: old });
        self.tidy();
    }

    /// Returns the newest time.
    fn now(&self) -> u8 {
        self.words.iter().map(|(time, _)| *time).max().unwrap_or(0)
    }

    /// Returns true if a read-modify-write may be done now: it acts on memory, not on the buffer;
    /// up to PSO it orders everything.
    pub(crate) fn may_modify(&self, model: Model, processor: usize, at: At) -> bool {
        match model {
            Model::Weak => self.forwarded(processor, at).is_none(),
            _ => self.is_drained(processor),
        }
    }

    /// Writes as a read-modify-write does that only acquires.
    pub(crate) fn modify(&mut self, model: Model, processor: usize, at: At, value: u32) {
        let (time, _) = self.words[usize::from(at)];
        let view = &mut self.views[processor];
        view.floor = view.floor.max(time);
        self.write(model, processor, at, value);
    }

    /// Makes a full barrier, of a processor whose buffer is empty.
    pub(crate) fn fence(&mut self, processor: usize) {
        self.views[processor].floor = self.now();
        self.tidy();
    }

    /// Forgets what no processor can read any more, and makes times ranks again.
    fn tidy(&mut self) {
        if self.old.is_empty() && self.now() == 0 {
            return;
        }
        let kept: Vec<Version> = self.old.iter().copied().filter(|v| self.anybody_reads(v)).collect();
        self.old = kept;
        let mut times: Vec<u8> = self.old.iter().map(|v| self.until(v)).collect();
        times.sort_unstable();
        times.dedup();
        // The times that decide anything are those at which a version that is left was overwritten.
        let rank = |time: u8| u8::try_from(times.partition_point(|&t| t <= time)).expect("few versions");
        let held: Vec<bool> = (0..).zip(&self.words).map(|(at, _)| self.old.iter().any(|v| v.at == at)).collect();
        for (time, _) in &mut self.words {
            *time = rank(*time);
        }
        for version in &mut self.old {
            version.time = rank(version.time);
        }
        for view in &mut self.views {
            view.floor = rank(view.floor);
            for (i, seen) in view.seen.iter_mut().enumerate() {
                *seen = if held[i] { rank(*seen) } else { 0 };
                if *seen <= view.floor {
                    *seen = 0;
                }
            }
        }
    }

    /// Returns true if some processor may still read a version.
    fn anybody_reads(&self, version: &Version) -> bool {
        (0..self.views.len()).any(|processor| self.readable(processor, version))
    }
}
