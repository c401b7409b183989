//! A consumer borrows its queue.
use leeward::collect::Queue;
fn main() {
    let queue = <Queue<u32>>::new();
    let mut consumer = queue.consumer();
    println!("{:?}", consumer.try_pop());
    drop(queue); //~ BREAKS E0505
    println!("{:?}", consumer.try_pop());
}
