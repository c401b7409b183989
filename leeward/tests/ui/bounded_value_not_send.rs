//! What is pushed to a bounded queue may be popped on another thread.
use leeward::collect::Bounded;
use std::rc::Rc;
fn main() {
    let queue = Bounded::<Rc<u32>>::with_capacity(1);
    queue.push(Rc::new(1)).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| println!("another thread"));
        scope.spawn(|| drop(queue.pop())); //~ BREAKS E0277
    });
}
