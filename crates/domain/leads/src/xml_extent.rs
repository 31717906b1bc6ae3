//! The size of an XML document, measured before it is parsed.

/// The amount of work for a parser of a document, apart from reading its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct XmlExtent {
    /// The nesting depth of elements, counting the outermost.
    pub(crate) depth: usize,
    /// The number of elements.
    pub(crate) elements: usize,
    /// The largest number of attributes of an element, counting declarations of namespaces.
    pub(crate) attributes: usize,
    /// The number of namespace declarations.
    pub(crate) namespaces: usize,
}

impl XmlExtent {
    /// Measures a document in one pass. If it is not well-formed, the result covers at least the part that a parser reads before
    /// it finds out.
    pub(crate) fn of(document: &str) -> Self {
        let mut extent = Self::default();
        let mut depth = 0_usize;
        let mut rest = document;
        while let Some((_, tag)) = rest.split_once('<') {
            if let Some(comment) = tag.strip_prefix("!--") {
                rest = after(comment, "-->");
            } else if let Some(text) = tag.strip_prefix("![CDATA[") {
                rest = after(text, "]]>");
            } else if let Some(instruction) = tag.strip_prefix('?') {
                rest = after(instruction, "?>");
            } else if let Some(end) = tag.strip_prefix('/') {
                depth = depth.saturating_sub(1);
                rest = end;
            } else if tag.starts_with('!') {
                rest = tag;
            } else {
                extent.elements += 1;
                extent.depth = extent.depth.max(depth + 1);
                let is_open;
                (is_open, rest) = extent.read_start_tag(tag);
                depth += usize::from(is_open);
            }
        }
        extent
    }

    /// Measures the text after the `<` of a start tag. Returns `true` if the element has content, and the text after the tag.
    fn read_start_tag<'t>(&mut self, tag: &'t str) -> (bool, &'t str) {
        let mut attributes = 0;
        let mut rest = tag;
        let outcome = loop {
            let Some(at) = rest.find(['"', '\'', '>']) else {
                break (true, "");
            };
            let (before, found) = rest.split_at(at);
            let mut found = found.chars();
            match found.next() {
                Some(quote @ ('"' | '\'')) => {
                    attributes += 1;
                    let name = before.trim_end().trim_end_matches('=').split_whitespace().next_back();
                    let is_namespace = |name: &str| name == "xmlns" || name.starts_with("xmlns:");
                    self.namespaces += usize::from(name.is_some_and(is_namespace));
                    // Within quotes a `>` does not end the tag.
                    rest = found.as_str().split_once(quote).map_or("", |(_, rest)| rest);
                }
                _ => break (!before.ends_with('/'), found.as_str()),
            }
        };
        self.attributes = self.attributes.max(attributes);
        outcome
    }
}

/// Returns the text after the first `end`; empty if there is none.
fn after<'t>(text: &'t str, end: &str) -> &'t str {
    text.split_once(end).map_or("", |(_, rest)| rest)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use roxmltree::Document;

    use super::*;

    fn extent(depth: usize, elements: usize, attributes: usize, namespaces: usize) -> XmlExtent {
        XmlExtent {
            depth,
            elements,
            attributes,
            namespaces,
        }
    }

    #[test]
    fn what_is_no_markup_is_not_measured() {
        for (document, expected) in [
            ("", extent(0, 0, 0, 0)),
            ("<a/>", extent(1, 1, 0, 0)),
            ("<a><b></b><c ></c ></a>", extent(2, 3, 0, 0)),
            ("<a><!-- <b><c> --><d/></a>", extent(2, 2, 0, 0)),
            ("<a><!-- <b - > -- <c> --></a><d/>", extent(1, 2, 0, 0)),
            ("<a><![CDATA[<b><c>]] ]>]]><d/></a>", extent(2, 2, 0, 0)),
            ("<?xml version='1.0'?><?adf <b> ?><a/>", extent(1, 1, 0, 0)),
            ("<a b='<c>' d=\"'/>\"/><e/>", extent(1, 2, 2, 0)),
            (
                "<a b='1'\n c = \"2\" xmlns = 'x' xmlns:y='z' notxmlns='' xmlnsy=''/>",
                extent(1, 1, 6, 2),
            ),
            ("<a xmlns=''><b xmlns:c=\"\"/></a>", extent(2, 2, 1, 2)),
            ("<a><b><c", extent(3, 3, 0, 0)),
            ("<a b='<c>", extent(1, 1, 1, 0)),
            ("</a></a><b/>", extent(1, 1, 0, 0)),
        ] {
            assert_eq!(XmlExtent::of(document), expected, "{document}");
        }
    }

    /// Measures a parsed document.
    fn parsed(document: &Document<'_>) -> (usize, usize) {
        let elements = document.descendants().filter(roxmltree::Node::is_element);
        let depths = elements
            .clone()
            .map(|element| element.ancestors().filter(|node| node.is_element()).count());
        (depths.max().unwrap_or_default(), elements.count())
    }

    proptest! {
        #[test]
        fn a_parser_finds_no_more_than_was_measured(parts in prop::collection::vec(prop::sample::select(vec![
            "<a>", "</a>", "<a/>", "<b c='d'>", "</b>", "<b c=\"'>\" d='\"/>'/>", "<!-- ", " -->", "-->", "<![CDATA[", "]]>", "<?p ", "?>",
            "<a", ">", "/>", " x='", "'", "\"", " ", "text", "<", "&lt;", "=", "xmlns", " xmlns='y'", " xmlns:z='y'", "!", "<!DOCTYPE a>",
        ]), 0..30), wraps in 0..3_usize) {
            let document = format!("{}{}{}", "<a>".repeat(wraps), parts.concat(), "</a>".repeat(wraps));
            let measured = XmlExtent::of(&document);
            if let Ok(read) = Document::parse(&document) {
                let declared = read.descendants().filter(roxmltree::Node::is_element);
                let attributes = declared.map(|element| element.attributes().count()).max().unwrap_or_default();
                prop_assert_eq!((measured.depth, measured.elements), parsed(&read), "{}", document);
                prop_assert!(measured.attributes >= attributes, "{}", document);
            }
        }
    }
}
