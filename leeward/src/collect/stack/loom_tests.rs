//! Models of the stack of values under loom: a `pop` beside a `pop_all` whose nodes are freed.

use std::sync::Arc;

use loom::thread;

use super::Stack;
use crate::atomic::AtomicU32;
use crate::models;

/// A `pop` reads no node that was freed, and values arrive once.
#[test]
fn a_pop_beside_a_pop_of_all() {
    let set_up = || {
        crate::futex::wake(&AtomicU32::new(0), 1);
    };
    models::explore(3, set_up, || {
        let stack = Arc::new(Stack::<usize>::new());
        stack.push(1);
        stack.push(2);
        let other = stack.clone();
        let pops = thread::spawn(move || other.pop().unwrap_or(0));
        let taken: usize = stack.pop_all().sum();
        // The address of a freed node is used again.
        stack.push(4);
        let popped = pops.join().unwrap();
        let rest: usize = stack.pop_all().sum();
        assert_eq!(taken + popped + rest, 7);
    });
}
