//! A runtime's side of `memory.atomic.wait32`, `wait64` and `notify`: the memory's view, and the
//! three calls that generated code makes. The "guest" is two threads that pass a token.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;

use leeward_engine::Config;
use leeward_wasm::{GuestMemory, Interrupt, Runtime, Threads, Trap};

/// A shared memory of 64 bytes. A real one is a mapping that is reserved up to its maximum, and
/// implements `LinearMemory` as that trait's example does.
type Linear = Arc<[AtomicU64; 8]>;

/// What an instance has for each memory that it imports: its handle, which ends with the instance.
struct Instance {
    memory: GuestMemory<Linear, Threads>,
    killed: Interrupt<Linear, Threads>,
}

impl Instance {
    fn new(runtime: &Runtime<Linear, Threads>, memory: &GuestMemory<Linear, Threads>) -> Instance {
        let killed = runtime.interrupt();
        Instance { memory: memory.interruptible(&killed), killed }
    }

    // What generated code calls, with the operands from the stack. An error unwinds to the entry.
    fn wait32(&self, base: u32, expected: u32, timeout: i64, offset: u32) -> Result<u32, Trap> {
        Ok(self.memory.wait32(base.into(), offset.into(), expected, timeout)? as u32)
    }
    fn notify(&self, base: u32, count: u32, offset: u32) -> Result<u32, Trap> {
        self.memory.notify(base.into(), offset.into(), count)
    }
}

fn main() {
    let runtime = Runtime::new(Config::for_processors(2, 0x5eed), Threads::default()).expect("memory for a table");
    let linear = Linear::default();
    let memory = runtime.memory(linear.clone());
    let (ping, pong) = (Instance::new(&runtime, &memory), Instance::new(&runtime, &memory));
    thread::scope(|threads| {
        threads.spawn(|| {
            // The token: 0 is ping's, 1 is pong's.
            while linear[0].compare_exchange(1, 2, SeqCst, SeqCst).is_err() {
                ping.wait32(0, 0, -1, 0).expect("no trap");
            }
            println!("the token came");
        });
        linear[0].store(1, SeqCst);
        pong.notify(0, u32::MAX, 0).expect("no trap");
        // An instance that is killed in a wait that nothing else would end.
        let waiting = threads.spawn(|| pong.wait32(32, 0, -1, 8));
        pong.killed.raise();
        assert_eq!(waiting.join().expect("no panic"), Err(Trap::Interrupted));
        println!("the other instance was interrupted");
    });
}
