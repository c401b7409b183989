//! The operations of the ordered map: keys that lie in its nodes, and entries to which nodes point.

use leeward::collect::OrderedMap;
use leeward::rcu::Domain;

use super::super::everything::D;
use super::Operation;

operations! {
    "ordered_map";
    insert: || with_both(insert) => left(maps_are_usable);
    insert_and_split: || (100..120).for_each(insert) => left(maps_are_usable);
    replace: || with_both(|_| insert(0)) => left(maps_are_usable);
    update: || {
        drop(COPIES.update(0, |value| *value));
        drop(ENTRIES.update(text(0), Clone::clone));
    } => left(maps_are_usable);
    remove: || with_both(|key| { insert(key); remove(key) }) => left(maps_are_usable);
    remove_and_merge: || (100..140).for_each(|key| { insert(key); remove(key) }) => left(maps_are_usable);
    remove_if: || {
        insert(7);
        drop((COPIES.remove_if(&7, |_, _| true), ENTRIES.remove_if(&text(7), |_, _| true)));
    } => left(maps_are_usable);
    pop: || drop((COPIES.pop_last(), ENTRIES.pop_first())) => left(maps_are_usable);
    retain: || {
        insert(7);
        COPIES.retain(|key, _| *key != 7);
        ENTRIES.retain(|key, _| *key != text(7));
    } => left(maps_are_usable);
    checked: || {
        assert!(COPIES.checked_insert(7, 7).is_ok() && ENTRIES.checked_insert(text(7), text(7)).is_ok());
        drop((COPIES.checked_remove(&7), ENTRIES.checked_remove(&text(7))));
    } => left(maps_are_usable);
    clear: || { insert(7); COPIES.clear(); ENTRIES.clear() } => left(maps_are_usable);
    read: || {
        let guard = D::read();
        let _ = (COPIES.get(&7, &guard), ENTRIES.floor(&text(7), &guard), COPIES.range(3.., &guard).count());
    } => left(maps_are_usable);
}

static COPIES: OrderedMap<u32, u32, D> = OrderedMap::new_in();
static ENTRIES: OrderedMap<String, String, D> = OrderedMap::new_in();

fn text(key: u32) -> String {
    format!("{key:05}")
}

fn insert(key: u32) {
    drop(COPIES.insert(key, key));
    drop(ENTRIES.insert(text(key), text(key)));
}

fn remove(key: u32) {
    drop(COPIES.remove(&key));
    drop(ENTRIES.remove(&text(key)));
}

/// Calls `act` with a key that is at the front and one that is at the back.
fn with_both(act: fn(u32)) {
    act(0);
    act(90_000);
}

/// Uses both maps; false if an entry is lost or out of order.
fn maps_are_usable() -> bool {
    (1000..1100).for_each(insert);
    let guard = D::read();
    let are_there =
        (1000..1100).all(|key| COPIES.get(&key, &guard) == Some(&key) && ENTRIES.contains_key(&text(key), &guard));
    let are_ordered = COPIES.keys(&guard).is_sorted() && ENTRIES.keys(&guard).is_sorted();
    let are_counted = COPIES.iter(&guard).count() == COPIES.len() && ENTRIES.iter(&guard).count() == ENTRIES.len();
    drop(guard);
    (1000..1100).for_each(remove);
    are_there
        && are_ordered
        && are_counted
        && COPIES.first(&D::read()).is_none_or(|(key, _)| *key < 1000 || *key > 1099)
}
