//! Containers that serde writes and reads.

#![allow(missing_docs)]

use leeward::collect::{HashMap, HashSet, List, OrderedMap, ShardMap, ShardSet};
use leeward::rcu;

leeward::rcu_domain! { struct Own; }

#[test]
fn maps_are_maps() {
    let (guard, own) = (rcu::read(), <Own as rcu::Domain>::read());
    let map = HashMap::from([(1, "a".to_string())]);
    let text = serde_json::to_string(&map).unwrap();
    assert_eq!(text, r#"{"1":"a"}"#);
    let read: HashMap<u32, String, std::hash::RandomState, Own> = serde_json::from_str(&text).unwrap();
    assert_eq!((read.len(), read.get(&1, &own).map(String::as_str)), (1, Some("a")));

    let map = OrderedMap::from_iter([(2, 20), (10, 100), (1, 10)]);
    let text = serde_json::to_string(&map).unwrap();
    assert_eq!(text, r#"{"1":10,"2":20,"10":100}"#);
    let read: OrderedMap<u32, u32> = serde_json::from_str(&text).unwrap();
    assert!(read.iter(&guard).eq([(&1, &10), (&2, &20), (&10, &100)]));
    assert!(serde_json::from_str::<OrderedMap<u32, u32>>("[1]").unwrap_err().to_string().contains("a map"));

    let map = ShardMap::<u32, u32>::from_iter([(1, 2)]);
    let text = serde_json::to_string(&map).unwrap();
    assert_eq!(text, r#"{"1":2}"#);
    assert_eq!(*serde_json::from_str::<ShardMap<u32, u32>>(&text).unwrap().get(&1).unwrap(), 2);
}

#[test]
fn sets_and_lists_are_sequences() {
    let guard = rcu::read();
    let set = HashSet::from([7]);
    assert_eq!(serde_json::to_string(&set).unwrap(), "[7]");
    let read: HashSet<u32> = serde_json::from_str("[1,2,1]").unwrap();
    assert!(read.len() == 2 && read.contains(&1) && read.contains(&2));

    let list = List::from([3, 1, 2]);
    assert_eq!(serde_json::to_string(&list).unwrap(), "[3,1,2]");
    let read: List<u32> = serde_json::from_str("[3,1,2]").unwrap();
    assert!(read.iter(&guard).eq(&[3, 1, 2]));
    assert!(serde_json::from_str::<List<u32>>("{}").unwrap_err().to_string().contains("a sequence"));

    let set = ShardSet::<u32>::from_iter([1]);
    assert_eq!(serde_json::to_string(&set).unwrap(), "[1]");
    assert!(serde_json::from_str::<ShardSet<u32>>("[1,2]").unwrap().contains(&2));
}

macro_rules! written {
    ($value:expr) => {
        serde_json::to_string(&$value).unwrap()
    };
}

/// A guard is written as what it gives, so that a field of a reply may be one.
#[test]
fn guards_are_what_they_give() {
    let map = ShardMap::<u32, (u32, &str)>::from_iter([(1, (2, "a"))]);
    assert_eq!(written!(map.get(&1).unwrap()), r#"[2,"a"]"#);
    assert_eq!(written!(map.get_mut(&1).unwrap()), r#"[2,"a"]"#);
    assert_eq!(written!(map.iter().next().unwrap()), r#"[2,"a"]"#);
    assert_eq!(written!(map.iter_mut().next().unwrap()), r#"[2,"a"]"#);
    assert_eq!(written!(map.get(&1).unwrap().map(|value| value.1)), r#""a""#);
    assert_eq!(written!(map.get_mut(&1).unwrap().map(|value| &mut value.0)), "2");
    let set = ShardSet::from([7]);
    assert_eq!(
        (written!(set.get(&7).unwrap()), written!(set.iter().next().unwrap())),
        ("7".to_owned(), "7".to_owned())
    );
}
