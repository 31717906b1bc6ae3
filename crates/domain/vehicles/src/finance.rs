//! The finance example of an advert (decisions §7, after the FCA's CONC 3.5.5R).

use forecourt_accounts::FinanceSettings;
use forecourt_billing::{Instalments, Loan, annuity, minor_units};
use forecourt_kernel::Money;
use serde::Serialize;

/// The finance example for a vehicle: hire purchase, or with a balloon if the business's settings require one.
///
/// The price less the deposit is lent at once and repaid over `term` months, with an instalment at the end of each. Every
/// instalment is `monthly_payment` except the first, which also makes up for the rounding of the others. So the debt ends at
/// exactly 0, and an agreement at 0 % costs nothing. The balloon and the option fee are paid with the last instalment, the admin
/// fee with the first. Fees have their own members; no payment includes one.
///
/// These sums are exact to the penny; a missing `final_payment` counts as 0:
///
/// - `total_credit` = `cash_price` − `total_deposit`
/// - `total_payable` = `total_deposit` + `first_payment` + `total_monthly_payments` × `monthly_payment` + `final_payment` +
///   `admin_fee` + `option_purchase_fee`
/// - `interest_charge` = `total_payable` − `cash_price` − `admin_fee` − `option_purchase_fee`
/// - `total_monthly_payments` = `term` − 1, because the first instalment is counted separately
#[derive(Clone, PartialEq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FinanceExample {
    /// The price.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$"))]
    pub cash_price: Money,
    /// The amount paid at once.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$"))]
    pub total_deposit: Money,
    /// The amount lent.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$"))]
    pub total_credit: Money,
    /// The first instalment: a monthly payment, plus or minus the pennies that the rounding of the others leaves.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$"))]
    pub first_payment: Money,
    /// Each of the other instalments.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$"))]
    pub monthly_payment: Money,
    /// The balloon; null under plain hire purchase.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, required, pattern = "^-?\\d+\\.\\d{2}$"))]
    pub final_payment: Option<Money>,
    /// A fee paid with the first instalment.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$"))]
    pub admin_fee: Money,
    /// A fee paid with the last instalment.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$"))]
    pub option_purchase_fee: Money,
    /// The amount repaid beyond the amount lent, without the fees.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$"))]
    pub interest_charge: Money,
    /// The total that the customer pays, including the deposit and the fees.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$"))]
    pub total_payable: Money,
    /// Number of instalments after the first.
    pub total_monthly_payments: u32,
    /// Duration of the agreement in months.
    pub term: u32,
    /// The fixed rate of interest as motor finance advertises it, in percent to two decimals. It is the flat rate:
    /// `interest_charge` per year of the term as a share of the whole `total_credit`. It is lower than the APR, because it
    /// ignores what has already been repaid, and it leaves out the fees.
    pub fixed_interest_rate: f64,
    /// The representative APR in percent to one decimal: the yearly effective rate at which all payments, including the fees,
    /// have the present value of the amount lent. Without fees it is the APR of the settings. Null above 1,000 %, where the fees
    /// are nearly all that is paid.
    pub representative_apr: Option<f64>,
}

impl FinanceExample {
    /// Returns the example's monthly amount for an advert.
    pub const fn monthly(&self) -> Money {
        self.monthly_payment
    }
}

/// Returns the finance example for a vehicle at `price`, or `None` if no agreement is possible. That is so if nothing is left to
/// lend, or too little for an instalment of a penny, and if the balloon exceeds the amount lent. It is also so if the settings or
/// the result are outside all bounds.
pub fn example(price: Money, terms: &FinanceSettings) -> Option<FinanceExample> {
    let deposit = share(price, &terms.deposit_percent)?;
    let balloon = share(price, &terms.final_payment_percent)?;
    let credit = price.minor().checked_sub(deposit)?;
    let agreement = Agreement {
        loan: Loan {
            credit,
            balloon,
            term: terms.term,
        },
        admin_fee: terms.admin_fee.minor(),
        option_fee: terms.option_purchase_fee.minor(),
    };
    if agreement.admin_fee < 0 || agreement.option_fee < 0 {
        return None;
    }
    let payments = agreement.loan.instalments(percentage(&terms.apr)?)?;

    let others = terms.term.checked_sub(1)?;
    let repaid = payments
        .monthly
        .checked_mul(i64::from(others))?
        .checked_add(payments.first)?
        .checked_add(balloon)?;
    let fees = agreement.admin_fee.checked_add(agreement.option_fee)?;
    let interest = repaid.checked_sub(credit)?;
    let total_payable = deposit.checked_add(repaid)?.checked_add(fees)?;
    let years = f64::from(terms.term) / 12.0;
    Some(FinanceExample {
        cash_price: price,
        total_deposit: Money::from_minor(deposit),
        total_credit: Money::from_minor(credit),
        first_payment: Money::from_minor(payments.first),
        monthly_payment: Money::from_minor(payments.monthly),
        final_payment: (balloon > 0).then_some(Money::from_minor(balloon)),
        admin_fee: terms.admin_fee,
        option_purchase_fee: terms.option_purchase_fee,
        interest_charge: Money::from_minor(interest),
        total_payable: Money::from_minor(total_payable),
        total_monthly_payments: others,
        term: terms.term,
        fixed_interest_rate: (interest as f64 / credit as f64 / years * 10_000.0).round() / 100.0,
        representative_apr: Some((agreement.annual_rate(payments, repaid.checked_add(fees)?) * 1_000.0).round() / 10.0)
            .filter(|rate| *rate <= MAX_RATE),
    })
}

/// The loan of an example, with its fees, in minor units.
struct Agreement {
    loan: Loan,
    admin_fee: i64,
    option_fee: i64,
}

impl Agreement {
    /// Returns the yearly effective rate, as a fraction, at which all payments, `total` in sum, have the present value of the
    /// credit.
    fn annual_rate(&self, payments: Instalments, total: i64) -> f64 {
        let months = f64::from(self.loan.term);
        let with_first = (payments.first - payments.monthly) as f64 + self.admin_fee as f64;
        let with_last = self.loan.balloon as f64 + self.option_fee as f64;
        let worth = |force: f64| {
            payments.monthly as f64 * annuity(force, months)
                + with_first * (-force).exp()
                + with_last * (-force * months).exp()
        };
        let credit = self.loan.credit as f64;
        // The present value falls as the force rises. At force 0 it is the total, which is never less than the credit. Nothing is
        // paid before the end of the first month, so it is at most the credit at the force that turns the credit into the total
        // in one month.
        let (mut low, mut high) = (0.0, (total as f64 / credit).ln());
        for _ in 0..BISECTIONS {
            let middle = f64::midpoint(low, high);
            if worth(middle) > credit {
                low = middle;
            } else {
                high = middle;
            }
        }
        (high * 12.0).exp_m1()
    }
}

/// The highest yearly rate that is meaningful for an agreement, in percent.
const MAX_RATE: f64 = 1_000.0;

/// Number of bisections, enough to find any force to the last significant bit: the widest range is below 64.
const BISECTIONS: u32 = 64;

/// Reads a percentage of the settings, from 0.
fn percentage(text: &str) -> Option<f64> {
    text.parse()
        .ok()
        .filter(|percent: &f64| percent.is_finite() && *percent >= 0.0)
}

/// Returns that percentage of the price in minor units, to the nearest one. Percentages count to the sixth decimal, so the share
/// of a percentage with few decimals is exact.
fn share(price: Money, percent: &str) -> Option<i64> {
    const WHOLE: i128 = 100_000_000;
    let millionths = minor_units(percentage(percent)? * 1e6)?;
    i64::try_from((i128::from(price.minor()) * i128::from(millionths) + WHOLE / 2) / WHOLE).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn terms(apr: &str, term: u32, deposit: &str, balloon: &str) -> FinanceSettings {
        FinanceSettings {
            apr: apr.into(),
            term,
            deposit_percent: deposit.into(),
            admin_fee: Money::ZERO,
            option_purchase_fee: Money::ZERO,
            final_payment_percent: balloon.into(),
        }
    }

    fn with_fees(mut terms: FinanceSettings, admin: i64, option: i64) -> FinanceSettings {
        terms.admin_fee = Money::from_minor(admin);
        terms.option_purchase_fee = Money::from_minor(option);
        terms
    }

    /// Returns the payments as they are made, one for each month from the first.
    fn cash_flow(example: &FinanceExample) -> Vec<i64> {
        let mut flow = vec![example.first_payment.minor()];
        for _ in 0..example.total_monthly_payments {
            flow.push(example.monthly_payment.minor());
        }
        flow[0] += example.admin_fee.minor();
        *flow.last_mut().unwrap() +=
            example.final_payment.map_or(0, Money::minor) + example.option_purchase_fee.minor();
        flow
    }

    /// Computes the APR in percent from its definition alone.
    fn apr_of(credit: i64, flow: &[i64]) -> f64 {
        let worth = |apr: f64| -> f64 {
            let worth_of = |(at, paid): (usize, &i64)| *paid as f64 / (1.0 + apr).powf((at + 1) as f64 / 12.0);
            flow.iter().enumerate().map(worth_of).sum()
        };
        let (mut low, mut high) = (0.0, 1.0);
        while worth(high) > credit as f64 {
            high *= 2.0;
        }
        for _ in 0..200 {
            let middle = (low + high) / 2.0;
            if worth(middle) > credit as f64 {
                low = middle;
            } else {
                high = middle;
            }
        }
        low * 100.0
    }

    /// Asserts that the yearly rate matches the cash flow, if it is shown at all.
    fn assert_rate(shown: &FinanceExample, recomputed: f64) {
        match shown.representative_apr {
            Some(given) => assert!((given - recomputed).abs() <= 0.05 + 1e-6, "{recomputed} {shown:?}"),
            None => assert!(recomputed > MAX_RATE - 0.1, "{recomputed} {shown:?}"),
        }
    }

    fn assert_identities(example: &FinanceExample) {
        let [price, deposit, credit, first, monthly, admin, option, interest, total] = [
            example.cash_price,
            example.total_deposit,
            example.total_credit,
            example.first_payment,
            example.monthly_payment,
            example.admin_fee,
            example.option_purchase_fee,
            example.interest_charge,
            example.total_payable,
        ]
        .map(|amount| i128::from(amount.minor()));
        let balloon = example.final_payment.map_or(0, |amount| i128::from(amount.minor()));
        let others = i128::from(example.total_monthly_payments);
        assert_eq!(credit, price - deposit);
        assert_eq!(total, deposit + first + others * monthly + balloon + admin + option);
        assert_eq!(interest, total - price - admin - option);
        assert_eq!(example.total_monthly_payments, example.term - 1);
        assert!(
            credit > 0 && deposit >= 0 && first > 0 && monthly > 0 && interest >= 0,
            "{example:?}"
        );
        assert!(
            example
                .final_payment
                .is_none_or(|balloon| balloon > Money::ZERO && balloon <= example.total_credit)
        );
        for rate in [Some(example.fixed_interest_rate), example.representative_apr]
            .into_iter()
            .flatten()
        {
            assert!(rate.is_finite() && rate >= 0.0, "{example:?}");
        }
    }

    #[test]
    fn the_members_are_the_contract_s_in_its_order() {
        let settings = with_fees(terms("9.9", 48, "10", "0"), 0, 1_000);
        let shown = example(Money::from_minor(1_000_000), &settings).unwrap();
        let expected = json!({
            "cash_price": "10000.00",
            "total_deposit": "1000.00",
            "total_credit": "9000.00",
            "first_payment": "226.04",
            "monthly_payment": "226.01",
            "final_payment": null,
            "admin_fee": "0.00",
            "option_purchase_fee": "10.00",
            "interest_charge": "1848.51",
            "total_payable": "11858.51",
            "total_monthly_payments": 47,
            "term": 48,
            "fixed_interest_rate": 5.13,
            "representative_apr": 9.9,
        });
        assert_eq!(serde_json::to_string(&shown).unwrap(), expected.to_string());
    }

    #[test]
    fn a_balloon_is_its_share_of_the_price() {
        let example = example(Money::from_minor(1_234_567), &terms("7.9", 36, "12.5", "33.3")).unwrap();
        assert_eq!(example.total_deposit, Money::from_minor(154_321));
        assert_eq!(example.final_payment, Some(Money::from_minor(411_111)));
        assert_identities(&example);
    }

    #[test]
    fn at_no_interest_the_price_is_what_is_paid() {
        let example = example(Money::from_minor(100_000), &terms("0", 48, "0", "0")).unwrap();
        assert_eq!(example.monthly(), Money::from_minor(2_083));
        assert_eq!(example.first_payment, Money::from_minor(2_099));
        assert_eq!(example.interest_charge, Money::ZERO);
        assert_eq!(
            (example.fixed_interest_rate, example.representative_apr),
            (0.0, Some(0.0))
        );
        assert_identities(&example);
    }

    #[test]
    fn one_month_is_one_payment() {
        let example = example(Money::from_minor(100_000), &terms("12.7", 1, "0", "0")).unwrap();
        assert_eq!(example.first_payment, Money::from_minor(101_001));
        assert_eq!(
            (example.monthly(), example.total_monthly_payments),
            (example.first_payment, 0)
        );
        assert_eq!(
            (example.fixed_interest_rate, example.representative_apr),
            (12.01, Some(12.7))
        );
    }

    #[test]
    fn fees_raise_the_apr_but_not_the_interest() {
        let price = Money::from_minor(500_000);
        let plain = example(price, &terms("9.9", 24, "0", "0")).unwrap();
        let dear = example(price, &with_fees(terms("9.9", 24, "0", "0"), 10_000, 5_000)).unwrap();
        assert_eq!(dear.interest_charge, plain.interest_charge);
        assert_eq!(dear.fixed_interest_rate, plain.fixed_interest_rate);
        assert_eq!(dear.total_payable.minor(), plain.total_payable.minor() + 15_000);
        assert!(dear.representative_apr > Some(12.0), "{dear:?}");
    }

    #[test]
    fn where_no_agreement_is_possible_there_is_no_example() {
        let price = Money::from_minor(1_000_000);
        let refused = [
            (Money::ZERO, terms("9.9", 48, "10", "0")),
            (Money::from_minor(-100), terms("9.9", 48, "10", "0")),
            (Money::from_minor(1), terms("9.9", 48, "10", "0")),
            (price, terms("9.9", 48, "100", "0")),
            (price, terms("9.9", 48, "101", "0")),
            (price, terms("9.9", 48, "60", "40.01")),
            (price, terms("0", 48, "60", "40")),
            (price, terms("9.9", 0, "10", "0")),
            (price, terms("-1", 48, "10", "0")),
            (price, terms("", 48, "10", "0")),
            (price, terms("NaN", 48, "10", "0")),
            (price, terms("inf", 48, "10", "0")),
            (price, terms("1e308", 48, "10", "0")),
            (price, with_fees(terms("9.9", 48, "10", "0"), -1, 0)),
            (price, with_fees(terms("9.9", 48, "10", "0"), i64::MAX, i64::MAX)),
            (Money::from_minor(i64::MAX), terms("9.9", 48, "0", "0")),
            (Money::from_minor(Loan::MAX_CREDIT + 1), terms("9.9", 48, "0", "0")),
            (Money::from_minor(i64::MIN), terms("9.9", 48, "10", "0")),
        ];
        for (price, terms) in refused {
            assert_eq!(example(price, &terms), None, "{price} {terms:?}");
        }
    }

    #[test]
    fn interest_alone_may_be_paid_until_the_balloon() {
        let example = example(Money::from_minor(1_000_000), &terms("9.9", 48, "60", "40")).unwrap();
        assert_eq!(example.final_payment, Some(example.total_credit));
        assert_eq!(example.representative_apr, Some(9.9));
        assert_identities(&example);
    }

    proptest! {
        #[test]
        fn the_amounts_agree_and_the_apr_is_that_of_the_payments(
            price in 50_000_i64..20_000_000,
            apr in 0_u32..600,
            term in 1_u32..=120,
            deposit in 0_u32..=500,
            balloon in 0_u32..=450,
            fees in (0_i64..50_000, 0_i64..50_000),
        ) {
            let tenths = |tenths: u32| format!("{}.{}", tenths / 10, tenths % 10);
            let plain = terms(&tenths(apr), term, &tenths(deposit), &tenths(balloon));
            let shown = example(Money::from_minor(price), &plain).unwrap();
            assert_identities(&shown);
            prop_assert_eq!(shown.representative_apr, Some(f64::from(apr) / 10.0));
            // Rounding changes each month's payment by at most half a penny.
            let odd = (shown.first_payment.minor() - shown.monthly_payment.minor()).abs();
            prop_assert!(odd <= i64::from(term) / 2 + 1, "{:?}", shown);

            let shown = example(Money::from_minor(price), &with_fees(plain, fees.0, fees.1)).unwrap();
            assert_identities(&shown);
            let recomputed = apr_of(shown.total_credit.minor(), &cash_flow(&shown));
            assert_rate(&shown, recomputed);
            let years = f64::from(term) / 12.0;
            let flat = shown.interest_charge.minor() as f64 / shown.total_credit.minor() as f64 / years * 100.0;
            prop_assert!((shown.fixed_interest_rate - flat).abs() <= 0.005 + 1e-9, "{flat} {shown:?}");
        }

        #[test]
        fn the_instalment_is_that_of_the_standard_formula(
            price in 50_000_i64..20_000_000, apr in 1_u32..600, term in 1_i32..=120,
        ) {
            let apr = f64::from(apr) / 10.0;
            let settings = terms(&apr.to_string(), term.unsigned_abs(), "0", "0");
            let shown = example(Money::from_minor(price), &settings).unwrap();
            let rate = (1.0 + apr / 100.0).powf(1.0 / 12.0) - 1.0;
            let instalment = price as f64 * rate / (1.0 - (1.0 + rate).powi(-term));
            prop_assert!((shown.monthly().minor() as f64 - instalment).abs() <= 0.5 + 1e-6);
        }

        #[test]
        fn small_credits_and_high_rates_keep_the_identities(
            price in 1_i64..50_000,
            apr in 0_u32..=5_000,
            term in 1_u32..=600,
            deposit in 0_u32..=110,
            balloon in 0_u32..=110,
        ) {
            let settings = terms(&apr.to_string(), term, &deposit.to_string(), &balloon.to_string());
            if let Some(shown) = example(Money::from_minor(price), &settings) {
                assert_identities(&shown);
                let recomputed = apr_of(shown.total_credit.minor(), &cash_flow(&shown));
                assert_rate(&shown, recomputed);
            } else {
                let possible = deposit + balloon < 98 && price > 50 * i64::from(term);
                prop_assert!(!possible, "{price} {settings:?}");
            }
        }

        #[test]
        fn no_settings_panic(
            price in prop_oneof![any::<i64>(), 1..=Loan::MAX_CREDIT],
            term in prop_oneof![any::<u32>(), 1_u32..1_000],
            fees in (-10_000_000..i64::MAX / 4, 0_i64..10_000_000),
            apr in percent(),
            deposit in percent(),
            balloon in percent(),
        ) {
            let settings = with_fees(terms(&apr, term, &deposit, &balloon), fees.0, fees.1);
            if let Some(shown) = example(Money::from_minor(price), &settings) {
                assert_identities(&shown);
            }
        }
    }

    fn percent() -> impl Strategy<Value = String> {
        prop_oneof![
            any::<f64>().prop_map(|percent| percent.to_string()),
            (0.0..120.0).prop_map(|percent: f64| percent.to_string()),
            Just("0".to_owned()),
            (0..330_i32).prop_map(|exponent| format!("1e-{exponent}")),
            any::<String>(),
        ]
    }
}
