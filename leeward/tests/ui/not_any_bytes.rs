//! A value of which some bytes are no value lies in no robust lock.
use leeward::robust::Mutex;
struct Flags(bool);
fn takes<T>() {}
fn main() {
    takes::<Mutex<u32>>();
    takes::<Mutex<Flags>>(); //~ BREAKS `Flags` may lie in memory
}
