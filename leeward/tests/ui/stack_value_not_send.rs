//! What is pushed may be popped on another thread.
use leeward::collect::Stack;
use std::rc::Rc;
fn main() {
    let stack = <Stack<Rc<u32>>>::new();
    stack.push(Rc::new(1));
    std::thread::scope(|scope| {
        scope.spawn(|| println!("another thread"));
        scope.spawn(|| drop(stack.pop())); //~ BREAKS E0277
    });
}
