//! Just enough of Rust's grammar to find which paths a source file names.
//!
//! Searching the text would take comments and strings for code and be blind to `use std::{env, fs}`. A full parser would
//! be more crates to compile before anything else than this module has lines to read.

/// A path that a file names: `std::fs::read`, also where it is spread over a `use` with braces.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mention<'a> {
    pub(super) segments: Vec<&'a str>,
    /// Where its last segment stands.
    pub(super) line: usize,
}

/// What a source file says outside its tests.
pub(super) struct Source<'a> {
    pub(super) mentions: Vec<Mention<'a>>,
    /// Modules that are declared for tests only, and whose files are therefore tests.
    pub(super) test_modules: Vec<&'a str>,
}

impl<'a> Source<'a> {
    pub(super) fn read(text: &'a str) -> Self {
        let (tokens, test_modules) = without_tests(&Lexer { rest: text, line: 1 }.collect::<Vec<_>>());
        Self {
            mentions: mentions(&tokens),
            test_modules,
        }
    }
}

/// A word, `::`, or one character of punctuation. Comments and lifetimes are nothing, literals are [`LITERAL`].
#[derive(Clone, Copy)]
struct Token<'a> {
    text: &'a str,
    line: usize,
}

impl Token<'_> {
    fn is_word(&self) -> bool {
        self.text.starts_with(is_word_character)
    }
}

const LITERAL: &str = "\"\"";

fn is_word_character(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

struct Lexer<'a> {
    rest: &'a str,
    line: usize,
}

impl<'a> Lexer<'a> {
    /// Takes this many bytes and counts their lines.
    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, ""));
        self.rest = rest;
        self.line += taken.matches('\n').count();
        taken
    }

    /// Takes everything up to and with `end`, or all there is.
    fn take_through(&mut self, end: &str) {
        let length = self.rest.find(end).map_or(self.rest.len(), |at| at + end.len());
        self.take(length);
    }

    fn skip_block_comment(&mut self) {
        let mut depth = 0_usize;
        while !self.rest.is_empty() {
            if self.rest.starts_with("/*") {
                depth += 1;
                self.take(2);
            } else if self.rest.starts_with("*/") {
                depth -= 1;
                self.take(2);
                if depth == 0 {
                    return;
                }
            } else {
                self.take(self.rest.chars().next().map_or(1, char::len_utf8));
            }
        }
    }

    /// Takes a literal with escapes, whose opening quote comes next.
    fn skip_quoted(&mut self, quote: char) {
        let mut escaped = false;
        let end = self.rest.char_indices().skip(1).find(|(_, c)| {
            let ends = !escaped && *c == quote;
            escaped = !escaped && *c == '\\';
            ends
        });
        self.take(end.map_or(self.rest.len(), |(at, _)| at + 1));
    }

    /// Takes a raw string's rest, `#"…"#` with any number of `#`, if that is what comes next.
    fn skip_raw_string(&mut self) -> bool {
        let hashes = self.rest.len() - self.rest.trim_start_matches('#').len();
        if !self.rest[hashes..].starts_with('"') {
            return false;
        }
        self.take(hashes + 1);
        self.take_through(&format!("\"{}", "#".repeat(hashes)));
        true
    }

    /// Whether a `'` starts a character and not a lifetime.
    fn at_character(&self) -> bool {
        let mut following = self.rest.chars().skip(1);
        following.next() == Some('\\') || following.next() == Some('\'')
    }
}

impl<'a> Iterator for Lexer<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        loop {
            let first = self.rest.chars().next()?;
            let line = self.line;
            let token = |text| Some(Token { text, line });
            let length_while =
                |rest: &str, wanted: fn(char) -> bool| rest.len() - rest.trim_start_matches(wanted).len();
            if first.is_whitespace() {
                self.take(length_while(self.rest, char::is_whitespace));
            } else if self.rest.starts_with("//") {
                self.take_through("\n");
            } else if self.rest.starts_with("/*") {
                self.skip_block_comment();
            } else if first == '"' {
                self.skip_quoted('"');
                return token(LITERAL);
            } else if first == '\'' {
                if self.at_character() {
                    self.skip_quoted('\'');
                    return token(LITERAL);
                }
                self.take(1);
                self.take(length_while(self.rest, is_word_character));
            } else if is_word_character(first) {
                let word = self.take(length_while(self.rest, is_word_character));
                let raw = matches!(word, "r" | "br" | "cr");
                if raw && self.skip_raw_string() {
                    return token(LITERAL);
                }
                // `r#type` is the word `type`.
                if !(word == "r" && self.rest.starts_with('#')) {
                    return token(word);
                }
                self.take(1);
            } else if self.rest.starts_with("::") {
                return token(self.take(2));
            } else {
                return token(self.take(first.len_utf8()));
            }
        }
    }
}

/// Leaves out every item that is compiled for tests only, and names those that are modules in files of their own.
fn without_tests<'a>(tokens: &[Token<'a>]) -> (Vec<Token<'a>>, Vec<&'a str>) {
    let (mut kept, mut test_modules) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < tokens.len() {
        let Some(end) = attribute_end(tokens, at) else {
            kept.push(tokens[at]);
            at += 1;
            continue;
        };
        if !is_test_attribute(&tokens[at..end]) {
            kept.extend_from_slice(&tokens[at..end]);
            at = end;
            continue;
        }
        at = end;
        while let Some(end) = attribute_end(tokens, at) {
            at = end;
        }
        let item = &tokens[at..item_end(tokens, at)];
        if let [.., module, name, semicolon] = item
            && module.text == "mod"
            && semicolon.text == ";"
        {
            test_modules.push(name.text);
        }
        at += item.len();
    }
    (kept, test_modules)
}

/// If an attribute starts here, where it ends.
fn attribute_end(tokens: &[Token<'_>], at: usize) -> Option<usize> {
    let [hash, bracket, ..] = tokens.get(at..)? else {
        return None;
    };
    (hash.text == "#" && bracket.text == "[").then(|| group_end(tokens, at + 1))
}

/// Where the bracket that opens here is closed.
fn group_end(tokens: &[Token<'_>], at: usize) -> usize {
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate().skip(at) {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return index + 1;
        }
    }
    tokens.len()
}

/// `#[test]`, `#[cfg(test)]`, and `#[cfg(all(test, …))]`; not `any`, which other builds may have too.
fn is_test_attribute(attribute: &[Token<'_>]) -> bool {
    let words: Vec<&str> = attribute.iter().map(|token| token.text).collect();
    matches!(
        words[..],
        ["#", "[", "test", "]"]
            | ["#", "[", "cfg", "(", "test", ")", "]"]
            | ["#", "[", "cfg", "(", "all", "(", "test", ",", ..]
    )
}

/// Where the item that starts here ends: after its semicolon or its body. A field, variant or arm ends at its comma; an
/// item may have commas between its type parameters.
fn item_end(tokens: &[Token<'_>], start: usize) -> usize {
    const KEYWORDS: &[&str] = &[
        "async",
        "const",
        "enum",
        "extern",
        "fn",
        "impl",
        "let",
        "macro_rules",
        "mod",
        "static",
        "struct",
        "trait",
        "type",
        "union",
        "unsafe",
        "use",
    ];
    let mut at = start;
    if tokens.get(at).is_some_and(|token| token.text == "pub") {
        at += 1;
        if tokens.get(at).is_some_and(|token| token.text == "(") {
            at = group_end(tokens, at);
        }
    }
    let is_item = tokens.get(at).is_some_and(|token| KEYWORDS.contains(&token.text));
    while let Some(token) = tokens.get(at) {
        match token.text {
            ";" => return at + 1,
            "," if !is_item => return at + 1,
            // What surrounds the field or arm ends here.
            ")" | "]" | "}" => return at,
            "{" if is_item || at == start => return group_end(tokens, at),
            "(" | "[" | "{" => at = group_end(tokens, at),
            _ => at += 1,
        }
    }
    at
}

fn mentions<'a>(tokens: &[Token<'a>]) -> Vec<Mention<'a>> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at].text == "use" {
            at = use_tree(tokens, at + 1, &[], &mut found);
        } else if tokens[at].is_word() {
            at = path(tokens, at, &mut found);
        } else {
            at += 1;
        }
    }
    found
}

/// Reads a path, and notes it if it has more than one segment.
fn path<'a>(tokens: &[Token<'a>], start: usize, found: &mut Vec<Mention<'a>>) -> usize {
    let mut segments = vec![tokens[start].text];
    let mut at = start + 1;
    while let Some([separator, segment]) = tokens.get(at..at + 2)
        && separator.text == "::"
        && segment.is_word()
    {
        segments.push(segment.text);
        at += 2;
    }
    if segments.len() > 1 {
        found.push(Mention {
            segments,
            line: tokens[at - 1].line,
        });
    }
    at
}

/// Reads one branch of a `use`, notes the paths at its ends, and answers where it stops.
fn use_tree<'a>(tokens: &[Token<'a>], start: usize, prefix: &[&'a str], found: &mut Vec<Mention<'a>>) -> usize {
    let mut segments = prefix.to_vec();
    let mut line = None;
    let mut at = start;
    while let Some(token) = tokens.get(at) {
        match token.text {
            "::" => {}
            "{" => {
                loop {
                    at = use_tree(tokens, at + 1, &segments, found);
                    if tokens.get(at).is_none_or(|token| token.text != ",") {
                        break;
                    }
                }
                return at + 1;
            }
            // The name that it gets here does not matter.
            "as" => at += 1,
            word if token.is_word() || word == "*" => {
                segments.push(word);
                line = Some(token.line);
            }
            _ => break,
        }
        at += 1;
    }
    if let Some(line) = line {
        found.push(Mention { segments, line });
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The paths that a text names, each with its line.
    fn paths(text: &str) -> Vec<String> {
        let mentions = Source::read(text).mentions;
        mentions
            .iter()
            .map(|mention| format!("{}@{}", mention.segments.join("::"), mention.line))
            .collect()
    }

    #[test]
    fn paths_are_found_with_their_lines() {
        assert_eq!(
            paths("fn f() {\n    ::std::fs::read(a::b(c));\n}"),
            ["std::fs::read@2", "a::b@2"]
        );
        assert_eq!(paths("Vec::<u8>::new(); x.y; r#mod::z"), ["mod::z@1"]);
        assert_eq!(paths("std::\n    env::var"), ["std::env::var@2"]);
    }

    #[test]
    fn imports_are_spread_out() {
        assert_eq!(paths("use std::fs;"), ["std::fs@1"]);
        assert_eq!(
            paths("pub(crate) use std::{\n    collections::{BTreeMap, HashMap as Map},\n    env,\n};\nuse a::*;\nb::c"),
            [
                "std::collections::BTreeMap@2",
                "std::collections::HashMap@2",
                "std::env@3",
                "a::*@5",
                "b::c@6"
            ]
        );
        assert_eq!(
            paths("use ::std::{env,}; use rand; c::d"),
            ["std::env@1", "rand@1", "c::d@1"]
        );
    }

    #[test]
    fn comments_and_literals_are_no_code() {
        assert_eq!(paths("// a::b\n/* a::b /* a::b */ a::b */ c::d //! e::f"), ["c::d@2"]);
        assert_eq!(
            paths(r##"f("a::b \" a::b", r#"a::b " a::b"#, b"a::b", br"a::b\", c"a::b"); c::d"##),
            ["c::d@1"]
        );
        assert_eq!(paths("\"a\nb\"; c::d"), ["c::d@2"]);
        assert_eq!(paths(r"('\'', '\\', '\u{1F600}', '語', b'x', '\n'); c::d"), ["c::d@1"]);
        assert_eq!(
            paths("fn f<'a>(x: &'a a::B, y: &'static str) -> c::D<'a>"),
            ["a::B@1", "c::D@1"]
        );
    }

    #[test]
    fn what_is_compiled_for_tests_only_is_left_out() {
        assert_eq!(
            paths("#[cfg(test)]\nmod tests { a::b; mod inner { a::b } }\nc::d"),
            ["c::d@3"]
        );
        assert_eq!(
            paths("#[cfg(test)] #[derive(x::Y)] pub(crate) struct S<A, B> { a: a::B } c::d"),
            ["c::d@1"]
        );
        assert_eq!(paths("#[test] fn f<A, B>(x: [u8; 3]) { a::b } c::d"), ["c::d@1"]);
        assert_eq!(paths("#[cfg(all(test, unix))] use a::{b, c}; c::d"), ["c::d@1"]);
        assert_eq!(paths("struct S { #[cfg(test)] pub a: a::B, c: c::D }"), ["c::D@1"]);
        assert_eq!(paths("enum E { #[cfg(test)] A(a::B), C(c::D) }"), ["c::D@1"]);
        assert_eq!(
            paths("enum E { C(c::D), #[cfg(test)] A { a: a::B } } e::f"),
            ["c::D@1", "e::f@1"]
        );
        assert_eq!(
            paths("match x { #[cfg(test)] a::B => a::c(), C => c::d() }"),
            ["c::d@1"]
        );
    }

    #[test]
    fn what_others_may_compile_too_is_kept() {
        assert_eq!(
            paths("#[cfg(any(test, feature = \"mock\"))] mod m { a::b }"),
            ["a::b@1"]
        );
        assert_eq!(paths("#[cfg(not(test))] fn f() { a::b }"), ["a::b@1"]);
        assert_eq!(
            paths("#[expect(clippy::panic, reason = \"x\")] fn f() { a::b }"),
            ["clippy::panic@1", "a::b@1"]
        );
    }

    #[test]
    fn test_modules_in_files_of_their_own_are_named() {
        let text = "#[cfg(test)]\nmod fixture;\nmod real;\n#[cfg(test)]\n#[path = \"x.rs\"]\npub(crate) mod other;";
        assert_eq!(Source::read(text).test_modules, ["fixture", "other"]);
    }

    #[test]
    fn a_text_that_ends_too_early_is_read_to_its_end() {
        for text in [
            "/* a",
            "\"a",
            "r#\"a",
            "'",
            "#[cfg(test",
            "#[cfg(test)]",
            "use a::{b",
            "use",
            "a::",
            "#[cfg(test)] mod",
        ] {
            Source::read(text);
        }
    }
}
