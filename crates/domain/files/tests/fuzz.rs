//! Fuzz tests: the metadata of any video is removed or it is refused, and quickly.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "what a parser takes is measured by the clock, for as long as the environment says"
)]

use std::{io::Cursor, time::Duration};

use forecourt_files::forget_places;
use forecourt_kernel::{
    stopwatch,
    testing::fuzz::{Fuzz, MAX_TIME},
};

/// Returns a box of this kind.
fn boxed(kind: &[u8; 4], content: &[&[u8]]) -> Vec<u8> {
    let content = content.concat();
    let length = u32::try_from(content.len() + 8).unwrap_or_default();
    [&length.to_be_bytes(), &kind[..], &content].concat()
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// Returns a track with samples of this handler.
fn track(number: u32, handler: &[u8; 4], offset: u32) -> Vec<u8> {
    let samples = boxed(
        b"stbl",
        &[
            &boxed(b"stsc", &[&words(&[0, 1, 1, 2, 1])]),
            &boxed(b"stsz", &[&words(&[0, 0, 2, 3, 4])]),
            &boxed(b"stco", &[&words(&[0, 1, offset])]),
        ],
    );
    let media = boxed(
        b"mdia",
        &[
            &boxed(b"hdlr", &[&[0; 8], handler, &[0; 12]]),
            &boxed(b"minf", &[&samples]),
        ],
    );
    boxed(b"trak", &[&boxed(b"tkhd", &[&words(&[0, 0, 0, number])]), &media])
}

/// Returns a video with a picture, positions, metadata and fragments.
fn video() -> Vec<u8> {
    let location = boxed(b"udta", &[&boxed(b"\xa9xyz", &[b"\0\x05\x15\xc7+53.8-001.5/"])]);
    let fragment = boxed(
        b"traf",
        &[&boxed(b"tfhd", &[&words(&[0, 2])]), &boxed(b"trun", &[&[0; 8]])],
    );
    [
        boxed(b"ftyp", &[b"mp42\0\0\0\0"]),
        boxed(b"mdat", &[b"picture GPS 53.8"]),
        boxed(
            b"moov",
            &[
                &boxed(b"mvhd", &[&[0; 16]]),
                &track(1, b"vide", 24),
                &track(2, b"gpmd", 32),
                &location,
            ],
        ),
        boxed(b"moof", &[&boxed(b"mfhd", &[&[0; 8]]), &fragment]),
        boxed(b"uuid", &[b"ns.adobe.com"]),
    ]
    .concat()
}

const TOKENS: &[&[u8]] = &[
    b"\0\0\0\x08free",
    b"\0\0\0\x08trak",
    b"\0\0\0\x10moov\0\0\0\x08mvhd",
    b"\0\0\0\0moov",
    b"\0\0\0\x01mdat\xff\xff\xff\xff\xff\xff\xff\xff",
    b"\0\0\0\x01moov\0\0\0\0\0\0\x10\0",
    b"\0\0\x10\0trak\0\0\x0f\0mdia\0\0\x0e\0minf\0\0\x0d\0stbl",
    b"\0\0\0\x18stsc\0\0\0\0\0\0\0\x01\0\0\0\x01\xff\xff\xff\xff",
    b"\0\0\0\x14stsz\0\0\0\0\0\0\0\x01\0\x1e\x84\x80",
    b"\0\0\x01\0stco\0\0\0\0\0\x03\x0d\x40",
    b"co64",
    b"hdlr",
    b"gpmd",
    b"vide",
    b"tkhd",
    b"traf",
    b"tfhd",
    b"udta",
    b"GPS",
    b"Exif",
    b"\0\0\0\0",
    b"\0\0\0\x01",
    b"\xff\xff\xff\xff",
    b"\0",
];

fn clean(file: &[u8]) {
    let mut video = Cursor::new(file.to_vec());
    let _ = forget_places(&mut video);
    assert_eq!(video.get_ref().len(), file.len(), "nothing moves");
}

#[test]
fn the_corpus_is_cleaned() {
    let mut cleaned = Cursor::new(video());
    assert!(forget_places(&mut cleaned).is_ok_and(|changed| changed));
    let cleaned = cleaned.into_inner();
    for gone in [&b"+53.8"[..], b"ns.adobe.com", b"gpmd", b"GPS"] {
        assert!(!cleaned.windows(gone.len()).any(|part| part == gone), "{gone:?}");
    }
    assert!(cleaned.windows(8).any(|part| part == b"picture "));
}

#[test]
fn prove_fuzz_video() {
    let fuzz = Fuzz {
        corpus: &[&video(), b"\0\0\0\x18ftypqt  \0\0\0\0", &track(3, b"soun", 0)],
        tokens: TOKENS,
        max_bytes: 1024 * 1024,
    };
    fuzz.run(&stopwatch!(), clean);
}

/// Returns a video whose boxes nest this deeply.
fn nested(levels: usize) -> Vec<u8> {
    (0..levels).fold(Vec::new(), |inner, _| boxed(b"moov", &[&inner]))
}

#[test]
fn prove_fuzz_video_reads_no_more_than_its_bounds() {
    stopwatch!().within(
        MAX_TIME,
        &boxed(b"moov", &[&b"\0\0\0\x08trak".repeat(1_000_000)]),
        &mut clean,
    );
    stopwatch!().within(MAX_TIME, &nested(5_000), &mut clean);
}

/// Proves that the test can fail: here the rest of the file is searched anew for each box.
#[test]
#[should_panic(expected = "took")]
fn prove_fuzz_video_finds_what_is_quadratic() {
    let file = b"\0\0\0\x08free".repeat(2_000);
    stopwatch!().within(Duration::from_millis(20), &file, &mut |file| {
        let rests = (0..file.len()).step_by(8).map(|at| &file[at..]);
        let found = rests.filter(|rest| rest.windows(4).any(|part| part == b"mark"));
        assert_eq!(found.count(), 0);
    });
}
