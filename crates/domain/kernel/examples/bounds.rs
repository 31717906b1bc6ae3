//! Prints the table of bounds that `docs/security.md` shows; `cargo xtask codegen` puts it there.

#![expect(clippy::print_stdout, reason = "the table is what this program is for")]

use forecourt_kernel::bounds::BOUNDS;

fn main() {
    println!("| what | at most |\n| --- | --- |");
    for bound in BOUNDS {
        println!("| {} | {} {} |", bound.what, grouped(bound.limit), bound.unit);
    }
}

/// `number` with a comma between thousands.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}
