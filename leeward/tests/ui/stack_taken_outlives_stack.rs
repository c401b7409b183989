//! What was taken from a stack borrows it: a node may still be read by a pop there.
use leeward::collect::Stack;
fn main() {
    let stack = <Stack<u32>>::new();
    stack.push(1);
    let mut taken = stack.pop_all();
    println!("{:?}", taken.next());
    drop(stack); //~ BREAKS E0505
    println!("{:?}", taken.next());
}
