//! Callbacks of data structures: heads that lie in the objects, and closures that the compiler
//! cannot check.

use super::*;

use std::ptr::NonNull;

use leeward::rcu::Head;

/// An object of a data structure: its head is not its first field.
#[repr(C)]
struct Node {
    number: u64,
    head: Head,
    freed: Arc<Mutex<Vec<u64>>>,
}

impl Node {
    fn head(freed: &Arc<Mutex<Vec<u64>>>, number: u64) -> NonNull<Head> {
        let node = Box::into_raw(Box::new(Node { number, head: Head::new(), freed: Arc::clone(freed) }));
        // SAFETY: the node is alive.
        NonNull::new(unsafe { &raw mut (*node).head }).unwrap()
    }

    /// Frees a node, and notes its number.
    ///
    /// # Safety
    /// The head is that of a node which is the caller's alone.
    unsafe extern "C-unwind" fn free(head: NonNull<Head>) {
        // SAFETY: the head lies in a node.
        let node = unsafe { head.byte_sub(std::mem::offset_of!(Node, head)) }.cast::<Node>();
        // SAFETY: it came from a box, and nobody else has it.
        let node = unsafe { Box::from_raw(node.as_ptr()) };
        node.freed.lock().unwrap().push(node.number);
        assert_ne!(node.number, 13, "on purpose");
    }
}

/// In the order of deferral, among closures, after a grace period, and after a panic as well.
#[test]
fn heads_are_called_in_order() {
    domain!();
    let _dog = Watchdog::new("heads_are_called_in_order");
    let freed = Arc::new(Mutex::new(Vec::new()));
    let guard = D::read();
    for number in 0..40 {
        if number % 3 == 0 {
            let freed = Arc::clone(&freed);
            D::defer(move || freed.lock().unwrap().push(number));
        } else {
            // SAFETY: the node is reached by its head alone.
            unsafe { D::defer_raw(Node::head(&freed, number), Node::free) };
        }
    }
    never("a callback ran under a section that was open", || !freed.lock().unwrap().is_empty());
    drop(guard);
    D::barrier();
    assert_eq!(*freed.lock().unwrap(), (0..40).collect::<Vec<_>>());
    let stats = D::stats();
    assert_eq!((stats.callbacks_run, stats.callback_panics, stats.callbacks_queued), (40, 1, 0));
    assert_eq!((Arc::strong_count(&freed), stats.bytes_queued), (1, 0));
}

/// A callback may queue its own head again.
#[test]
fn a_head_is_free_when_its_call_begins() {
    domain!();
    let _dog = Watchdog::new("a_head_is_free_when_its_call_begins");
    static CALLED: AtomicU64 = AtomicU64::new(0);
    static HEAD: Head = Head::new();
    /// Queues the head again, ten times.
    ///
    /// # Safety
    /// The head is not queued.
    unsafe extern "C-unwind" fn again(head: NonNull<Head>) {
        if CALLED.fetch_add(1, Ordering::SeqCst) < 9 {
            // SAFETY: the head lives forever, and is not queued.
            unsafe { D::defer_raw(head, again) };
        }
    }
    let head = NonNull::from(Box::leak(Box::<Head>::default()));
    assert_eq!((size_of::<Head>(), format!("{HEAD:?}")), (2 * size_of::<usize>(), "Head { .. }".into()));
    // SAFETY: as above.
    unsafe { D::defer_raw(head, again) };
    eventually("the head was called ten times", || CALLED.load(Ordering::SeqCst) == 10);
}

/// Many threads at once: each head is called once.
#[test]
fn heads_of_many_threads() {
    domain!();
    let _dog = Watchdog::new("heads_of_many_threads");
    let freed = Arc::new(Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for thread in 0..4 {
            let freed = &freed;
            scope.spawn(move || {
                for number in 0..500 {
                    // SAFETY: as above. (100 and more: no callback panics.)
                    unsafe { D::defer_raw(Node::head(freed, 100 + thread * 500 + number), Node::free) };
                }
            });
        }
    });
    D::barrier();
    let mut freed = freed.lock().unwrap().clone();
    freed.sort_unstable();
    assert_eq!(freed, (100..2100).collect::<Vec<_>>());
}

#[test]
fn closures_that_are_not_send_or_borrow() {
    domain!();
    let _dog = Watchdog::new("closures_that_are_not_send_or_borrow");
    let ran = AtomicU64::new(0);
    {
        let borrowed = &ran;
        let pointer = Box::into_raw(Box::new(7));
        let free = move || {
            // SAFETY: the box is the closure's alone.
            borrowed.fetch_add(*unsafe { Box::from_raw(pointer) }, Ordering::SeqCst);
        };
        // SAFETY: `ran` lives until the barrier below, and a number may be freed on any thread.
        unsafe { D::defer_unchecked(free) };
    }
    D::barrier();
    assert_eq!(ran.load(Ordering::SeqCst), 7);
}
