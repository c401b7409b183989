//! Short-lived threads, which start, read a little and exit. Some of them read, or leave their last
//! section, while they exit.

use std::cell::RefCell;

use leeward::rcu::{Reader, qsbr};

use super::crew::{self, Member, is_over};
use super::fixture::{Flavour, think};
use super::forker;
use super::random::Random;
use super::round::Read;

/// Actions of a thread in a thread-local destructor, which runs after those of variables that were
/// first used later.
struct LastActs(RefCell<Vec<Box<dyn FnOnce()>>>);

impl Drop for LastActs {
    fn drop(&mut self) {
        self.0.take().into_iter().for_each(|act| act());
    }
}

thread_local! {
    static LAST: LastActs = const { LastActs(RefCell::new(Vec::new())) };
}

/// Has the calling thread act when it exits.
pub fn at_last(act: impl FnOnce() + 'static) {
    LAST.with(|last| last.0.borrow_mut().push(Box::new(act)));
}

/// Starts threads, of each kind of life, until the phase is over.
pub fn start(mut random: Random, lives: Vec<Read>) {
    while !is_over() {
        let mut threads = Vec::new();
        for _ in 0..1 + random.below(4) {
            let own = random.split();
            let live = lives[random.below(lives.len() as u64) as usize];
            threads.extend(crew::hire(move |me| live(me, own)));
        }
        crew::dismiss(threads);
    }
}

/// Lives for a few sections.
pub fn live<D: Flavour>(me: &'static Member, mut random: Random) {
    match random.below(8) {
        // The destructor runs after the library's own, when the thread is no longer registered.
        0 => {
            at_last(move || {
                let _late = forker::LATE.lock();
                sections::<D>(me, 3);
            });
            sections::<D>(me, 3);
        }
        // The destructor runs before the library's own.
        1 => {
            sections::<D>(me, 2);
            at_last(move || sections::<D>(me, 3));
        }
        // Only the destructor reads.
        2 => at_last(move || sections::<D>(me, 2)),
        3 => leave_late::<D>(me, random),
        4 => forget_in_handle::<D>(me, random),
        5 => {
            me.enters();
            let mut reader = qsbr::Reader::<D>::register_in();
            let name = D::fixture().look(random.next() as usize);
            think(random.below(300));
            D::fixture().check(name);
            reader.quiescent();
            drop(reader);
            me.left();
        }
        6 => drop(D::register()),
        _ => sections::<D>(me, 1 + random.below(20)),
    }
}

fn sections<D: Flavour>(me: &Member, count: u64) {
    let fixture = D::fixture();
    for root in 0..count {
        me.enters();
        let guard = D::read();
        let name = fixture.look(root as usize);
        let inner = D::read();
        think(100);
        drop(guard);
        fixture.check(name);
        drop(inner);
        me.left();
    }
}

/// Keeps a guard in a variable whose destructor runs after the library's own: the section has to go
/// on until then.
fn leave_late<D: Flavour>(me: &'static Member, mut random: Random) {
    let fixture = D::fixture();
    // The variable is used before the library's own, so it is destroyed after it.
    at_last(|| ());
    let late = forker::LATE.lock();
    me.enters();
    let guard = D::read();
    let nested = random.one_in(2).then(D::read);
    let name = fixture.look(random.next() as usize);
    let wait = random.below(20_000);
    at_last(move || {
        think(wait);
        fixture.check(name);
        drop(guard);
        if let Some(nested) = nested {
            think(wait);
            fixture.check(name);
            drop(nested);
        }
        me.left();
        sections::<D>(me, 1);
        drop(late);
    });
}

/// Forgets a guard, which keeps its section open until its handle is dropped.
fn forget_in_handle<D: Flavour>(me: &'static Member, mut random: Random) {
    let fixture = D::fixture();
    me.enters();
    let handle = Reader::<D>::register_in();
    std::mem::forget(handle.read());
    let name = fixture.look(random.next() as usize);
    think(random.below(2000));
    fixture.check(name);
    drop(handle);
    me.left();
}
