//! Texts with placeholders: the part of Mustache that a plain-text mail needs.
//!
//! `{{name}}` is replaced by a value. The text between `{{#name}}` and `{{/name}}` is kept only if the value is not empty, and
//! the text between `{{^name}}` and `{{/name}}` only if it is empty. If the tag of a section is alone on its line, the whole line
//! is removed. Nothing is escaped, and values are never parsed as templates.

use std::borrow::Cow;

use forecourt_kernel::quoted;

/// The maximum nesting depth of sections.
const MAX_DEPTH: usize = 8;

/// A text with placeholders.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Template {
    parts: Vec<Part>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Part {
    Text(String),
    Value(String),
    Section(Section),
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Section {
    name: String,
    /// Set for a section that is shown if the value is empty.
    inverted: bool,
    parts: Vec<Part>,
}

/// The reason for refusing a template.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum InvalidTemplate {
    /// A tag has no end on its line.
    #[error("has a {{{{ without }}}} in line {line}")]
    UnclosedTag {
        /// The line, counted from 1.
        line: usize,
    },
    /// The text between the braces is not a tag.
    #[error(
        "has {tag} between the braces in line {line}; known are {{{{name}}}}, {{{{#name}}}}, {{{{^name}}}} and {{{{/name}}}}"
    )]
    UnknownTag {
        /// The text.
        tag: String,
        /// The line, counted from 1.
        line: usize,
    },
    /// The end of a section that is not the innermost open one.
    #[error("ends the section {name} in line {line}, where it is not open")]
    SectionNotOpen {
        /// The section's name.
        name: String,
        /// The line, counted from 1.
        line: usize,
    },
    /// A section has no end.
    #[error("does not end the section {name}")]
    UnclosedSection {
        /// The section's name.
        name: String,
    },
    /// Sections are nested too deeply.
    #[error("has more than {MAX_DEPTH} sections within each other")]
    TooDeep,
}

enum Tag<'a> {
    Value(&'a str),
    Begin { name: &'a str, inverted: bool },
    End(&'a str),
}

impl<'a> Tag<'a> {
    fn read(tag: &'a str) -> Option<Self> {
        let tag = tag.trim();
        let kind = tag.chars().next()?;
        let name = tag.strip_prefix(['#', '^', '/']).unwrap_or(tag).trim();
        let named = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        if !named {
            return None;
        }
        match kind {
            '#' => Some(Self::Begin { name, inverted: false }),
            '^' => Some(Self::Begin { name, inverted: true }),
            '/' => Some(Self::End(name)),
            _ => Some(Self::Value(name)),
        }
    }
}

impl Template {
    /// Parses a template.
    ///
    /// # Errors
    /// [`InvalidTemplate`].
    pub fn parse(text: &str) -> Result<Self, InvalidTemplate> {
        let section = |name: &str, inverted| Section {
            name: name.to_owned(),
            inverted,
            parts: Vec::new(),
        };
        let mut current = section("", false);
        let mut outer: Vec<Section> = Vec::new();
        for (at, line) in text.split_inclusive('\n').enumerate() {
            let mut rest = without_line(line);
            while let Some((before, tag)) = rest.split_once("{{") {
                let line = at + 1;
                let (tag, after) = tag.split_once("}}").ok_or(InvalidTemplate::UnclosedTag { line })?;
                current.add_text(before);
                match Tag::read(tag) {
                    Some(Tag::Value(name)) => current.parts.push(Part::Value(name.to_owned())),
                    Some(Tag::Begin { .. }) if outer.len() == MAX_DEPTH => return Err(InvalidTemplate::TooDeep),
                    Some(Tag::Begin { name, inverted }) => {
                        outer.push(std::mem::replace(&mut current, section(name, inverted)));
                    }
                    Some(Tag::End(name)) => match outer.pop() {
                        Some(parent) if current.name == name => {
                            let ended = std::mem::replace(&mut current, parent);
                            current.parts.push(Part::Section(ended));
                        }
                        _ => {
                            let name = quoted(name);
                            return Err(InvalidTemplate::SectionNotOpen { name, line });
                        }
                    },
                    None => {
                        let tag = quoted(tag);
                        return Err(InvalidTemplate::UnknownTag { tag, line });
                    }
                }
                rest = after;
            }
            current.add_text(rest);
        }
        if !outer.is_empty() {
            let name = quoted(&current.name);
            return Err(InvalidTemplate::UnclosedSection { name });
        }
        Ok(Self { parts: current.parts })
    }

    /// Renders the text with the values that `value` returns for the names.
    pub fn render<'v>(&self, value: impl Fn(&str) -> Cow<'v, str>) -> String {
        let mut text = String::new();
        render(&self.parts, &value, &mut text);
        text
    }

    /// Returns the names in the template, repeated as often as they are used.
    pub fn names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        collect_names(&self.parts, &mut names);
        names
    }

    /// Returns `true` if the value of that name is shown whenever it is not empty, regardless of the other values.
    pub fn always_shows(&self, name: &str) -> bool {
        always_shows(&self.parts, name)
    }
}

impl Section {
    fn add_text(&mut self, text: &str) {
        match self.parts.last_mut() {
            _ if text.is_empty() => {}
            Some(Part::Text(before)) => before.push_str(text),
            _ => self.parts.push(Part::Text(text.to_owned())),
        }
    }
}

/// Returns the line, or only its tag if the line has nothing but the tag of a section.
fn without_line(line: &str) -> &str {
    let alone = line.trim();
    let of_section = ["{{#", "{{^", "{{/"].iter().any(|begin| alone.starts_with(begin));
    let one = alone.matches("{{").count() == 1 && alone.ends_with("}}") && alone.matches("}}").count() == 1;
    if of_section && one { alone } else { line }
}

fn render<'v>(parts: &[Part], value: &impl Fn(&str) -> Cow<'v, str>, text: &mut String) {
    for part in parts {
        match part {
            Part::Text(part) => text.push_str(part),
            Part::Value(name) => text.push_str(&value(name)),
            Part::Section(section) if value(&section.name).is_empty() == section.inverted => {
                render(&section.parts, value, text);
            }
            Part::Section(_) => {}
        }
    }
}

fn collect_names<'a>(parts: &'a [Part], names: &mut Vec<&'a str>) {
    for part in parts {
        match part {
            Part::Text(_) => {}
            Part::Value(name) => names.push(name),
            Part::Section(Section { name, parts, .. }) => {
                names.push(name);
                collect_names(parts, names);
            }
        }
    }
}

fn always_shows(parts: &[Part], wanted: &str) -> bool {
    parts.iter().any(|part| match part {
        Part::Text(_) => false,
        Part::Value(name) => name == wanted,
        Part::Section(Section { name, inverted, parts }) => name == wanted && !inverted && always_shows(parts, wanted),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn value(name: &str) -> Cow<'static, str> {
        let value = match name {
            "name" => "Ann {{car}}",
            "car" => "Golf",
            _ => "",
        };
        value.into()
    }

    fn rendered(text: &str) -> String {
        Template::parse(text).unwrap().render(value)
    }

    #[test]
    fn values_take_the_place_of_their_names() {
        assert_eq!(rendered("Hello {{name}}, {{ car }}!"), "Hello Ann {{car}}, Golf!");
        assert_eq!(rendered("{\"a\": {}} {{phone}}."), "{\"a\": {}} .");
        assert_eq!(rendered(""), "");
    }

    #[test]
    fn sections_depend_on_whether_there_is_a_value() {
        let text = "{{#car}}a {{car}}{{/car}}{{^car}}no car{{/car}}, {{#phone}}a {{phone}}{{/phone}}{{^phone}}no phone{{/phone}}";
        assert_eq!(rendered(text), "a Golf, no phone");
        assert_eq!(rendered("{{#car}}{{^phone}}x{{/phone}}{{/car}}"), "x");
    }

    #[test]
    fn the_tag_of_a_section_that_is_alone_takes_its_line_with_it() {
        let text = "one\n{{#car}}\nCar: {{car}}\n{{/car}}\n  {{#phone}}\r\nPhone: {{phone}}\n{{/phone}}\nend {{#car}}\nx{{/car}}\n";
        assert_eq!(rendered(text), "one\nCar: Golf\nend \nx\n");
        assert_eq!(rendered("a\n{{car}}\nb"), "a\nGolf\nb");
    }

    #[test]
    fn what_is_no_template_is_refused_with_its_line() {
        let message = |text: &str| Template::parse(text).unwrap_err().to_string();
        assert_eq!(message("a\n{{name"), "has a {{ without }} in line 2");
        assert_eq!(message("{{name\n}}"), "has a {{ without }} in line 1");
        for tag in [
            "{{{name}}}",
            "{{&name}}",
            "{{>name}}",
            "{{! name}}",
            "{{}}",
            "{{Name}}",
            "{{=a b=}}",
            "{{#/name}}",
        ] {
            assert!(message(tag).ends_with("{{^name}} and {{/name}}"), "{tag}");
        }
        assert!(message("{{/name}}").starts_with("ends the section \"name\" in line 1"));
        assert!(message("{{#name}}{{#car}}{{/name}}").contains("\"name\""));
        assert_eq!(message("{{#name}}"), "does not end the section \"name\"");
        assert_eq!(message(&"{{#name}}".repeat(9)), InvalidTemplate::TooDeep.to_string());
        assert!(Template::parse(&format!("{}{}", "{{#name}}".repeat(8), "{{/name}}".repeat(8))).is_ok());
    }

    #[test]
    fn what_is_always_shown_depends_on_nothing_else() {
        let shows = |text: &str| Template::parse(text).unwrap().always_shows("car");
        assert!(shows("{{car}}") && shows("{{#car}}{{car}}{{/car}}"));
        assert!(!shows("{{#phone}}{{car}}{{/phone}}") && !shows("{{^car}}{{car}}{{/car}}") && !shows("car"));
        let template = Template::parse("{{#a}}{{b}}{{/a}}{{b}}").unwrap();
        assert_eq!(template.names(), ["a", "b", "b"]);
    }

    proptest! {
        #[test]
        fn no_text_fails_to_be_read_or_refused(text in "([{}#^/ a\n]|\\{\\{|\\}\\}){0,60}") {
            if let Ok(template) = Template::parse(&text) {
                template.render(|_| "x".into());
            }
        }

        #[test]
        fn a_text_without_tags_stays_as_it_is(text in "[^{]{0,60}") {
            prop_assert_eq!(rendered(&text), text);
        }
    }
}
