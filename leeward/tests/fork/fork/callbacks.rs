//! Callbacks that are queued or that run at a fork: the parent's, unless the child is asked to adopt
//! them.

use super::*;

#[test]
fn callbacks_are_the_parents() {
    leeward::rcu_domain! { struct D; }
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("callbacks_are_the_parents");
    /// The pipe through which a callback reports in which process it ran.
    static PIPE: AtomicI32 = AtomicI32::new(-1);
    let mut ends = [0; 2];
    // SAFETY: room for two descriptors.
    assert_eq!(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_NONBLOCK) }, 0);
    PIPE.store(ends[1], Ordering::Relaxed);
    fn tell() {
        // SAFETY: has no precondition.
        let me = unsafe { libc::getpid() };
        // SAFETY: a number of ours, as long as it is.
        unsafe { libc::write(PIPE.load(Ordering::Relaxed), (&raw const me).cast(), size_of_val(&me)) };
    }
    let (leave, thread) = inside::<D>();
    // One batch is taken and waits; the other is being filled.
    D::defer(tell);
    let sleeps = D::stats().sleeps;
    eventually("the worker sleeps", || D::stats().sleeps > sleeps || D::stats().sleeps > 0);
    (0..3).for_each(|_| D::defer(tell));
    in_child(|| {
        let nothing = D::stats().callbacks_queued == 0 && D::stats().bytes_queued == 0;
        D::barrier();
        D::synchronize();
        nothing && works::<D>()
    });
    leave.send(()).unwrap();
    thread.join().unwrap();
    D::barrier();
    let mut ran_in = Vec::new();
    loop {
        let mut pid: libc::pid_t = 0;
        // SAFETY: room for one number.
        let read = unsafe { libc::read(ends[0], (&raw mut pid).cast(), size_of_val(&pid)) };
        if read <= 0 {
            break;
        }
        ran_in.push(pid);
    }
    assert_eq!(ran_in, [std::process::id() as libc::pid_t; 4]);
}

/// A callback forks: its child is no worker any more, and the rest of the batch is the parent's.
#[test]
fn by_a_callback() {
    leeward::rcu_domain! { struct D; }
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("by_a_callback");
    static RAN: AtomicU64 = AtomicU64::new(0);
    let (send, child) = channel();
    let guard = D::read();
    D::defer(|| {
        RAN.fetch_add(1, Ordering::SeqCst);
    });
    D::defer(move || {
        let child = spawn_child(|| {
            // SAFETY: reads one word of the parent's copy.
            let before = RAN.load(Ordering::SeqCst);
            D::synchronize();
            before == RAN.load(Ordering::SeqCst) && works::<D>()
        });
        send.send(child).unwrap();
    });
    D::defer(|| {
        RAN.fetch_add(1, Ordering::SeqCst);
    });
    drop(guard);
    must_end_well(child.recv().unwrap());
    D::barrier();
    assert_eq!(RAN.load(Ordering::SeqCst), 2);
    assert_eq!(D::stats().callbacks_run, 3);
    assert!(works::<D>());
}

/// Starts a thread, in a child, that is inside a section and that the standard library does not
/// know. Returns a function that makes it leave, and one that returns true if it has ended well.
fn inside_bare<D: Domain>() -> (impl FnOnce(), impl FnOnce() -> bool) {
    static STATE: AtomicI32 = AtomicI32::new(0);
    extern "C" fn stay<D: Domain>(_: *mut libc::c_void) -> *mut libc::c_void {
        let guard = D::read();
        STATE.store(1, Ordering::SeqCst);
        while STATE.load(Ordering::SeqCst) == 1 {
            thread::yield_now();
        }
        drop(guard);
        std::ptr::null_mut()
    }
    STATE.store(0, Ordering::SeqCst);
    let mut thread = std::mem::MaybeUninit::uninit();
    // SAFETY: room for the thread's name; `stay` needs nothing.
    let error = unsafe { libc::pthread_create(thread.as_mut_ptr(), std::ptr::null(), stay::<D>, std::ptr::null_mut()) };
    assert_eq!(error, 0);
    // SAFETY: written by the call.
    let thread = unsafe { thread.assume_init() };
    eventually("the thread is inside", || STATE.load(Ordering::SeqCst) == 1);
    // SAFETY: a thread of ours, joined once.
    let join = move || unsafe { libc::pthread_join(thread, std::ptr::null_mut()) == 0 };
    (|| STATE.store(2, Ordering::SeqCst), join)
}

/// A child that was asked to adopts the callbacks that it inherits: those of a batch that waits for
/// readers, and those that are queued after it. They run in the parent as well.
#[test]
fn a_child_adopts_callbacks_by_choice() {
    leeward::rcu_domain! { struct D; }
    static RAN: AtomicU64 = AtomicU64::new(0);
    fn count() {
        RAN.fetch_add(1, Ordering::SeqCst);
    }
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("a_child_adopts_callbacks_by_choice");
    D::set_child_adopts(true);
    let (leave, thread) = inside::<D>();
    D::defer(count);
    eventually("the worker sleeps", || D::stats().sleeps > 0);
    (0..3).for_each(|_| D::defer(count));
    in_child(|| {
        // No call asks for it: the worker is there.
        eventually("they run", || RAN.load(Ordering::SeqCst) == 4);
        D::barrier();
        let stats = D::stats();
        RAN.load(Ordering::SeqCst) == 4
            && (stats.callbacks_queued, stats.bytes_queued, stats.lost) == (0, 0, 0)
            && works::<D>()
    });
    // The choice may be changed before a child is made, and the child's children adopt again.
    D::set_child_adopts(false);
    in_child(|| {
        D::set_child_adopts(true);
        D::barrier();
        let (leave, thread) = inside_bare::<D>();
        D::defer(count);
        in_child(|| {
            D::barrier();
            RAN.load(Ordering::SeqCst) == 1
        });
        leave();
        D::barrier();
        RAN.load(Ordering::SeqCst) == 1 && thread()
    });
    assert_eq!(RAN.load(Ordering::SeqCst), 0);
    leave.send(()).unwrap();
    thread.join().unwrap();
    D::barrier();
    assert_eq!(RAN.load(Ordering::SeqCst), 4);
    assert!(works::<D>());
}

/// Callbacks run while the process forks: a child that adopts them finds each done or not begun.
#[test]
fn a_child_finds_no_callback_half_done() {
    leeward::rcu_domain! { struct D; }
    static WORDS: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("a_child_finds_no_callback_half_done");
    D::set_child_adopts(true);
    let mut deferred = 0;
    for round in 0..20 {
        for _ in 0..200 {
            deferred += 1;
            D::defer(|| {
                WORDS[0].fetch_add(1, Ordering::Relaxed);
                compute(500);
                WORDS[1].fetch_add(1, Ordering::Relaxed);
            });
        }
        compute(1_000 * round);
        in_child(|| {
            D::barrier();
            let words = [0, 1].map(|word| WORDS[word].load(Ordering::Relaxed));
            // On a machine so busy that the fork waited in vain some may be lost, and the count
            // says so.
            D::stats().lost != 0 || words == [deferred; 2]
        });
    }
    D::barrier();
    assert_eq!(WORDS[1].load(Ordering::Relaxed), deferred);
}
