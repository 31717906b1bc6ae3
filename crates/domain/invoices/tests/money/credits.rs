//! Credits in part and in full, to the penny.

use forecourt_billing::{CreditLine, sum};
use forecourt_invoices::{
    Credit, Invoice, InvoiceError, InvoiceId, InvoiceNumber, InvoiceStatus, RaiseDeposit, TransitionError,
    credit_invoice, raise_deposit, testing::a_deposit, transfer_deposit,
};
use forecourt_kernel::{EventName, Money};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    JANE, Store, a_service, by, clock, drafted, faults, happened, issued, line, money, names, pay, read, refuses, store,
};

fn of(lines: &[(i64, i64)]) -> Credit {
    let lines = lines.iter().map(|&(line, minor)| CreditLine {
        line,
        gross: money(minor),
    });
    Credit {
        reason: line("Returned"),
        date: None,
        lines: Some(lines.collect()),
    }
}

async fn credit(store: &mut Store, id: InvoiceId, command: Credit) -> Result<Invoice, InvoiceError> {
    credit_invoice(store, &clock(), &by(), id, command).await
}

/// Three lines: 100.00 with tax, 50.00 without, and 30.00 less.
fn of_three_lines() -> Value {
    json!({"customer": JANE, "lines": [
        {"type": "product", "description": "Service", "gross": 100},
        {"type": "product", "description": "MOT", "gross": 50, "vat_scheme": "exempt"},
        {"type": "adjustment", "description": "Goodwill", "gross": -30},
    ]})
}

#[tokio::test]
async fn a_part_is_split_as_its_line_and_the_last_part_takes_the_rest() {
    let mut store = store();
    let invoice = issued(&mut store, of_three_lines()).await;
    names(&mut store);
    let credited = credit(&mut store, invoice.id, of(&[(1, 3_334)])).await.unwrap();
    assert_eq!(credited.content.status, InvoiceStatus::Issued);
    let note = serde_json::to_value(&credited.content.credit_notes[0]).unwrap();
    assert_eq!(
        note,
        json!({
            "number": "CN-1", "date": "2026-03-01", "reason": "Returned", "net": "27.78", "vat": "5.56",
            "gross": "33.34",
            "lines": [{
                "line": 1, "description": "Service", "vat_scheme": "standard", "vat_rate": "20.00", "net": "27.78",
                "vat": "5.56", "gross": "33.34",
            }],
        })
    );
    let [(name, _, members)] = <[_; 1]>::try_from(happened(&mut store)).unwrap();
    assert_eq!(name, EventName::InvoiceCredited);
    assert_eq!(members, ["totals", "lines", "credit_notes", "version"]);
    credit(&mut store, invoice.id, of(&[(1, 3_334)])).await.unwrap();
    // 16.67 of tax less twice 5.56: a split by itself would be 5.55.
    let rest = credit(&mut store, invoice.id, of(&[(1, 3_332)])).await.unwrap();
    let note = rest.content.credit_notes.last().unwrap();
    assert_eq!(
        (note.net, note.vat, note.number.to_string()),
        (money(2_777), money(555), "CN-3".to_owned())
    );
}

#[tokio::test]
async fn without_lines_all_that_remains_is_credited() {
    let mut store = store();
    let invoice = issued(&mut store, of_three_lines()).await;
    pay(&mut store, invoice.id, None).await.unwrap();
    credit(&mut store, invoice.id, of(&[(2, 1_000), (3, -500)]))
        .await
        .unwrap();
    names(&mut store);
    let credited = credit(&mut store, invoice.id, Credit::default()).await.unwrap();
    assert_eq!(credited.content.status, InvoiceStatus::Credited);
    let [(name, _, members)] = <[_; 1]>::try_from(happened(&mut store)).unwrap();
    assert_eq!(name, EventName::InvoiceCredited);
    assert_eq!(members, ["status", "totals", "lines", "credit_notes", "version"]);
    let note = credited.content.credit_notes.last().unwrap();
    let parts: Vec<_> = note.lines.iter().map(|part| (part.line, part.gross)).collect();
    assert_eq!(parts, [(1, money(10_000)), (2, money(4_000)), (3, money(-2_500))]);
    let totals = credited.content.totals();
    assert_eq!(
        (totals.credited, totals.due, totals.refund_due),
        (money(12_000), money(0), money(12_000))
    );
    assert!(
        credited
            .content
            .agreement
            .lines
            .iter()
            .all(|line| line.creditable() == Money::ZERO)
    );
    refuses!(
        store,
        credit(&mut store, invoice.id, Credit::default()).await,
        InvoiceError::Transition(TransitionError::FullyCredited)
    );
}

#[tokio::test]
async fn a_credit_of_a_part_can_make_it_paid() {
    let mut store = store();
    let invoice = issued(&mut store, of_three_lines()).await;
    pay(&mut store, invoice.id, Some(7_000)).await.unwrap();
    names(&mut store);
    let paid = credit(&mut store, invoice.id, of(&[(2, 5_000)])).await.unwrap();
    assert_eq!(
        (paid.content.status, paid.content.totals().due),
        (InvoiceStatus::Paid, money(0))
    );
    let events = happened(&mut store);
    assert_eq!(
        (events[0].0, events[1].0, events.len()),
        (EventName::InvoiceCredited, EventName::InvoicePaid, 2)
    );
    assert_eq!(events[1].2, ["status", "version"], "the credit before showed the rest");
    // A paid one stays paid.
    let further = credit(&mut store, invoice.id, of(&[(1, 1)])).await.unwrap();
    assert_eq!(
        (further.content.status, further.content.totals().refund_due),
        (InvoiceStatus::Paid, money(1))
    );
}

#[tokio::test]
async fn what_is_wrong_with_a_credit_is_named() {
    let mut store = store();
    let draft = drafted(&mut store, of_three_lines()).await.unwrap();
    let invoice = issued(&mut store, of_three_lines()).await;
    refuses!(
        store,
        credit(&mut store, draft.id, Credit::default()).await,
        InvoiceError::Transition(TransitionError::NotIssued)
    );
    for (lines, fields) in [
        (vec![], vec!["lines"]),
        (vec![(4, 1)], vec!["lines.0.line"]),
        (vec![(1, 1), (1, 1)], vec!["lines.1.line"]),
        (vec![(1, 0)], vec!["lines.0.gross"]),
        (vec![(1, -1)], vec!["lines.0.gross"]),
        (vec![(3, 1)], vec!["lines.0.gross"]),
        (vec![(0, 1), (2, 1), (3, 0)], vec!["lines.0.line", "lines.2.gross"]),
        (vec![(2, 1), (3, -2)], vec!["lines"]),
    ] {
        assert_eq!(
            faults(credit(&mut store, invoice.id, of(&lines)).await),
            fields,
            "{lines:?}"
        );
    }
    for (lines, line, creditable) in [
        (vec![(1, 10_001)], Some(1), 10_000),
        (vec![(1, 100), (2, 5_001)], Some(2), 5_000),
        (vec![(1, 10_000), (3, -3_001)], Some(3), -3_000),
        // Each line has it, but not all together: 30.00 less are not taken back.
        (vec![(1, 10_000), (2, 2_001)], None, 12_000),
    ] {
        let refused = credit(&mut store, invoice.id, of(&lines)).await;
        let Err(InvoiceError::CapExceeded {
            line: named,
            creditable: rest,
        }) = refused
        else {
            panic!("{lines:?}: {refused:?}")
        };
        assert_eq!((named, rest), (line, money(creditable)), "{lines:?}");
    }
    assert_eq!(read(&mut store, invoice.id).await, invoice, "nothing is credited");
    let first = credit(&mut store, invoice.id, of(&[(1, 1)])).await.unwrap();
    assert_eq!(
        first.content.credit_notes[0].number.to_string(),
        "CN-1",
        "no number is lost"
    );
}

#[tokio::test]
async fn an_invoice_of_nothing_is_credited_once() {
    let mut store = store();
    let free = json!({"customer": JANE, "lines": [{"type": "product", "description": "Check", "gross": 0}]});
    let invoice = issued(&mut store, free).await;
    let credited = credit(&mut store, invoice.id, Credit::default()).await.unwrap();
    assert_eq!(credited.content.status, InvoiceStatus::Credited);
}

#[tokio::test]
async fn a_deposit_moves_to_the_invoice_of_the_sale() {
    let mut store = store();
    let business = by().business;
    let deposit = raise_deposit(&mut store, &clock(), &business, a_deposit(9_900))
        .await
        .unwrap();
    names(&mut store);
    let number = InvoiceNumber::new(12);
    let moved = transfer_deposit(&mut store, &clock(), &business, deposit.id, number)
        .await
        .unwrap();
    let moved = serde_json::to_value(moved).unwrap();
    assert_eq!(
        (
            &moved["type"],
            &moved["method"],
            &moved["amount"],
            &moved["reference"],
            &moved["date"]
        ),
        (
            &json!("transfer"),
            &json!("Card"),
            &json!("99.00"),
            &json!("INV-1"),
            &json!("2026-09-21")
        )
    );
    let credited = read(&mut store, deposit.id).await;
    assert_eq!(credited.content.status, InvoiceStatus::Credited);
    assert_eq!(
        credited.content.credit_notes[0].reason.as_str(),
        "Transferred to INV-12"
    );
    let totals = credited.content.totals();
    assert_eq!(
        (totals.paid, totals.due, totals.refund_due),
        (money(0), money(0), money(0))
    );
    let left = serde_json::to_value(credited.content.payments.last()).unwrap();
    assert_eq!(
        (&left["id"], &left["amount"], &left["reference"]),
        (&json!(2), &json!("-99.00"), &json!("INV-12"))
    );
    assert_eq!(names(&mut store), [EventName::InvoiceCredited]);
    let again = transfer_deposit(&mut store, &clock(), &business, deposit.id, number)
        .await
        .unwrap();
    assert_eq!((again, names(&mut store)), (None, vec![]), "it no longer stands");

    let unpaid = RaiseDeposit {
        method: None,
        ..a_deposit(9_900)
    };
    let unpaid = raise_deposit(&mut store, &clock(), &business, unpaid).await.unwrap();
    let moved = transfer_deposit(&mut store, &clock(), &business, unpaid.id, number)
        .await
        .unwrap();
    assert_eq!(moved, None, "nothing was paid on it");
    assert_eq!(
        read(&mut store, unpaid.id).await.content.status,
        InvoiceStatus::Credited
    );
}

#[tokio::test]
async fn crediting_changes_no_draft_of_the_same_customer() {
    let mut store = store();
    let draft = drafted(&mut store, a_service()).await.unwrap();
    let invoice = issued(&mut store, a_service()).await;
    credit(&mut store, invoice.id, Credit::default()).await.unwrap();
    assert_eq!(read(&mut store, draft.id).await, draft);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// However a line is credited, its notes add up to it: net, tax and gross.
    #[test]
    fn credits_add_up_to_the_penny(
        grosses in prop::collection::vec(1_i64..1_000_000, 1..5),
        hundredths in prop::sample::select(vec![0_u32, 250, 810, 2_000, 2_550, 10_000]),
        parts in prop::collection::vec((any::<prop::sample::Index>(), 0.0_f64..1.0), 0..12),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut store = store();
            let rate = f64::from(hundredths) / 100.0;
            let amount = |minor: i64| -> Value {
                let text = format!("{}.{:02}", minor / 100, minor % 100);
                serde_json::from_str(&text).unwrap()
            };
            let lines: Vec<_> = grosses.iter().map(|&gross| json!({
                "type": "product", "description": "Part", "gross": amount(gross), "vat_rate": rate,
            })).collect();
            let invoice = issued(&mut store, json!({"customer": JANE, "lines": lines})).await;
            for (which, share) in parts {
                let stored = read(&mut store, invoice.id).await;
                let line = &stored.content.agreement.lines[which.index(grosses.len())];
                #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "any part will do")]
                let part = (line.creditable().minor() as f64 * share) as i64;
                if part > 0 {
                    credit(&mut store, invoice.id, of(&[(line.id, part)])).await.unwrap();
                }
            }
            let credited = credit(&mut store, invoice.id, Credit::default()).await.unwrap();
            assert_eq!(credited.content.status, InvoiceStatus::Credited);
            let notes = &credited.content.credit_notes;
            for line in &credited.content.agreement.lines {
                let of_line = || notes.iter().flat_map(|note| &note.lines).filter(|part| part.line == line.id);
                assert_eq!(line.credited, line.gross);
                assert_eq!(sum(of_line().map(|part| part.net)), line.net);
                assert_eq!(sum(of_line().map(|part| part.vat)), line.vat);
                assert_eq!(sum(of_line().map(|part| part.gross)), line.gross);
            }
            for note in notes {
                assert_eq!(sum([note.net, note.vat]), note.gross);
            }
            for (note, number) in notes.iter().zip(1..) {
                assert_eq!(note.number.get(), number);
            }
        });
    }
}
