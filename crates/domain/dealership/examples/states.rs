//! Prints `docs/states.md`, diagrams of the tables of transitions; `cargo xtask codegen` writes the file.

#![expect(clippy::print_stdout, reason = "the page is what this program is for")]

use forecourt_invoices::InvoiceStatus;
use forecourt_reference::StockType;
use forecourt_vehicles::{Trigger, VehicleStatus};

fn main() {
    println!("# What leads from state to state\n");
    println!("Written by `cargo xtask codegen` from the tables in the code; what has no arrow is refused.");
    for kinds in [
        &[StockType::InStock, StockType::ToOrder][..],
        &[StockType::Appraisal],
        &[StockType::Customer],
        &[StockType::Courtesy],
    ] {
        let names: Vec<_> = kinds.iter().map(|kind| format!("`{}`", kind.slug())).collect();
        println!("\n## Vehicles: {}\n", names.join(" and "));
        vehicles(kinds[0]);
    }
    println!("\nA vehicle is deleted from any state.\n\n## Invoices\n");
    invoices();
}

fn vehicles(kind: StockType) {
    let moves = forecourt_vehicles::MOVES.iter().filter(|row| row.kinds.contains(&kind));
    let arrows = moves.map(|row| (row.from.name(), row.to.name(), cause(row.trigger)));
    draw(VehicleStatus::initial(kind).name(), arrows);
}

fn invoices() {
    let arrows = forecourt_invoices::MOVES.iter().map(|row| {
        let cause = match row.trigger {
            forecourt_invoices::Trigger::Issue => "issue",
            forecourt_invoices::Trigger::Pay => "pay the last of it",
            forecourt_invoices::Trigger::Cancel => "cancel",
            forecourt_invoices::Trigger::Credit => "credit the last of it",
            forecourt_invoices::Trigger::Reopen => "take a payment back",
        };
        (row.from.name(), row.to.name(), cause)
    });
    draw(InvoiceStatus::Draft.name(), arrows);
}

const fn cause(trigger: Trigger) -> &'static str {
    match trigger {
        Trigger::Publish => "publish on a channel",
        Trigger::Set(_) => "set the status",
        Trigger::Reserve => "reserve",
        Trigger::CancelReservation => "cancel the reservation",
        Trigger::Sell => "sell",
        Trigger::UndoSale | Trigger::UndoSaleOfReserved => "undo the sale",
        Trigger::HandOver => "hand over",
        Trigger::Offer => "make an offer",
        Trigger::Accept => "accept the offer",
        Trigger::Reject => "reject the offer",
        Trigger::Delete => "delete",
    }
}

/// Draws transitions from state to state, each with its cause, in Mermaid's notation.
fn draw(initial: &str, arrows: impl Iterator<Item = (&'static str, &'static str, &'static str)>) {
    // Ids in Mermaid have neither spaces nor dashes.
    let id = |name: &str| name.replace([' ', '-'], "_");
    println!("```mermaid\nstateDiagram-v2");
    let mut named = vec![initial];
    println!("    [*] --> {}", id(initial));
    for (from, to, cause) in arrows {
        named.extend([from, to]);
        println!("    {} --> {}: {cause}", id(from), id(to));
    }
    named.sort_unstable();
    named.dedup();
    for name in named.into_iter().filter(|name| id(name) != **name) {
        println!("    {}: {name}", id(name));
    }
    println!("```");
}
