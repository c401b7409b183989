//! What must hold whatever a host does, under loom: hosts that break the rules, and sleepers that look at the flag themselves.

use std::sync::Arc;
use std::vec::Vec;

use loom::thread;

use crate::loom_host::{ANY, explore};
use crate::{
    Access, Address, Clock, Config, Deadline, Engine, Errno, Fault, Flag, Heap, Host, ParkEnd, SharedKey, Space, Word,
};

/// A thread of one of several spaces. All words hold 0.
struct Twin {
    spaces: Arc<Vec<Space<Twin>>>,
    of: usize,
}

impl Host for Twin {
    type Task = thread::Thread;
    type Memory = Heap;

    fn space(&self) -> &Space<Twin> {
        &self.spaces[self.of]
    }
    fn threads(&self) -> u32 {
        // Tables are made by the models themselves.
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
    fn task(&self, _: &Flag) -> thread::Thread {
        thread::current()
    }
    fn park(&self, flag: &Flag, _: Option<Deadline>) -> ParkEnd {
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
    fn spin(&self, _: u32) {}
}

/// Two spaces with one number, against the rule: the waits of both may be lost, but no waiter gets into a table that is freed with the
/// space of another.
#[test]
fn spaces_with_one_number_keep_their_waiters_apart() {
    explore(3, || {
        let engine = Arc::new(Engine::new(Config::small(1).with_private_tables(), Heap).unwrap());
        let spaces = Arc::new(Vec::from([Space::new(1, 7, Heap), Space::new(1, 7, Heap)]));
        let host = |of| Twin { spaces: spaces.clone(), of };
        let (from, to, other) = (Word::private(0), Word::private(4), Word::private(8));
        // Two waiters of the first space, in the global table.
        let mut futures: Vec<_> = [from, other].map(|word| (word, host(0))).into();
        let mut waiting: Vec<_> = futures
            .iter_mut()
            .map(|(word, host)| {
                let mut future = std::boxed::Box::pin(engine.wait_async(host, *word, 0, ANY));
                let mut context = core::task::Context::from_waker(core::task::Waker::noop());
                assert!(core::future::Future::poll(future.as_mut(), &mut context).is_pending());
                future
            })
            .collect();
        // One thread of the second moves the one, while another wakes the other, which takes the first thread's place in the count, and
        // then makes a table.
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
