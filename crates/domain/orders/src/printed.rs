//! The printed form of an order, and its mail (areas §10.8).

use forecourt_accounts::Business;
use forecourt_billing::{OrderId, OutgoingDocument, PrintedRecord, SendDocument, print_agreement};
use forecourt_kernel::Target;
use forecourt_print::{Balance, Bill, BillKind, Mark, Totals};

use crate::{Order, OrderError, OrderReader, OrderStatus, OrderTotals, read_order, show_order};

/// Returns the heading of a business's orders, such as Order, Quote or Proposal.
fn order_title(business: &Business) -> String {
    business.settings.order_title().to_owned()
}

/// Returns the printed form of an order that is [shown](show_order).
pub fn bill_of_order(order: &Order, business: &Business) -> Bill {
    let content = &order.content;
    let OrderTotals {
        net,
        vat,
        gross,
        part_exchange,
        deposit,
        payable,
    } = content.totals();
    let printed = PrintedRecord {
        kind: BillKind::Order {
            title: order_title(business),
            valid_until: content.valid_until,
        },
        number: order.number.map(|number| number.to_string()),
        record: order.id.get(),
        totals: Totals {
            net,
            vat,
            gross,
            balance: Balance::Payable {
                part_exchange,
                deposit,
                payable,
            },
        },
    };
    Bill {
        mark: match content.status {
            OrderStatus::Draft => Some(Mark::Draft),
            OrderStatus::Cancelled => Some(Mark::Cancelled),
            OrderStatus::Issued | OrderStatus::Converted => None,
        },
        ..print_agreement(business, &content.agreement, printed)
    }
}

/// Returns an order as it is mailed. Nothing changes.
///
/// # Errors
/// [`OrderError::NotFound`], then [`OrderError::VersionMismatch`], then [`OrderError::InvalidStatus`] of a draft or a cancelled
/// order, then [`OrderError::Invalid`] without an address; [`OrderError::Store`].
pub async fn prepare_order_mail(
    store: &mut dyn OrderReader,
    business: &Business,
    id: impl Into<Target<OrderId>>,
    request: &SendDocument,
) -> Result<OutgoingDocument, OrderError> {
    let Target { id, precondition } = id.into();
    let order = read_order(store, business.id, id).await?;
    precondition.check(order.version)?;
    if let status @ (OrderStatus::Draft | OrderStatus::Cancelled) = order.content.status {
        return Err(OrderError::InvalidStatus(status));
    }
    let order = show_order(store, business, &order).await?;
    let bill = bill_of_order(&order, business);
    let customer = order.content.agreement.customer;
    Ok(OutgoingDocument::address(store, business.id, bill, customer, request).await??)
}
