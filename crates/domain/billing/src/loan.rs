//! The instalments of a loan (decisions §7, after the FCA's CONC 3.5.5R): those of a vehicle's finance example, and of a deal.

/// A loan that is repaid with an instalment at the end of each month, and perhaps a balloon with the last one. Amounts are in minor
/// units.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Loan {
    /// The amount lent.
    pub credit: i64,
    /// The amount paid with the last instalment beside it; 0 for none.
    pub balloon: i64,
    /// The number of months.
    pub term: u32,
}

/// The instalments of a loan, in minor units.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Instalments {
    /// The first one, which also makes up for the rounding of the others.
    pub first: i64,
    /// Each of the others.
    pub monthly: i64,
}

impl Loan {
    /// Maximum credit, in minor units, for which floating point computes the first payment to the penny.
    pub const MAX_CREDIT: i64 = 10_000_000_000_000;

    /// Returns the instalments that repay the loan at an APR in percent; `None` if there are none.
    pub fn instalments(&self, apr: f64) -> Option<Instalments> {
        let force = monthly_force(apr);
        let lent = (1..=Self::MAX_CREDIT).contains(&self.credit) && (..=self.credit).contains(&self.balloon);
        if !lent || self.term == 0 {
            return None;
        }
        let months = f64::from(self.term);
        let annuity = annuity(force, months);
        let owed = self.credit as f64 - self.balloon as f64 * (-force * months).exp();
        let exact = owed / annuity;
        // Many instalments that are rounded up may exceed a small credit.
        [exact.round(), exact.floor()].into_iter().find_map(|monthly| {
            let first = monthly + (owed - monthly * annuity) * force.exp();
            let payments = Instalments {
                first: minor_units(first)?,
                monthly: minor_units(monthly)?,
            };
            (payments.first > 0 && payments.monthly > 0).then_some(payments)
        })
    }

    /// Returns the sum of the instalments and the balloon.
    pub fn repaid(&self, instalments: Instalments) -> Option<i64> {
        instalments
            .monthly
            .checked_mul(i64::from(self.term.checked_sub(1)?))?
            .checked_add(instalments.first)?
            .checked_add(self.balloon)
    }
}

/// Returns the monthly force of interest of an APR in percent, which is ln(1 + monthly rate). With it the monthly rate is (1 +
/// apr)^(1/12) − 1 (decisions §7), and rates near 0 lose no digits.
fn monthly_force(apr: f64) -> f64 {
    (apr / 100.0).ln_1p() / 12.0
}

/// Returns the present value of a payment of 1 at the end of each month, at a monthly force of interest.
pub fn annuity(force: f64, months: f64) -> f64 {
    if force == 0.0 {
        months
    } else {
        -(-force * months).exp_m1() / force.exp_m1()
    }
}

/// Rounds to the nearest whole number, if floating point represents it exactly.
pub fn minor_units(amount: f64) -> Option<i64> {
    const LIMIT: f64 = (1_u64 << f64::MANTISSA_DIGITS) as f64;
    let rounded = amount.round();
    #[expect(clippy::cast_possible_truncation, reason = "a whole number within the limit")]
    (rounded.abs() <= LIMIT).then_some(rounded as i64)
}
