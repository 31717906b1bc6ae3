//! Random choice by weights.

use rand::{Rng, RngExt};

/// A value with its weight, which is relative to the others of its table.
pub(super) type Weighted<T> = (u32, T);

/// Returns one of `table`, which has at least one entry, by weight.
pub(super) fn weighted<'a, T>(rng: &mut impl Rng, table: &'a [Weighted<T>]) -> &'a T {
    let total: u32 = table.iter().map(|(weight, _)| weight).sum();
    let mut left = rng.random_range(0..total);
    for (weight, value) in table {
        if left < *weight {
            return value;
        }
        left -= weight;
    }
    // This is not reached: `left` was below the sum of all weights.
    &table[0].1
}

/// Returns one of `list`, which has at least one entry, all with the same probability.
pub(super) fn one<'a, T>(rng: &mut impl Rng, list: &'a [T]) -> &'a T {
    &list[rng.random_range(0..list.len())]
}

/// Returns one of `list`, unless it is empty.
pub(super) fn any<'a, T>(rng: &mut impl Rng, list: &'a [T]) -> Option<&'a T> {
    (!list.is_empty()).then(|| one(rng, list))
}

/// Returns the text if `yes`, else none.
pub(super) fn when(yes: bool, text: &str) -> String {
    if yes { text.to_owned() } else { String::new() }
}

/// Returns true with a probability of `percent` in a hundred.
pub(super) fn chance(rng: &mut impl Rng, percent: u32) -> bool {
    rng.random_range(0..100) < percent
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::Xoshiro256PlusPlus};

    use super::*;

    #[test]
    fn weights_are_kept_to() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let rare = (0..10_000)
            .filter(|_| *weighted(&mut rng, &[(1, true), (9, false)]))
            .count();
        assert!((900..1_100).contains(&rare), "{rare}");
        let often = (0..10_000).filter(|_| chance(&mut rng, 75)).count();
        assert!((7_300..7_700).contains(&often), "{often}");
        assert_eq!(any::<u8>(&mut rng, &[]), None);
    }
}
