//! The help pages of the error codes, `/docs/errors/<code>`: their meanings and remedies. Every error names its page in
//! `details.help`.

use crate::code::{Code, Help};

/// The addresses of the pages.
#[derive(Clone, Debug)]
pub(crate) struct HelpPages {
    base: String,
}

impl HelpPages {
    /// Makes the addresses for a server that is reached at `public_url`.
    pub(crate) fn new(public_url: &str) -> Self {
        Self {
            base: format!("{}/docs/errors/", public_url.trim_end_matches('/')),
        }
    }

    /// Returns the address of the page of a code.
    pub(crate) fn of(&self, code: Code) -> String {
        format!("{}{}", self.base, code.as_str())
    }
}

const STYLE: &str = "\
:root{color-scheme:light dark}\
body{font:1rem/1.5 system-ui,sans-serif;max-width:44rem;margin:2rem auto;padding:0 1rem}\
code{font-family:ui-monospace,monospace}\
p code,li code,td code{overflow-wrap:anywhere}\
pre{overflow-x:auto;padding:.75rem;background:#8882;border-radius:.25rem;font-size:.85rem}\
h1 code{overflow-wrap:anywhere}\
table{border-collapse:collapse;width:100%}\
th,td{text-align:left;padding:.35rem .75rem .35rem 0;border-bottom:1px solid #8886;vertical-align:top;overflow-wrap:anywhere}";

/// Returns the page of a code, as HTML.
pub(crate) fn page(code: Code) -> String {
    let Help { meaning, cause, remedy } = code.help();
    let (name, status) = (code.as_str(), code.status());
    let body = format!(
        "<nav><a href=\"../errors\">All error codes</a></nav>\n\
         <h1><code>{name}</code></h1>\n<p>{meaning}</p>\n\
         <h2>Status</h2>\n<p>{status}</p>\n<h2>Cause</h2>\n<p>{cause}</p>\n<h2>Remedy</h2>\n<p>{remedy}</p>",
        meaning = escaped(meaning),
        cause = escaped(cause),
        remedy = escaped(remedy),
    );
    document(name, &body)
}

/// Returns a list of codes, as HTML.
pub(crate) fn index(codes: impl Iterator<Item = Code>) -> String {
    let row = |code: Code| {
        format!(
            "<tr><td><a href=\"errors/{name}\"><code>{name}</code></a></td><td>{status}</td><td>{meaning}</td></tr>\n",
            name = code.as_str(),
            status = code.status().as_u16(),
            meaning = escaped(code.help().meaning),
        )
    };
    let rows: String = codes.map(row).collect();
    let body = format!(
        "<nav><a href=\"../docs\">API reference</a></nav>\n<h1>Error codes</h1>\n\
         <p>An error is <code>{{\"success\": false, \"error\": {{\"code\", \"message\", \"details\"}}}}</code>. Branch on the \
         status and the code, which are stable within version 2; the message is for people and may change.</p>\n\
         <table>\n<tr><th>Code</th><th>Status</th><th>Meaning</th></tr>\n{rows}</table>"
    );
    document("Error codes", &body)
}

/// Returns a page with this body, both of HTML.
pub(crate) fn document(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title} · Forecourt</title>\n<link rel=\"icon\" href=\"data:,\">\n\
         <style>{STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )
}

/// Returns plain text as HTML, in which `` `code` `` is highlighted.
fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let mut html = String::with_capacity(text.len());
    for (at, part) in text.split('`').enumerate() {
        if at > 0 {
            html.push_str(if at % 2 == 1 { "<code>" } else { "</code>" });
        }
        html.push_str(part);
    }
    html
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::areas;

    #[test]
    fn every_code_has_a_page_of_its_own() {
        let index = index(areas::codes());
        for code in areas::codes() {
            let Help { meaning, cause, remedy } = code.help();
            assert!(
                [meaning, cause, remedy].iter().all(|text| text.ends_with('.')),
                "{code:?}"
            );
            assert!(
                [meaning, cause, remedy]
                    .iter()
                    .all(|text| text.matches('`').count() % 2 == 0),
                "{code:?}"
            );
            let page = page(code);
            assert!(page.contains(code.as_str()) && page.contains(&code.status().as_u16().to_string()));
            assert!(index.contains(&format!("\"errors/{}\"", code.as_str())));
        }
    }

    #[test]
    fn text_is_escaped() {
        assert_eq!(escaped("`a <b>` & c"), "<code>a &lt;b&gt;</code> &amp; c");
    }

    #[test]
    fn an_address_has_one_slash_between_its_parts() {
        for url in ["https://api.example/base", "https://api.example/base/"] {
            let address = HelpPages::new(url).of(Code::RATE_LIMITED);
            assert_eq!(address, "https://api.example/base/docs/errors/rate_limited");
        }
    }
}
