//! The printed form of what documents have in common (areas §10.8).

use forecourt_accounts::Business;
use forecourt_kernel::{Country, Money};
use forecourt_print::{self as print, Balance, Bill, BillKind, Distance, Language, LineTax, Rate};

use crate::{
    Agreement, BankAccount, BillLine, LegalParty, NoteLine, PartExchange, Party, PartyAddress, Payment, Totals,
    VatRate, VatScheme,
};

/// Countries whose addresses have the postcode before the town.
const POSTCODE_FIRST: [&str; 31] = [
    "AT", "BA", "BE", "BG", "CH", "CY", "CZ", "DE", "DK", "EE", "ES", "FI", "FR", "GR", "HR", "IS", "IT", "LI", "LT",
    "LU", "ME", "MK", "NL", "NO", "PL", "PT", "RO", "RS", "SE", "SI", "SK",
];
/// Countries whose addresses have the town, the state and the postcode on one line.
const STATE_AND_POSTCODE: [&str; 3] = ["AU", "CA", "US"];

/// The facts by which the printed forms of one record differ.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PrintedRecord {
    /// The kind of document.
    pub kind: BillKind,
    /// Its number; `None` before it is issued.
    pub number: Option<String>,
    /// The record's id.
    pub record: i64,
    /// Its sums.
    pub totals: print::Totals,
}

/// Returns the printed form of an agreement that is [filled](crate::Live::fill). It has no mark, day to pay or payments.
pub fn print_agreement(business: &Business, agreement: &Agreement, printed: PrintedRecord) -> Bill {
    let PrintedRecord {
        kind,
        number,
        record,
        totals,
    } = printed;
    let home = business.country;
    let bill_to = agreement.bill_to.as_ref();
    let bill_from = agreement.bill_from.as_ref();
    Bill {
        kind,
        language: Language::of(business.settings.language.as_deref().unwrap_or_default()),
        country: home,
        currency: agreement.currency,
        number,
        record,
        mark: None,
        date: agreement.date,
        due_date: None,
        reference: agreement.reference.to_string(),
        issuer: bill_from
            .map(|party| print_legal_party(party, home))
            .unwrap_or_default(),
        recipient: bill_to.map(|party| print_party(party, home)).unwrap_or_default(),
        bank: bill_from.and_then(|party| print_bank(&party.bank)),
        lines: agreement.lines.iter().map(print_line).collect(),
        part_exchanges: agreement.part_exchanges.iter().map(print_part_exchange).collect(),
        totals,
        payments: Vec::new(),
        terms: agreement.terms.to_string(),
        distance: agreement.distance.then_some(Distance {
            cancel_until: agreement.cancel_until,
        }),
    }
}

/// Returns a contact as a document of a business in the country `home` prints it.
pub fn print_party(party: &Party, home: Country) -> print::Party {
    let Party {
        name,
        company,
        address,
        vat,
    } = party;
    print::Party {
        name: name.clone(),
        company: company.clone(),
        address: address_lines(address, home),
        vat_number: vat.clone(),
        ..print::Party::default()
    }
}

/// Returns the business as its documents print it.
pub fn print_legal_party(party: &LegalParty, home: Country) -> print::Party {
    let LegalParty {
        name,
        address,
        vat,
        phone,
        company_number,
        fca_number,
        bank: _,
    } = party;
    print::Party {
        name: name.clone(),
        company: String::new(),
        address: address_lines(address, home),
        phone: phone.clone(),
        company_number: company_number.clone(),
        vat_number: vat.clone(),
        fca_number: fca_number.clone(),
    }
}

/// Returns the lines of an address in the order of its country, which is named if it is not `home`.
fn address_lines(address: &PartyAddress, home: Country) -> Vec<String> {
    let PartyAddress {
        line1,
        line2,
        line3,
        city,
        state,
        country,
        zip,
    } = address;
    let code = country.unwrap_or(home);
    let code = code.code();
    let joined = |parts: &[&String]| -> String {
        let parts = parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join(" ")
    };
    let mut lines: Vec<String> = [line1, line2, line3].map(|line| joined(&[line])).into();
    if POSTCODE_FIRST.contains(&code) {
        lines.extend([joined(&[zip, city]), joined(&[state])]);
    } else if STATE_AND_POSTCODE.contains(&code) {
        lines.push(joined(&[city, state, zip]));
    } else {
        lines.extend([city, state, zip].map(|line| joined(&[line])));
    }
    lines.retain(|line| !line.is_empty());
    // A country alone is no address.
    if code != home.code() && !lines.is_empty() {
        lines.push(code.to_owned());
    }
    lines
}

/// Returns a bank account as it is printed; `None` if nothing of it is known.
pub fn print_bank(bank: &BankAccount) -> Option<print::Bank> {
    let BankAccount {
        account_name,
        sort_code,
        account_number,
        iban,
        bic,
    } = bank.clone();
    (bank != &BankAccount::default()).then_some(print::Bank {
        account_name,
        sort_code,
        account_number,
        iban,
        bic,
    })
}

/// Returns a line as it is printed. Only a margin line shows the vehicle's number in the stock book, as the scheme demands.
pub fn print_line(line: &BillLine) -> print::BillLine {
    print::BillLine {
        description: line.description.to_string(),
        quantity: u32::try_from(line.quantity).unwrap_or(1),
        stock_number: line.stock_number.filter(|_| line.vat_scheme == VatScheme::Margin),
        gross: line.gross,
        tax: line_tax(line.vat_scheme, line.vat_rate, line.net, line.vat),
    }
}

/// Returns the lines of a credit note as they are printed. `lines` are those of the document that it credits, which an earlier
/// release credited only as a whole, without lines in the note.
pub fn print_note_lines(noted: &[NoteLine], lines: &[BillLine]) -> Vec<print::BillLine> {
    if noted.is_empty() {
        return lines.iter().map(print_line).collect();
    }
    let printed = noted.iter().map(|note| {
        let credited = lines.iter().find(|line| line.id == note.line);
        print::BillLine {
            description: note.description.to_string(),
            quantity: 1,
            stock_number: credited.and_then(|line| print_line(line).stock_number),
            gross: note.gross,
            tax: line_tax(note.vat_scheme, note.vat_rate, note.net, note.vat),
        }
    });
    printed.collect()
}

const fn line_tax(scheme: VatScheme, rate: VatRate, net: Money, vat: Money) -> LineTax {
    match scheme {
        VatScheme::Standard => LineTax::Charged {
            rate: Rate::from_hundredths(rate.hundredths()),
            net,
            vat,
        },
        VatScheme::Zero | VatScheme::Exempt => LineTax::Untaxed,
        VatScheme::Outside => LineTax::Outside,
        VatScheme::Margin => LineTax::Margin,
    }
}

/// Returns a vehicle given in part exchange as it is printed.
pub fn print_part_exchange(exchange: &PartExchange) -> print::PartExchange {
    let named = [&exchange.make, &exchange.model, &exchange.registration];
    let words: Vec<&str> = named
        .iter()
        .map(|word| word.trim())
        .filter(|word| !word.is_empty())
        .collect();
    let description = match exchange.registration.trim() {
        "" => [&words[..], &[exchange.vin.trim()]].concat(),
        _ => words,
    };
    print::PartExchange {
        description: description.join(" ").trim_end().to_owned(),
        allowance: exchange.allowance,
        settlement: exchange.settlement,
    }
}

/// Returns payments as they are printed.
pub fn print_payments(payments: &[Payment]) -> Vec<print::Payment> {
    let printed = payments.iter().map(|payment| print::Payment {
        date: payment.date,
        method: payment.method.name().to_owned(),
        amount: payment.amount,
        reference: payment.reference.to_string(),
    });
    printed.collect()
}

/// Returns the sums of an invoice or a purchase as they are printed.
pub const fn print_totals(totals: &Totals) -> print::Totals {
    print::Totals {
        net: totals.net,
        vat: totals.vat,
        gross: totals.gross,
        balance: Balance::Due {
            paid: totals.paid,
            credited: totals.credited,
            due: totals.due,
            refund_due: totals.refund_due,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(country: Option<&str>) -> PartyAddress {
        PartyAddress {
            line1: "1 High Street".into(),
            line2: " ".into(),
            city: "Leeds".into(),
            state: "WY".into(),
            zip: "LS1 1AA".into(),
            country: country.map(|code| code.parse().unwrap()),
            ..PartyAddress::default()
        }
    }

    #[test]
    fn an_address_has_the_order_of_its_country() {
        for (country, lines) in [
            (None, &["1 High Street", "Leeds", "WY", "LS1 1AA"] as &[&str]),
            (Some("GB"), &["1 High Street", "Leeds", "WY", "LS1 1AA"]),
            (Some("IE"), &["1 High Street", "Leeds", "WY", "LS1 1AA", "IE"]),
            (Some("DE"), &["1 High Street", "LS1 1AA Leeds", "WY", "DE"]),
            (Some("US"), &["1 High Street", "Leeds WY LS1 1AA", "US"]),
        ] {
            assert_eq!(address_lines(&address(country), Country::GB), lines, "{country:?}");
        }
        let unknown = PartyAddress {
            country: Some("FR".parse().unwrap()),
            ..PartyAddress::default()
        };
        assert_eq!(address_lines(&unknown, Country::GB), [""; 0]);
    }

    #[test]
    fn a_bank_account_is_printed_if_there_is_one() {
        assert_eq!(print_bank(&BankAccount::default()), None);
        let bank = BankAccount {
            iban: "GB82WEST12345698765432".into(),
            ..BankAccount::default()
        };
        assert_eq!(print_bank(&bank).unwrap().iban, bank.iban);
    }
}
