//! Fuzzing finds parsers that fail and parsers that take too long.

use std::{cell::Cell, rc::Rc, time::Duration};

use forecourt_kernel::testing::fuzz::{Fuzz, Stopwatch};

const FUZZ: Fuzz<'_> = Fuzz {
    corpus: &[b"(1,2)"],
    tokens: &[b"(", b")", b"#,"],
    max_bytes: 2_000,
};

/// A stopwatch that advances by a second with each reading.
fn ticking() -> Stopwatch {
    let looks = Rc::new(Cell::new(0));
    let elapsed = move || {
        looks.set(looks.get() + 1);
        Duration::from_secs(looks.get())
    };
    Stopwatch::new(elapsed, Some("3000"))
}

#[test]
fn texts_are_bounded_and_come_again() {
    for number in 0..2_000 {
        let text = FUZZ.text(number);
        assert!(text.len() <= FUZZ.max_bytes);
        assert_eq!(text, FUZZ.text(number));
    }
    let texts = |holds: fn(&str) -> bool| {
        let texts = (0..2_000).map(|number| String::from_utf8_lossy(&FUZZ.text(number)).into_owned());
        texts.filter(|text| holds(text)).count()
    };
    assert!(
        texts(|text| text.contains("((((((((((((((((((((")) > 10,
        "some are deep"
    );
    assert!(
        texts(|text| text.contains("0,1,2,3,4,5,6,7,8,9,10,")) > 10,
        "some are long"
    );
}

#[test]
fn a_proof_ends_with_its_time() {
    let mut texts = 0;
    FUZZ.run(&ticking(), |_| texts += 1);
    // Each text takes two readings, and there is one more before it.
    assert!((900..=1_100).contains(&texts), "{texts}");
}

#[test]
#[should_panic(expected = "took 1s")]
fn a_parser_that_takes_long_is_found() {
    ticking().within(Duration::from_millis(999), b"x", &mut |_| {});
}

#[test]
#[should_panic(expected = "no digit")]
fn a_parser_that_panics_is_found() {
    FUZZ.run(&ticking(), |text| {
        assert!(!text.contains(&b'7'), "no digit 7 is expected");
    });
}
