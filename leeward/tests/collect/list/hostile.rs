//! Closures that panic or use the list themselves; locks that are forgotten, or asked for twice.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use leeward::collect::List;
use leeward::rcu::{self, Domain};

use super::Own;
use super::common::{Watchdog, panic_of};

#[test]
fn a_second_lock_of_a_thread_panics() {
    let _dog = Watchdog::new("a_second_lock_of_a_thread_panics");
    let list = List::from([1, 2]);
    let locked = list.lock();
    assert!(list.try_lock().is_none());
    let again: [&dyn Fn(); 8] = [
        &|| drop(list.lock()),
        &|| list.push_back(3),
        &|| list.push_front(3),
        &|| drop(list.pop_front()),
        &|| drop(list.pop_back()),
        &|| list.clear(),
        &|| (&mut &list).extend([4]),
        &|| list.append(List::from([5])),
    ];
    for again in again {
        assert!(panic_of(again).contains("locks a List that it has locked"));
    }
    assert!(locked.iter().eq(&[1, 2]));
    drop(locked);
    list.push_back(3);
    assert_eq!(list.len(), 3);
}

#[test]
fn a_grace_period_is_not_waited_for_with_the_list_locked() {
    let list = List::<_, Own>::new_in();
    list.push_back(String::from("one"));
    let mut locked = list.lock();
    let one = locked.pop_front().unwrap();
    assert!(panic_of(|| drop(one.synchronize())).contains("with the list locked"));
    locked.push_back("two".into());
    let two = locked.pop_front().unwrap();
    drop(locked);
    assert_eq!(two.synchronize(), "two");
}

/// In a section, the wait for a grace period panics, and the value is left to the list.
#[test]
fn a_grace_period_is_not_waited_for_in_a_section() {
    let list = List::<_, Own>::new_in();
    list.push_back(1);
    let _guard = Own::read();
    let one = list.pop_front().unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| one.synchronize())).is_err());
}

#[test]
fn closures_that_panic_leave_the_list_whole_and_unlocked() {
    let list: List<u32> = (0..100).collect();
    let is_whole = |len| {
        let mut locked = list.lock();
        assert_eq!((locked.iter().count(), locked.len()), (len, len));
        let mut cursor = locked.cursor_back();
        (0..len).for_each(|_| cursor.move_prev());
        assert!(cursor.current().is_none());
    };
    let seen = Cell::new(0);
    let retain = || {
        list.lock().retain(|value| {
            seen.set(seen.get() + 1);
            assert!(seen.get() <= 50, "a closure");
            value % 2 == 0
        });
    };
    assert!(catch_unwind(AssertUnwindSafe(retain)).is_err());
    is_whole(75);
    let insert =
        || list.lock().insert_sorted_by(60, |one, _| if *one > 20 { panic!("an order") } else { one.cmp(&60) });
    assert!(catch_unwind(AssertUnwindSafe(insert)).is_err());
    is_whole(75);
    let find = || list.find(|_| panic!("a predicate"), &rcu::read()).copied();
    assert!(catch_unwind(AssertUnwindSafe(find)).is_err());
    is_whole(75);
}

/// A reader's closure may change the list; no lock is held.
#[test]
fn closures_of_readers_may_use_the_list() {
    let list: List<u32> = (0..10).collect();
    let guard = rcu::read();
    let found = list.find(
        |value| {
            drop(list.pop_front());
            list.push_back(100);
            *value == 100
        },
        &guard,
    );
    assert_eq!(found, Some(&100));
    assert_eq!(list.len(), 10);
}

/// A writer's closure sees the lock: it may walk the list, remove by its own `Retired`, and not lock.
#[test]
fn closures_of_writers_may_read_the_list() {
    let list: List<u32> = (0..10).collect();
    let first = list.pop_front();
    let first = Cell::new(first);
    list.lock().retain(|value| {
        drop(first.take());
        let guard = rcu::read();
        list.try_lock().is_none() && list.iter(&guard).any(|there| there == value)
    });
    assert_eq!(list.len(), 9);
}

/// The order contradicts itself: values are somewhere.
#[test]
fn an_order_that_lies_loses_nothing() {
    let list = List::new();
    let mut state = 7_u32;
    for number in 0..200 {
        list.lock().insert_sorted_by(number, |_, _| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if state >> 31 == 0 { std::cmp::Ordering::Less } else { std::cmp::Ordering::Greater }
        });
    }
    let mut values: Vec<_> = list.into_iter().collect();
    values.sort_unstable();
    assert!(values.into_iter().eq(0..200));
}

/// Values that borrow, and are not `Send`.
#[test]
fn values_may_borrow() {
    let words = String::from("one two three");
    let list: List<(&str, std::rc::Rc<()>)> = words.split(' ').map(|word| (word, Default::default())).collect();
    let guard = rcu::read();
    assert!(list.iter(&guard).map(|(word, _)| *word).eq(["one", "two", "three"]));
    drop(guard);
    drop(list.pop_front());
}
