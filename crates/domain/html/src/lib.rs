//! Sanitises the HTML that dealers write into adverts and articles, for use on a public page (decisions §8).
//!
//! ```
//! let advert = r#"<p onclick="x()">One <b>owner</b><script>alert(1)</script>, <a href="https://dvla.example">MOT</a></p>"#;
//! let clean = forecourt_html::sanitize(advert)?;
//! assert_eq!(
//!     clean,
//!     r#"<p>One <b>owner</b>, <a href="https://dvla.example" rel="noopener nofollow ugc">MOT</a></p>"#
//! );
//! # Ok::<(), forecourt_html::TooManyTags>(())
//! ```

mod field;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};

use ammonia::{Builder, Url, UrlRelative};

pub use field::{Html, ImageAddress};

/// The elements that stay. Any other tag is removed and its content stays, except that of [`REMOVED`] elements.
pub const ELEMENTS: &[&str] = &[
    "a",
    "abbr",
    "b",
    "blockquote",
    "br",
    "caption",
    "cite",
    "code",
    "col",
    "colgroup",
    "dd",
    "del",
    "dl",
    "dt",
    "em",
    "figcaption",
    "figure",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "i",
    "img",
    "ins",
    "kbd",
    "li",
    "mark",
    "ol",
    "p",
    "pre",
    "q",
    "s",
    "samp",
    "small",
    "strong",
    "sub",
    "sup",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "tr",
    "u",
    "ul",
];

/// The elements that are removed together with their content.
pub const REMOVED: &[&str] = &[
    "iframe", "noscript", "object", "script", "style", "svg", "template", "title",
];

/// The attributes that stay, by element.
pub const ATTRIBUTES: &[(&str, &[&str])] = &[
    ("a", &["href", "title"]),
    ("abbr", &["title"]),
    ("col", &["span"]),
    ("colgroup", &["span"]),
    ("img", &["alt", "height", "src", "title", "width"]),
    ("ol", &["reversed", "start"]),
    ("td", &["colspan", "rowspan"]),
    ("th", &["colspan", "rowspan", "scope"]),
];

/// The schemes that an address may have. Relative addresses, which have no scheme, stay too.
pub const SCHEMES: &[&str] = &["http", "https"];

/// The `rel` attribute of a link that leaves the site.
pub const LINK_REL: &str = "noopener nofollow ugc";

/// Formatting elements: a parser opens them again in each paragraph until they are closed.
const FORMATTING: &[&str] = &[
    "a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u",
];

/// Formatting elements of which a parser keeps one open: another start tag ends the first.
const AT_MOST_ONE: &[&str] = &["a", "nobr"];

/// Maximum number of elements that a parser may create from a text.
const MAX_ELEMENTS: usize = 400_000;

/// Maximum number of open elements that a parser may inspect: about a second of work.
const MAX_STEPS: usize = 250_000_000;

/// Maximum number of open formatting elements of one name without attributes.
const MAX_PLAIN: usize = 3;

/// Maximum number of times that a text is sanitised until the result no longer changes.
const MAX_ROUNDS: usize = 8;

/// The error for a text whose tags would create too many elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooManyTags;

impl std::fmt::Display for TooManyTags {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("has too many HTML tags")
    }
}

impl std::error::Error for TooManyTags {}

/// Removes everything from `html` that must not be shown on a public page. Sanitising the result again changes nothing.
///
/// # Errors
/// [`TooManyTags`] if parsing the text would take more time or memory than its length justifies.
pub fn sanitize(html: &str) -> Result<String, TooManyTags> {
    if !html.contains(['<', '&', '>', '\0', '\r', '\u{a0}']) {
        return Ok(html.to_owned());
    }
    let mut text = html.to_owned();
    for _ in 0..MAX_ROUNDS {
        if !is_reasonable(&text) {
            return Err(TooManyTags);
        }
        let clean = sanitize_once(&text);
        if clean == text {
            return Ok(clean);
        }
        text = clean;
    }
    // Markup that a parser reads differently each time is shown as text.
    Ok(text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;"))
}

fn sanitize_once(html: &str) -> String {
    // The filter sees the attributes of a link in order, `rel` after `href`.
    let leaves = AtomicBool::new(false);
    let tag_attributes: HashMap<&str, HashSet<&str>> = ATTRIBUTES
        .iter()
        .map(|(element, attributes)| (*element, attributes.iter().copied().collect()))
        .collect();
    let mut builder = Builder::empty();
    builder
        .tags(ELEMENTS.iter().copied().collect())
        .clean_content_tags(REMOVED.iter().copied().collect())
        .tag_attributes(tag_attributes)
        .url_schemes(SCHEMES.iter().copied().collect())
        .url_relative(UrlRelative::PassThrough)
        .link_rel(Some(LINK_REL))
        .strip_comments(true)
        .attribute_filter(move |element, attribute, value| match (element, attribute) {
            ("a", "href") => {
                leaves.store(leaves_the_site(value), Ordering::Relaxed);
                Some(value.into())
            }
            ("a", "rel") => leaves.swap(false, Ordering::Relaxed).then(|| value.into()),
            _ => Some(value.into()),
        });
    builder.clean(html).to_string()
}

/// Returns `true` if a browser that follows the address would leave the site, whatever the site's own address is.
fn leaves_the_site(address: &str) -> bool {
    const HOME: &str = "home.invalid";
    // `https:x.example` is a path on a page of the same scheme, and a host on a page of the other.
    ["http", "https"].into_iter().any(|scheme| {
        let home = Url::parse(&format!("{scheme}://{HOME}/"));
        let target = home.and_then(|home| home.join(address));
        // Browsers may read an address that cannot be resolved in their own way.
        target.map_or(true, |target| target.host_str() != Some(HOME))
    })
}

/// Returns `true` if parsing the text takes no more time and memory than its length justifies.
fn is_reasonable(html: &str) -> bool {
    let (mut starts, mut ends) = (0_usize, 0);
    let mut with_attributes = 0;
    let mut plain = [0; FORMATTING.len()];
    for tag in html.split('<').skip(1) {
        if tag.starts_with('/') {
            ends += 1;
        }
        let name = tag
            .split(|letter: char| !letter.is_ascii_alphanumeric())
            .next()
            .unwrap_or_default();
        if name.is_empty() {
            continue;
        }
        starts += 1;
        if let Some(at) = FORMATTING.iter().position(|known| known.eq_ignore_ascii_case(name)) {
            if tag[name.len()..].starts_with('>') || AT_MOST_ONE.contains(&FORMATTING[at]) {
                plain[at] = MAX_PLAIN.min(plain[at] + 1);
            } else {
                with_attributes += 1;
            }
        }
    }
    let formatting: usize = plain.iter().sum();
    // Each tag can create its own element, and open again all the formatting that is still open.
    let elements = starts.saturating_mul(1 + formatting + with_attributes);
    // Each tag can be compared with every element that is still open.
    let steps = starts.saturating_mul(starts + ends);
    elements <= MAX_ELEMENTS && steps <= MAX_STEPS
}

/// The README, whose example the doc tests run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn cleaned(html: &str) -> String {
        let clean = sanitize(html).unwrap();
        assert_eq!(sanitize(&clean).unwrap(), clean, "sanitising twice is sanitising once");
        clean
    }

    #[test]
    fn a_long_article_is_not_too_much() {
        for html in [
            "<p>See <a href=\"/a\">this</a> and <b>that</b></p>".repeat(3000),
            "<tr><td>Ford</td><td>12,000</td></tr>".repeat(3000),
        ] {
            assert!(sanitize(&html).is_ok());
        }
        for html in [
            "<ul><li>".repeat(12_000),
            "<b>".repeat(9_000) + &"</i>".repeat(40_000),
            "<i title=x>".repeat(500) + &"<p>".repeat(2_000),
        ] {
            assert_eq!(sanitize(&html), Err(TooManyTags));
        }
    }

    #[test]
    fn what_is_allowed_stays() {
        for html in [
            "",
            "One owner, full history",
            "<h1>A</h1><h2>B</h2><h3>C</h3><h4>D</h4><h5>E</h5><h6>F</h6>",
            "<p>One<br>two</p><hr><p>three</p>",
            "<ul><li>a</li></ul><ol start=\"3\"><li>b</li></ol><dl><dt>c</dt><dd>d</dd></dl>",
            "<blockquote><p>a</p></blockquote><p><q>b</q></p>",
            "<p><em>a</em><strong>b</strong><b>c</b><i>d</i><u>e</u><s>f</s><small>g</small><sub>h</sub><sup>i</sup></p>",
            "<pre><code>let a = 1 &lt; 2;</code></pre>",
            "<table><caption>t</caption><thead><tr><th scope=\"col\">a</th></tr></thead><tbody><tr><td colspan=\"2\">b</td></tr></tbody></table>",
            "<figure><img src=\"https://a.example/b.jpg\" alt=\"c\" width=\"1\" height=\"2\"><figcaption>d</figcaption></figure>",
            "<img src=\"/photos/1.jpg\" alt=\"\">",
            "<a href=\"/finance\" title=\"t\">a</a><a href=\"#top\">b</a><a href=\"cars/2?x=1&amp;y=2\">c</a>",
            "Fish &amp; chips &lt;3",
        ] {
            assert_eq!(cleaned(html), html);
        }
    }

    #[test]
    fn what_does_harm_is_removed() {
        for (html, clean) in [
            ("a<script>alert(1)</script>b", "ab"),
            ("<SCRIPT SRC=//x></SCRIPT>", ""),
            ("<style>p{}</style>a", "a"),
            (
                "<p onclick=\"x()\" style=\"color:red\" class=\"a\" id=\"b\">a</p>",
                "<p>a</p>",
            ),
            ("<img src=x onerror=alert(1)>", "<img src=\"x\">"),
            ("<img src=\"data:image/png;base64,AA\">", "<img>"),
            ("<a href=\"javascript:alert(1)\">a</a>", "<a>a</a>"),
            ("<a href=\"jAvA&#x09;script:alert(1)\">a</a>", "<a>a</a>"),
            ("<a href=\" javascript:alert(1)\">a</a>", "<a>a</a>"),
            ("<a href=\"vbscript:x\">a</a>", "<a>a</a>"),
            ("<a href=\"mailto:a@b.example\">a</a>", "<a>a</a>"),
            ("<iframe src=\"https://x\">a</iframe>b", "b"),
            ("<object data=x>a</object><embed src=x>b", "b"),
            (
                "<form action=\"https://x\"><input name=a>b<button>c</button></form>",
                "bc",
            ),
            ("<svg><a xlink:href=\"javascript:x\">b</a></svg>c", "c"),
            ("<!-- a -->b", "b"),
            ("<font color=red>a</font>", "a"),
            ("<meta http-equiv=refresh content=0><base href=//x>a", "a"),
            ("a < b & c", "a &lt; b &amp; c"),
            ("<p>a", "<p>a</p>"),
        ] {
            assert_eq!(cleaned(html), clean, "{html}");
        }
    }

    #[test]
    fn links_that_leave_the_site_say_so() {
        for address in [
            "https://a.example",
            "http://a.example/b",
            "HTTPS://A.example",
            "//a.example/b",
            "\\\\a.example",
            "/\\a.example",
            " //a.example",
            "/\t/a.example",
        ] {
            let clean = cleaned(&format!("<a rel=\"opener\" href=\"{address}\">a</a>"));
            assert!(clean.ends_with(" rel=\"noopener nofollow ugc\">a</a>"), "{clean}");
            assert_eq!(clean.matches("rel=").count(), 1);
        }
        let mixed = "<a href=\"https://a.example\">a</a><a>b</a><a href=\"/c\">c</a><a href=\"//d.example\">d</a>";
        assert_eq!(
            cleaned(mixed),
            "<a href=\"https://a.example\" rel=\"noopener nofollow ugc\">a</a><a>b</a><a href=\"/c\">c</a>\
             <a href=\"//d.example\" rel=\"noopener nofollow ugc\">d</a>"
        );
    }

    #[test]
    fn markup_that_multiplies_is_refused() {
        let distinct: String = (0..900).map(|at| format!("<b q{at}>")).collect();
        let multiplying = format!("{distinct}{}", "<p>x".repeat(2_500));
        assert!(multiplying.len() <= 20_000);
        assert_eq!(sanitize(&multiplying), Err(TooManyTags));
        for modest in ["<b>", "<div>", "<p>x", "<a href=/>", "<table>", "<li>x", "<b><i>", "<"] {
            let html = modest.repeat(20_000 / modest.len());
            if let Ok(clean) = sanitize(&html) {
                assert_eq!(sanitize(&clean), Ok(clean), "{modest}");
            }
        }
    }

    fn markup() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            proptest::sample::select(vec![
                "<p>",
                "</p>",
                "<b>",
                "</b>",
                "<a href=x>",
                "<a href=//y>",
                "</a>",
                "<div>",
                "</div>",
                "<table>",
                "<tr>",
                "<td>",
                "</table>",
                "<ul>",
                "<li>",
                "</ul>",
                "<svg>",
                "<math>",
                "<mtext>",
                "<style>",
                "<title>",
                "<script>",
                "</script>",
                "<button>",
                "<select>",
                "<option>",
                "<noscript>",
                "<template>",
                "<pre>",
                "\n",
                "<textarea>",
                "<!--",
                "-->",
                "<h1>",
                "<object>",
                "<caption>",
                "<form>",
                "<img src=x onerror=y>",
                "&lt;",
                "&amp;",
                "\u{a0}",
                "\r",
                "<frameset>",
                "<body>",
                "<plaintext>",
                "</br>",
                "<image>",
                "<dl>",
                "<dd>",
                "<i title=\"<b>\">",
                "<marquee>",
                "<col>",
                "<xmp>",
            ])
            .prop_map(str::to_owned),
            "[ -~]{0,8}",
        ];
        proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn sanitising_twice_is_sanitising_once(html in markup()) {
            if let Ok(clean) = sanitize(&html) {
                prop_assert_eq!(sanitize(&clean), Ok(clean.clone()));
                let low = clean.to_lowercase();
                prop_assert!(!low.contains("<script") && !low.contains("<svg") && !low.contains("<style"), "{}", clean);
            }
        }
    }
}
