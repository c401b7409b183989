//! An event loop that pays nothing at all for reading: QSBR.
//!
//! Handlers load shared data through the loop's own handle, with no section to enter or leave. Once
//! a turn, when no event is being handled, the loop says so (`quiescent`); while it blocks for
//! events it is offline. The compiler checks that a handler cannot keep what it loaded beyond its
//! turn.
//!
//! `cargo run --release -p leeward --example qsbr_event_loop`

use std::collections::BTreeMap;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use leeward::rcu::{Domain, RcuCell, qsbr};

leeward::rcu_domain! {
    /// The domain of the data that event loops read.
    struct Loops;
}

type Names = BTreeMap<u32, String>;

enum Event {
    Request(u32),
    Stop,
}

/// Handles one event. What it returns lives no longer than the borrow of the loop's handle.
fn handle<'turn>(
    names: &'turn RcuCell<Names, Loops>,
    event: u32,
    reader: &'turn qsbr::Reader<Loops>,
) -> Option<&'turn str> {
    names.load(reader).get(&event).map(String::as_str)
}

fn event_loop(names: &RcuCell<Names, Loops>, events: &Receiver<Event>) -> (u64, u64) {
    let mut reader = qsbr::Reader::<Loops>::register_in();
    let (mut handled, mut known) = (0, 0);
    // Blocked while offline: grace periods do not wait for this thread meanwhile.
    while let Ok(first) = reader.offline(|| events.recv()) {
        // All events that have come by now are one turn.
        for event in std::iter::once(first).chain(events.try_iter()) {
            match event {
                Event::Request(id) => {
                    known += u64::from(handle(names, id, &reader).is_some());
                    handled += 1;
                    if handled % 64 == 0 {
                        // A long turn: nothing is held between two events.
                        reader.quiescent();
                    }
                }
                Event::Stop => return (handled, known),
            }
        }
        reader.quiescent();
    }
    (handled, known)
}

fn main() {
    let names = RcuCell::<Names, Loops>::new_in(Names::new());
    let (sender, events): (Sender<Event>, _) = mpsc::channel();
    std::thread::scope(|scope| {
        let names = &names;
        let looping = scope.spawn(move || event_loop(names, &events));
        let requests = sender.clone();
        scope.spawn(move || {
            for id in 0..200_000 {
                requests.send(Event::Request(id % 100)).expect("the loop runs");
            }
        });
        for id in 0..100 {
            // Waits for the loop's next quiescent state, or not at all while it is offline.
            drop(
                names
                    .update(|now| {
                        now.iter().map(|(k, v)| (*k, v.clone())).chain([(id, format!("client {id}"))]).collect()
                    })
                    .synchronize(),
            );
            std::thread::sleep(Duration::from_micros(500));
        }
        // Sent after the requests that came before it; later requests are not awaited.
        std::thread::sleep(Duration::from_millis(200));
        sender.send(Event::Stop).expect("the loop runs");
        let (handled, known) = looping.join().expect("the loop does not panic");
        println!("{handled} events handled, {known} of clients that were known by then");
    });
    println!("{:?}", Loops::stats());
}
