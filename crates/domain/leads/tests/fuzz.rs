//! Any document that a caller sends is read or refused in bounded time.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "what a parser takes is measured by the clock, for as long as the environment says"
)]

use std::time::Duration;

use forecourt_kernel::{
    Country,
    bounds::MAX_ADF_BYTES,
    stopwatch,
    testing::fuzz::{Fuzz, MAX_TIME},
};
use forecourt_leads::read_adf;
use roxmltree::Document;

const CORPUS: &[&[u8]] = &[
    br#"<?xml version="1.0"?><?adf version="1.0"?><adf><prospect><id>AM-7</id><requestdate>2026-01-01</requestdate>
        <vehicle interest="buy"><stock>A-17</stock><vin>WVWZZZ1KZ6W000001</vin><make>Ford</make><comments>red</comments></vehicle>
        <vehicle interest="trade-in"><year>2015</year></vehicle><customer><contact primarycontact="1"><name part="first">Ann</name>
        <name part="last">Lee</name><email>ann@example.com</email><phone type="cellphone">07700 900123</phone></contact>
        <comments>Is it &lt;there&gt;?</comments></customer><provider><name part="full">AutoMart</name></provider></prospect></adf>"#,
    b"<prospect/>",
    b"<?xml version='1.0' encoding='ISO-8859-1'?><prospect><id>\xe9</id></prospect>",
    b"\xef\xbb\xbf<a:adf xmlns:a='urn:a'><a:prospect/></a:adf>",
    br#"<!DOCTYPE adf [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><adf><prospect><id>&b;</id></prospect></adf>"#,
];

const TOKENS: &[&[u8]] = &[
    b"<x>",
    b"</x>",
    b"<x/>",
    b"<x",
    b">",
    b"/>",
    b"<",
    b"\"",
    b"'",
    b" a#='#'",
    b" xmlns:n#='urn:#'",
    b"<x xmlns:n#='urn:#'>",
    b"<x xmlns='urn:#'>",
    b"<n#:x>",
    b"<!--",
    b"-->",
    b"<![CDATA[",
    b"]]>",
    b"<?p ",
    b"?>",
    b"<!DOCTYPE a [",
    b"<!ENTITY e# '&e#;'>",
    b"&e#;",
    b"&amp;",
    b"&#;",
    b"&",
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b" ",
    b"\n",
    b"<prospect>",
    b"</prospect>",
    b"<contact>",
    b"<phone>0#</phone>",
    b"<phone type='fax'>",
    b"<vehicle>",
    b"</vehicle>",
    b"<comments>",
    b"</comments>",
    b"<name part='full'>",
];

fn read(document: &[u8]) {
    let _ = read_adf(document, Country::GB);
}

#[test]
fn prove_fuzz_adf() {
    let fuzz = Fuzz {
        corpus: CORPUS,
        tokens: TOKENS,
        max_bytes: MAX_ADF_BYTES,
    };
    fuzz.run(&stopwatch!(), read);
}

/// A document for which a parser's work grows with the cube of `levels`.
fn nested(levels: usize) -> Vec<u8> {
    let open: String = (0..levels).map(|at| format!("<x xmlns:n{at}='urn:{at}'>")).collect();
    format!("<prospect>{open}{}</prospect>", "</x>".repeat(levels)).into_bytes()
}

#[test]
fn prove_fuzz_adf_reads_no_more_than_its_bounds() {
    stopwatch!().within(MAX_TIME, &nested(5_000), &mut read);
}

/// Shows that the test can fail: here the document is parsed without being measured first.
#[test]
#[should_panic(expected = "took")]
fn prove_fuzz_adf_finds_what_is_cubic() {
    stopwatch!().within(Duration::from_millis(50), &nested(600), &mut |document| {
        let text = str::from_utf8(document).expect("it is text");
        assert!(Document::parse(text).is_ok());
    });
}
