//! The guides beside the reference: pages of `docs/` as HTML, at `/docs/guides/<name>`.

use std::sync::OnceLock;

use forecourt_kernel::EventName;
use forecourt_webhooks::Topic;
use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

use crate::{help, openapi::webhooks};

/// A page of `docs/` that is served.
pub(crate) struct Guide {
    name: &'static str,
    title: &'static str,
    /// Its path below `docs/`, as other pages refer to it.
    file: &'static str,
    text: &'static str,
    html: OnceLock<String>,
}

static GUIDES: [Guide; 4] = [
    Guide::new(
        "first-call",
        "First call",
        "first-call.md",
        include_str!("../../../../docs/first-call.md"),
    ),
    Guide::new(
        "webhooks",
        "Webhooks",
        "webhooks.md",
        include_str!("../../../../docs/webhooks.md"),
    ),
    Guide::new(
        "stay-in-step",
        "Stay in step",
        "syndication.md",
        include_str!("../../../../docs/syndication.md"),
    ),
    Guide::new(
        "clients",
        "Clients",
        "clients/README.md",
        include_str!("../../../../docs/clients/README.md"),
    ),
];

/// Returns the guide with this name.
pub(crate) fn find(name: &str) -> Option<&'static Guide> {
    GUIDES.iter().find(|guide| guide.name == name)
}

impl Guide {
    const fn new(name: &'static str, title: &'static str, file: &'static str, text: &'static str) -> Self {
        Self {
            name,
            title,
            file,
            text,
            html: OnceLock::new(),
        }
    }

    /// Returns the page as HTML.
    pub(crate) fn html(&self) -> &str {
        self.html.get_or_init(|| {
            let mut body = String::from("<nav><a href=\"../../docs\">API reference</a>");
            for guide in &GUIDES {
                body += &format!(" · <a href=\"{}\">{}</a>", guide.name, guide.title);
            }
            body += " · <a href=\"../errors\">Errors</a></nav>\n";
            html::push_html(&mut body, self.events().into_iter());
            help::document(self.title, &body)
        })
    }

    /// Parses the text, gives headings anchors, and points links to the addresses where pages are served.
    fn events(&self) -> Vec<Event<'static>> {
        let options = Options::ENABLE_TABLES;
        let mut events: Vec<Event<'static>> = Parser::new_ext(self.text, options).collect();
        let (mut heading, mut cell) = (None, false);
        for at in 0..events.len() {
            let (before, rest) = events.split_at_mut(at);
            match rest.first_mut() {
                Some(Event::Start(Tag::Heading { .. })) => heading = Some((at, String::new())),
                Some(Event::Start(Tag::TableCell)) => cell = true,
                Some(Event::End(TagEnd::TableCell)) => cell = false,
                Some(code @ Event::Code(_)) if cell => {
                    if let Some(link) = event_link(code) {
                        *code = link;
                    }
                }
                Some(Event::Text(text) | Event::Code(text)) => {
                    if let Some((_, title)) = &mut heading {
                        title.push_str(text);
                    }
                }
                Some(Event::End(TagEnd::Heading(_))) => {
                    if let Some((start, title)) = heading.take()
                        && let Some(Event::Start(Tag::Heading { id, .. })) = before.get_mut(start)
                    {
                        *id = Some(anchor(&title).into());
                    }
                }
                Some(Event::Start(Tag::Link { dest_url, .. })) => {
                    if let Some(place) = self.place_of(dest_url) {
                        *dest_url = CowStr::from(place);
                    }
                }
                _ => {}
            }
        }
        events
    }

    /// Returns the path at which a page that this one refers to is served; `None` if the reference works without a change.
    fn place_of(&self, reference: &str) -> Option<String> {
        if reference.starts_with('#') || reference.contains("://") {
            return None;
        }
        let (path, fragment) = reference
            .split_once('#')
            .map_or((reference, None), |(path, name)| (path, Some(name)));
        let mut folders: Vec<&str> = self.file.split('/').collect();
        folders.pop();
        let mut above = 0_usize;
        for part in path.split('/') {
            match part {
                ".." if folders.pop().is_none() => above += 1,
                ".." | "." | "" => {}
                part => folders.push(part),
            }
        }
        let file = folders.join("/");
        let page = match GUIDES.iter().find(|guide| above == 0 && guide.file == file) {
            Some(guide) => guide.name.to_owned(),
            None if above == 0 && file == "openapi.json" => "../../2.0/openapi.json".to_owned(),
            None if above == 0 => format!("{}/blob/main/docs/{file}", env!("CARGO_PKG_REPOSITORY")),
            None => format!("{}/blob/main/{file}", env!("CARGO_PKG_REPOSITORY")),
        };
        Some(match fragment {
            Some(name) => format!("{page}#{name}"),
            None => page,
        })
    }
}

/// Returns the name of an event as a link to its entry in the reference; `None` if `code` is not such a name.
fn event_link(code: &Event<'_>) -> Option<Event<'static>> {
    let Event::Code(name) = code else { return None };
    let event: EventName = name.parse().ok()?;
    let place = format!("../../docs#/webhooks/{}", webhooks::operation_id(Topic::Event(event)));
    let link = format!("<a href=\"{place}\"><code>{}</code></a>", event.as_str());
    Some(Event::InlineHtml(link.into()))
}

/// Returns the anchor of a heading, as the sites that show such pages make it.
fn anchor(title: &str) -> String {
    let kept = title.chars().filter_map(|character| match character {
        ' ' => Some('-'),
        '-' | '_' => Some(character),
        _ if character.is_alphanumeric() => Some(character),
        _ => None,
    });
    kept.flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_guide_is_a_page_whose_own_links_lead_somewhere() {
        for guide in &GUIDES {
            let page = guide.html();
            assert!(
                page.starts_with("<!doctype html>") && page.contains("</h1>"),
                "{}",
                guide.name
            );
            for link in page.split("href=\"#").skip(1) {
                let name = link.split('"').next().unwrap();
                assert!(page.contains(&format!("id=\"{name}\"")), "{}: #{name}", guide.name);
            }
            assert!(
                !page.contains(".md\"") || page.contains("/blob/main/"),
                "{}",
                guide.name
            );
        }
    }

    #[test]
    fn references_lead_to_where_things_are_served() {
        let [_, webhooks, _, clients] = &GUIDES;
        let repository = env!("CARGO_PKG_REPOSITORY");
        for (guide, reference, place) in [
            (webhooks, "#begin", None),
            (webhooks, "https://example.com/a.md", None),
            (
                webhooks,
                "syndication.md#changes",
                Some("stay-in-step#changes".to_owned()),
            ),
            (webhooks, "openapi.json", Some("../../2.0/openapi.json".to_owned())),
            (
                webhooks,
                "security.md",
                Some(format!("{repository}/blob/main/docs/security.md")),
            ),
            (clients, "../webhooks.md", Some("webhooks".to_owned())),
            (
                clients,
                "typescript",
                Some(format!("{repository}/blob/main/docs/clients/typescript")),
            ),
            (
                clients,
                "../../README.md",
                Some(format!("{repository}/blob/main/README.md")),
            ),
        ] {
            assert_eq!(guide.place_of(reference), place, "{reference}");
        }
    }

    #[test]
    fn events_in_tables_lead_to_the_reference() {
        let page = find("webhooks").unwrap().html();
        let link = "<td><a href=\"../../docs#/webhooks/on_lead_created\"><code>lead.created</code></a></td>";
        assert!(page.contains(link));
        assert_eq!(event_link(&Event::Code("leads:read".into())), None);
    }

    #[test]
    fn headings_have_the_anchors_that_the_pages_refer_to() {
        assert_eq!(anchor("Order and duplicates"), "order-and-duplicates");
        assert_eq!(anchor("`fields`, and what it does"), "fields-and-what-it-does");
    }
}
