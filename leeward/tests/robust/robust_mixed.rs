//! The library's robust mutexes and pthread's, held by one thread in any order: one list, whole
//! after every step, and all of it walked at death.

#![cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64", not(leeward_symmetric)))]
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/robust.rs"]
mod robust;

use common::Watchdog;
use robust::*;

use std::mem::MaybeUninit;
use std::sync::Mutex as Lock;

use leeward::robust::{Guard, LockError, Mutex};

static ALONE: Lock<()> = Lock::new(());

type Foreign = libc::pthread_mutex_t;

/// Makes a robust pthread mutex in shared memory; the list marks its pointers if it inherits
/// priorities.
fn foreign(inherits: bool) -> *mut Foreign {
    let place = shared_memory(4096).cast::<Foreign>();
    let mut attributes = MaybeUninit::uninit();
    let attributes = attributes.as_mut_ptr();
    // SAFETY: attributes that the first call initialises; memory for the mutex.
    assert_eq!(unsafe { libc::pthread_mutexattr_init(attributes) }, 0);
    // SAFETY: as above.
    assert_eq!(unsafe { libc::pthread_mutexattr_setrobust(attributes, libc::PTHREAD_MUTEX_ROBUST) }, 0);
    // SAFETY: as above.
    assert_eq!(unsafe { libc::pthread_mutexattr_setpshared(attributes, libc::PTHREAD_PROCESS_SHARED) }, 0);
    if inherits {
        // SAFETY: as above.
        assert_eq!(unsafe { libc::pthread_mutexattr_setprotocol(attributes, libc::PTHREAD_PRIO_INHERIT) }, 0);
    }
    // SAFETY: as above.
    assert_eq!(unsafe { libc::pthread_mutex_init(place, attributes) }, 0);
    place
}

/// Two of the library's mutexes, one of pthread's, and one of pthread's that inherits priorities.
struct Four {
    ours: [&'static Mutex<u64>; 2],
    theirs: [*mut Foreign; 2],
    guards: [Option<Guard<u64>>; 2],
}

impl Four {
    fn new() -> Four {
        let ours = [shared_mutex(), shared_mutex()];
        Four { ours, theirs: [foreign(false), foreign(true)], guards: [None, None] }
    }

    fn address(&self, which: usize) -> usize {
        if which < 2 { core::ptr::from_ref(self.ours[which]) as usize } else { self.theirs[which - 2] as usize }
    }

    fn lock(&mut self, which: usize) {
        match which {
            0 | 1 => self.guards[which] = Some(self.ours[which].lock().unwrap()),
            // SAFETY: initialised, not held.
            _ => assert_eq!(unsafe { libc::pthread_mutex_lock(self.theirs[which - 2]) }, 0),
        }
    }

    fn unlock(&mut self, which: usize) {
        match which {
            0 | 1 => self.guards[which] = None,
            // SAFETY: held by this thread.
            _ => assert_eq!(unsafe { libc::pthread_mutex_unlock(self.theirs[which - 2]) }, 0),
        }
    }

    /// Takes the lock, repairs it and gives it up; returns true if its owner died.
    fn owner_died(&self, which: usize) -> bool {
        if which < 2 {
            return match self.ours[which].try_lock() {
                Ok(_) => false,
                Err(LockError::OwnerDied(mut guard)) => {
                    guard.mark_consistent();
                    true
                }
                Err(error) => panic!("{error}"),
            };
        }
        let mutex = self.theirs[which - 2];
        // SAFETY: initialised.
        let answer = unsafe { libc::pthread_mutex_trylock(mutex) };
        assert!(answer == 0 || answer == libc::EOWNERDEAD, "{answer}");
        if answer != 0 {
            // SAFETY: held by this thread.
            assert_eq!(unsafe { libc::pthread_mutex_consistent(mutex) }, 0);
        }
        // SAFETY: held by this thread.
        assert_eq!(unsafe { libc::pthread_mutex_unlock(mutex) }, 0);
        answer != 0
    }
}

/// Visits every order of locking and unlocking the four: `visit` gets the steps, each a lock, or an
/// unlock if it was locked before.
fn orders(steps: &mut Vec<usize>, visit: &mut impl FnMut(&[usize])) {
    if steps.len() == 8 {
        visit(steps);
        return;
    }
    for which in 0..4 {
        if steps.iter().filter(|step| **step == which).count() < 2 {
            steps.push(which);
            orders(steps, visit);
            steps.pop();
        }
    }
}

/// Takes the steps; gives what is held to `after`, the last taken first.
fn go(four: &mut Four, steps: &[usize], mut after: impl FnMut(&Four, &[usize])) {
    let mut held = Vec::new();
    for &which in steps {
        if let Some(place) = held.iter().position(|one| *one == which) {
            held.remove(place);
            four.unlock(which);
        } else {
            held.insert(0, which);
            four.lock(which);
        }
        after(four, &held);
    }
}

#[test]
fn every_order() {
    let _alone = common::alone(&ALONE);
    let mut four = Four::new();
    let mut count = 0;
    orders(&mut Vec::new(), &mut |steps| {
        count += 1;
        go(&mut four, steps, |four, held| {
            let expected: Vec<_> = held.iter().map(|which| four.address(*which)).collect();
            assert_eq!(walk(), expected, "after {held:?} of {steps:?}");
        });
    });
    assert_eq!(count, 2520);
}

/// A thread is killed after any number of steps of some order: exactly what it held is reported.
#[test]
fn death_after_every_step() {
    let _alone = common::alone(&ALONE);
    let _dog = Watchdog::new("death_after_every_step");
    let mut all = Vec::new();
    orders(&mut Vec::new(), &mut |steps| all.push(steps.to_vec()));
    for (number, steps) in all.iter().enumerate().step_by(24) {
        let mut four = Four::new();
        let until = 1 + number / 24 % 8;
        let steps = &steps[..until];
        let held: Vec<_> = (0..4).filter(|which| steps.iter().filter(|step| *step == which).count() == 1).collect();
        must_end_well(child(|| {
            go(&mut four, steps, |_, _| {});
            // Not by unwinding or returning: nothing is dropped.
            0
        }));
        let died: Vec<_> = (0..4).filter(|which| four.owner_died(*which)).collect();
        assert_eq!(died, held, "after {steps:?}");
    }
}
