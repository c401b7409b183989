//! The list beside `VecDeque`, its destructors, panics, histories, and readers beside writers.

#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/linearize.rs"]
mod linearize;
#[path = "../common/recorded.rs"]
mod recorded;
#[path = "../common/sequences.rs"]
mod sequences;
#[path = "../common/values.rs"]
mod values;

use std::collections::VecDeque;

use leeward::collect::List;
use leeward::rcu::{self, Domain};
use sequences::{Choices, check};

#[path = "list/concurrent.rs"]
mod concurrent;
#[path = "list/drops.rs"]
mod drops;
#[path = "list/histories.rs"]
mod histories;
#[path = "list/hostile.rs"]
mod hostile;

leeward::rcu_domain! {
    /// A domain of the tests that look at what is freed: no reader of another test is in the way.
    struct Own;
}

/// What is done to both lists.
#[derive(Clone, Debug)]
enum Step {
    PushFront(u32),
    PushBack(u32),
    PopFront,
    PopBack,
    InsertBefore(usize, u32),
    InsertAfter(usize, u32),
    Remove(usize),
    Replace(usize, u32),
    SpliceBefore(usize, Vec<u32>),
    SpliceAfter(usize, Vec<u32>),
    Append(Vec<u32>),
    Extend(Vec<u32>),
    Retain(u32),
    Clear,
}

fn step(choices: &mut Choices) -> Step {
    let place = |choices: &mut Choices| choices.below(12) as usize;
    let values = |choices: &mut Choices| (0..choices.below(4)).map(|_| choices.any()).collect();
    choices.one_of(&[
        (6, &|choices| Step::PushFront(choices.any())),
        (6, &|choices| Step::PushBack(choices.any())),
        (4, &|_| Step::PopFront),
        (4, &|_| Step::PopBack),
        (6, &|choices| Step::InsertBefore(place(choices), choices.any())),
        (6, &|choices| Step::InsertAfter(place(choices), choices.any())),
        (8, &|choices| Step::Remove(place(choices))),
        (6, &|choices| Step::Replace(place(choices), choices.any())),
        (2, &|choices| Step::SpliceBefore(place(choices), values(choices))),
        (2, &|choices| Step::SpliceAfter(place(choices), values(choices))),
        (2, &|choices| Step::Append(values(choices))),
        (2, &|choices| Step::Extend(values(choices))),
        (1, &|choices| Step::Retain(2 + choices.below(3) as u32)),
        (1, &|_| Step::Clear),
    ])
}

/// Moves a cursor of a new lock to the place `at`, which is the one without a value if there are fewer
/// values, and calls `act` with it.
fn at<R>(list: &List<u32>, at: usize, act: impl FnOnce(&mut leeward::collect::list::Cursor<'_, '_, u32>) -> R) -> R {
    let mut locked = list.lock();
    let mut cursor = locked.cursor_front();
    (0..at).for_each(|_| {
        if cursor.current().is_some() {
            cursor.move_next();
        }
    });
    act(&mut cursor)
}

fn take(list: &List<u32>, step: Step) {
    match step {
        Step::PushFront(value) => list.push_front(value),
        Step::PushBack(value) => list.push_back(value),
        Step::PopFront => drop(list.pop_front()),
        Step::PopBack => drop(list.pop_back()),
        Step::InsertBefore(place, value) => at(list, place, |cursor| cursor.insert_before(value)),
        Step::InsertAfter(place, value) => at(list, place, |cursor| cursor.insert_after(value)),
        Step::Remove(place) => at(list, place, |cursor| drop(cursor.remove_current())),
        Step::Replace(place, value) => at(list, place, |cursor| drop(cursor.replace(value))),
        Step::SpliceBefore(place, values) => at(list, place, |cursor| cursor.splice_before(List::from_iter(values))),
        Step::SpliceAfter(place, values) => at(list, place, |cursor| cursor.splice_after(List::from_iter(values))),
        Step::Append(values) => list.append(List::from_iter(values)),
        Step::Extend(values) => (&mut &*list).extend(values),
        Step::Retain(by) => list.lock().retain(|value| value % by != 0),
        Step::Clear => list.clear(),
    }
}

fn take_in_model(model: &mut VecDeque<u32>, step: Step) {
    // The place without a value is before the front, and after the end.
    let place = |place: usize| (place < model.len()).then_some(place);
    let before = |at: usize| place(at).unwrap_or(model.len());
    let after = |at: usize| place(at).map_or(0, |at| at + 1);
    let (index, values) = match step {
        Step::PushFront(value) => (0, vec![value]),
        Step::PushBack(value) => (model.len(), vec![value]),
        Step::InsertBefore(at, value) => (before(at), vec![value]),
        Step::InsertAfter(at, value) => (after(at), vec![value]),
        Step::SpliceBefore(at, values) => (before(at), values),
        Step::SpliceAfter(at, values) => (after(at), values),
        Step::Append(values) | Step::Extend(values) => (model.len(), values),
        Step::PopFront => return model.pop_front().map_or((), |_| ()),
        Step::PopBack => return model.pop_back().map_or((), |_| ()),
        Step::Remove(at) => return model.remove(at).map_or((), |_| ()),
        Step::Replace(at, value) => return model.get_mut(at).into_iter().for_each(|there| *there = value),
        Step::Retain(by) => return model.retain(|value| value % by != 0),
        Step::Clear => return model.clear(),
    };
    values.into_iter().rev().for_each(|value| model.insert(index, value));
}

#[test]
fn it_is_a_list() {
    check(1000, 1..200, step, is_a_list);
}

/// Takes the steps on a list and on a `VecDeque`, and compares after each.
fn is_a_list(steps: &[Step]) {
    let (list, mut model) = (List::<u32>::new(), VecDeque::new());
    for step in steps {
        take(&list, step.clone());
        take_in_model(&mut model, step.clone());
        let guard = rcu::read();
        assert!(list.iter(&guard).eq(&model));
        assert_eq!(list.first(&guard), model.front());
        assert_eq!((list.len(), list.is_empty()), (model.len(), model.is_empty()));
        let mut locked = list.lock();
        assert!(locked.iter().eq(&model));
        assert_eq!((locked.front(), locked.back()), (model.front(), model.back()));
        let mut cursor = locked.cursor_back();
        for value in model.iter().rev() {
            assert_eq!(cursor.current(), Some(value));
            cursor.move_prev();
        }
        assert_eq!(cursor.current(), None);
        assert_eq!((cursor.peek_next(), cursor.peek_prev()), (model.front(), model.back()));
    }
    assert_eq!(format!("{list:?}"), format!("{model:?}"));
    let half = model.len() / 2;
    let mut values = list.into_iter();
    assert_eq!(values.len(), model.len());
    assert!(values.by_ref().take(half).eq(model.drain(..half)));
    assert!(values.rev().eq(model.into_iter().rev()));
}

#[test]
fn values_are_sorted_in_the_order_in_which_they_came() {
    let list = List::new();
    let mut locked = list.lock();
    for (place, key) in [3, 1, 3, 2, 1].into_iter().enumerate() {
        locked.insert_sorted_by((key, place), |one, other| one.0.cmp(&other.0));
    }
    drop(locked);
    assert!(list.into_iter().eq([(1, 1), (1, 4), (2, 3), (3, 0), (3, 2)]));
}

#[test]
fn a_reader_stands_on_what_is_removed_and_goes_on() {
    let list = List::from([1, 2, 3, 4, 5, 6]);
    let guard = rcu::read();
    let mut walk = list.iter(&guard);
    assert_eq!((walk.next(), walk.next()), (Some(&1), Some(&2)));
    // Of what is removed now, 3 is where 2 leads.
    list.lock().retain(|value| ![1, 2, 3].contains(value));
    list.push_front(0);
    assert_eq!((walk.next(), walk.next()), (Some(&3), Some(&4)));
    list.clear();
    list.push_back(7);
    assert_eq!((walk.next(), walk.next(), walk.next(), walk.next()), (Some(&5), Some(&6), None, None));
    assert!(list.iter(&guard).eq(&[7]));
}

#[test]
fn a_walk_that_ended_stays_ended() {
    let list = List::from([1]);
    let guard = rcu::read();
    let mut walk = list.iter(&guard);
    assert_eq!((walk.next(), walk.next()), (Some(&1), None));
    list.push_back(2);
    assert_eq!((walk.next(), walk.clone().next()), (None, None));
    assert_eq!(format!("{:?}", list.iter(&guard)), "[1, 2]");
}

#[test]
fn values_are_changed_in_place_by_who_has_the_list_alone() {
    let mut list = List::from([1, 2, 3]);
    list.iter_mut().for_each(|value| *value += 10);
    for value in &mut list {
        *value *= 2;
    }
    list.extend([1]);
    assert_eq!(list.find(|value| *value > 22, &rcu::read()), Some(&24));
    assert!(list.contains(&26, &rcu::read()) && !list.contains(&25, &rcu::read()));
    assert!(list.into_iter().eq([22, 24, 26, 1]));
}

/// Values of interior mutability are one value for all, and do not move.
#[test]
fn values_do_not_move() {
    let list = List::from([std::cell::Cell::new(1), std::cell::Cell::new(2)]);
    let guard = rcu::read();
    let second: Vec<_> = list.iter(&guard).collect();
    list.pop_front().unwrap().defer();
    list.push_front(std::cell::Cell::new(0));
    second[1].set(7);
    assert_eq!(list.lock().back().map(std::cell::Cell::get), Some(7));
}

#[test]
fn what_is_removed_is_freed_when_its_readers_have_left() {
    use std::sync::Arc;
    // Readers of other tests are not waited for.
    leeward::rcu_domain! { struct Alone; }
    let (list, value) = (List::<Arc<()>, Alone>::new_in(), Arc::new(()));
    list.push_back(value.clone());
    let guard = Alone::read();
    let there = list.first(&guard).unwrap();
    list.pop_front().unwrap().defer();
    list.reclaim();
    assert_eq!(Arc::strong_count(there), 2);
    drop(guard);
    list.reclaim();
    assert_eq!(Arc::strong_count(&value), 1);
}

#[test]
fn any_size_and_alignment_is_kept() {
    #[repr(align(512))]
    #[derive(Clone, Copy, PartialEq, Debug)]
    struct Aligned(u8);
    fn each<T: Clone + PartialEq + std::fmt::Debug>(value: T) {
        let list: List<T> = std::iter::repeat_n(value.clone(), 20).collect();
        let guard = rcu::read();
        assert!(list.iter(&guard).all(|there| *there == value && std::ptr::from_ref(there).is_aligned()));
        drop(guard);
        (0..10).for_each(|_| assert_eq!(list.pop_front().unwrap().synchronize(), value));
        assert_eq!((list.len(), list.into_iter().count()), (10, 10));
    }
    each(());
    each([7_u8; 4096]);
    each(Aligned(3));
    each("text".to_string());
}
