//! Fuzz tests: any file that is imported as a mail is read or refused, and quickly.

use std::time::Duration;

use forecourt_kernel::{
    stopwatch,
    testing::fuzz::{Fuzz, MAX_TIME},
};
use forecourt_mail::read_mail;
use mailparse::parse_mail;

const CORPUS: &[&[u8]] = &[
    b"From: =?utf-8?q?Zo=C3=AB?= Lee <zoe@example.com>\r\nSubject: =?utf-8?b?R29sZg==?= car\r\nMessage-ID: <1@example.com>\r\n\
      Content-Type: multipart/mixed; boundary=\"b0\"\r\n\r\n--b0\r\nContent-Type: multipart/alternative; boundary=b1\r\n\r\n\
      --b1\r\nContent-Type: text/html; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n<p>Is it =C3=AB?</p>=\r\n\r\n\
      --b1\r\nContent-Type: text/plain\r\nContent-Transfer-Encoding: base64\r\n\r\nSXMgaXQgdGhlcmU/\r\n--b1--\r\n\
      --b0\r\nContent-Disposition: attachment; filename*0*=utf-8''a%20b; filename*1=c.jpg\r\n\r\nx\r\n--b0--\r\n",
    b"From: group: a@example.com, b@example.com;\nSubject: x\n y\n\ntext\n",
    b"From: a@example.com\r\nContent-Type: text/html; charset=iso-8859-1\r\n\r\n<style>a</style>\xe9 &amp;",
];

const TOKENS: &[&[u8]] = &[
    b"\r\n",
    b"\n",
    b"\r",
    b"\r\n\r\n",
    b"=?utf-8?q?a?= ",
    b"=?utf-8?b?",
    b"?=",
    b"=?",
    b"From: ",
    b"Subject: ",
    b"Content-Type: ",
    b"To: a\r\n",
    b"Content-Type: multipart/mixed; boundary=b#\r\n\r\n--b#\r\n",
    b"--b0",
    b"--b0\r\n",
    b"--b0--\r\n",
    b"--",
    b"; name*#*=utf-8''a%20",
    b"; a#=b",
    b"\"",
    b"\\",
    b"(",
    b")",
    b"<",
    b">",
    b",",
    b";",
    b":",
    b"@",
    b"=C3=AB",
    b"=\r\n",
    b"<style>",
    b"</style",
    b"<p>",
    b"&amp;",
    b"Content-Transfer-Encoding: base64\r\n",
    b"AAAA",
    b"\0",
    b"\xff",
    b" ",
    b"\t",
    b"a#@example.com, ",
    b"<a#@example.com>",
];

fn read(file: &[u8]) {
    let _ = read_mail(file);
}

#[test]
fn prove_fuzz_mime() {
    let fuzz = Fuzz {
        corpus: CORPUS,
        tokens: TOKENS,
        max_bytes: 1024 * 1024,
    };
    fuzz.run(&stopwatch!(), read);
}

/// Returns a mail with nested parts.
fn nested(levels: usize) -> Vec<u8> {
    let parts = |at| format!("Content-Type: multipart/mixed; boundary=b{at}\r\n\r\n--b{at}\r\n");
    let parts: String = (0..levels).map(parts).collect();
    format!("From: a@example.com\r\n{parts}\r\n").into_bytes()
}

/// Returns a mail whose subject has this number of encoded words.
fn encoded(words: usize) -> Vec<u8> {
    format!(
        "From: a@example.com\r\nSubject: {}\r\n\r\n",
        "=?utf-8?q?a?= ".repeat(words)
    )
    .into_bytes()
}

#[test]
fn prove_fuzz_mime_reads_no_more_than_its_bounds() {
    stopwatch!().within(MAX_TIME, &nested(100_000), &mut read);
    stopwatch!().within(MAX_TIME, &encoded(1_000_000), &mut read);
}

/// Proves that the test can fail: here a header is decoded without a bound on its length.
#[test]
#[should_panic(expected = "took")]
fn prove_fuzz_mime_finds_what_is_quadratic() {
    stopwatch!().within(Duration::from_millis(50), &encoded(3_000), &mut |file| {
        let mail = parse_mail(file).expect("it is a mail");
        assert!(mail.headers.iter().any(|header| header.get_value().len() > 1_000));
    });
}
