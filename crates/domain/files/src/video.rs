//! Removes locations and personal data from videos.
//!
//! An MP4 or MOV video is a tree of boxes, and its samples are found by their offsets in the file. So nothing may move: a box
//! that must go becomes an empty one (`free`) of the same length. Boxes that a player needs are listed by name. All others are
//! removed, because cameras store the location under many names (`udta` with `©xyz` or `loci`, `meta`, `uuid`, tracks of
//! positions).

use std::io::{self, Read, Seek, SeekFrom, Write};

/// Maximum number of boxes in a video, and of entries in the tables of a track that is removed. They bound the work.
const MAX_BOXES: u32 = 100_000;
const MAX_CHUNKS: u32 = 200_000;
const MAX_SAMPLES: u32 = 2_000_000;
/// Number of bytes to read or write at once.
const PART_BYTES: usize = 64 * 1024;
/// Number of bytes of a table to read at once.
const TABLE_BYTES: usize = 4 * 1024;

/// Byte sequences that occur only with a location or personal data. They are searched for where a file cannot be read as boxes.
const MARKS: [&[u8]; 10] = [
    b"\xa9xyz",
    b"loci",
    b"udta",
    b"ilst",
    b"com.apple.quicktime",
    b"com.android",
    b"gpmd",
    b"GPS",
    b"Exif",
    b"ns.adobe.com",
];

/// The reasons why a video was not cleaned.
#[derive(Debug, thiserror::Error)]
pub enum VideoError {
    /// It has more parts than any camera writes.
    #[error("the video has too many parts")]
    TooManyParts,
    /// It cannot be read or written.
    #[error("the video cannot be read or written")]
    Failed(#[from] io::Error),
}

/// Removes from an MP4 or MOV video, in place, the location, the author, the device, and tracks that are neither seen nor heard.
/// Its length, all offsets, and the bytes of picture and sound stay the same. The memory needed does not depend on the length.
/// Returns `true` if anything was removed.
///
/// # Errors
/// [`VideoError`].
pub fn forget_places(video: &mut (impl Read + Write + Seek)) -> Result<bool, VideoError> {
    let length = video.seek(SeekFrom::End(0))?;
    let mut cleaner = Cleaner {
        video,
        length,
        boxes: 0,
        erased: 0,
        removed_tracks: Vec::new(),
        has_changed: false,
    };
    cleaner.clean(Level::File, 0, length)?;
    cleaner.video.flush()?;
    Ok(cleaner.has_changed)
}

/// The kinds of boxes whose children are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    File,
    Movie,
    Track,
    Media,
    Fragment,
    TrackFragment,
}

/// The treatment of a box.
enum Fate {
    Kept,
    Entered(Level),
    Removed,
}

impl Level {
    /// Returns the treatment of a box of this kind; tracks are decided separately.
    const fn fate(self, kind: [u8; 4]) -> Fate {
        match (self, &kind) {
            (Self::File, b"moov") => Fate::Entered(Self::Movie),
            (Self::File, b"moof") => Fate::Entered(Self::Fragment),
            (Self::Movie, b"trak") => Fate::Entered(Self::Track),
            (Self::Track, b"mdia") => Fate::Entered(Self::Media),
            (Self::Fragment, b"traf") => Fate::Entered(Self::TrackFragment),
            (Self::File, b"ftyp" | b"styp" | b"mdat" | b"wide" | b"sidx" | b"ssix" | b"pdin" | b"prft" | b"mfra")
            | (Self::Movie, b"mvhd" | b"mvex" | b"iods" | b"ctab" | b"pssh")
            | (
                Self::Track,
                b"tkhd" | b"edts" | b"tref" | b"trgr" | b"tapt" | b"load" | b"matt" | b"clip" | b"kmat" | b"txas",
            )
            | (Self::Media, b"mdhd" | b"hdlr" | b"elng" | b"minf")
            | (Self::Fragment, b"mfhd" | b"pssh")
            | (
                Self::TrackFragment,
                b"tfhd" | b"trun" | b"tfdt" | b"sdtp" | b"sbgp" | b"sgpd" | b"subs" | b"saiz" | b"saio" | b"senc",
            ) => Fate::Kept,
            _ => Fate::Removed,
        }
    }
}

/// Returns `true` if a track of this kind is seen or heard, or helps with that. Text is removed: drones write their position as
/// subtitles.
const fn is_shown(handler: [u8; 4]) -> bool {
    matches!(
        &handler,
        b"vide" | b"soun" | b"auxv" | b"pict" | b"tmcd" | b"hint" | b"clcp" | b"subt"
    )
}

/// A box in the file. Its header begins at `start`, its content at `body`.
#[derive(Clone, Copy)]
struct Part {
    kind: [u8; 4],
    start: u64,
    body: u64,
    end: u64,
}

struct Cleaner<'a, V> {
    video: &'a mut V,
    length: u64,
    /// Number of boxes that were read.
    boxes: u32,
    /// Number of sample bytes that were erased.
    erased: u64,
    /// The numbers of removed tracks.
    removed_tracks: Vec<u32>,
    has_changed: bool,
}

impl<V: Read + Write + Seek> Cleaner<'_, V> {
    /// Cleans the boxes between two offsets.
    fn clean(&mut self, level: Level, start: u64, end: u64) -> Result<(), VideoError> {
        let mut at = start;
        while at < end {
            let Some(part) = self.part(at, end, level == Level::File)? else {
                return self.clean_rest(level, at, end);
            };
            if level == Level::Movie && part.kind == *b"trak" && !self.is_shown(part)? {
                self.remove_track(part)?;
            } else if level == Level::Fragment && part.kind == *b"traf" && self.is_of_removed_track(part)? {
                self.remove(part)?;
            } else {
                match level.fate(part.kind) {
                    Fate::Kept => {}
                    Fate::Entered(within) => self.clean(within, part.body, part.end)?,
                    Fate::Removed => self.remove(part)?,
                }
            }
            at = part.end;
        }
        Ok(())
    }

    /// Returns the box at `at`, or `None` if no box there ends by `end`. The last box of a truncated file is what is left of it.
    fn part(&mut self, at: u64, end: u64, is_outermost: bool) -> Result<Option<Part>, VideoError> {
        self.boxes += 1;
        if self.boxes > MAX_BOXES {
            return Err(VideoError::TooManyParts);
        }
        let Some(head) = self.bytes_at::<8>(at, end)? else {
            return Ok(None);
        };
        let [s0, s1, s2, s3, k0, k1, k2, k3] = head;
        let kind = [k0, k1, k2, k3];
        // Box types are printable text.
        if !kind.iter().all(|byte| matches!(byte, b' '..=b'~' | 0xa9)) {
            return Ok(None);
        }
        let (body, length) = match u32::from_be_bytes([s0, s1, s2, s3]) {
            0 if is_outermost => (at + 8, end - at),
            1 => match self.bytes_at::<8>(at + 8, end)? {
                Some(length) => (at + 16, u64::from_be_bytes(length)),
                None => return Ok(None),
            },
            length => (at + 8, length.into()),
        };
        let mut stop = at.checked_add(length).filter(|stop| *stop >= body);
        if is_outermost && matches!(&kind, b"mdat" | b"moov" | b"moof") {
            stop = stop.map(|stop| stop.min(end));
        }
        Ok(stop.filter(|stop| *stop <= end).map(|end| Part {
            kind,
            start: at,
            body,
            end,
        }))
    }

    /// Returns the first box of this kind between two offsets. The search ends where a box cannot be read.
    fn find(&mut self, kind: &[u8; 4], start: u64, end: u64) -> Result<Option<Part>, VideoError> {
        let mut at = start;
        while at < end {
            match self.part(at, end, false)? {
                Some(part) if part.kind == *kind => return Ok(Some(part)),
                Some(part) => at = part.end,
                None => break,
            }
        }
        Ok(None)
    }

    fn find_in(&mut self, kind: &[u8; 4], part: Option<Part>) -> Result<Option<Part>, VideoError> {
        match part {
            Some(part) => self.find(kind, part.body, part.end),
            None => Ok(None),
        }
    }

    /// Returns `true` if the handler of a track says that it is seen or heard.
    fn is_shown(&mut self, track: Part) -> Result<bool, VideoError> {
        let media = self.find(b"mdia", track.body, track.end)?;
        let Some(handler) = self.find_in(b"hdlr", media)? else {
            return Ok(false);
        };
        // The handler follows the version, the flags, and a word that QuickTime has.
        let kind = self.bytes_at::<4>(handler.body + 8, handler.end)?;
        Ok(kind.is_some_and(is_shown))
    }

    fn is_of_removed_track(&mut self, fragment: Part) -> Result<bool, VideoError> {
        let Some(head) = self.find(b"tfhd", fragment.body, fragment.end)? else {
            return Ok(false);
        };
        let number = self.number_at(head.body + 4, head.end)?;
        Ok(number.is_some_and(|number| self.removed_tracks.contains(&number)))
    }

    /// Removes a track and its samples.
    fn remove_track(&mut self, track: Part) -> Result<(), VideoError> {
        if let Some(head) = self.find(b"tkhd", track.body, track.end)? {
            // In version 1, the two timestamps before the number have 8 bytes each instead of 4.
            let version = self.bytes_at::<1>(head.body, head.end)?;
            let before = if version == Some([1]) { 20 } else { 12 };
            if let Some(number) = self.number_at(head.body + before, head.end)? {
                self.removed_tracks.push(number);
            }
        }
        let media = self.find(b"mdia", track.body, track.end)?;
        let information = self.find_in(b"minf", media)?;
        let tables = self.find_in(b"stbl", information)?;
        self.erase_samples(tables)?;
        self.remove(track)
    }

    /// Overwrites the samples that the tables of a track name.
    fn erase_samples(&mut self, tables: Option<Part>) -> Result<(), VideoError> {
        let runs = self.find_in(b"stsc", tables)?;
        let sizes = self.find_in(b"stsz", tables)?;
        let (chunks, width) = match self.find_in(b"stco", tables)? {
            Some(chunks) => (Some(chunks), 4),
            None => (self.find_in(b"co64", tables)?, 8),
        };
        let (Some(runs), Some(sizes), Some(chunks)) = (runs, sizes, chunks) else {
            return Ok(());
        };
        let same_size = self.number_at(sizes.body + 4, sizes.end)?.unwrap_or_default();
        let mut samples = Table::new(sizes.body + 12, sizes.end, self.number_at(sizes.body + 8, sizes.end)?);
        let mut runs = Table::new(runs.body + 8, runs.end, self.number_at(runs.body + 4, runs.end)?);
        let mut chunks = Table::new(
            chunks.body + 8,
            chunks.end,
            self.number_at(chunks.body + 4, chunks.end)?,
        );
        if chunks.left > MAX_CHUNKS || samples.left > MAX_SAMPLES {
            return Err(VideoError::TooManyParts);
        }
        let mut per_chunk = 0;
        let mut next_run = self.run(&mut runs)?;
        let mut number = 0_u32;
        while let Some(offset) = chunks.next(self.video, width)? {
            number += 1;
            if let Some((first, count)) = next_run
                && first <= number
            {
                per_chunk = count;
                next_run = self.run(&mut runs)?;
            }
            let mut size = 0_u64;
            for _ in 0..per_chunk.min(samples.left) {
                let sample = match same_size {
                    0 => samples.next(self.video, 4)?.unwrap_or_default(),
                    same => {
                        samples.left -= 1;
                        same.into()
                    }
                };
                size = size.saturating_add(sample);
            }
            let (from, to) = (offset.min(self.length), offset.saturating_add(size).min(self.length));
            self.erased += to - from;
            // The samples of a camera do not overlap.
            if self.erased > self.length {
                return Err(VideoError::TooManyParts);
            }
            self.erase(from, to)?;
        }
        Ok(())
    }

    /// Reads the next run: its first chunk, and the number of samples in each chunk from there on.
    fn run(&mut self, runs: &mut Table) -> Result<Option<(u32, u32)>, VideoError> {
        let Some(first) = runs.next(self.video, 4)? else {
            return Ok(None);
        };
        // One entry has three words.
        runs.left = runs.left.saturating_add(2);
        let count = runs.next(self.video, 4)?;
        runs.next(self.video, 4)?;
        let word = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
        Ok(count.map(|count| (word(first), word(count))))
    }

    /// Erases bytes that cannot be read as boxes. Within another box they mean nothing to a player; at the level of the file they
    /// stay, unless they hold a location.
    fn clean_rest(&mut self, level: Level, start: u64, end: u64) -> Result<(), VideoError> {
        if level != Level::File || self.has_marks(start, end)? {
            self.erase(start, end)?;
        }
        Ok(())
    }

    fn has_marks(&mut self, start: u64, end: u64) -> Result<bool, VideoError> {
        let longest = MARKS.iter().map(|mark| mark.len()).max().unwrap_or_default();
        let mut window: Vec<u8> = Vec::with_capacity(PART_BYTES + longest);
        self.video.seek(SeekFrom::Start(start))?;
        let mut rest = (&mut *self.video).take(end - start);
        loop {
            // A mark may begin at the end of one part and continue in the next.
            window.drain(..window.len().saturating_sub(longest));
            let read = rest.by_ref().take(PART_BYTES as u64).read_to_end(&mut window)?;
            if MARKS
                .iter()
                .any(|mark| window.windows(mark.len()).any(|part| part == *mark))
            {
                return Ok(true);
            }
            if read == 0 {
                return Ok(false);
            }
        }
    }

    /// Turns a box into an empty one.
    fn remove(&mut self, part: Part) -> Result<(), VideoError> {
        if part.kind != *b"free" {
            self.video.seek(SeekFrom::Start(part.start + 4))?;
            self.video.write_all(b"free")?;
            self.has_changed = true;
        }
        self.erase(part.body, part.end)
    }

    /// Overwrites the bytes between two offsets with zeros.
    fn erase(&mut self, start: u64, end: u64) -> Result<(), VideoError> {
        if start >= end {
            return Ok(());
        }
        self.has_changed = true;
        self.video.seek(SeekFrom::Start(start))?;
        io::copy(&mut io::repeat(0).take(end - start), self.video)?;
        Ok(())
    }

    fn number_at(&mut self, at: u64, end: u64) -> Result<Option<u32>, VideoError> {
        Ok(self.bytes_at(at, end)?.map(u32::from_be_bytes))
    }

    /// Returns the bytes at `at`, or `None` if fewer than `N` are left before `end`.
    fn bytes_at<const N: usize>(&mut self, at: u64, end: u64) -> Result<Option<[u8; N]>, VideoError> {
        if end.saturating_sub(at) < N as u64 {
            return Ok(None);
        }
        let mut bytes = [0; N];
        self.video.seek(SeekFrom::Start(at))?;
        self.video.read_exact(&mut bytes)?;
        Ok(Some(bytes))
    }
}

/// Consecutive numbers of a table, read a few thousand at a time.
struct Table {
    /// The offset of the next part to read.
    at: u64,
    end: u64,
    /// The number of entries that are left.
    left: u32,
    part: Vec<u8>,
    taken: usize,
}

impl Table {
    fn new(at: u64, end: u64, count: Option<u32>) -> Self {
        Self {
            at,
            end,
            left: count.unwrap_or_default(),
            part: Vec::new(),
            taken: 0,
        }
    }

    /// Returns the next number, which has `width` bytes: 4 or 8.
    fn next(&mut self, video: &mut (impl Read + Seek), width: usize) -> io::Result<Option<u64>> {
        if self.left == 0 {
            return Ok(None);
        }
        if self.part.len() - self.taken < width {
            let kept = self.part.split_off(self.taken);
            (self.part, self.taken) = (kept, 0);
            video.seek(SeekFrom::Start(self.at))?;
            let room = self.end.saturating_sub(self.at).min(TABLE_BYTES as u64);
            self.at += video.take(room).read_to_end(&mut self.part)? as u64;
        }
        let Some(bytes) = self.part.get(self.taken..self.taken + width) else {
            self.left = 0;
            return Ok(None);
        };
        self.taken += width;
        self.left -= 1;
        Ok(Some(
            bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)),
        ))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use proptest::prelude::*;

    use super::*;

    fn boxed(kind: &[u8; 4], content: &[u8]) -> Vec<u8> {
        let length = u32::try_from(content.len() + 8).unwrap();
        [&length.to_be_bytes(), kind.as_slice(), content].concat()
    }

    fn numbers(numbers: &[u32]) -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_be_bytes()).collect()
    }

    /// A track whose samples have these sizes and are in chunks of two at these offsets.
    fn track(number: u32, handler: &[u8; 4], sizes: &[u32], chunks: &[u32], more: &[u8]) -> Vec<u8> {
        let count = |numbers: &[u32]| u32::try_from(numbers.len()).unwrap();
        let stsc = numbers(&[0, 1, 1, 2, 1]);
        let stsz = [numbers(&[0, 0, count(sizes)]), numbers(sizes)].concat();
        let stco = [numbers(&[0, count(chunks)]), numbers(chunks)].concat();
        let tables = [boxed(b"stsc", &stsc), boxed(b"stsz", &stsz), boxed(b"stco", &stco)].concat();
        let handler = [numbers(&[0, 0]), handler.to_vec(), numbers(&[0, 0, 0])].concat();
        let media = [
            boxed(b"hdlr", &handler),
            boxed(b"minf", &boxed(b"stbl", &tables)),
            boxed(b"udta", b"Filmed by Ann"),
        ];
        let head = boxed(b"tkhd", &numbers(&[0, 0, 0, number, 0]));
        boxed(
            b"trak",
            &[&head, boxed(b"mdia", &media.concat()).as_slice(), more].concat(),
        )
    }

    fn cleaned(video: &[u8]) -> (Vec<u8>, bool) {
        let mut file = Cursor::new(video.to_vec());
        let changed = forget_places(&mut file).unwrap();
        let cleaned = file.into_inner();
        assert_eq!(cleaned.len(), video.len(), "no offset moves");
        assert!(changed || cleaned == video);
        (cleaned, changed)
    }

    #[track_caller]
    fn lacks(video: &[u8], text: &[u8]) {
        let is_there = video.windows(text.len()).any(|part| part == text);
        assert!(!is_there, "{}", String::from_utf8_lossy(text));
    }

    const PLACE: &[u8] = b"+51.5074-000.1278/";

    #[test]
    fn a_place_is_removed_wherever_it_stands() {
        let ftyp = boxed(b"ftyp", b"isom\0\0\x02\0isommp41");
        let xyz = boxed(b"\xa9xyz", &[b"\0\x12\x15\xc7", PLACE].concat());
        let keys = boxed(b"keys", b"com.apple.quicktime.location.ISO6709");
        let meta = [b"\0\0\0\0".to_vec(), keys, boxed(b"ilst", PLACE)].concat();
        let xmp = boxed(
            b"uuid",
            &[
                b"\xbe\x7a\xcf\xcb\x97\xa9\x42\xe8\x9c\x71\x99\x94\x91\xe3\xaf\xac",
                PLACE,
            ]
            .concat(),
        );
        let film = track(1, b"vide", &[], &[], &boxed(b"udta", &xyz));
        let mvhd = boxed(b"mvhd", &[5; 100]);
        let moov = [
            mvhd.clone(),
            film,
            boxed(b"udta", &[xyz.clone(), boxed(b"meta", &meta)].concat()),
            boxed(b"meta", &meta),
            xmp.clone(),
            boxed(b"gps ", PLACE),
        ];
        let samples = boxed(b"mdat", &[7; 500]);
        for video in [
            [ftyp.clone(), boxed(b"moov", &moov.concat()), samples.clone(), xmp].concat(),
            [
                ftyp.clone(),
                samples.clone(),
                boxed(b"free", PLACE),
                boxed(b"moov", &moov.concat()),
            ]
            .concat(),
            [
                ftyp.clone(),
                boxed(b"meta", &meta),
                boxed(b"skip", PLACE),
                samples.clone(),
                boxed(b"udta", &xyz),
            ]
            .concat(),
        ] {
            let (cleaned, changed) = cleaned(&video);
            assert!(changed);
            lacks(&cleaned, PLACE);
            lacks(&cleaned, b"Ann");
            lacks(&cleaned, b"com.apple");
            for kept in [&ftyp, &samples, &mvhd] {
                let at = |file: &[u8]| file.windows(kept.len()).position(|part| part == *kept);
                assert_eq!(at(&cleaned), at(&video));
            }
            assert!(forget_places(&mut Cursor::new(cleaned)).is_ok());
        }
    }

    #[test]
    fn boxes_with_long_and_with_open_lengths_are_read() {
        let long = [
            &1_u32.to_be_bytes(),
            b"udta".as_slice(),
            &(16 + 18_u64).to_be_bytes(),
            PLACE,
        ]
        .concat();
        let open = [&0_u32.to_be_bytes(), b"uuid".as_slice(), PLACE].concat();
        let (cleaned, _) = cleaned(&[boxed(b"ftyp", b"qt  \0\0\0\0"), boxed(b"moov", &long), open].concat());
        lacks(&cleaned, PLACE);
        assert_eq!(
            &cleaned[24..40],
            [&1_u32.to_be_bytes(), b"free".as_slice(), &34_u64.to_be_bytes()].concat()
        );
    }

    #[test]
    fn a_track_of_positions_goes_with_its_samples_and_the_film_stays() {
        let samples = boxed(b"mdat", &[[b'F'; 40], [b'G'; 40], [b'F'; 40], [b'G'; 40]].concat());
        // The samples begin after the header.
        let film = track(1, b"vide", &[20; 4], &[8, 88], b"");
        let places = track(2, b"meta", &[20, 20, 25, 15], &[48, 128], b"");
        let (cleaned, _) = cleaned(&[samples, boxed(b"moov", &[film.clone(), places].concat())].concat());
        assert_eq!(cleaned[8..168], *[[b'F'; 40], [0; 40], [b'F'; 40], [0; 40]].concat());
        lacks(&cleaned, b"meta");
        assert_eq!(cleaned.windows(4).filter(|part| *part == b"trak").count(), 1);
        // Its user data is gone, and nothing else.
        let kept = film.windows(4).position(|part| part == b"udta").unwrap();
        let at = cleaned.windows(4).position(|part| part == b"trak").unwrap() - 4;
        assert_eq!(cleaned[at..at + kept], film[..kept]);
    }

    #[test]
    fn fragments_of_a_track_that_goes_go_too() {
        let fragment = |number: u32| boxed(b"traf", &boxed(b"tfhd", &numbers(&[0, number])));
        let moof = boxed(b"moof", &[fragment(1), fragment(2), boxed(b"udta", PLACE)].concat());
        let moov = boxed(
            b"moov",
            &[track(1, b"soun", &[], &[], b""), track(2, b"sbtl", &[], &[], b"")].concat(),
        );
        let (cleaned, _) = cleaned(&[moov, moof].concat());
        lacks(&cleaned, PLACE);
        assert_eq!(cleaned.windows(4).filter(|part| *part == b"traf").count(), 1);
    }

    #[test]
    fn what_can_be_read_no_further_is_left_where_it_says_nothing_of_a_place() {
        let ftyp = boxed(b"ftyp", b"isom\0\0\x02\0");
        let plain = [ftyp.clone(), vec![7; 200_000]].concat();
        assert_eq!(cleaned(&plain), (plain, false));
        let counting: Vec<u8> = (0..=255).cycle().take(100_000).collect();
        let counting = [ftyp.clone(), counting].concat();
        assert_eq!(cleaned(&counting), (counting, false));
        let mut marked = [ftyp.clone(), vec![7; 200_000]].concat();
        marked[PART_BYTES + 12..PART_BYTES + 16].copy_from_slice(b"\xa9xyz");
        lacks(&cleaned(&marked).0, b"\xa9xyz");
        // A video that was cut off in the middle of its samples still plays.
        let mut cut = [ftyp.clone(), boxed(b"mdat", &[9; 100])].concat();
        cut.truncate(60);
        assert_eq!(cleaned(&cut), (cut, false));
        // A box that is longer than its parent.
        let inner = [&1_000_u32.to_be_bytes(), b"udta".as_slice(), PLACE].concat();
        lacks(&cleaned(&[ftyp, boxed(b"moov", &inner)].concat()).0, PLACE);
    }

    #[test]
    fn no_video_takes_more_work_than_its_length() {
        let many = boxed(b"free", b"").repeat(usize::try_from(MAX_BOXES).unwrap() + 1);
        assert!(matches!(
            forget_places(&mut Cursor::new(many)),
            Err(VideoError::TooManyParts)
        ));
        // Each chunk claims to be the whole file.
        let samples = boxed(b"mdat", &[1; 1_000]);
        let greedy = track(1, b"meta", &[2_000; 50], &[8; 25], b"");
        let greedy = [samples, boxed(b"moov", &greedy)].concat();
        assert!(matches!(
            forget_places(&mut Cursor::new(greedy)),
            Err(VideoError::TooManyParts)
        ));
        let endless = track(1, b"meta", &[], &[], b"");
        let at = endless.windows(4).position(|part| part == b"stco").unwrap() + 8;
        let mut endless = boxed(b"moov", &endless);
        endless[at + 8..at + 12].copy_from_slice(&u32::MAX.to_be_bytes());
        assert!(matches!(
            forget_places(&mut Cursor::new(endless)),
            Err(VideoError::TooManyParts)
        ));
    }

    proptest! {
        #[test]
        fn whatever_is_sent_keeps_its_length(
            parts in prop::collection::vec((prop::sample::select(vec![*b"moov", *b"trak", *b"mdia", *b"hdlr", *b"minf",
                *b"stbl", *b"stsc", *b"stsz", *b"stco", *b"co64", *b"mdat", *b"moof", *b"traf", *b"tfhd", *b"udta"]),
                prop::collection::vec(any::<u8>(), 0..60), 0_u32..90), 0..12)
        ) {
            let mut video = Vec::new();
            for (kind, content, length) in parts {
                video.extend(length.to_be_bytes());
                video.extend(kind);
                video.extend(content);
            }
            let mut file = Cursor::new(video.clone());
            let _ = forget_places(&mut file);
            prop_assert_eq!(file.into_inner().len(), video.len());
        }
    }
}
