//! A question to the system's resolver, for kinds of records that the system's own functions do not ask for.

use std::{fs, io, net::IpAddr, time::Duration};

use forecourt_kernel::Random as _;
use tokio::{net::UdpSocket, time::timeout};

use crate::system::SystemRandom;

/// The kinds of records, by their numbers.
pub(super) const MX: u16 = 15;
pub(super) const TXT: u16 = 16;
const INTERNET: u16 = 1;
/// The maximum time for the resolver's answer.
const TIMEOUT: Duration = Duration::from_secs(2);
const MAX_ANSWER: usize = 4096;
const HEADER: usize = 12;

/// Returns the data of a name's records of a kind: none, if there are none.
///
/// # Errors
/// The resolver does not answer, or cannot.
pub(super) async fn records(name: &str, kind: u16) -> io::Result<Vec<Vec<u8>>> {
    let resolver = resolver().ok_or_else(|| io::Error::other("this machine names no resolver"))?;
    let any: IpAddr = if resolver.is_ipv4() {
        [0, 0, 0, 0].into()
    } else {
        [0_u16; 8].into()
    };
    let socket = UdpSocket::bind((any, 0)).await?;
    socket.connect((resolver, 53)).await?;
    let mut id = [0; 2];
    SystemRandom.fill(&mut id);
    socket.send(&question(id, name, kind)?).await?;
    let mut answer = vec![0; MAX_ANSWER];
    let length = timeout(TIMEOUT, socket.recv(&mut answer)).await??;
    answer.truncate(length);
    if answer.get(..2) != Some(&id) {
        return Err(io::Error::other("the resolver answered another question"));
    }
    read(&answer, kind).ok_or_else(|| io::Error::other("the resolver gave no usable answer"))
}

fn resolver() -> Option<IpAddr> {
    let text = fs::read_to_string("/etc/resolv.conf").ok()?;
    let addresses = text.lines().filter_map(|line| line.strip_prefix("nameserver"));
    addresses.filter_map(|address| address.trim().parse().ok()).next()
}

fn question(id: [u8; 2], name: &str, kind: u16) -> io::Result<Vec<u8>> {
    // One question, and the wish for recursion.
    let mut message = [&id[..], &[1, 0, 0, 1, 0, 0, 0, 0, 0, 0]].concat();
    for label in name.trim_end_matches('.').split('.') {
        let length = u8::try_from(label.len()).ok().filter(|length| (1..64).contains(length));
        message.push(length.ok_or_else(|| io::Error::other("this is no domain"))?);
        message.extend(label.as_bytes());
    }
    message.push(0);
    message.extend(kind.to_be_bytes());
    message.extend(INTERNET.to_be_bytes());
    Ok(message)
}

/// Reads an answer; `None` if it is none.
fn read(message: &[u8], kind: u16) -> Option<Vec<Vec<u8>>> {
    let number = |at: usize| Some(u16::from_be_bytes(message.get(at..at + 2)?.try_into().ok()?));
    match message.get(3)? & 0x0f {
        0 => {}
        // There is no such name.
        3 => return Some(Vec::new()),
        _ => return None,
    }
    let (questions, answers) = (number(4)?, number(6)?);
    let mut at = HEADER;
    for _ in 0..questions {
        at = after_name(message, at)? + 4;
    }
    let mut found = Vec::new();
    for _ in 0..answers {
        at = after_name(message, at)?;
        let (of_kind, length) = (number(at)?, usize::from(number(at + 8)?));
        let data = message.get(at + 10..at + 10 + length)?;
        if of_kind == kind {
            found.push(data.to_vec());
        }
        at += 10 + length;
    }
    Some(found)
}

/// Returns the place after a name, which may end with a reference to another one.
fn after_name(message: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match message.get(at)? {
            0 => return Some(at + 1),
            length if length & 0xc0 == 0xc0 => return Some(at + 2),
            length => at += usize::from(*length) + 1,
        }
    }
}

/// Returns the text of a record of texts.
pub(super) fn text(data: &[u8]) -> String {
    let mut text = Vec::new();
    let mut rest = data;
    while let Some((length, after)) = rest.split_first() {
        let (part, after) = after.split_at(after.len().min(usize::from(*length)));
        text.extend(part);
        rest = after;
    }
    String::from_utf8_lossy(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read() {
        let asked = question([7, 9], "acme.example", TXT).unwrap();
        let mut answer = asked.clone();
        answer[2..8].copy_from_slice(&[0x81, 0x80, 0, 1, 0, 1]);
        // The name by reference, the kind, the class, the time to live, and the length.
        answer.extend([0xc0, 12, 0, 16, 0, 1, 0, 0, 0, 60, 0, 8]);
        answer.extend(b"\x07v=spf1 ");
        let found = read(&answer, TXT).unwrap();
        assert_eq!(found.iter().map(|data| text(data)).collect::<Vec<_>>(), ["v=spf1 "]);
        assert!(read(&answer, MX).unwrap().is_empty());
        answer[3] = 0x83;
        assert!(read(&answer, TXT).unwrap().is_empty(), "there is no such name");
        answer[3] = 0x82;
        assert_eq!(read(&answer, TXT), None);
        for end in 0..asked.len() {
            drop(read(&asked[..end], TXT));
        }
        assert!(question([0, 0], "a..b", MX).is_err());
    }
}
