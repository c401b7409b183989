//! A value may borrow what lives as long as the queue, and nothing shorter.
use leeward::collect::Queue;
fn main() {
    let long = String::from("long");
    let queue = <Queue<&String>>::new();
    queue.push(&long);
    {
        let short = String::from("short");
        println!("{short}");
        queue.push(&short); //~ BREAKS E0597
    }
    println!("{:?}", queue.try_pop());
}
