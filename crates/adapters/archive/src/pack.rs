//! Compression and digests.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

use sha2::{Digest as _, Sha256};

use crate::error::ArchiveError;

const LEVEL: i32 = 3;

/// The lengths and digests of a packed file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Packed {
    /// The length of the packed file.
    pub bytes: u64,
    /// Its SHA-256.
    pub sha256: String,
    /// The length of what is in it.
    pub unpacked_bytes: u64,
    /// The SHA-256 of what is in it.
    pub unpacked_sha256: String,
}

/// Returns the SHA-256 of bytes, in hexadecimal digits.
#[must_use]
pub fn sha256_of(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Passes bytes on, and computes their digest.
pub(crate) struct Hashing<T> {
    inner: T,
    hasher: Sha256,
    bytes: u64,
}

impl<T> Hashing<T> {
    pub(crate) fn new(inner: T) -> Self {
        Self {
            inner,
            hasher: Sha256::new(),
            bytes: 0,
        }
    }

    /// Returns the number of bytes, and their digest.
    pub(crate) fn finish(self) -> (u64, String) {
        (self.bytes, hexadecimal(&self.hasher.finalize()))
    }

    fn note(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
        self.bytes += bytes.len() as u64;
    }
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.note(buffer.get(..count).unwrap_or_default());
        Ok(count)
    }
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(buffer)?;
        self.note(buffer.get(..count).unwrap_or_default());
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Packs a file. Blocks.
///
/// # Errors
/// One of the files cannot be used.
pub fn compress_file(from: &Path, to: &Path) -> Result<Packed, ArchiveError> {
    let source = File::open(from).map_err(ArchiveError::file(from))?;
    let length = source.metadata().map_err(ArchiveError::file(from))?.len();
    let mut source = Hashing::new(BufReader::with_capacity(1 << 20, source));
    let target = File::create_new(to).map_err(ArchiveError::file(to))?;
    let mut target = Hashing::new(BufWriter::with_capacity(1 << 20, target));
    let packed = (|| {
        let mut encoder = zstd::Encoder::new(&mut target, LEVEL)?;
        encoder.include_checksum(true)?;
        encoder.set_pledged_src_size(Some(length))?;
        io::copy(&mut source, &mut encoder)?;
        encoder.finish()?;
        target.flush()
    })();
    packed.map_err(ArchiveError::file(to))?;
    let (unpacked_bytes, unpacked_sha256) = source.finish();
    let (bytes, sha256) = target.finish();
    Ok(Packed {
        bytes,
        sha256,
        unpacked_bytes,
        unpacked_sha256,
    })
}

/// Unpacks a file of at most `limit` bytes; returns the length and the SHA-256 of what was in it. Blocks.
///
/// # Errors
/// It is damaged, or one of the files cannot be used.
pub fn decompress_file(from: &Path, to: &Path, limit: u64) -> Result<(u64, String), ArchiveError> {
    let source = File::open(from).map_err(ArchiveError::file(from))?;
    let target = File::create_new(to).map_err(ArchiveError::file(to))?;
    let mut target = Hashing::new(BufWriter::with_capacity(1 << 20, target));
    let damaged = |error: &dyn std::fmt::Display| {
        ArchiveError::Damaged(format!("{} cannot be unpacked: {error}", crate::DATABASE))
    };
    let decoder = zstd::Decoder::new(source).map_err(|error| damaged(&error))?;
    let mut decoder = BufReader::with_capacity(1 << 20, decoder.take(limit + 1));
    let mut buffer = vec![0; 1 << 20];
    loop {
        let count = decoder.read(&mut buffer).map_err(|error| damaged(&error))?;
        if count == 0 {
            break;
        }
        let read = buffer.get(..count).unwrap_or_default();
        target.write_all(read).map_err(ArchiveError::file(to))?;
    }
    target.flush().map_err(ArchiveError::file(to))?;
    if target.bytes > limit {
        return Err(damaged(&"it is longer than the manifest says"));
    }
    Ok(target.finish())
}

pub(crate) fn compress(bytes: &[u8]) -> Result<Vec<u8>, ArchiveError> {
    let packed = (|| {
        let mut encoder = zstd::Encoder::new(Vec::new(), LEVEL)?;
        encoder.include_checksum(true)?;
        encoder.set_pledged_src_size(Some(bytes.len() as u64))?;
        encoder.write_all(bytes)?;
        encoder.finish()
    })();
    packed.map_err(|error: io::Error| ArchiveError::File("nothing can be packed".to_owned(), error))
}

pub(crate) fn decompress(packed: &[u8], limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    zstd::Decoder::new(packed)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}
