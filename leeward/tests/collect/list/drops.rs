//! Every value is dropped once, never with the list locked, and what destructors do to the list.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering::Relaxed};

use leeward::collect::List;
use leeward::rcu::{self, Domain};

use super::values::{Living, Panics};

#[test]
fn everything_is_dropped_once() {
    // Other tests read in `Own`.
    leeward::rcu_domain! { struct Alone; }
    let count = Arc::new(AtomicIsize::new(0));
    let list = List::<Living, Alone>::new_in();
    (0..3000).for_each(|number| list.push_back(Living::new(number, &count)));
    list.lock().retain(|value| value.0 % 3 != 0);
    (0..500).for_each(|_| list.pop_front().unwrap().defer());
    drop(list.pop_back().unwrap().synchronize());
    let mut locked = list.lock();
    let mut cursor = locked.cursor_front();
    while cursor.current().is_some() {
        drop(cursor.replace(Living::new(7, &count)));
        cursor.move_next();
    }
    drop(locked);
    list.append(List::from_iter([Living::new(1, &count)]));
    list.reclaim();
    assert_eq!(count.load(Relaxed), list.len() as isize);
    let left = list.len();
    let back: Vec<_> = list.into_iter().take(left / 2).collect();
    assert_eq!(count.load(Relaxed), back.len() as isize);
    drop(back);
    assert_eq!(count.load(Relaxed), 0);
}

#[test]
fn a_cleared_list_and_a_dropped_one_drop_everything() {
    let count = Arc::new(AtomicIsize::new(0));
    let list = List::<Living>::new();
    for _ in 0..3 {
        list.extend_with(1000, &count);
        list.clear();
        assert!(list.is_empty());
    }
    list.extend_with(10, &count);
    let mut locked = list.lock();
    locked.clear();
    locked.push_back(Living::new(1, &count));
    // A lock that is forgotten keeps what was removed under it until the end.
    std::mem::forget(locked);
    drop(list);
    assert_eq!(count.load(Relaxed), 0);
}

trait ExtendWith {
    fn extend_with(&self, values: u32, count: &Arc<AtomicIsize>);
}
impl ExtendWith for List<Living> {
    fn extend_with(&self, values: u32, count: &Arc<AtomicIsize>) {
        (&mut &*self).extend((0..values).map(|number| Living::new(number, count)));
    }
}

#[test]
fn memory_comes_back_while_writers_are_at_work() {
    // Other tests read in `Own`.
    leeward::rcu_domain! { struct Alone; }
    let count = Arc::new(AtomicIsize::new(0));
    let list = List::<Living, Alone>::new_in();
    for number in 0..200_000 {
        list.push_back(Living::new(number, &count));
        drop(list.pop_front());
    }
    assert!(count.load(Relaxed) < 100_000, "{} values are alive", count.load(Relaxed));
}

leeward::rcu_domain! {
    /// Of one test: no other's readers keep what is taken out.
    struct Unread;
}

/// A value whose destructor says if its list is locked.
struct Nosy<'a>(&'a List<Nosy<'a>, Unread>, &'a AtomicUsize);

impl Drop for Nosy<'_> {
    fn drop(&mut self) {
        self.1.fetch_add(if self.0.try_lock().is_some() { 1 } else { 1 << 32 }, Relaxed);
    }
}

/// Thousands are removed under one lock: some would be freed there and then.
#[test]
fn no_destructor_runs_with_the_list_locked() {
    let drops: &'static AtomicUsize = Box::leak(Box::default());
    let list: &'static List<Nosy<'static>, Unread> = Box::leak(Box::default());
    let fill = || (0..20_000).for_each(|_| list.push_back(Nosy(list, drops)));
    fill();
    list.lock().retain(|_| false);
    fill();
    let mut locked = list.lock();
    while let Some(value) = locked.pop_back() {
        drop(value);
    }
    locked.clear();
    drop(locked);
    list.reclaim();
    assert_eq!(drops.load(Relaxed), 40_000);
}

/// A value whose destructor takes another value out and puts one in.
struct Meddler(&'static List<Meddler>, u32);

impl Drop for Meddler {
    fn drop(&mut self) {
        drop(self.0.pop_front());
        if self.1 > 0 {
            self.0.push_back(Meddler(self.0, self.1 - 1));
        }
        assert!(self.0.iter(&rcu::read()).count() <= 2000);
    }
}

#[test]
fn destructors_may_use_the_list() {
    let list: &'static List<Meddler> = Box::leak(Box::default());
    for _ in 0..20 {
        (0..500).for_each(|_| list.push_back(Meddler(list, 3)));
        (0..100).for_each(|_| drop(list.pop_back()));
        list.lock().retain(|value| value.1 != 3);
    }
}

#[test]
fn a_destructor_that_panics_keeps_no_other_from_running() {
    let count = Cell::new(0);
    let list = List::new();
    for number in 0..2000 {
        list.push_back(Panics(&count, number % 100 == 0));
        if number >= 50 {
            drop(list.pop_front());
        }
    }
    list.lock().retain(|_| count.get() % 2 == 7);
    (0..20).for_each(|number| list.push_back(Panics(&count, number % 10 == 0)));
    drop(list);
    assert_eq!(count.get(), 2020);
    let values: List<_> = (0..20).map(|number| Panics(&count, number % 10 == 0)).collect();
    drop(values.into_iter());
    assert_eq!(count.get(), 2040);
}

#[test]
fn a_destructor_that_panics_in_a_writer_is_counted() {
    leeward::rcu_domain! { struct Alone; }
    let count = Cell::new(0);
    let list = List::<Panics, Alone>::new_in();
    let fill = || (0..100).for_each(|number| list.push_back(Panics(&count, number % 10 == 0)));
    fill();
    (0..100).for_each(|_| drop(list.pop_front()));
    fill();
    list.lock().retain(|_| false);
    fill();
    list.clear();
    list.reclaim();
    assert_eq!((count.get(), Alone::stats().callback_panics), (300, 30));
}

/// An iterator that panics: what it yielded before is dropped, and the list is as it was.
#[test]
fn an_iterator_that_panics_leaves_the_list_as_it_was() {
    let count = Arc::new(AtomicIsize::new(0));
    let mut list = List::from([Living::new(0, &count)]);
    let values = (0..10).map(|number| if number == 7 { panic!("an iterator") } else { Living::new(number, &count) });
    assert!(catch_unwind(AssertUnwindSafe(|| list.extend(values))).is_err());
    assert_eq!((list.len(), count.load(Relaxed)), (1, 1));
}
