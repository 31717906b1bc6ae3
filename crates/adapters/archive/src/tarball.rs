//! Archives as POSIX tar.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use tar::{EntryType, Header};

use crate::error::ArchiveError;

const BLOCK: u64 = 512;
/// Two empty blocks end an archive.
const END: [u8; 1024] = [0; 1024];

/// Writes the members of an archive, one after the other.
pub(crate) struct TarWriter<W> {
    target: W,
    modified: u64,
    missing: u64,
    padding: u64,
}

impl<W: Write> TarWriter<W> {
    pub(crate) fn new(target: W, modified: u64) -> Self {
        Self {
            target,
            modified,
            missing: 0,
            padding: 0,
        }
    }

    /// Begins a member of that length.
    pub(crate) fn begin(&mut self, name: &str, bytes: u64) -> io::Result<()> {
        let mut header = Header::new_ustar();
        header.set_path(name)?;
        header.set_size(bytes);
        header.set_mode(0o600);
        header.set_mtime(self.modified);
        header.set_entry_type(EntryType::Regular);
        header.set_cksum();
        self.target.write_all(header.as_bytes())?;
        self.missing = bytes;
        self.padding = padding(bytes);
        Ok(())
    }

    /// Writes a part of the member.
    pub(crate) fn write(&mut self, part: &[u8]) -> io::Result<()> {
        let missing = self.missing.checked_sub(part.len() as u64);
        self.missing = missing.ok_or_else(|| io::Error::other("a member is longer than announced"))?;
        self.target.write_all(part)
    }

    /// Ends the member.
    pub(crate) fn end(&mut self) -> io::Result<()> {
        if self.missing > 0 {
            return Err(io::Error::other("a member is shorter than announced"));
        }
        io::copy(&mut io::repeat(0).take(self.padding), &mut self.target)?;
        Ok(())
    }

    /// Ends the archive with two blocks of zeros.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        self.target.write_all(&END)?;
        self.target.flush()?;
        Ok(self.target)
    }
}

fn padding(bytes: u64) -> u64 {
    (BLOCK - bytes % BLOCK) % BLOCK
}

/// The place of a member in an archive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

/// Finds the members of an archive. Every byte outside of the members is checked.
pub(crate) fn members(path: &Path) -> Result<Vec<Member>, ArchiveError> {
    let damaged = |what: &str, at: u64| ArchiveError::Damaged(format!("{} {what} at byte {at}", path.display()));
    let mut file = File::open(path).map_err(ArchiveError::file(path))?;
    let length = file.metadata().map_err(ArchiveError::file(path))?.len();
    let mut members = Vec::new();
    let mut at = 0;
    loop {
        let mut header = Header::new_ustar();
        if file.read_exact(header.as_mut_bytes()).is_err() {
            return Err(damaged("ends without the end of an archive", length));
        }
        if header.as_bytes().iter().all(|&byte| byte == 0) {
            break;
        }
        let sum: u32 = header
            .as_bytes()
            .iter()
            .enumerate()
            .map(|(index, &byte)| {
                // The place of the sum itself counts as blanks.
                if (148..156).contains(&index) {
                    u32::from(b' ')
                } else {
                    u32::from(byte)
                }
            })
            .sum();
        // Both ways in which programs write it.
        let written = header.as_bytes().get(148..156);
        let is_sum = [format!("{sum:06o}\0 "), format!("{sum:07o}\0")]
            .iter()
            .any(|text| written == Some(text.as_bytes()));
        if !is_sum {
            return Err(damaged("is no archive of a backup, or is damaged,", at));
        }
        let bytes = header
            .entry_size()
            .map_err(|_| damaged("has a member of no length", at))?;
        let name = header.path_bytes();
        let name = str::from_utf8(&name)
            .map_err(|_| damaged("has a member without a name", at))?
            .to_owned();
        let offset = at + BLOCK;
        let end = offset
            .checked_add(bytes)
            .and_then(|end| end.checked_add(padding(bytes)));
        let end = end
            .filter(|&end| end <= length)
            .ok_or_else(|| damaged(&format!("ends within {name}"), length))?;
        file.seek(SeekFrom::Start(offset + bytes))
            .map_err(ArchiveError::file(path))?;
        if !are_zeros(&mut file, padding(bytes)).map_err(ArchiveError::file(path))? {
            return Err(damaged(&format!("is damaged behind {name}"), offset + bytes));
        }
        members.push(Member { name, offset, bytes });
        at = end;
    }
    let rest = length - at - BLOCK;
    if rest < BLOCK || !are_zeros(&mut file, rest).map_err(ArchiveError::file(path))? {
        return Err(damaged("is damaged at its end", at));
    }
    Ok(members)
}

fn are_zeros(file: &mut File, count: u64) -> io::Result<bool> {
    let mut part = [0; 4096];
    let mut rest = file.take(count);
    loop {
        let read = rest.read(&mut part)?;
        if read == 0 {
            return Ok(true);
        }
        if part.iter().take(read).any(|&byte| byte != 0) {
            return Ok(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(parts: &[(&str, &[u8])]) -> Vec<u8> {
        let mut writer = TarWriter::new(Vec::new(), 0);
        for (name, content) in parts {
            writer.begin(name, content.len() as u64).unwrap();
            writer.write(content).unwrap();
            writer.end().unwrap();
        }
        writer.finish().unwrap()
    }

    #[test]
    fn every_byte_outside_of_members_counts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.tar");
        let bytes = archive(&[("a", b"one"), ("b/c", &[7; 512]), ("d", b"")]);
        std::fs::write(&path, &bytes).unwrap();
        let found = members(&path).unwrap();
        let named: Vec<_> = found
            .iter()
            .map(|member| (member.name.as_str(), member.bytes))
            .collect();
        assert_eq!(named, [("a", 3), ("b/c", 512), ("d", 0)]);
        let content: Vec<_> = found
            .iter()
            .flat_map(|member| member.offset..member.offset + member.bytes)
            .collect();
        for at in (0..bytes.len()).filter(|at| !content.contains(&(*at as u64))) {
            let mut flipped = bytes.clone();
            flipped[at] ^= 0x10;
            std::fs::write(&path, &flipped).unwrap();
            assert!(members(&path).is_err(), "byte {at} can be flipped unnoticed");
        }
        for length in (0..bytes.len()).step_by(100) {
            std::fs::write(&path, &bytes[..length]).unwrap();
            assert!(members(&path).is_err(), "{length} bytes are taken for an archive");
        }
    }

    #[test]
    fn a_member_has_the_announced_length() {
        let mut writer = TarWriter::new(Vec::new(), 0);
        writer.begin("a", 2).unwrap();
        assert!(writer.end().is_err());
        assert!(writer.write(b"abc").is_err());
    }
}
