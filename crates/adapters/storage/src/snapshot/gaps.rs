//! Numbers that are given out without gaps.

/// Returns what is wrong with sorted numbers that should run from 1 to `latest`.
pub(super) fn gaps_in(numbers: &[i64], latest: i64) -> impl Iterator<Item = String> {
    let mut faults = Vec::new();
    let mut expected = 1;
    for &number in numbers {
        if number > expected {
            faults.push(format!("{expected} is missing, {number} is there"));
        } else if number < expected {
            faults.push(format!("{number} is there twice"));
        }
        expected = number + 1;
    }
    if expected != latest + 1 {
        faults.push(format!("the last is {}, the counter says {latest}", expected - 1));
    }
    faults.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_run_from_one_to_the_latest() {
        let faults = |numbers: &[i64], latest| gaps_in(numbers, latest).collect::<Vec<_>>();
        assert!(faults(&[], 0).is_empty() && faults(&[1, 2, 3], 3).is_empty());
        assert_eq!(faults(&[1, 3], 3), ["2 is missing, 3 is there"]);
        assert_eq!(faults(&[2], 2), ["1 is missing, 2 is there"]);
        assert_eq!(faults(&[1, 1, 2], 2), ["1 is there twice"]);
        assert_eq!(faults(&[1, 2], 4), ["the last is 2, the counter says 4"]);
        assert_eq!(faults(&[], 1), ["the last is 0, the counter says 1"]);
    }
}
