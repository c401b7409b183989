//! A guest's handle on its memory, in each of the ways in which the adapter waits: so each test
//! runs on all of them. `evaluate` calls it; it calls the adapter.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use leeward_wasm::{GuestMemory, Outcome, Runtime, Threads, Trap};

use crate::linear::Linear;

/// How waits are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// A thread sleeps.
    Thread,
    /// A thread sleeps by a handle that an interrupt could end.
    Interruptible,
    /// A future is polled by a thread, and dropped when its time is up.
    Future,
}

#[derive(Clone)]
pub struct Waits {
    memory: GuestMemory<Arc<Linear>, Threads>,
    way: Way,
}

impl Waits {
    pub fn new(runtime: &Runtime<Arc<Linear>, Threads>, linear: Linear, way: Way) -> Waits {
        let memory = runtime.memory(Arc::new(linear));
        let memory = if way == Way::Interruptible { memory.interruptible(&runtime.interrupt()) } else { memory };
        Waits { memory, way }
    }

    pub fn linear(&self) -> &Linear {
        self.memory.linear()
    }

    pub fn wait32(&self, base: u64, offset: u64, expected: u32, timeout: i64) -> Result<Outcome, Trap> {
        match self.way {
            Way::Future => block_on(self.memory.wait32_async(base, offset, expected), timeout),
            _ => self.memory.wait32(base, offset, expected, timeout),
        }
    }

    pub fn wait64(&self, base: u64, offset: u64, expected: u64, timeout: i64) -> Result<Outcome, Trap> {
        match self.way {
            Way::Future => block_on(self.memory.wait64_async(base, offset, expected), timeout),
            _ => self.memory.wait64(base, offset, expected, timeout),
        }
    }

    pub fn notify(&self, base: u64, offset: u64, count: u32) -> Result<u32, Trap> {
        self.memory.notify(base, offset, count)
    }
}

/// A waker that unparks a thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Polls a wait until it ends or its time is up.
fn block_on(wait: impl Future<Output = Result<Outcome, Trap>>, timeout: i64) -> Result<Outcome, Trap> {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let (mut wait, mut context) = (pin!(wait), Context::from_waker(&waker));
    let (begin, timeout) = (Instant::now(), u64::try_from(timeout).map(Duration::from_nanos));
    loop {
        if let Poll::Ready(end) = wait.as_mut().poll(&mut context) {
            return end;
        }
        match timeout.map(|timeout| timeout.saturating_sub(begin.elapsed())) {
            Err(_) => thread::park(),
            Ok(Duration::ZERO) => return Ok(Outcome::TimedOut),
            Ok(left) => thread::park_timeout(left),
        }
    }
}
