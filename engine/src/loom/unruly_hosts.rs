//! Hosts that break the rules, and sleepers that read the flag themselves, under loom: what must
//! hold whatever a host does.

use core::future::Future;
use core::pin::{Pin, pin};
use core::task::{Context, Poll, Waker};
use std::boxed::Box;
use std::rc::Rc;
use std::sync::Arc;
use std::vec::Vec;

use loom::thread;

use crate::atomic::Tracked;
use crate::loom::host::{ANY, explore};
use crate::{
    Access, Address, Clock, Config, Deadline, Engine, Errno, Fault, Flag, Heap, Host, ParkEnd, SharedKey, Space, Wait,
    WaitAsync, Word,
};

/// A host of one of several spaces. All words hold 0. Sleepers read their flags and are not
/// unparked: nothing but the flag orders what they do.
struct Twin {
    spaces: Arc<Vec<Space<Twin>>>,
    of: usize,
}

impl Host for Twin {
    type Task = ();
    type Memory = Heap;
    type Preemption<'a> = ();

    fn space(&self) -> &Space<Twin> {
        &self.spaces[self.of]
    }
    fn threads(&self) -> u32 {
        // The models make tables themselves.
        1
    }
    fn in_range(&self, _: Address) -> bool {
        true
    }
    fn load(&self, _: Address) -> Result<u32, Fault> {
        Ok(0)
    }
    fn compare_exchange(&self, _: Address, _: u32, _: u32) -> Result<u32, Fault> {
        Err(Fault)
    }
    fn read(&self, _: Address, _: &mut [u8]) -> Result<(), Fault> {
        Err(Fault)
    }
    fn fault_in(&self, _: Address, _: Access) -> Result<(), Errno> {
        Err(Errno::EFAULT)
    }
    fn resolve_shared(&self, _: Address, _: Access) -> Result<SharedKey, Errno> {
        Ok(SharedKey::Anonymous)
    }
    fn task(&self, _: &Flag) {}
    fn park(&self, flag: &Flag, until: Option<Deadline>) -> ParkEnd {
        if until.is_some() {
            return ParkEnd::TimedOut;
        }
        while flag.is_waiting() {
            thread::yield_now();
        }
        ParkEnd::Unparked
    }
    fn unpark(&self, (): ()) {}
    fn now(&self, _: Clock) -> u64 {
        0
    }
    fn preempt_off(&self) {}
    fn spin(&self, _: u32) {}
}

/// Makes an engine and `count` spaces that have one number.
fn twins(count: usize) -> (Arc<Engine<Twin>>, Arc<Vec<Space<Twin>>>) {
    let engine = Engine::new(Config::small(1).with_private_tables(), Heap).unwrap();
    (Arc::new(engine), Arc::new((0..count).map(|_| Space::new(1, 7, Heap)).collect()))
}

/// Polls once, by a context whose waker does nothing.
fn poll(future: Pin<&mut WaitAsync<'_, Twin>>) -> Poll<Result<Wait, Errno>> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Two spaces with one number, against the rule: the waits of both may be lost, but no waiter gets
/// into a table that is freed with the space of another.
#[test]
fn spaces_with_one_number_keep_their_waiters_apart() {
    explore(3, || {
        let (engine, spaces) = twins(2);
        let host = |of| Twin { spaces: spaces.clone(), of };
        let (from, to, other) = (Word::private(0), Word::private(4), Word::private(8));
        // There are two waiters of the first space, in the global table.
        let mut futures: Vec<_> = [from, other].map(|word| (word, host(0))).into();
        let mut waiting: Vec<_> = futures
            .iter_mut()
            .map(|(word, host)| {
                let mut future = Box::pin(engine.wait_async(host, *word, 0, ANY));
                assert!(poll(future.as_mut()).is_pending());
                future
            })
            .collect();
        // A thread of the second space moves the one, while another wakes the other. That wake
        // takes the place of the first thread's call in the count; then the other thread makes a
        // table.
        let waker = {
            let (engine, host) = (engine.clone(), host(1));
            thread::spawn(move || {
                _ = engine.wake(&host, other, 1, ANY);
                host.space().fit(&host, 1);
            })
        };
        let mover = host(1);
        _ = engine.requeue(&mover, from, to, 0, 1, None).unwrap();
        waker.join().unwrap();
        assert_eq!(spaces[1].stats(&mover).waiters, 0, "a waiter of one space is in the other's table");
        waiting.clear();
    });
}

/// Explores a thread that touches `data`, which is not the engine's, and wakes; the other is woken
/// by `wait`, and touches it, too.
fn a_wake_is_seen_with_what_came_before(wait: impl Fn(&Engine<Twin>, &Twin, Word) + Copy + Send + Sync + 'static) {
    explore(2, move || {
        let (engine, spaces) = twins(1);
        let data = Rc::new(Tracked::new());
        let waker = {
            let (engine, host, data) = (engine.clone(), Twin { spaces: spaces.clone(), of: 0 }, data.clone());
            thread::spawn(move || {
                data.touch();
                while engine.wake(&host, Word::shared(0), 1, ANY).unwrap() == 0 {
                    thread::yield_now();
                }
            })
        };
        wait(&engine, &Twin { spaces, of: 0 }, Word::shared(0));
        data.touch();
        waker.join().unwrap();
    });
}

#[test]
fn a_wait_by_reading_the_flag() {
    a_wake_is_seen_with_what_came_before(|engine, host, word| {
        assert_eq!(engine.wait(host, word, 0, ANY, None), Ok(Wait::Woken));
    });
}

#[test]
fn a_future_that_is_polled_without_being_told() {
    a_wake_is_seen_with_what_came_before(|engine, host, word| {
        let mut future = pin!(engine.wait_async(host, word, 0, ANY));
        while poll(future.as_mut()).is_pending() {
            thread::yield_now();
        }
    });
}

#[test]
fn a_wait_whose_time_is_up_just_as_it_is_woken() {
    explore(3, || {
        let (engine, spaces) = twins(1);
        let data = Rc::new(Tracked::new());
        let waiter = {
            let (engine, host, data) = (engine.clone(), Twin { spaces: spaces.clone(), of: 0 }, data.clone());
            let soon = Some(Deadline { clock: Clock::Monotonic, at: 1 });
            thread::spawn(move || {
                let end = engine.wait(&host, Word::shared(0), 0, ANY, soon).unwrap();
                if end == Wait::Woken {
                    data.touch();
                }
                end
            })
        };
        let host = Twin { spaces, of: 0 };
        data.touch();
        let woken = engine.wake(&host, Word::shared(0), 1, ANY).unwrap() == 1;
        assert_eq!(waiter.join().unwrap(), if woken { Wait::Woken } else { Wait::TimedOut });
    });
}
