//! A host whose memory is a vector of words at made-up addresses: large lists, missing pages, and
//! other threads that meddle.

// Each test program uses its part.
#![allow(dead_code)]

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::sync::atomic::{AtomicU32, Ordering};

use leeward_engine::{
    Access, Address, Clock, Deadline, Errno, Fault, Flag, Heap, Host, ParkEnd, RobustHost, RobustUnlock, SharedKey,
    Space,
};

pub const BASE: Address = 0x10_0000;

type Meddler = Box<dyn Fn(&Arena, Address)>;

pub struct Arena {
    space: Space<Arena>,
    words: Vec<AtomicU32>,
    pub thread: Cell<u32>,
    pub head: Cell<Address>,
    /// The head of the 32-bit list; `None`: no 32-bit programs are served.
    pub compat_head: Cell<Option<Address>>,
    /// Pages (addresses / 4096) that are missing, and pages that may only be read.
    pub missing: RefCell<HashSet<u64>>,
    pub read_only: RefCell<HashSet<u64>>,
    /// What other threads do when a word was exchanged, or is about to be.
    pub after: RefCell<Option<Meddler>>,
    pub before: RefCell<Option<Meddler>>,
    pub unlock: Cell<RobustUnlock>,
    /// True if `write` panics.
    pub write_panics: Cell<bool>,
}

impl Arena {
    pub fn new(words: usize) -> Arena {
        Arena {
            space: Space::new(1, 3, Heap),
            words: (0..words).map(|_| AtomicU32::new(0)).collect(),
            thread: Cell::new(77),
            head: Cell::new(0),
            compat_head: Cell::new(None),
            missing: RefCell::default(),
            read_only: RefCell::default(),
            after: RefCell::default(),
            before: RefCell::default(),
            unlock: Cell::default(),
            write_panics: Cell::default(),
        }
    }

    fn word(&self, address: Address, access: Access) -> Result<&AtomicU32, Fault> {
        let page = address / 4096;
        let absent = self.missing.borrow().contains(&page);
        if absent || access == Access::Write && self.read_only.borrow().contains(&page) {
            return Err(Fault);
        }
        let index = address.checked_sub(BASE).ok_or(Fault)? / 4;
        self.words.get(usize::try_from(index).map_err(|_| Fault)?).ok_or(Fault)
    }

    pub fn get(&self, address: Address) -> u32 {
        self.word(address, Access::Read).unwrap().load(Ordering::Relaxed)
    }

    pub fn set(&self, address: Address, value: u32) {
        self.word(address, Access::Read).unwrap().store(value, Ordering::Relaxed);
    }

    /// Stores a number of 64 bits.
    pub fn put(&self, address: Address, value: u64) {
        self.set(address, value as u32);
        self.set(address + 4, (value >> 32) as u32);
    }

    pub fn contents(&self) -> Vec<u32> {
        self.words.iter().map(|word| word.load(Ordering::Relaxed)).collect()
    }
}

impl Host for Arena {
    type Task = ();
    type Memory = Heap;
    type Preemption<'a> = ();

    fn space(&self) -> &Space<Arena> {
        &self.space
    }
    fn threads(&self) -> u32 {
        4
    }
    fn in_range(&self, address: Address) -> bool {
        address >> 47 == 0
    }
    fn load(&self, address: Address) -> Result<u32, Fault> {
        Ok(self.word(address, Access::Read)?.load(Ordering::Relaxed))
    }
    fn compare_exchange(&self, address: Address, old: u32, new: u32) -> Result<u32, Fault> {
        if let Some(meddle) = &*self.before.borrow() {
            meddle(self, address);
        }
        let word = self.word(address, Access::Write)?;
        let (Ok(was) | Err(was)) = word.compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst);
        if let Some(meddle) = self.after.borrow().as_ref().filter(|_| was == old) {
            meddle(self, address);
        }
        Ok(was)
    }
    fn read(&self, address: Address, to: &mut [u8]) -> Result<(), Fault> {
        if address % 4 == 0 && to.len() == 8 {
            to[..4].copy_from_slice(&self.load(address)?.to_ne_bytes());
            to[4..].copy_from_slice(&self.load(address.checked_add(4).ok_or(Fault)?)?.to_ne_bytes());
            return Ok(());
        }
        for (i, byte) in to.iter_mut().enumerate() {
            let place = address.checked_add(i as u64).ok_or(Fault)?;
            *byte = self.load(place & !3)?.to_ne_bytes()[place as usize & 3];
        }
        Ok(())
    }
    fn fault_in(&self, address: Address, access: Access) -> Result<(), Errno> {
        self.word(address, access).map_or(Err(Errno::EFAULT), |_| Ok(()))
    }
    fn resolve_shared(&self, address: Address, access: Access) -> Result<SharedKey, Errno> {
        self.fault_in(address, access)?;
        Ok(SharedKey::Object { object: 1, offset: address - BASE })
    }
    fn task(&self, _: &Flag) {}
    fn park(&self, _: &Flag, _: Option<Deadline>) -> ParkEnd {
        ParkEnd::TimedOut
    }
    fn unpark(&self, (): ()) {}
    fn now(&self, _: Clock) -> u64 {
        0
    }
    fn preempt_off(&self) {}
}

impl RobustHost for Arena {
    fn thread_id(&self) -> u32 {
        self.thread.get()
    }
    fn robust_head(&self, thread: u32) -> Result<Address, Errno> {
        match thread {
            0 => Ok(self.head.get()),
            _ if thread == self.thread.get() => Ok(self.head.get()),
            1 => Err(Errno::EPERM),
            _ => Err(Errno::ESRCH),
        }
    }
    fn set_robust_head(&self, head: Address) {
        self.head.set(head);
    }
    fn compat_robust_head(&self, thread: u32) -> Result<Address, Errno> {
        self.robust_head(thread)?;
        self.compat_head.get().ok_or(Errno::ENOSYS)
    }
    fn set_compat_robust_head(&self, head: Address) -> Result<(), Errno> {
        self.compat_head.get().ok_or(Errno::ENOSYS)?;
        self.compat_head.set(Some(head));
        Ok(())
    }
    fn write(&self, address: Address, from: &[u8]) -> Result<(), Fault> {
        if self.write_panics.get() {
            std::panic::resume_unwind(Box::new("write"));
        }
        for (i, byte) in from.iter().enumerate() {
            let place = address.checked_add(i as u64).ok_or(Fault)?;
            let word = self.word(place & !3, Access::Write)?;
            let mut bytes = word.load(Ordering::Relaxed).to_ne_bytes();
            bytes[place as usize & 3] = *byte;
            word.store(u32::from_ne_bytes(bytes), Ordering::Relaxed);
        }
        Ok(())
    }
    fn robust_unlock(&self) -> RobustUnlock {
        self.unlock.get()
    }
}
