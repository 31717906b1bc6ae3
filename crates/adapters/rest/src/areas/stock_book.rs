//! The stock book and the VAT figures over HTTP (areas §10.6, §10.7).

use forecourt_billing::VatScheme;
use forecourt_kernel::{Date, ListName, ValidationErrors, VehicleId, View};
use forecourt_listings::write_csv_row;
use forecourt_stock_book::{
    self as stock_book, CSV_HEADER, StockBookError, StockBookFilter, StockEntryView, StockStatus, VatFigures,
    VatPeriod, csv_row,
};
use futures_util::stream::try_unfold;
use tokio::task::yield_now;

use crate::{
    areas::Area,
    call::Call,
    code::{Code, codes},
    error::ApiError,
    list::{ListRequest, PageEnvelope, RecordSize},
    operation::{Declared, Operation, operations},
    parameters::{FieldsParameter, PageParameters, Truth, filters, parameters},
    reply::{self, Answer, Envelope, Reply},
    schemas::DayRange,
};

pub(super) const AREA: Area = Area {
    tag: "stock-book",
    about: "The stock book that the margin scheme for second-hand goods demands, and the VAT figures of a period",
    operations,
    codes: CODES,
    records: &[],
};

const LIST: ListName = ListName::new("stock-book");

/// The media type of the stock book as a file.
const CSV: &str = "text/csv";

/// The number of entries that are read at once for the file.
const AT_ONCE: u32 = 250;

codes! {
    CODES;
    STOCK_BOOK_ENTRY_NOT_FOUND = NOT_FOUND, "stock_book_entry_not_found" {
        meaning: "The stock book of the business has no such number.",
        cause: "The number is wrong, or has not been drawn yet.",
        remedy: "Look the entry up with `GET /2.0/stock-book`, for example by `vehicle`.",
    }
}

fn operations() -> Declared<Vec<Operation>> {
    Ok(operations![
        self::<__path_list_stock_book> list_stock_book { alternative: Some(CSV) },
        self::<__path_read_stock_book_entry> read_stock_book_entry,
        self::<__path_read_vat_figures> read_vat_figures,
    ])
}

/// List the stock book
///
/// Newest number first. It has every vehicle that was acquired or is on an issued sale invoice. It follows from purchases, invoices
/// and vehicles, and cannot be edited. With `Accept: text/csv` the answer is a file of all entries that pass the filters, oldest
/// number first.
#[utoipa::path(get, path = "/2.0/stock-book", tag = "stock-book", security(("bearer" = ["stock-book:read"])),
    params(FilterParameters, PageParameters, FieldsParameter),
    responses((status = 200, description = "A page of the stock book, or the whole of it", content(
            (PageEnvelope<StockEntryView<'static>> = "application/json"), (String = "text/csv")))))]
async fn list_stock_book(call: Call) -> Result<Answer, ApiError> {
    let mut query = call.query();
    let list = call.own_list(LIST);
    let filter = FilterParameters::read(&mut query, &call.caller);
    let list = ListRequest {
        list,
        page: query.page(list, 1),
        view: View::Full,
        fields: query.fields(),
    };
    let (filter, list) = query.finish((filter, list))?;
    if call.wants_alternative {
        return whole_book(call, filter).await;
    }
    list.answer(
        call,
        RecordSize::Small,
        async move |session, call, page| session.stock_entries(call.caller.business_id(), &filter, page).await,
        |item, entry| item.show(&StockEntryView::from(entry)),
    )
    .await
}

/// Returns the entries that pass `filter` as a file, which is written as they are read.
async fn whole_book(call: Call, filter: StockBookFilter) -> Result<Answer, ApiError> {
    let parts = try_unfold(Some((call, filter, None)), async |state| {
        let Some((call, filter, after)) = state else {
            return Ok(None);
        };
        let mut body = Vec::new();
        if after.is_none() {
            write_csv_row(&CSV_HEADER, &mut body);
        } else {
            // A read that does not have to wait does not yield to other tasks.
            yield_now().await;
        }
        let mut session = call.read().await?;
        let entries = session
            .stock_entries_after(call.caller.business_id(), &filter, after.unwrap_or_default(), AT_ONCE)
            .await?;
        drop(session);
        for entry in &entries {
            write_csv_row(&csv_row(entry), &mut body);
        }
        let is_last = entries.len() < AT_ONCE as usize;
        let next = entries.last().filter(|_| !is_last).map(|entry| Some(entry.number));
        Ok::<_, ApiError>(Some((body, next.map(|after| (call, filter, after)))))
    });
    let answer = reply::in_parts(parts).await?;
    Ok(answer.typed(CSV).named("stock-book.csv"))
}

/// Read an entry of the stock book
#[utoipa::path(get, path = "/2.0/stock-book/{number}", tag = "stock-book", security(("bearer" = ["stock-book:read"])),
    params(NumberParameter, FieldsParameter),
    responses((status = 200, description = "The entry", body = Envelope<StockEntryView<'static>>),
        (status = 404, description = "`stock_book_entry_not_found`")))]
async fn read_stock_book_entry(call: Call) -> Result<Reply, ApiError> {
    let fields = call.fields()?;
    let number: i64 = call.id(Code::STOCK_BOOK_ENTRY_NOT_FOUND)?;
    let mut session = call.read().await?;
    let entry = stock_book::read_entry(session.as_mut(), call.caller.business_id(), number).await?;
    drop(session);
    let reply = Reply::projected(&StockEntryView::from(&entry), fields.as_ref())?;
    Ok(match fields {
        None => call.known_by_content(reply),
        Some(_) => reply,
    })
}

/// Read the VAT figures of a period
///
/// The sums of invoices, credit notes, purchases and their credits by the days of the documents, without drafts, cancelled
/// documents and finance invoices; and the tax on margins. These are figures for the accountant, and no return.
#[utoipa::path(get, path = "/2.0/reports/vat", tag = "stock-book", security(("bearer" = ["stock-book:read"])),
    params(PeriodParameters, FieldsParameter),
    responses((status = 200, description = "The figures", body = Envelope<VatFigures>)))]
async fn read_vat_figures(call: Call) -> Result<Reply, ApiError> {
    let mut query = call.query();
    let fields = query.fields();
    let from: Option<Date> = query.required("from", str::parse);
    let to: Option<Date> = query.required("to", str::parse);
    // A period with a fault is none.
    let period = from.zip(to).map(|(from, to)| VatPeriod::new(from, to));
    let period = query.finish(period)?.transpose()?;
    let Some(period) = period else {
        return Err(ValidationErrors::one("from", "is required").into());
    };
    let mut session = call.read().await?;
    let figures = stock_book::vat_figures(session.as_mut(), &call.caller.business, period).await?;
    drop(session);
    Reply::projected(&figures, fields.as_ref())
}

impl From<StockBookError> for ApiError {
    fn from(error: StockBookError) -> Self {
        match error {
            StockBookError::NotFound(_) => Self::new(
                Code::STOCK_BOOK_ENTRY_NOT_FOUND,
                "the stock book of this business has no such number",
            ),
            StockBookError::Store(error) => error.into(),
        }
    }
}

parameters! {
    path NumberParameter;

    /// Number in the stock book.
    number: i64;
}

parameters! {
    query PeriodParameters;

    /// The first day; required.
    from: Date;
    /// The last day, at most 399 days later; required.
    to: Date;
}

filters! {
    FilterParameters => StockBookFilter;

    /// In this state.
    status: StockStatus;
    /// Under this VAT scheme.
    vat_scheme: VatScheme;
    /// Of this vehicle.
    vehicle: VehicleId;
    /// true: with nothing missing; false: all others.
    complete: Truth;
    /// Bought on a day between these two, both included; an empty one leaves that end open.
    purchase_date: DayRange;
    /// Sold on a day between these two, both included; an empty one leaves that end open.
    sale_date: DayRange;
}
