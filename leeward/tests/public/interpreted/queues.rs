//! Queues and stacks, with values so large that a block has few slots: blocks and nodes are freed and
//! used again within a few turns.

use super::*;

use std::collections::HashSet;
use std::ptr::NonNull;

use leeward::collect::raw::{self, Node};
use leeward::futex::{Private, Timeout};

/// An object with a node at its beginning.
#[repr(C)]
struct Object {
    node: Node,
    number: Box<u64>,
}

fn push(stack: &raw::Stack, number: u64) {
    let object = Box::new(Object { node: Node::new(), number: Box::new(number) });
    let node = NonNull::from(Box::leak(object)).cast::<Node>();
    // SAFETY: the object is in no stack, and lives until `take` frees it.
    unsafe { stack.push(node) };
}

/// Frees the object of a node that was popped.
fn take(node: NonNull<Node>) -> u64 {
    // SAFETY: from `push`, and popped by this thread.
    let object = unsafe { Box::from_raw(node.cast::<Object>().as_ptr()) };
    *object.number
}

fn assert_each_once(seen: Vec<u64>, count: u64) {
    assert_eq!((seen.len() as u64, seen.iter().collect::<HashSet<_>>().len() as u64), (count, count));
}

/// A node is freed and another one comes to its address while a thread is in the midst of its push,
/// which then links its own node to the old name of that address.
#[test]
fn intrusive_stacks() {
    let stack = raw::Stack::<Private>::new();
    let pop = || {
        // SAFETY: no other thread pops.
        unsafe { stack.pop(Timeout::Now) }.value().map(take)
    };
    (0..4).for_each(|number| push(&stack, number));
    let mut seen = Vec::new();
    thread::scope(|scope| {
        let pushes = scope.spawn(|| (4..8 * TURNS).for_each(|number| push(&stack, number)));
        for turn in 0.. {
            match pop() {
                Some(number) if turn % 8 == 0 => seen.push(number),
                Some(number) => push(&stack, number),
                None => thread::yield_now(),
            }
            if pushes.is_finished() {
                break;
            }
        }
    });
    seen.extend(std::iter::from_fn(pop).take(4 * TURNS as usize));
    let mut next = stack.pop_all();
    while let Some(node) = next {
        // SAFETY: from `pop_all`.
        next = unsafe { raw::Stack::<Private>::next(node) };
        seen.push(take(node));
    }
    assert_each_once(seen, 8 * TURNS);
}

/// What asks whether a fork has made this process.
#[cfg(any(not(miri), not(target_os = "linux")))]
mod where_forks_are_known {
    use super::*;

    use leeward::collect::{Bounded, Queue, Stack};

    /// A value of which a block has four. There is padding between the slot's state and it.
    type Large = (Box<u64>, [u64; 32]);

    fn large(number: u64) -> Large {
        (Box::new(number), [number; 32])
    }

    fn number(value: Large) -> u64 {
        assert_eq!(value.1, [*value.0; 32]);
        *value.0
    }

    #[test]
    fn queues_of_blocks() {
        let queue = Queue::<Large>::new();
        let seen = Mutex::new(Vec::new());
        thread::scope(|scope| {
            let producers = [0, TURNS].map(|from| {
                scope.spawn({
                    let queue = &queue;
                    move || (from..from + TURNS).for_each(|turn| queue.push(large(turn)))
                })
            });
            scope.spawn(|| {
                while let Some(value) = queue.pop() {
                    seen.lock().push(number(value));
                }
            });
            for _ in 0..TURNS {
                let _ = queue.is_empty();
                if let Some(value) = queue.try_pop().value() {
                    seen.lock().push(number(value));
                }
            }
            producers.into_iter().for_each(|producer| producer.join().unwrap());
            queue.close();
        });
        seen.lock().extend(queue.pop_all().map(number));
        assert_each_once(seen.into_inner(), 2 * TURNS);
    }

    #[test]
    fn bounded_queues() {
        let queue = Bounded::<Large>::with_capacity(2);
        let seen = Mutex::new(Vec::new());
        thread::scope(|scope| {
            let producers = [0, TURNS].map(|from| {
                scope.spawn({
                    let queue = &queue;
                    move || (from..from + TURNS).for_each(|turn| queue.push(large(turn)).unwrap())
                })
            });
            scope.spawn(|| {
                while let Some(value) = queue.pop() {
                    seen.lock().push(number(value));
                }
            });
            for turn in 0..TURNS {
                let displaced = queue.force_push(large(2 * TURNS + turn));
                seen.lock().extend(displaced.into_iter().chain(queue.try_pop().value()).map(number));
                assert!(queue.len() <= 2);
            }
            producers.into_iter().for_each(|producer| producer.join().unwrap());
            queue.close();
        });
        assert!(queue.push(large(0)).is_err() && queue.force_push(large(3 * TURNS)).is_none());
        seen.lock().extend(queue.into_iter().map(number));
        assert_each_once(seen.into_inner(), 3 * TURNS + 1);
    }

    #[test]
    fn queues_that_are_spliced() {
        let (from, to) = (Queue::<Large>::new(), Queue::<Large>::new());
        thread::scope(|scope| {
            scope.spawn(|| (0..2 * TURNS).for_each(|turn| from.push(large(turn))));
            scope.spawn(|| {
                for _ in 0..TURNS {
                    to.splice(&from);
                    thread::yield_now();
                }
            });
            let mut consumer = to.consumer();
            let mut last = 0;
            for _ in 0..TURNS {
                if let Some(value) = consumer.try_pop().value() {
                    let number = number(value);
                    assert!(number == 0 || number > last);
                    last = number;
                }
            }
        });
        to.splice(&from);
        drop((to.into_iter().next(), from));
    }

    #[test]
    fn stacks() {
        let (stack, taken) = (Stack::<Large>::new(), AtomicU32::new(0));
        twice(|turn| {
            (0..4).for_each(|again| stack.push(large(4 * turn + again)));
            let found: Vec<u64> = match turn % 4 {
                0 => stack.pop_all().map(number).collect(),
                1 => stack.pop_all().first_pushed_first().map(number).collect(),
                2 => stack.pop().into_iter().map(number).collect(),
                _ => stack.try_pop().value().into_iter().map(number).collect(),
            };
            taken.fetch_add(found.len() as u32, Ordering::Relaxed);
        });
        let left = stack.into_iter().map(number).count();
        assert_eq!(u64::from(taken.into_inner()) + left as u64, 8 * TURNS);
    }
}
