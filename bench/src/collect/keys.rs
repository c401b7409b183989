//! The keys, and the sequences of operations that threads go through. They are prepared before a
//! measurement, an operation in 32 bits, so that the generator costs next to nothing within it.

/// How the keys are distributed.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Keys {
    /// Every key as often as any other.
    Uniform,
    /// Zipf's distribution with the exponent 0.99, as YCSB has it.
    Zipf,
    /// The same key, each time.
    Hot,
}

impl Keys {
    pub const ALL: [Keys; 3] = [Keys::Uniform, Keys::Zipf, Keys::Hot];

    pub fn words(self) -> &'static str {
        match self {
            Keys::Uniform => "uniform",
            Keys::Zipf => "Zipf 0.99",
            Keys::Hot => "one key",
        }
    }

    pub fn id(self) -> &'static str {
        match self {
            Keys::Uniform => "uni",
            Keys::Zipf => "zipf",
            Keys::Hot => "hot",
        }
    }
}

/// An operation of a sequence: the index of its key, and in the upper two bits what is done.
#[derive(Clone, Copy)]
pub struct Operation(u32);

/// What an operation does.
pub enum Kind {
    Get,
    Insert,
    Remove,
}

const INSERT: u32 = 1 << 30;
const REMOVE: u32 = 1 << 31;

impl Operation {
    #[inline(always)]
    pub fn key(self) -> u64 {
        key(u64::from(self.0 & (INSERT - 1)))
    }

    #[inline(always)]
    pub fn kind(self) -> Kind {
        match self.0 {
            bits if bits < INSERT => Kind::Get,
            bits if bits < REMOVE => Kind::Insert,
            _ => Kind::Remove,
        }
    }
}

/// Returns the key of an index; each index has another one.
#[inline(always)]
pub fn key(index: u64) -> u64 {
    index.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Returns a sequence for one thread. The map holds the keys of the indices below `size`. Where
/// nothing is written, these are what is read; else operations draw from twice as many, half of
/// the writes are removals, and so about `size` entries stay.
pub fn sequence(keys: Keys, size: usize, writes: u32, seed: u64) -> Vec<Operation> {
    let length = size.next_power_of_two().clamp(1 << 14, 1 << 20);
    let mut random = Random::new(seed);
    let mut draw = drawer(keys, if writes == 0 { size } else { 2 * size });
    let mut operation = || {
        let index = draw(&mut random) as u32;
        let kind = match random.below(200) {
            lot if lot < u64::from(writes) => INSERT,
            lot if lot < 2 * u64::from(writes) => REMOVE,
            _ => 0,
        };
        Operation(index | kind)
    };
    (0..length).map(|_| operation()).collect()
}

/// Returns a function that draws an index below `size`.
fn drawer(keys: Keys, size: usize) -> Box<dyn FnMut(&mut Random) -> u64> {
    let size = size as u64;
    match keys {
        Keys::Uniform => Box::new(move |random| random.below(size)),
        Keys::Hot => Box::new(|_| 7),
        Keys::Zipf => {
            let zipf = Zipf::new(size);
            // A prime scatters the ranks, so that neighbours in rank are no neighbours in memory.
            Box::new(move |random| zipf.rank(random.fraction()).wrapping_mul(2_654_435_761) % size)
        }
    }
}

/// A random sequence that needs no crate (splitmix64).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0xd134_2543_de82_ef95))
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(limit)) >> 64) as u64
    }

    fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Ranks by Zipf's law, after Jim Gray et al., "Quickly Generating Billion-Record Synthetic
/// Databases" (1994), as YCSB draws them.
struct Zipf {
    size: f64,
    zeta: f64,
    eta: f64,
}

impl Zipf {
    const THETA: f64 = 0.99;

    fn new(size: u64) -> Zipf {
        let zeta: f64 = (1..=size).map(|rank| (rank as f64).powf(-Zipf::THETA)).sum();
        let zeta_2 = 1.0 + 0.5_f64.powf(Zipf::THETA);
        let eta = (1.0 - (2.0 / size as f64).powf(1.0 - Zipf::THETA)) / (1.0 - zeta_2 / zeta);
        Zipf { size: size as f64, zeta, eta }
    }

    fn rank(&self, fraction: f64) -> u64 {
        let scaled = fraction * self.zeta;
        if scaled < 1.0 {
            return 0;
        }
        if scaled < 1.0 + 0.5_f64.powf(Zipf::THETA) {
            return 1;
        }
        let power = 1.0 / (1.0 - Zipf::THETA);
        let rank = self.size * (self.eta * fraction - self.eta + 1.0).powf(power);
        (rank as u64).min(self.size as u64 - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::{Keys, Kind, sequence};

    #[test]
    fn writes_are_as_many_as_was_asked_and_half_of_them_remove() {
        let operations = sequence(Keys::Uniform, 100_000, 50, 1);
        let inserts = operations.iter().filter(|operation| matches!(operation.kind(), Kind::Insert)).count();
        let removes = operations.iter().filter(|operation| matches!(operation.kind(), Kind::Remove)).count();
        let share = |count: usize| count as f64 / operations.len() as f64;
        assert!((share(inserts) - 0.25).abs() < 0.01 && (share(removes) - 0.25).abs() < 0.01);
        let reads = sequence(Keys::Zipf, 1_000, 0, 1);
        assert!(reads.iter().all(|operation| matches!(operation.kind(), Kind::Get)));
    }

    #[test]
    fn the_first_rank_of_zipf_is_the_most_frequent() {
        let operations = sequence(Keys::Zipf, 1_000, 0, 1);
        let first = operations.iter().filter(|operation| operation.key() == 0).count();
        let share = first as f64 / operations.len() as f64;
        // 1 / zeta(1000, 0.99) is 0.130.
        assert!((share - 0.13).abs() < 0.02, "{share}");
    }
}
