//! Models of inlined readers (`rcu/section/inlined.rs`) beside ours. Their code is liburcu's, so that it is here
//! as the binary interface describes it. Its stores are releases, as every store of x86-64.

use std::boxed::Box;

use loom::thread;

use super::super::Backing as _;
use super::super::section::inlined::{Common, Count, Served, WAKE, WAKE_NOBODY};
use super::super::section::slot::Slot;
use super::{Model, SHELF, section, set_up, spawn_reader};
use crate::atomic::Ordering;
use crate::fence;
use crate::futex::{Futex as _, Shared};
use crate::models;

extern "C" fn nowhere() -> *mut core::ffi::c_void {
    core::ptr::null_mut()
}

loom::lazy_static! {
    static ref COMMON: Common = Common::new(1);
    static ref WOKEN: Served = Served { common: &raw const *COMMON, reader: nowhere, wakes: WAKE };
    static ref NOT_WOKEN: Served = Served { common: &raw const *COMMON, reader: nowhere, wakes: WAKE_NOBODY };
}

/// Makes all statics, and has the domain's inlined readers served.
fn set_up_served(served: &Served) {
    set_up();
    // SAFETY: a static of the model, which outlives its threads.
    unsafe { Model::state().grace.inlined.serve(core::mem::transmute::<&Served, &'static Served>(served)) };
}

/// Explores `model` with inlined readers that wake the leader.
fn explore(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    models::explore(preemptions, || set_up_served(&WOKEN), model);
}

/// An inlined reader of the model.
struct Reader {
    count: *mut Count,
    slot: &'static Slot,
}

// SAFETY: the count is a heap object, and the slot the domain's.
unsafe impl Send for Reader {}

impl Reader {
    /// Registers a reader, which the calling thread hands to another.
    fn register() -> Reader {
        let slot = Model::state().grace.claim(2, 0).expect("a model has two slots");
        let count = Box::into_raw(Box::new(Count::new(0)));
        // SAFETY: the count is never freed.
        unsafe { slot.inlined.attach(count) };
        Reader { count, slot }
    }

    fn count(&self) -> &Count {
        // SAFETY: never freed.
        unsafe { &*self.count }
    }

    /// What is inlined into programs, around a look at the shelf. `wakes`: the flavour's.
    fn section(&self, wakes: u32) {
        let word = self.count().word();
        // Relaxed: as plain loads are.
        word.store(COMMON.copied().load(Ordering::Relaxed), Ordering::Release);
        fence::light();
        SHELF.read();
        word.store(word.load(Ordering::Relaxed) - 1, Ordering::Release);
        if wakes == WAKE_NOBODY {
            return;
        }
        fence::light();
        let (futex, asleep) = COMMON.futex();
        if futex.load(Ordering::Relaxed) == asleep {
            futex.store(0, Ordering::Relaxed);
            Shared::wake(futex, 1);
        }
    }
}

fn spawn(reader: Reader, sections: usize, wakes: u32) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        // The whole of it, and not its fields.
        let reader = reader;
        (0..sections).for_each(|_| reader.section(wakes));
    })
}

#[test]
fn two_sections_and_two_updates() {
    explore(3, || {
        let reader = spawn(Reader::register(), 2, WAKE);
        SHELF.update();
        SHELF.update();
        reader.join().unwrap();
    });
}

/// A leader that sleeps is woken by one reader, and waits for the other.
#[test]
fn two_readers() {
    explore(2, || {
        let readers = [(); 2].map(|()| spawn(Reader::register(), 1, WAKE));
        SHELF.update();
        readers.into_iter().for_each(|reader| reader.join().unwrap());
    });
}

/// A grace period waits for readers of both kinds.
#[test]
fn beside_one_of_ours() {
    explore(2, || {
        let readers = [spawn_reader(section), spawn(Reader::register(), 1, WAKE)];
        SHELF.update();
        readers.into_iter().for_each(|reader| reader.join().unwrap());
    });
}

#[test]
fn readers_that_wake_nobody() {
    models::explore(
        3,
        || set_up_served(&NOT_WOKEN),
        || {
            let reader = spawn(Reader::register(), 1, WAKE_NOBODY);
            SHELF.update();
            reader.join().unwrap();
        },
    );
}

/// A thread exits: no leader looks at its count any more when its memory is used for something else.
#[test]
fn a_reader_that_goes() {
    explore(3, || {
        let reader = Reader::register();
        let thread = thread::spawn(move || {
            let reader = reader;
            reader.section(WAKE);
            Model::state().grace.detach(reader.slot);
            // SAFETY: no other thread has the address any more; loom reports one that loads meanwhile.
            unsafe { &mut *reader.count }.word_mut().with_mut(|word| *word = 0);
        });
        SHELF.update();
        thread.join().unwrap();
    });
}
