//! The operations of the list: a child mends what its parent's thread has left half linked.

use leeward::collect::List;
use leeward::rcu::Domain;

use super::super::everything::D;
use super::Operation;

operations! {
    "list";
    push_back: || LIST.push_back(1) => left(list_is_usable).object(list);
    push_front: || LIST.push_front(1) => left(list_is_usable).object(list);
    pop: || {
        fill();
        drop((LIST.pop_front(), LIST.pop_back()));
    } => left(list_is_usable).object(list);
    insert_and_remove: || {
        fill();
        let mut locked = LIST.lock();
        let mut cursor = locked.cursor_front();
        cursor.move_next();
        cursor.insert_before(7);
        cursor.insert_after(8);
        drop(cursor.remove_current());
    } => left(list_is_usable).object(list);
    replace: || {
        fill();
        drop(LIST.lock().cursor_back().replace(9));
    } => left(list_is_usable).object(list);
    retain: || {
        fill();
        LIST.lock().retain(|value| *value == 2);
    } => left(list_is_usable).object(list);
    clear: || {
        fill();
        LIST.clear();
    } => left(list_is_usable).object(list);
    append: || LIST.append(List::from_iter([4, 5, 6])) => left(list_is_usable).object(list);
    extend: || (&mut &LIST).extend([4, 5, 6]) => left(list_is_usable).object(list);
    read: || {
        let guard = D::read();
        let _ = (LIST.first(&guard), LIST.iter(&guard).count());
    } => left(list_is_usable).object(list);
    taken_apart: || {
        let list = List::<u32>::from_iter([1, 2, 3]);
        drop(list.pop_front());
        assert_eq!(list.into_iter().rev().sum::<u32>(), 5);
    } => left(list_is_usable).object(list);
}

static LIST: List<u32, D> = List::new_in();

fn list() -> [usize; 2] {
    [&raw const LIST as usize, size_of_val(&LIST)]
}

fn fill() {
    (1..=3).for_each(|value| LIST.push_back(value));
}

/// Uses the list; false if its links in both directions, its last value or its count contradict one
/// another.
fn list_is_usable() -> bool {
    LIST.push_back(1000);
    LIST.push_front(999);
    let mut locked = LIST.lock();
    let forwards: Vec<_> = locked.iter().copied().collect();
    let mut backwards = Vec::new();
    let mut cursor = locked.cursor_back();
    while let Some(value) = cursor.current() {
        backwards.push(*value);
        cursor.move_prev();
    }
    let ends = (forwards.first().copied(), locked.back().copied());
    let len = locked.len();
    drop(locked);
    backwards.reverse();
    let guard = D::read();
    let is_whole = forwards == backwards && len == forwards.len() && LIST.iter(&guard).count() == len;
    drop(guard);
    LIST.lock().retain(|value| *value < 999);
    let (first, last) = (LIST.pop_front(), LIST.pop_back());
    is_whole
        && ends == (Some(999), Some(1000))
        && first.is_none_or(|first| *first < 999)
        && last.is_none_or(|last| *last < 999)
}
