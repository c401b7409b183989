//! Readers and writers at the same time.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;

use leeward::collect::List;
use leeward::rcu;

use super::common::{Raise, Rng, Watchdog};

/// A value that says if it was freed: readers look at it.
struct Alive(u64, u64);

impl Alive {
    fn new(number: u64) -> Alive {
        Alive(number, !number)
    }
    #[track_caller]
    fn check(&self) -> u64 {
        assert_eq!(self.0, !self.1, "a value was read after it was freed");
        self.0
    }
}
impl Drop for Alive {
    fn drop(&mut self) {
        // Volatile: the compiler may not leave it out.
        // SAFETY: a field of our own.
        unsafe { std::ptr::write_volatile(&mut self.1, self.0) };
    }
}

/// Inserts the value that comes before `number` in its place, or does nothing if it is there.
fn insert(list: &List<Alive>, number: u64) {
    let mut locked = list.lock();
    let mut cursor = locked.cursor_front();
    cursor.seek(|there| there.check() >= number);
    if cursor.current().is_none_or(|there| there.check() != number) {
        cursor.insert_before(Alive::new(number));
    }
}

/// Values with even numbers stay, and are replaced at times; writers insert and remove the odd ones.
/// Every walk finds each even one once, in order.
#[test]
fn a_walk_sees_what_stays_once_and_in_order() {
    const VALUES: u64 = 60;
    let _dog = Watchdog::new("a_walk_sees_what_stays_once_and_in_order");
    let list: List<Alive> = (0..VALUES).map(|number| Alive::new(2 * number)).collect();
    let is_over = AtomicBool::new(false);
    let write = |seed: u64| {
        let mut rng = Rng::new(seed);
        for _ in 0..4000 {
            let number = 2 * rng.below(VALUES) + 1;
            match rng.below(8) {
                0..4 => insert(&list, number),
                4..6 => {
                    let mut locked = list.lock();
                    let mut cursor = locked.cursor_front();
                    if cursor.seek(|there| there.check() == number) {
                        cursor.remove_current().unwrap().defer();
                    }
                }
                6 => list.lock().retain(|there| there.check() % 2 == 0 || there.check() > number),
                _ => {
                    let mut locked = list.lock();
                    let mut cursor = locked.cursor_back();
                    (0..number).for_each(|_| cursor.move_prev());
                    if let Some(number) = cursor.current().map(Alive::check) {
                        drop(cursor.replace(Alive::new(number)));
                    }
                }
            }
        }
    };
    let read = || {
        loop {
            let is_last = is_over.load(Relaxed);
            let guard = rcu::read();
            let numbers: Vec<_> = list.iter(&guard).map(Alive::check).collect();
            assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
            assert_eq!(numbers.iter().filter(|number| **number % 2 == 0).count() as u64, VALUES);
            if is_last {
                return;
            }
        }
    };
    thread::scope(|scope| {
        let (_ends, write) = (Raise(&is_over), &write);
        (0..2).for_each(|_| drop(scope.spawn(read)));
        let writers = [scope.spawn(move || write(1)), scope.spawn(move || write(2))];
        writers.into_iter().for_each(|writer| writer.join().unwrap());
    });
    assert_eq!(list.lock().iter().count(), list.len());
}

/// Each value arrives once, whatever end it was put to or taken from.
#[test]
fn values_arrive_once() {
    const EACH: u64 = 20_000;
    let _dog = Watchdog::new("values_arrive_once");
    let list = List::<Box<u64>>::new();
    let (sum, left) = (AtomicU64::new(0), AtomicU64::new(2 * EACH));
    thread::scope(|scope| {
        for producer in 0..2 {
            let list = &list;
            scope.spawn(move || {
                for number in (0..EACH).map(|number| Box::new(number * 2 + producer)) {
                    if producer == 0 { list.push_back(number) } else { list.push_front(number) }
                }
            });
        }
        for consumer in 0..2 {
            let (list, sum, left) = (&list, &sum, &left);
            scope.spawn(move || {
                while left.load(Relaxed) != 0 {
                    let value = if consumer == 0 { list.pop_front() } else { list.pop_back() };
                    if let Some(value) = value {
                        sum.fetch_add(**value, Relaxed);
                        left.fetch_sub(1, Relaxed);
                    } else {
                        thread::yield_now();
                    }
                }
            });
        }
    });
    assert_eq!((sum.load(Relaxed), list.len()), ((0..2 * EACH).sum(), 0));
}

/// The lock keeps writers apart: a count under it loses nothing.
#[test]
fn writers_take_turns() {
    let _dog = Watchdog::new("writers_take_turns");
    let list = List::from([0_u64]);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..5000 {
                    let mut locked = list.lock();
                    let mut cursor = locked.cursor_front();
                    let count = *cursor.current().unwrap();
                    drop(cursor.replace(count + 1));
                }
            });
        }
    });
    assert_eq!(list.first(&rcu::read()), Some(&20_000));
}
