-- The stock book. The column id is the number in the book; an entry is its document, and the other columns are what lists filter by.
-- Days are the epoch seconds of their midnight in UTC.
CREATE TABLE stock_book (
    business_id   INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    id            INTEGER NOT NULL,
    vehicle       INTEGER NOT NULL,
    status        TEXT    NOT NULL,
    vat_scheme    TEXT    NOT NULL,
    complete      INTEGER NOT NULL,
    purchase_date INTEGER,
    sale_date     INTEGER,
    document      TEXT    NOT NULL,
    PRIMARY KEY (business_id, id)
) STRICT, WITHOUT ROWID;

CREATE INDEX stock_book_list ON stock_book (business_id, id, status, vat_scheme, complete, purchase_date, sale_date);
CREATE INDEX stock_book_vehicle ON stock_book (business_id, vehicle, id);

-- The lines of issued documents and their credits, added up by what VAT figures tell apart. Amounts are minor units, rates
-- hundredths of a percent; stock_number is 0 for lines of no vehicle in the stock book.
CREATE TABLE vat_lines (
    business_id  INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    kind         TEXT    NOT NULL,
    document     INTEGER NOT NULL,
    vat_scheme   TEXT    NOT NULL,
    vat_rate     INTEGER NOT NULL,
    stock_number INTEGER NOT NULL,
    date         INTEGER NOT NULL,
    net          INTEGER NOT NULL,
    vat          INTEGER NOT NULL,
    gross        INTEGER NOT NULL,
    PRIMARY KEY (business_id, kind, document, vat_scheme, vat_rate, stock_number)
) STRICT, WITHOUT ROWID;

CREATE INDEX vat_lines_date ON vat_lines (business_id, date, stock_number, net, vat, gross);
CREATE INDEX vat_lines_stock ON vat_lines (business_id, stock_number, date, gross);
