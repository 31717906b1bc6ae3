//! Credits of a document's lines (areas §10.2, "Credit").

use std::collections::BTreeSet;

use forecourt_kernel::{Field, FromJson, InvalidValue, Line, Money, ValidationErrors, from_object};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Amount, BillLine, VatRate, VatScheme, VatSplit, negative, part_exchange::taken, sum};

/// A line to be credited, as callers send it.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = CreditLineBody))]
pub struct CreditLineChanges {
    /// Number of the line.
    #[cfg_attr(feature = "openapi", schema(value_type = i64, required))]
    #[serde(default)]
    pub line: Field<i64>,
    /// The amount to credit, tax included: of the line's sign, and not 0.
    #[cfg_attr(feature = "openapi", schema(value_type = Amount, required))]
    #[serde(default)]
    pub gross: Field<Amount>,
}

impl FromJson for CreditLineChanges {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        from_object(value)
    }
}

/// A part of a line to be credited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CreditLine {
    /// Number of the line.
    pub line: i64,
    /// The amount to credit, tax included.
    pub gross: Money,
}

impl CreditLine {
    /// Reads the lines of a credit.
    ///
    /// # Errors
    /// Their faults, each with the path from the list.
    pub fn read(sent: Vec<CreditLineChanges>) -> Result<Vec<Self>, InvalidValue> {
        let mut read = Vec::with_capacity(sent.len());
        let mut faults = InvalidValue::default();
        for (at, CreditLineChanges { line, gross }) in sent.into_iter().enumerate() {
            let mut wrong = InvalidValue::default();
            for (name, missing) in [("line", is_missing(&line)), ("gross", is_missing(&gross))] {
                if missing {
                    wrong.add_within(name, InvalidValue::here("is required"));
                }
            }
            let line = taken("line", line, &mut wrong);
            let gross = taken("gross", gross, &mut wrong);
            read.extend(line.zip(gross).map(|(line, Amount(gross))| Self { line, gross }));
            faults.add_within(&at.to_string(), wrong);
        }
        if faults.is_empty() { Ok(read) } else { Err(faults) }
    }
}

const fn is_missing<T>(field: &Field<T>) -> bool {
    matches!(field, Field::Absent | Field::Null)
}

/// A line of a credit note.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = CreditNoteLine))]
pub struct NoteLine {
    /// Number of the credited line.
    pub line: i64,
    /// Its description.
    pub description: Line,
    /// Its VAT scheme.
    pub vat_scheme: VatScheme,
    /// Its VAT rate.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "20.00"))]
    pub vat_rate: VatRate,
    /// The credited amount without tax.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "416.67"))]
    pub net: Money,
    /// The credited tax.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "83.33"))]
    pub vat: Money,
    /// The credited amount with tax.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "500.00"))]
    pub gross: Money,
}

/// The reasons why lines cannot be credited.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CreditError {
    /// The request is not valid (`validation_failed`).
    #[error("{0}")]
    Invalid(ValidationErrors),
    /// More would be credited than remains (`credit_cap_exceeded`).
    #[error("at most {creditable} can be credited")]
    CapExceeded {
        /// The number of the line; `None` if it is the whole that does not remain.
        line: Option<i64>,
        /// The amount that remains.
        creditable: Money,
    },
}

/// Credits parts of `lines`, or all that remains of them if `wanted` is `None`. Returns the lines of the credit note; nothing is
/// credited on an error. `noted` are the lines of the credit notes before.
///
/// The tax of a part is split as the line's. The note that credits the last of a line takes what is left of its tax.
///
/// # Errors
/// [`CreditError`].
pub fn credit_lines(
    lines: &mut [BillLine],
    noted: &[&NoteLine],
    wanted: Option<&[CreditLine]>,
) -> Result<Vec<NoteLine>, CreditError> {
    let wanted = match wanted {
        Some(wanted) => {
            validate(lines, wanted)?;
            wanted.to_vec()
        }
        None => remainders(lines),
    };
    let note: Vec<NoteLine> = wanted
        .iter()
        .filter_map(|part| {
            let line = lines.iter().find(|line| line.id == part.line)?;
            Some(note_line(line, part.gross, noted))
        })
        .collect();
    for part in &wanted {
        if let Some(line) = lines.iter_mut().find(|line| line.id == part.line) {
            line.credited = sum([line.credited, part.gross]);
        }
    }
    Ok(note)
}

fn remainders(lines: &[BillLine]) -> Vec<CreditLine> {
    let rest = |line: &BillLine| CreditLine {
        line: line.id,
        gross: line.creditable(),
    };
    lines
        .iter()
        .map(rest)
        .filter(|part| part.gross != Money::ZERO)
        .collect()
}

fn validate(lines: &[BillLine], wanted: &[CreditLine]) -> Result<(), CreditError> {
    let mut faults = ValidationErrors::new();
    let mut named = BTreeSet::new();
    if wanted.is_empty() {
        faults.add("lines", "must not be empty");
    }
    for (at, part) in wanted.iter().enumerate() {
        let found = lines.iter().find(|line| line.id == part.line);
        match found {
            None => faults.add(format!("lines.{at}.line"), "names no line of this document"),
            Some(_) if !named.insert(part.line) => faults.add(format!("lines.{at}.line"), "is named twice"),
            Some(line) if part.gross.minor().signum() != line.gross.minor().signum() || part.gross == Money::ZERO => {
                faults.add(
                    format!("lines.{at}.gross"),
                    "must have the sign of the line, and must not be 0",
                );
            }
            Some(_) => {}
        }
    }
    faults.into_result(()).map_err(CreditError::Invalid)?;
    for part in wanted {
        let creditable = lines
            .iter()
            .find(|line| line.id == part.line)
            .map_or(Money::ZERO, BillLine::creditable);
        if part.gross.minor().abs() > creditable.minor().abs() {
            return Err(CreditError::CapExceeded {
                line: Some(part.line),
                creditable,
            });
        }
    }
    let together = sum(wanted.iter().map(|part| part.gross));
    if together < Money::ZERO {
        let errors = ValidationErrors::one("lines", "must not add up to less than 0");
        return Err(CreditError::Invalid(errors));
    }
    let creditable = sum(lines.iter().map(BillLine::creditable));
    if together > creditable {
        return Err(CreditError::CapExceeded { line: None, creditable });
    }
    Ok(())
}

fn note_line(line: &BillLine, gross: Money, noted: &[&NoteLine]) -> NoteLine {
    let VatSplit { net, vat } = if gross == line.creditable() {
        let before = |amount: fn(&NoteLine) -> Money| {
            sum(noted
                .iter()
                .filter(|note| note.line == line.id)
                .map(|note| amount(note)))
        };
        VatSplit {
            net: sum([line.net, negative(before(|note| note.net))]),
            vat: sum([line.vat, negative(before(|note| note.vat))]),
        }
    } else {
        line.vat_rate.split(gross)
    };
    NoteLine {
        line: line.id,
        description: line.description.clone(),
        vat_scheme: line.vat_scheme,
        vat_rate: line.vat_rate,
        net,
        vat,
        gross,
    }
}
