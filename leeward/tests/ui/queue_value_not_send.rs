//! What is pushed may be popped on another thread.
use leeward::collect::Queue;
use std::rc::Rc;
fn main() {
    let queue = <Queue<Rc<u32>>>::new();
    queue.push(Rc::new(1));
    std::thread::scope(|scope| {
        scope.spawn(|| println!("another thread"));
        scope.spawn(|| drop(queue.pop())); //~ BREAKS E0277
    });
}
