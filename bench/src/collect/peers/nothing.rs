//! No map: what the loop itself costs.

use crate::collect::map::Map;

pub struct Nothing;

impl Map for Nothing {
    type Thread<'m> = ();

    fn filled(_: usize) -> Nothing {
        Nothing
    }

    fn thread(&self) {}

    #[inline(always)]
    fn get((): &(), key: u64) -> Option<u64> {
        Some(std::hint::black_box(key))
    }

    #[inline(always)]
    fn insert((): &mut (), key: u64, _: u64) {
        std::hint::black_box(key);
    }

    #[inline(always)]
    fn remove((): &mut (), key: u64) {
        std::hint::black_box(key);
    }
}
