//! A host of one thread whose pages come when they are asked for, or not. It notices a lock that is
//! held where it may sleep, and runs something else while it serves a fault or sleeps.

// Each test program uses its part.
#![allow(dead_code)]

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use leeward_engine::{
    Access, Address, Clock, Deadline, Errno, Fault, Flag, Heap, Host, ParkEnd, RobustHost, SharedKey, Space,
};

pub const PAGE: Address = 4096;

/// The states of a page; its first words are there in any case, for the test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Page {
    There,
    /// The page comes when it is asked for, and goes away this many times more before it stays.
    Late(u32),
    /// The page comes when it is asked for, to be read only.
    LateReadOnly,
    ReadOnly,
    Never,
}

const WORDS: usize = 256;

type Others = Box<dyn FnMut(&Paged, Address)>;

pub struct Paged {
    space: Space<Paged>,
    pages: Vec<(Cell<Page>, Vec<Cell<u32>>)>,
    /// How many locks are held.
    pub locks: Arc<AtomicI32>,
    /// How many faults the host was asked to serve.
    pub faults: Cell<u32>,
    /// What happens while the next fault is served, once.
    pub serving: RefCell<Option<Others>>,
    /// What happens in the next sleep, once.
    pub sleep: RefCell<Option<Others>>,
    /// How the next sleeps end, the first one first; later ones end by time.
    pub ends: RefCell<VecDeque<ParkEnd>>,
    /// True if the thread spins instead of sleeping.
    pub spins: Cell<bool>,
    /// How many sleeps were ended.
    pub unparked: Cell<u32>,
    pub threads: Cell<u32>,
    pub head: Cell<Address>,
}

pub const ME: u32 = 77;

impl Paged {
    pub fn new(pages: &[Page]) -> Paged {
        let page = |page: &Page| (Cell::new(*page), vec![Cell::new(0); WORDS]);
        Paged {
            space: Space::new(1, 5, Heap),
            pages: pages.iter().map(page).collect(),
            locks: Arc::default(),
            faults: Cell::new(0),
            serving: RefCell::default(),
            sleep: RefCell::default(),
            ends: RefCell::default(),
            spins: Cell::new(false),
            unparked: Cell::new(0),
            threads: Cell::new(1),
            head: Cell::new(0),
        }
    }

    pub fn set_page(&self, number: u64, page: Page) {
        self.pages[number as usize].0.set(page);
    }

    /// Sets what other threads do while the next fault is served.
    pub fn while_serving(&self, others: impl FnMut(&Paged, Address) + 'static) {
        *self.serving.borrow_mut() = Some(Box::new(others));
    }

    fn page(&self, address: Address) -> Option<&(Cell<Page>, Vec<Cell<u32>>)> {
        self.pages.get(usize::try_from(address / PAGE).ok()?)
    }

    /// Returns a word, whatever its page's state.
    pub fn word(&self, address: Address) -> &Cell<u32> {
        &self.page(address).unwrap().1[(address % PAGE / 4) as usize]
    }

    /// Stores a number of 64 bits.
    pub fn put(&self, address: Address, value: u64) {
        self.word(address).set(value as u32);
        self.word(address + 4).set((value >> 32) as u32);
    }

    fn access(&self, address: Address, access: Access) -> Result<&Cell<u32>, Fault> {
        let (page, words) = self.page(address).ok_or(Fault)?;
        match (page.get(), access) {
            (Page::There, _) | (Page::ReadOnly, Access::Read) => {}
            _ => return Err(Fault),
        }
        words.get((address % PAGE / 4) as usize).ok_or(Fault)
    }

    fn may_sleep(&self) {
        assert_eq!(self.locks.load(Ordering::Relaxed), 0, "a lock is held where the host may sleep");
    }
}

/// A time in which a lock is held.
pub struct Off<'a>(&'a Paged);

impl Drop for Off<'_> {
    fn drop(&mut self) {
        self.0.locks.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Host for Paged {
    type Task = ();
    type Memory = Heap;
    type Preemption<'a> = Off<'a>;

    fn space(&self) -> &Space<Paged> {
        &self.space
    }
    fn threads(&self) -> u32 {
        self.threads.get()
    }
    fn in_range(&self, address: Address) -> bool {
        address >> 47 == 0
    }
    fn load(&self, address: Address) -> Result<u32, Fault> {
        self.access(address, Access::Read).map(Cell::get)
    }
    fn compare_exchange(&self, address: Address, old: u32, new: u32) -> Result<u32, Fault> {
        let word = self.access(address, Access::Write)?;
        Ok(if word.get() == old { word.replace(new) } else { word.get() })
    }
    fn read(&self, address: Address, to: &mut [u8]) -> Result<(), Fault> {
        // The host serves its faults itself, since it may sleep.
        self.may_sleep();
        for (i, byte) in to.iter_mut().enumerate() {
            let place = address.checked_add(i as u64).ok_or(Fault)?;
            let (_, words) = self.page(place).filter(|(page, _)| page.get() != Page::Never).ok_or(Fault)?;
            *byte = words[(place % PAGE / 4) as usize].get().to_ne_bytes()[place as usize & 3];
        }
        Ok(())
    }
    fn fault_in(&self, address: Address, access: Access) -> Result<(), Errno> {
        self.may_sleep();
        self.faults.set(self.faults.get() + 1);
        let others = self.serving.take();
        if let Some(mut others) = others {
            others(self, address);
        }
        let (page, _) = self.page(address).ok_or(Errno::EFAULT)?;
        match (page.get(), access) {
            (Page::Never, _) | (Page::ReadOnly | Page::LateReadOnly, Access::Write) => return Err(Errno::EFAULT),
            // The page was taken away again.
            (Page::Late(more @ 1..), _) => page.set(Page::Late(more - 1)),
            (Page::LateReadOnly, _) => page.set(Page::ReadOnly),
            (Page::Late(0), _) => page.set(Page::There),
            _ => {}
        }
        Ok(())
    }
    fn resolve_shared(&self, address: Address, _: Access) -> Result<SharedKey, Errno> {
        self.may_sleep();
        match self.page(address) {
            Some((page, _)) if page.get() != Page::Never => Ok(SharedKey::Object { object: 1, offset: address }),
            _ => Err(Errno::EFAULT),
        }
    }
    fn task(&self, _: &Flag) {
        self.may_sleep();
    }
    fn park(&self, flag: &Flag, _: Option<Deadline>) -> ParkEnd {
        self.may_sleep();
        if let Some(mut others) = self.sleep.take() {
            if self.spins.get() {
                let mut spins = 0..2;
                flag.spin(|| spins.next().inspect(|_| others(self, 0)).is_some());
            } else {
                others(self, 0);
            }
        }
        self.ends.borrow_mut().pop_front().unwrap_or(ParkEnd::TimedOut)
    }
    fn unpark(&self, (): ()) {
        self.may_sleep();
        self.unparked.set(self.unparked.get() + 1);
    }
    fn now(&self, _: Clock) -> u64 {
        0
    }
    fn preempt_off(&self) -> Off<'_> {
        self.locks.fetch_add(1, Ordering::Relaxed);
        Off(self)
    }
    fn spin(&self, _: u32) {
        assert_eq!(self.locks.load(Ordering::Relaxed), 0, "a lock is held by nobody");
    }
}

impl RobustHost for Paged {
    fn thread_id(&self) -> u32 {
        ME
    }
    fn robust_head(&self, _: u32) -> Result<Address, Errno> {
        Ok(self.head.get())
    }
    fn set_robust_head(&self, head: Address) {
        self.head.set(head);
    }
    fn write(&self, _: Address, _: &[u8]) -> Result<(), Fault> {
        Err(Fault)
    }
}
