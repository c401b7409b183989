//! A value may borrow what lives as long as the bounded queue, and nothing shorter.
use leeward::collect::Bounded;
fn main() {
    let long = String::from("long");
    let queue = Bounded::<&String>::with_capacity(2);
    queue.push(&long).unwrap();
    {
        let short = String::from("short");
        println!("{short}");
        queue.push(&short).unwrap(); //~ BREAKS E0597
    }
    println!("{:?}", queue.try_pop());
}
