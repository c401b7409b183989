//! What the models share: words, a host whose threads are loom's, and how far a model is explored.

use std::sync::Arc;
use std::vec::Vec;

use loom::thread;

use crate::atomic::{AtomicU32, Ordering};
use crate::{
    Access, Address, Clock, Config, Deadline, Engine, Errno, Fault, Flag, Heap, Host, ParkEnd, RobustHost,
    RobustUnlock, SharedKey, Size, Space, Wait, Word,
};

pub(crate) const ANY: u32 = u32::MAX;

/// A host of words that the threads of a model share. A wait with a deadline times out as soon as
/// it would sleep.
pub(crate) struct Model {
    pub(crate) space: Space<Model>,
    pub(crate) words: Vec<AtomicU32>,
    /// How often its threads recheck the flag before they sleep.
    spins: usize,
}

impl Host for Model {
    type Task = thread::Thread;
    type Memory = Heap;
    type Preemption<'a> = ();

    fn space(&self) -> &Space<Model> {
        &self.space
    }
    fn threads(&self) -> u32 {
        // The models make tables themselves.
        1
    }
    fn in_range(&self, _: Address) -> bool {
        true
    }
    fn load(&self, address: Address) -> Result<u32, Fault> {
        // Relaxed: the engine promises no more.
        Ok(self.words[address as usize / 4].load(Ordering::Relaxed))
    }
    fn serves(&self, size: Size) -> bool {
        matches!(size, Size::U8 | Size::U32)
    }
    fn load_sized(&self, address: Address, _: Size) -> Result<u64, Fault> {
        // The first byte of a word, little-endian.
        Ok(u64::from(self.load(address)? as u8))
    }
    fn compare_exchange(&self, address: Address, old: u32, new: u32) -> Result<u32, Fault> {
        // AcqRel: as near as loom comes to full ordering.
        let word = &self.words[address as usize / 4];
        let (Ok(was) | Err(was)) = word.compare_exchange(old, new, Ordering::AcqRel, Ordering::Acquire);
        Ok(was)
    }
    fn read(&self, _: Address, _: &mut [u8]) -> Result<(), Fault> {
        Err(Fault)
    }
    fn fault_in(&self, _: Address, _: Access) -> Result<(), Errno> {
        Err(Errno::EFAULT)
    }
    fn resolve_shared(&self, address: Address, _: Access) -> Result<SharedKey, Errno> {
        Ok(SharedKey::Object { object: 1, offset: address })
    }
    fn task(&self, _: &Flag) -> thread::Thread {
        thread::current()
    }
    fn park(&self, flag: &Flag, until: Option<Deadline>) -> ParkEnd {
        if self.spins > 0 {
            let mut spins = 0..self.spins;
            flag.spin(|| spins.next().is_some());
        }
        if until.is_some() {
            return ParkEnd::TimedOut;
        }
        while flag.is_waiting() {
            thread::park();
        }
        ParkEnd::Unparked
    }
    fn unpark(&self, task: thread::Thread) {
        task.unpark();
    }
    fn now(&self, _: Clock) -> u64 {
        0
    }
    fn preempt_off(&self) {}
    fn spin(&self, _: u32) {}
}

/// A host without lists, which serves the unlock in one call and keeps the waiters bit.
impl RobustHost for Model {
    fn thread_id(&self) -> u32 {
        1
    }
    fn robust_head(&self, _: u32) -> Result<Address, Errno> {
        Err(Errno::ESRCH)
    }
    fn set_robust_head(&self, _: Address) {}
    fn write(&self, address: Address, from: &[u8]) -> Result<(), Fault> {
        let word = u32::from_ne_bytes(from.try_into().map_err(|_| Fault)?);
        // Relaxed: user memory.
        self.words[address as usize / 4].store(word, Ordering::Relaxed);
        Ok(())
    }
    fn robust_unlock(&self) -> RobustUnlock {
        RobustUnlock::KeepWaiters
    }
}

#[derive(Clone)]
/// An engine and a host, which the threads of a model share.
pub(crate) struct Case {
    pub(crate) engine: Arc<Engine<Model>>,
    pub(crate) host: Arc<Model>,
}

/// A word; its bucket is not [`TO`]'s where there are two.
pub(crate) const FROM: Word = Word::shared(0);
pub(crate) const TO: Word = Word::shared(4);
pub(crate) const SOON: Option<Deadline> = Some(Deadline { clock: Clock::Monotonic, at: 1 });

impl Case {
    pub(crate) fn new(buckets: usize) -> Case {
        Case::that_spins(buckets, 0)
    }

    /// Makes a case whose threads recheck the flag `spins` times before they sleep.
    pub(crate) fn that_spins(buckets: usize, spins: usize) -> Case {
        // With this seed the two words have two buckets.
        let config = Config { nodes: 1, buckets, most_buckets: buckets, private_tables: true, seed: 2 };
        let words = (0..4).map(|_| AtomicU32::new(0)).collect();
        let host = Model { space: Space::new(1, 2, Heap), words, spins };
        Case { engine: Arc::new(Engine::new(config, Heap).unwrap()), host: Arc::new(host) }
    }

    pub(crate) fn wait(&self, word: Word, until: Option<Deadline>) -> Wait {
        self.engine.wait(&self.host, word, 0, ANY, until).unwrap()
    }

    pub(crate) fn wake(&self, word: Word, count: u32) -> u32 {
        self.engine.wake(&self.host, word, count, ANY).unwrap()
    }

    pub(crate) fn store(&self, word: Word) {
        // Relaxed: the wake's fence is what orders it.
        self.host.words[word.address as usize / 4].store(1, Ordering::Relaxed);
    }

    pub(crate) fn spawn<T: 'static>(&self, what: impl FnOnce(&Case) -> T + 'static) -> thread::JoinHandle<T> {
        let case = self.clone();
        thread::spawn(move || what(&case))
    }

    /// Asserts that the waiter was woken if a wake counted one, and that it ended as `otherwise`
    /// says if not; and that no waiter is left.
    #[track_caller]
    pub(crate) fn ends_as_told(&self, waiter: thread::JoinHandle<Wait>, woken: u32, otherwise: Wait) {
        assert_eq!(waiter.join().unwrap(), if woken == 1 { Wait::Woken } else { otherwise });
        assert!(self.is_empty());
    }

    /// Returns true if no waiter is left in any list.
    pub(crate) fn is_empty(&self) -> bool {
        self.engine.stats(&self.host).waiters == 0 && self.host.space().stats(&self.host).waiters == 0
    }
}

/// Explores the schedules of a model with up to `preemptions` preemptions, or
/// `LOOM_MAX_PREEMPTIONS`.
pub(crate) fn explore(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    super::exploration::explore(preemptions, || (), model);
}
