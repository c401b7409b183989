//! A wait for any of three events: a message, a tick of the clock, the end.
//!
//! `cargo run --release -p leeward --example wait_any`

use std::thread;
use std::time::Duration;

use leeward::sync::Event;

fn main() {
    let (message, tick, end) = (&Event::new(), &Event::new(), &Event::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..3 {
                thread::sleep(Duration::from_millis(7));
                message.set();
            }
            end.set();
        });
        scope.spawn(|| {
            while !end.wait_for(Duration::from_millis(5)) {
                tick.set();
            }
        });
        let (mut messages, mut ticks) = (0, 0);
        loop {
            // Returns the first event that is set, in this order.
            match Event::wait_any(&[message, end, tick]).expect("three are not too many") {
                0 => messages += u32::from(message.clear()),
                1 => break,
                _ => ticks += u32::from(tick.clear()),
            }
        }
        println!("{messages} messages and {ticks} ticks before the end");
        assert!(messages > 0);
    });
}
