//! A third kind of readers in the same process and domain: C whose sections are inlined from liburcu's
//! headers, on `libleeward-urcu-memb.a`. Grace periods of each kind of writer wait for readers of all
//! kinds, also on one thread, in the child of a fork, and where a thread ends.

use std::panic;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;

use leeward::rcu::c::Memb;
use leeward::rcu::{Domain, Guard, RcuCell};

use super::{Value, eventually, never, part_enter, part_freed, part_leave, part_read, part_replace, part_synchronize};

unsafe extern "C" {
    safe fn fork() -> i32;
    safe fn alarm(seconds: u32) -> u32;
    fn waitpid(child: i32, status: *mut i32, options: i32) -> i32;
    safe fn _exit(status: i32) -> !;
}

type Place = *const AtomicPtr<Value>;

/// The functions of `inlined.c`: `struct part` there.
#[repr(C)]
struct Part {
    enroll: extern "C" fn(),
    enter: extern "C" fn(),
    leave: extern "C" fn(),
    depth: extern "C" fn() -> i32,
    unregister: extern "C" fn(),
    synchronize: extern "C" fn(),
    barrier: extern "C" fn(),
    fork: extern "C" fn(step: i32),
    read: unsafe extern "C" fn(place: Place) -> u64,
    replace: unsafe extern "C" fn(place: Place, next: *mut Value, waits: i32),
    freed: extern "C" fn() -> u64,
}

unsafe extern "C" {
    safe static facts_part: Part;
    #[cfg(has_liburcu)]
    safe static system_part: Part;
}

/// Whose section it is, or whose wait.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Rust,
    /// Of C that is compiled with the headers of ours.
    Ours,
    Inlined,
}

const KINDS: [Kind; 3] = [Kind::Rust, Kind::Ours, Kind::Inlined];

/// An open section.
struct Section(&'static Part, Kind, Option<Guard<'static, Memb>>);

impl Section {
    fn open(part: &'static Part, kind: Kind) -> Section {
        match kind {
            Kind::Rust => return Section(part, kind, Some(Memb::read())),
            Kind::Ours => part_enter(),
            Kind::Inlined => (part.enter)(),
        }
        Section(part, kind, None)
    }
}

impl Drop for Section {
    fn drop(&mut self) {
        match self.1 {
            Kind::Rust => drop(self.2.take()),
            Kind::Ours => part_leave(),
            Kind::Inlined => (self.0.leave)(),
        }
    }
}

fn synchronize(part: &'static Part, kind: Kind) {
    match kind {
        Kind::Rust => Memb::synchronize(),
        Kind::Ours => assert_eq!(part_synchronize(), 0),
        Kind::Inlined => (part.synchronize)(),
    }
}

/// A grace period of each kind of writer.
fn writers(part: &'static Part) -> Vec<thread::JoinHandle<()>> {
    KINDS.map(|kind| thread::spawn(move || synchronize(part, kind))).into()
}

fn have_ended(writers: Vec<thread::JoinHandle<()>>) {
    for writer in writers {
        eventually(|| writer.is_finished());
        writer.join().unwrap();
    }
}

/// Starts a thread that stays in a section of that kind until something is sent, or the sender is dropped.
fn holder(part: &'static Part, kind: Kind) -> (Sender<()>, thread::JoinHandle<()>) {
    let (inside, is_inside) = channel();
    let (leave, leaves) = channel();
    let thread = thread::spawn(move || {
        (part.enroll)();
        let _section = Section::open(part, kind);
        inside.send(()).unwrap();
        let _ = leaves.recv();
    });
    is_inside.recv().unwrap();
    (leave, thread)
}

/// Each kind of writer waits for each kind of reader.
fn waiting(part: &'static Part) {
    for kind in KINDS {
        let (leave, reader) = holder(part, kind);
        let writers = writers(part);
        never(|| writers.iter().any(|writer| writer.is_finished()));
        drop(leave);
        have_ended(writers);
        reader.join().unwrap();
    }
}

/// Sections of two kinds on one thread, one within the other, and beside each other.
fn nesting(part: &'static Part) {
    for outer in KINDS {
        for inner in KINDS {
            let is_protected = || {
                let cookie = Memb::start_poll();
                never(|| Memb::poll_state(&cookie));
            };
            let work = move || {
                (part.enroll)();
                let section = Section::open(part, outer);
                drop(Section::open(part, inner));
                is_protected();
                let other = Section::open(part, inner);
                drop(section);
                is_protected();
                drop(other);
                have_ended(writers(part));
            };
            thread::spawn(work).join().unwrap();
        }
    }
}

/// A writer that is inside a section of whichever kind would wait for itself: in Rust that is a panic, in
/// C that is compiled with the headers of ours an error, and the section goes on.
fn waits_inside(part: &'static Part) {
    const EDEADLK: i32 = 35;
    let work = move || {
        (part.enroll)();
        for kind in KINDS {
            let section = Section::open(part, kind);
            let cookie = Memb::start_poll();
            assert!(panic::catch_unwind(Memb::synchronize).is_err());
            assert!(panic::catch_unwind(Memb::barrier).is_err());
            assert_eq!(part_synchronize(), EDEADLK);
            (part.barrier)();
            never(|| Memb::poll_state(&cookie));
            drop(section);
            have_ended(writers(part));
        }
    };
    thread::spawn(work).join().unwrap();
}

/// The status of a child that does that.
fn status_of(work: impl FnOnce()) -> i32 {
    let child = fork();
    if child == 0 {
        alarm(60);
        _exit(if panic::catch_unwind(panic::AssertUnwindSafe(work)).is_ok() { 5 } else { 6 });
    }
    assert!(child > 0, "fork");
    let mut status = 0;
    // SAFETY: `status` is ours to write.
    while unsafe { waitpid(child, &mut status, 0) } != child {}
    status
}

/// `synchronize_rcu` of liburcu's has no error to return: beside sections of C it waits for all other
/// readers. Beside a guard of Rust, whose references safe code has, the process ends.
fn waits_inside_by_liburcus_function(part: &'static Part) {
    const ABORTED: i32 = 6;
    (part.enroll)();
    for kind in KINDS {
        let status = status_of(|| {
            let section = Section::open(part, kind);
            (part.synchronize)();
            let cookie = Memb::start_poll();
            never(|| Memb::poll_state(&cookie));
            drop(section);
            have_ended(writers(part));
        });
        assert_eq!(status, if kind == Kind::Rust { ABORTED } else { 5 << 8 }, "{kind:?}");
    }
    (part.unregister)();
}

/// Readers and writers of each kind, of the same values; and short-lived readers, which may exit inside.
fn publishing(part: &'static Part) {
    const ROUNDS: u64 = 2000;
    let new =
        |number| Box::into_raw(Box::new(Value { head: [0; 2], number: AtomicU64::new(number), is_freed: 0.into() }));
    let place: &'static AtomicPtr<Value> = Box::leak(Box::new(AtomicPtr::new(new(1))));
    static STOP: AtomicBool = AtomicBool::new(false);
    STOP.store(false, Ordering::Relaxed);
    let before = part_freed() + (part.freed)();
    let read = move |kind| match kind {
        // SAFETY: a place with a value that lives forever.
        Kind::Ours => assert_ne!(unsafe { part_read(place) }, 0, "ours read a value that was freed"),
        // SAFETY: as above.
        Kind::Inlined => assert_ne!(unsafe { (part.read)(place) }, 0, "inlined code read a value that was freed"),
        Kind::Rust => {
            let guard = Memb::read();
            // SAFETY: a value that lives forever.
            let value = unsafe { &*place.load(Ordering::Acquire) };
            (0..20).for_each(|_| std::hint::spin_loop());
            assert_eq!(value.is_freed.load(Ordering::Relaxed), 0, "Rust read a value that was freed");
            drop(guard);
        }
    };
    let lasting = KINDS.map(|kind| {
        thread::spawn(move || {
            (part.enroll)();
            while !STOP.load(Ordering::Relaxed) {
                read(kind);
            }
        })
    });
    let coming_and_going = thread::spawn(move || {
        while !STOP.load(Ordering::Relaxed) {
            let short_lived = move || {
                (part.enroll)();
                KINDS.into_iter().for_each(read);
                (part.enter)();
                read(Kind::Rust);
            };
            thread::spawn(short_lived).join().unwrap();
        }
    });
    let mut by_rust = 0;
    for round in 0..ROUNDS {
        let next = new(round + 2);
        match round % 5 {
            0 => {
                let old = place.swap(next, Ordering::AcqRel);
                Memb::synchronize();
                // SAFETY: a value that lives forever.
                unsafe { &*old }.is_freed.store(1, Ordering::Relaxed);
                by_rust += 1;
            }
            // SAFETY: as above; each value is queued once.
            rest @ 1..=2 => unsafe { part_replace(place, next, rest == 1) },
            // SAFETY: as above.
            rest => unsafe { (part.replace)(place, next, i32::from(rest == 3)) },
        }
    }
    STOP.store(true, Ordering::Relaxed);
    lasting.into_iter().chain([coming_and_going]).for_each(|reader| reader.join().unwrap());
    Memb::barrier();
    (part.barrier)();
    assert_eq!(part_freed() + (part.freed)() - before + by_rust, ROUNDS);
}

static DROPS: AtomicU64 = AtomicU64::new(0);

struct Noisy;

impl Drop for Noisy {
    fn drop(&mut self) {
        DROPS.fetch_add(1, Ordering::SeqCst);
    }
}

/// A value of a cell of Rust's that an inlined section keeps alive.
fn a_cell(part: &'static Part) {
    let work = move || {
        (part.enroll)();
        DROPS.store(0, Ordering::SeqCst);
        let cell: &'static RcuCell<Noisy, Memb> = Box::leak(Box::new(RcuCell::new_in(Noisy)));
        (part.enter)();
        let writer = thread::spawn(|| {
            cell.replace(Noisy).defer();
            drop(cell.replace(Noisy).synchronize());
        });
        never(|| writer.is_finished() || DROPS.load(Ordering::SeqCst) != 0);
        (part.leave)();
        have_ended(vec![writer]);
        Memb::barrier();
        assert_eq!(DROPS.load(Ordering::SeqCst), 2);
    };
    thread::spawn(work).join().unwrap();
}

/// A fork by a thread that is inside sections of all kinds, beside threads that are. The child has the
/// sections of its own thread, and what is queued there.
fn forks(part: &'static Part, with_hooks: bool) {
    (part.enroll)();
    let holders = KINDS.map(|kind| holder(part, kind));
    let cell: &'static RcuCell<Noisy, Memb> = Box::leak(Box::new(RcuCell::new_in(Noisy)));
    let mut sections: Vec<_> = KINDS.into_iter().map(|kind| Section::open(part, kind)).collect();
    if with_hooks {
        (part.fork)(0);
    }
    let status = status_of(|| {
        if with_hooks {
            (part.fork)(2);
        }
        assert_eq!((part.depth)(), 1);
        while let Some(section) = sections.pop() {
            let cookie = Memb::start_poll();
            never(|| Memb::poll_state(&cookie));
            drop(section);
        }
        assert_eq!((part.depth)(), 0);
        KINDS.into_iter().for_each(|kind| synchronize(part, kind));
        DROPS.store(0, Ordering::SeqCst);
        cell.replace(Noisy).defer();
        Memb::barrier();
        assert_eq!(DROPS.load(Ordering::SeqCst), 1);
        nesting(part);
        publishing(part);
    });
    if with_hooks {
        (part.fork)(1);
    }
    assert_eq!(status, 5 << 8, "the child failed");
    drop(sections);
    // The parent's other threads are inside as before.
    let writers = writers(part);
    for (leave, reader) in holders {
        never(|| writers.iter().any(|writer| writer.is_finished()));
        drop(leave);
        reader.join().unwrap();
    }
    have_ended(writers);
    (part.unregister)();
}

/// A section that is inlined ends with its thread, with or without others; and one of Rust's outlives
/// that the thread is no inlined reader any more.
fn threads_that_end(part: &'static Part) {
    let before = Memb::stats().readers;
    for kind in KINDS {
        let work = move || {
            (part.enroll)();
            (part.enter)();
            drop(Section::open(part, kind));
            (part.enter)();
            part_enter();
        };
        thread::spawn(work).join().unwrap();
        have_ended(writers(part));
    }
    let work = move || {
        (part.enroll)();
        (part.enter)();
        let guard = Memb::read();
        (part.unregister)();
        let cookie = Memb::start_poll();
        never(|| Memb::poll_state(&cookie));
        drop(guard);
        have_ended(writers(part));
    };
    thread::spawn(work).join().unwrap();
    assert_eq!(Memb::stats().readers, before);
}

pub fn all() {
    let mut parts: Vec<(&str, &'static Part)> = vec![("facts", &facts_part)];
    #[cfg(has_liburcu)]
    parts.push(("liburcu's headers", &system_part));
    for (name, part) in parts {
        waiting(part);
        nesting(part);
        waits_inside(part);
        waits_inside_by_liburcus_function(part);
        publishing(part);
        a_cell(part);
        threads_that_end(part);
        forks(part, false);
        forks(part, true);
        println!("inlined: {name}");
    }
}
