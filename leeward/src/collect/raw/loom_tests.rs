//! Models of the intrusive queue and stack, as they ship, under loom. Each node has a cell that loom
//! watches: its producer writes it before the push, and its consumer after the pop.

use core::ptr::NonNull;
use std::boxed::Box;
use std::sync::Arc;

use loom::cell::UnsafeCell;
use loom::thread;

use super::{Node, Queue, Stack};
use crate::atomic::AtomicU32;
use crate::futex::{Private, Timeout};
use crate::models;

/// An object with a node, at its beginning.
#[repr(C)]
struct Object {
    node: Node,
    cell: UnsafeCell<u32>,
}

impl Object {
    fn node() -> NonNull<Node> {
        let object = Box::new(Object { node: Node::new(), cell: UnsafeCell::new(0) });
        // SAFETY: nobody else's.
        object.cell.with_mut(|cell| unsafe { *cell = 1 });
        NonNull::from(Box::leak(object)).cast()
    }

    /// Frees a popped object, whose writes this thread sees.
    fn free(node: NonNull<Node>) {
        // SAFETY: made by `node`, and popped once.
        let object = unsafe { Box::from_raw(node.cast::<Object>().as_ptr()) };
        // SAFETY: loom reports a thread that is here meanwhile.
        object.cell.with_mut(|cell| unsafe { *cell += 1 });
        // The pusher may still be in its last access to the link: loom keeps the memory.
        Box::leak(object);
    }
}

#[derive(Clone)]
struct Shared(Arc<(Queue, Queue, Stack)>);

impl Shared {
    fn push(&self) {
        // SAFETY: a new node.
        unsafe { self.0.0.push(Object::node()) };
    }

    fn pop(&self) {
        // SAFETY: one thread pops in each model.
        Object::free(unsafe { self.0.0.pop(Timeout::Never) }.value().unwrap());
    }
}

fn explore(preemptions: usize, model: impl Fn(Shared) + Send + Sync + 'static) {
    let set_up = || {
        crate::futex::wake(&AtomicU32::new(0), 1);
        super::link::set_up();
    };
    models::explore(preemptions, set_up, move || model(Shared(Arc::new((Queue::new(), Queue::new(), Stack::new())))));
}

fn beside(shared: &Shared, work: impl FnOnce(Shared) + 'static) -> thread::JoinHandle<()> {
    let shared = shared.clone();
    thread::spawn(move || work(shared))
}

/// Two producers and a consumer that sleeps: for the first node, and for a link.
#[test]
fn two_producers_and_a_consumer() {
    explore(3, |shared| {
        let first = beside(&shared, |shared| shared.push());
        let second = beside(&shared, |shared| shared.push());
        shared.pop();
        shared.pop();
        first.join().unwrap();
        second.join().unwrap();
        assert!(shared.0.0.is_empty());
    });
}

/// The last node is popped beside a push.
#[test]
fn the_last_node() {
    explore(3, |shared| {
        shared.push();
        let push = beside(&shared, |shared| {
            shared.push();
            shared.push();
        });
        (0..3).for_each(|_| shared.pop());
        push.join().unwrap();
        assert!(shared.0.0.is_empty());
    });
}

/// A splice beside a push, to a queue whose consumer sleeps.
#[test]
fn a_splice_beside_a_push() {
    explore(2, |shared| {
        let push = beside(&shared, |shared| {
            // SAFETY: a new node.
            unsafe { shared.0.1.push(Object::node()) };
        });
        let splice = beside(&shared, |shared| {
            // SAFETY: a new node.
            unsafe { shared.0.1.push(Object::node()) };
            // SAFETY: one thread splices and none pops.
            let _ = unsafe { shared.0.0.splice(&shared.0.1, Timeout::Never) };
        });
        shared.pop();
        push.join().unwrap();
        splice.join().unwrap();
        // SAFETY: as above.
        let _ = unsafe { shared.0.0.splice(&shared.0.1, Timeout::Never) };
        shared.pop();
        assert!(shared.0.0.is_empty() && shared.0.1.is_empty());
    });
}

/// Both ways to push beside pops of one, by one thread.
#[test]
fn a_stack_popped_one_by_one() {
    explore(3, |shared| {
        // SAFETY: a new node.
        let first = beside(&shared, |shared| {
            // SAFETY: a new node.
            unsafe { shared.0.2.push(Object::node()) };
        });
        // SAFETY: a new node.
        let second = beside(&shared, |shared| {
            // SAFETY: a new node.
            unsafe { shared.0.2.push_wait_free(Object::node()) };
        });
        let mut count = 0;
        for _ in 0..2 {
            // SAFETY: one thread pops.
            if let Some(node) = unsafe { shared.0.2.pop(Timeout::Never) }.value() {
                Object::free(node);
                count += 1;
            }
        }
        first.join().unwrap();
        second.join().unwrap();
        // SAFETY: one thread pops.
        while let Some(node) = unsafe { shared.0.2.pop(Timeout::Never) }.value() {
            Object::free(node);
            count += 1;
        }
        assert_eq!(count, 2);
    });
}

/// Both ways to push beside two threads that pop all.
#[test]
fn a_stack_popped_at_once() {
    fn pops(shared: &Shared) {
        let mut next = shared.0.2.pop_all();
        while let Some(node) = next {
            // SAFETY: the node came from `pop_all`.
            next = unsafe { Stack::<Private>::next(node) };
            Object::free(node);
        }
    }
    explore(2, |shared| {
        let first = beside(&shared, |shared| {
            // SAFETY: new nodes.
            unsafe { shared.0.2.push_wait_free(Object::node()) };
            // SAFETY: as above.
            unsafe { shared.0.2.push(Object::node()) };
        });
        let second = beside(&shared, |shared| pops(&shared));
        pops(&shared);
        first.join().unwrap();
        second.join().unwrap();
        pops(&shared);
        assert!(shared.0.2.is_empty());
    });
}
