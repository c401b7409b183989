//! The trees of the inheritance graph, beside plain maps.

use std::boxed::Box;
use std::collections::BTreeMap;
use std::vec::Vec;

use crate::pi::claim::ClaimPtr;
use crate::pi::graph::{Graph, Waits};
use crate::pi::tree::{BY_LOCK, BY_OWNER, BY_THREAD, Group, Link, Rank, Trees};
use crate::table::key::Key;
use crate::tests::host::{Nowhere, Rationed};
use crate::{Priority, Thread, Word};

/// Appends the claims of a subtree in order; asserts that the subtree is balanced, and that its top
/// says its height, which is returned.
fn check(waits: &mut Waits<'_, Nowhere>, by: usize, top: Option<ClaimPtr<Nowhere>>, into: &mut Vec<Rank>) -> u8 {
    let Some(top) = top else { return 0 };
    let Link { children: [less, more], height, .. } = *waits.link(by, top);
    for child in [less, more].into_iter().flatten() {
        assert_eq!(waits.link(by, child).parent, Some(top));
    }
    let low = check(waits, by, less, into);
    into.push(waits.rank(by, top));
    let high = check(waits, by, more, into);
    assert!(low.abs_diff(high) <= 1);
    assert_eq!(height, 1 + low.max(high));
    height
}

/// Claims that come and go, change their urgency and are handed locks, beside plain maps.
#[test]
fn orders_are_kept_and_trees_are_low() {
    let host = Nowhere::new(1, Rationed::new(0));
    let graph = Graph::<Nowhere>::new();
    let key = |lock: u64| Key::private(1, Word::private(8 * lock).address);
    let claimants: Vec<_> =
        (0..200).map(|i| Box::pin(graph.claimant(key(0), Priority(0), Thread { id: i, number: 1 }, None))).collect();
    let mut model: BTreeMap<Rank, usize> = BTreeMap::new();
    let mut random = 0x1ee_u64;
    let mut waits = graph.lock(&host);
    for step in 0..6_000 {
        random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(step);
        let (i, lock) = ((random >> 33) as usize % claimants.len(), (random >> 45) % 4);
        let place = claimants[i].claim();
        let owner = Thread { id: 1_000 + lock, number: 2 };
        host.priority.set((random >> 50) as u32 % 9);
        match waits.owner(place) {
            Some(_) => {
                model.remove(&waits.rank(BY_LOCK, place)).unwrap();
                if random >> 62 == 0 {
                    waits.reprioritize(i as u64, &host);
                    model.insert(waits.rank(BY_LOCK, place), i);
                } else {
                    assert!(waits.remove(place).is_some());
                }
            }
            // There are few claims at first, then many, then few.
            None if (random >> 60) * 400 < step.min(6_000 - step) => {
                waits.add(place, &key(lock), owner, true, &host);
                model.insert(waits.rank(BY_LOCK, place), i);
            }
            None => {}
        }
        if step % 16 != 0 {
            continue;
        }
        for by in [BY_THREAD, BY_LOCK, BY_OWNER] {
            let (mut ranks, top) = (Vec::new(), *waits.root(by));
            check(&mut waits, by, top, &mut ranks);
            assert!(ranks.is_sorted());
            assert_eq!(ranks.len(), if by == BY_OWNER { ranks.len().min(4) } else { model.len() });
        }
        let (mut ranks, top) = (Vec::new(), *waits.root(BY_LOCK));
        check(&mut waits, BY_LOCK, top, &mut ranks);
        assert!(ranks.iter().eq(model.keys()));
        for lock in 0..4 {
            let top = model.iter().find(|((group, ..), _)| *group == Group::Lock(key(lock))).map(|(_, i)| *i);
            assert_eq!(waits.top_waiter(1_000 + lock, &key(lock)), top.map(|i| claimants[i].claim()));
        }
    }
}
