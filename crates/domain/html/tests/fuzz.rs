//! Any HTML is either sanitised or refused, within a bounded time, and sanitising the result again changes nothing.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "what a parser takes is measured by the clock, for as long as the environment says"
)]

use std::time::Duration;

use ammonia::clean;
use forecourt_html::sanitize;
use forecourt_kernel::{
    stopwatch,
    testing::fuzz::{Fuzz, MAX_TIME},
};

const CORPUS: &[&[u8]] = &[
    br#"<h2>One owner</h2><p>A <b>clean</b> car, <a href="https://dvla.example/x?a=1&amp;b=2" title="x">MOT</a>.</p><ul><li>a<li>b</ul>"#,
    br#"<table><tr><td colspan="2">a<th scope=row>b</table><img src="/a.jpg" alt='b'><svg><style><!--</style><img src=x onerror=x()></svg>"#,
    b"<math><mtext><table><mglyph><style><!--</style><img title=\"--&gt;&lt;img src=1 onerror=x&gt;\">",
    b"a & b < c > d &lt;b&gt; \r\n \0",
];

const TOKENS: &[&[u8]] = &[
    b"<b>",
    b"</b>",
    b"<b a#>",
    b"<i>",
    b"<a href=#>",
    b"</a>",
    b"<font a#=b>",
    b"<nobr>",
    b"<p>",
    b"</p>",
    b"<div>",
    b"</div>",
    b"<table>",
    b"<tr>",
    b"<td>",
    b"</table>",
    b"<select>",
    b"<option>",
    b"<svg>",
    b"<math>",
    b"<mtext>",
    b"<style>",
    b"</style>",
    b"<title>",
    b"<!--",
    b"-->",
    b"<![CDATA[",
    b"]]>",
    b"<?",
    b"<",
    b">",
    b"\"",
    b"'",
    b"=",
    b"&",
    b"&amp;",
    b"&#;",
    b"&lt;",
    b"\0",
    b" a#='b'",
    b"<template>",
    b"<noscript>",
    b"<form>",
    b"<li>",
    b"<ul>",
    b"<dd>",
    b"<h1>",
    b"<frameset>",
    b"<br>",
    b"\r",
    "\u{a0}".as_bytes(),
    "\u{e9}".as_bytes(),
];

#[test]
fn prove_fuzz_html() {
    let fuzz = Fuzz {
        corpus: CORPUS,
        tokens: TOKENS,
        // The maximum length of an article, in characters.
        max_bytes: 200_000,
    };
    fuzz.run(&stopwatch!(), |text| {
        let text = String::from_utf8_lossy(text);
        if let Ok(clean) = sanitize(&text) {
            assert!(!clean.contains("<script") && !clean.contains("<style") && !clean.contains("<svg"));
            if clean.len() < 10_000 {
                assert_eq!(
                    sanitize(&clean).as_ref(),
                    Ok(&clean),
                    "sanitising twice is sanitising once"
                );
            }
        }
    });
}

/// Markup in which each paragraph opens all formatting again.
fn reopening(tags: usize) -> Vec<u8> {
    let formatting: String = (0..tags).map(|at| format!("<b a{at}>")).collect();
    format!("{formatting}{}", "<p>".repeat(tags)).into_bytes()
}

#[test]
fn prove_fuzz_html_reads_no_more_than_its_bounds() {
    stopwatch!().within(MAX_TIME, &reopening(20_000), &mut |text| {
        assert!(sanitize(&String::from_utf8_lossy(text)).is_err());
    });
}

/// Proves that the test above can fail: this one parses without the bounds.
#[test]
#[should_panic(expected = "took")]
fn prove_fuzz_html_finds_what_is_quadratic() {
    stopwatch!().within(Duration::from_millis(50), &reopening(3_000), &mut |text| {
        assert!(!clean(&String::from_utf8_lossy(text)).is_empty());
    });
}
