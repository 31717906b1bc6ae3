//! A reader of the files that the printer writes: enough of PDF to find each page's texts in their order.

use std::collections::{BTreeMap, HashMap};
use std::io::Read as _;

/// A file that was read.
pub(crate) struct File {
    objects: BTreeMap<usize, Object>,
}

struct Object {
    /// The dictionary, or whatever stands before the stream.
    head: String,
    stream: Vec<u8>,
}

/// A font's characters by their codes.
type Characters = HashMap<u16, String>;

impl File {
    pub(crate) fn read(bytes: &[u8]) -> Self {
        let mut objects = BTreeMap::new();
        let mut rest = bytes;
        while let Some(end) = position(rest, b" 0 obj\n") {
            let number = rest[..end].rsplit(|byte| *byte == b'\n').next().unwrap();
            let number = String::from_utf8_lossy(number).parse().unwrap();
            rest = &rest[end + b" 0 obj\n".len()..];
            let end = position(rest, b"\nendobj").unwrap();
            let stream = position(rest, b"\nstream\n").filter(|start| *start < end);
            let head = String::from_utf8_lossy(&rest[..stream.unwrap_or(end)]).into_owned();
            let mut content = Vec::new();
            let mut after = end;
            if let Some(start) = stream {
                let start = start + b"\nstream\n".len();
                let length: usize = between(&head, "/Length ", &['/', '>']).trim().parse().unwrap();
                let raw = &rest[start..start + length];
                if head.contains("/FlateDecode") {
                    flate2::read::ZlibDecoder::new(raw).read_to_end(&mut content).unwrap();
                } else {
                    content.extend_from_slice(raw);
                }
                after = start + length;
            }
            rest = &rest[after..];
            objects.insert(number, Object { head, stream: content });
        }
        Self { objects }
    }

    /// Returns the texts of each page, a line for each piece of text.
    pub(crate) fn pages(&self) -> Vec<String> {
        let root = self.only("/Type/Pages");
        let kids = between(&root.head, "/Kids[", &[']']);
        let pages = kids.split(" 0 R").filter_map(|number| number.trim().parse().ok());
        pages.map(|page: usize| self.page(&self.objects[&page])).collect()
    }

    /// Returns the width and the height of the pages.
    pub(crate) fn size(&self) -> String {
        let page = self.objects.values().find(|object| object.head.contains("/Type/Page/"));
        between(&page.unwrap().head, "/MediaBox[", &[']']).to_owned()
    }

    /// Returns the dictionaries and the metadata, in which strings of ASCII can be read.
    pub(crate) fn metadata(&self) -> String {
        let is_metadata = |object: &&Object| {
            ["/Title", "/Metadata", "/Lang"]
                .iter()
                .any(|name| object.head.contains(name))
        };
        let mut text = String::new();
        for object in self.objects.values().filter(is_metadata) {
            text += &object.head;
            text += &String::from_utf8_lossy(&object.stream);
        }
        text
    }

    fn only(&self, name: &str) -> &Object {
        self.objects.values().find(|object| object.head.contains(name)).unwrap()
    }

    fn reference(&self, object: &Object, name: &str) -> &Object {
        let number = between(&object.head, name, &['/', '>']);
        &self.objects[&number.trim().strip_suffix(" 0 R").unwrap().parse().unwrap()]
    }

    fn page(&self, page: &Object) -> String {
        let resources = self.reference(page, "/Resources ");
        let fonts = between(&resources.head, "/Font<<", &['>']);
        let fonts: HashMap<&str, Characters> = fonts
            .split('/')
            .filter_map(|font| font.split_once(' '))
            .map(|(name, font)| {
                let font = &self.objects[&font.trim().strip_suffix(" 0 R").unwrap().parse().unwrap()];
                (name, characters(self.reference(font, "/ToUnicode ")))
            })
            .collect();
        texts(&self.reference(page, "/Contents ").stream, &fonts)
    }
}

/// Returns the texts of a page's content: strings in arrays, a line for each text object.
fn texts(content: &[u8], fonts: &HashMap<&str, Characters>) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut font = &Characters::new();
    let mut is_in_array = false;
    let mut rest = content;
    while let [first, after @ ..] = rest {
        rest = after;
        let codes = match first {
            b'[' | b']' => {
                is_in_array = *first == b'[';
                continue;
            }
            b'(' if is_in_array => literal(&mut rest),
            b'<' if is_in_array => hexadecimal(&mut rest),
            b'/' => {
                let end = rest
                    .iter()
                    .position(|byte| !byte.is_ascii_alphanumeric())
                    .unwrap_or(rest.len());
                if let Some(named) = std::str::from_utf8(&rest[..end]).ok().and_then(|name| fonts.get(name)) {
                    font = named;
                }
                rest = &rest[end..];
                continue;
            }
            b'B' if after.first() == Some(&b'T') => {
                lines.push(String::new());
                continue;
            }
            _ => continue,
        };
        let line = lines.last_mut().unwrap();
        for code in codes.as_chunks::<2>().0 {
            *line += font.get(&u16::from_be_bytes(*code)).map_or("\u{fffd}", String::as_str);
        }
    }
    lines.join("\n")
}

/// Reads a string `(…)` from behind its first parenthesis.
fn literal(rest: &mut &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut depth = 1;
    while let [first, after @ ..] = *rest {
        *rest = after;
        match first {
            b'(' => depth += 1,
            b')' if depth == 1 => break,
            b')' => depth -= 1,
            b'\\' => {
                let digits = after.iter().take(3).take_while(|byte| byte.is_ascii_digit()).count();
                let length = digits.max(1);
                bytes.push(match &after[..length] {
                    b"n" => b'\n',
                    b"r" => b'\r',
                    b"t" => b'\t',
                    b"b" => 8,
                    b"f" => 12,
                    [sign] if digits == 0 => *sign,
                    octal => u8::from_str_radix(std::str::from_utf8(octal).unwrap(), 8).unwrap(),
                });
                *rest = &after[length..];
                continue;
            }
            _ => {}
        }
        bytes.push(*first);
    }
    bytes
}

/// Reads a string `<…>` from behind its first sign.
fn hexadecimal(rest: &mut &[u8]) -> Vec<u8> {
    let end = rest.iter().position(|byte| *byte == b'>').unwrap();
    let digits = std::str::from_utf8(&rest[..end]).unwrap();
    *rest = &rest[end..];
    let pairs = digits.as_bytes().as_chunks::<2>().0.iter();
    pairs
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

/// Reads the lines `<0001> <0056>` of a map to Unicode.
fn characters(map: &Object) -> Characters {
    let mut characters = Characters::new();
    for line in String::from_utf8_lossy(&map.stream).lines() {
        let parts: Vec<&str> = line.split(['<', '>']).map(str::trim).collect();
        let ["", code, "", text, ""] = parts[..] else { continue };
        let units: Vec<u16> = text
            .as_bytes()
            .chunks(4)
            .map(|unit| u16::from_str_radix(std::str::from_utf8(unit).unwrap(), 16).unwrap())
            .collect();
        if let (4, Ok(code)) = (code.len(), u16::from_str_radix(code, 16)) {
            characters.insert(code, String::from_utf16(&units).unwrap());
        }
    }
    characters
}

fn between<'a>(text: &'a str, start: &str, ends: &[char]) -> &'a str {
    let (_, rest) = text
        .split_once(start)
        .unwrap_or_else(|| panic!("{start} is not in {text}"));
    rest.split(ends).next().unwrap()
}

fn position(bytes: &[u8], pattern: &[u8]) -> Option<usize> {
    bytes.windows(pattern.len()).position(|window| window == pattern)
}
