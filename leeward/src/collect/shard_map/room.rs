//! Room in a table before anything is put in, so that a `Hash` that panics loses nothing. Called by
//! `write` and `entry`; calls hashbrown.
//!
//! hashbrown drops the entries that it has not hashed again if `Hash` panics while it cleans a table
//! in place, which it does where at most half of the table is in use. While it moves a table to
//! another one, a panic leaves the old one whole. So the table is moved here in each case: to a
//! smaller one where that is enough, else to a larger one.

use hashbrown::{HashTable, TryReserveError};

/// Sees to it that one more entry has room.
#[inline(always)]
pub(super) fn for_one<T>(table: &mut HashTable<T>, hasher: impl Fn(&T) -> u64) {
    if table.capacity() == table.len() {
        make_for_one(table, hasher);
    }
}

#[cold]
#[inline(never)]
fn make_for_one<T>(table: &mut HashTable<T>, hasher: impl Fn(&T) -> u64) {
    if make(table, 1, hasher).is_err() {
        // As std's collections do.
        panic!("leeward: a ShardMap has no memory for another entry");
    }
}

/// Sees to it that `additional` more entries have room.
pub(super) fn make<T>(
    table: &mut HashTable<T>,
    additional: usize,
    hasher: impl Fn(&T) -> u64,
) -> Result<(), TryReserveError> {
    let wanted = table.len().saturating_add(additional);
    if table.capacity() >= wanted {
        return Ok(());
    }
    let full = full_capacity(table.num_buckets());
    if wanted <= full / 2 {
        // Removed entries take the room: a table of the right size has none.
        table.shrink_to(wanted, &hasher);
        if table.capacity() >= wanted {
            return Ok(());
        }
    }
    // More than half of the table, so that hashbrown moves it.
    let beyond_half = (full / 2 + 1).saturating_sub(table.len());
    table.try_reserve(additional.max(beyond_half), hasher)
}

/// Returns how many entries a table of so many buckets holds.
fn full_capacity(buckets: usize) -> usize {
    if buckets <= 8 { buckets.saturating_sub(1) } else { buckets / 8 * 7 }
}

#[cfg(test)]
mod tests {
    use super::{for_one, full_capacity, make};
    use hashbrown::HashTable;

    #[test]
    fn the_capacity_is_hashbrowns() {
        for entries in 1..2_000 {
            let table = HashTable::<u64>::with_capacity(entries);
            assert_eq!(table.capacity(), full_capacity(table.num_buckets()));
        }
    }

    #[test]
    fn a_table_that_churns_does_not_grow_for_ever() {
        let mut table = HashTable::new();
        for number in 0..100_000_u64 {
            for_one(&mut table, |number| hash(*number));
            assert!(table.capacity() > table.len());
            table.insert_unique(hash(number), number, |number| hash(*number));
            if number >= 100 {
                assert!(
                    table.find_entry(hash(number - 100), |other| *other == number - 100).unwrap().remove().0 + 100
                        == number
                );
            }
        }
        assert!(table.num_buckets() <= 512, "{}", table.num_buckets());
        assert!(make(&mut table, usize::MAX, |number| hash(*number)).is_err());
    }

    fn hash(number: u64) -> u64 {
        number.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}
