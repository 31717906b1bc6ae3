//! A disk that loses data: the files as they may be found after a power cut, made from a process's writes and syncs.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use harness::Dice;

/// The unit that a disk writes completely or not at all.
const SECTOR: usize = 512;

/// An entry of the recorder.
pub(super) enum Record<'a> {
    Create { file: u64, path: &'a Path },
    Write { file: u64, at: usize, content: &'a [u8] },
    Truncate { file: u64, length: usize },
    SyncFile { file: u64 },
    SyncFolder { path: &'a Path },
    MakeFolder { path: &'a Path },
    Rename { from: &'a Path, to: &'a Path },
    Link { from: &'a Path, to: &'a Path },
    Remove { path: &'a Path },
}

/// Returns the records of a log, each with the place where it ends.
pub(super) fn records(log: &[u8]) -> Vec<(usize, Record<'_>)> {
    const HEAD: usize = 1 + 4 * 8;
    let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    let size = |bytes: &[u8]| usize::try_from(number(bytes)).expect("a length");
    let (mut records, mut place) = (Vec::new(), 0);
    while let Some(head) = log.get(place..place + HEAD) {
        let (file, at) = (number(&head[1..9]), size(&head[9..17]));
        let (one, two) = (size(&head[17..25]), size(&head[25..33]));
        let Some(content) = log.get(place + HEAD..place + HEAD + one + two) else {
            break;
        };
        let (content, other) = content.split_at(one);
        place += HEAD + one + two;
        let text = |bytes| Path::new(str::from_utf8(bytes).unwrap_or_default());
        let (path, to) = (text(content), text(other));
        let record = match head[0] {
            b'C' => Record::Create { file, path },
            b'W' => Record::Write { file, at, content },
            b'T' => Record::Truncate { file, length: at },
            b'S' => Record::SyncFile { file },
            b'D' => Record::SyncFolder { path },
            b'M' => Record::MakeFolder { path },
            b'R' => Record::Rename { from: path, to },
            b'L' => Record::Link { from: path, to },
            b'U' => Record::Remove { path },
            kind => panic!("no such record: {kind}"),
        };
        records.push((place, record));
    }
    records
}

/// The data that is on the disk, and the data that may be.
pub(super) struct Disk {
    root: PathBuf,
    files: Vec<Content>,
    /// The latest file that has an inode's number.
    inodes: HashMap<u64, usize>,
    changes: Vec<Change>,
    /// The current files, as long as there is power.
    nodes: BTreeMap<PathBuf, Node>,
    /// True if syncs are effective; a disk that ignores them must be detected.
    syncs: bool,
}

/// The content of a file: the synced part, and the writes since.
#[derive(Default)]
struct Content {
    synced: Vec<u8>,
    since: Vec<Piece>,
}

enum Piece {
    Write(usize, Vec<u8>),
    Truncate(usize),
}

/// A change of a folder, which is certainly on the disk once the folder was synced.
struct Change {
    what: Entry,
    synced: bool,
}

enum Entry {
    File(PathBuf, usize),
    Folder(PathBuf),
    /// A rename of the file with the first path.
    Rename(PathBuf, PathBuf, Node),
    Link(PathBuf, Node),
    Remove(PathBuf),
}

impl Entry {
    /// Returns the folder in which it appears, or from which it disappears.
    fn folder(&self) -> Option<&Path> {
        match self {
            Self::File(path, _)
            | Self::Folder(path)
            | Self::Rename(_, path, _)
            | Self::Link(path, _)
            | Self::Remove(path) => path.parent(),
        }
    }
}

#[derive(Clone, Copy)]
enum Node {
    File(usize),
    Folder,
}

/// The part of the unsynced data that is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Luck {
    Nothing,
    Everything,
    Some,
}

impl Disk {
    /// Makes one with an empty folder.
    pub(super) fn new(root: &Path, syncs: bool) -> Self {
        Self {
            root: root.to_owned(),
            files: Vec::new(),
            inodes: HashMap::new(),
            changes: Vec::new(),
            nodes: BTreeMap::from([(root.to_owned(), Node::Folder)]),
            syncs,
        }
    }

    pub(super) fn apply(&mut self, record: &Record<'_>) {
        match *record {
            Record::Create { file, path } => {
                self.inodes.insert(file, self.files.len());
                self.change(Entry::File(path.to_owned(), self.files.len()));
                self.files.push(Content::default());
            }
            Record::Write { file, at, content } => self.piece(file, Piece::Write(at, content.to_vec())),
            Record::Truncate { file, length } => self.piece(file, Piece::Truncate(length)),
            Record::SyncFile { file } if self.syncs => {
                if let Some(content) = self.content(file) {
                    content.synced = content.after(Luck::Everything, &mut Dice::new(0));
                    content.since.clear();
                }
            }
            Record::SyncFolder { path } if self.syncs => {
                for change in self
                    .changes
                    .iter_mut()
                    .filter(|change| change.what.folder() == Some(path))
                {
                    change.synced = true;
                }
            }
            Record::SyncFile { .. } | Record::SyncFolder { .. } => (),
            Record::MakeFolder { path } => self.change(Entry::Folder(path.to_owned())),
            Record::Rename { from, to } => {
                if let Some(node) = self.nodes.get(from).copied() {
                    self.change(Entry::Rename(from.to_owned(), to.to_owned(), node));
                }
            }
            Record::Link { from, to } => {
                if let Some(node) = self.nodes.get(from).copied() {
                    self.change(Entry::Link(to.to_owned(), node));
                }
            }
            Record::Remove { path } => self.change(Entry::Remove(path.to_owned())),
        }
    }

    fn content(&mut self, file: u64) -> Option<&mut Content> {
        self.files.get_mut(*self.inodes.get(&file)?)
    }

    fn piece(&mut self, file: u64, piece: Piece) {
        if let Some(content) = self.content(file) {
            content.since.push(piece);
        }
    }

    fn change(&mut self, what: Entry) {
        apply(&mut self.nodes, &what);
        self.changes.push(Change { what, synced: false });
    }

    /// Writes to `folder` the files that are found after a power cut now.
    pub(super) fn after_power_cut(&self, dice: &mut Dice, folder: &Path) {
        let luck = [Luck::Nothing, Luck::Everything, Luck::Some][dice.pick(3)];
        // A file system keeps its changes in order, so that it loses the latest ones.
        let first = self
            .changes
            .iter()
            .position(|change| !change.synced)
            .unwrap_or(self.changes.len());
        let kept = match luck {
            Luck::Nothing => first,
            Luck::Everything => self.changes.len(),
            Luck::Some => first + dice.pick(self.changes.len() - first + 1),
        };
        let mut nodes = BTreeMap::from([(self.root.clone(), Node::Folder)]);
        for (number, change) in self.changes.iter().enumerate() {
            if change.synced || number < kept {
                apply(&mut nodes, &change.what);
            }
        }
        for (path, node) in &nodes {
            let to = folder.join(path.strip_prefix(&self.root).expect("below the root"));
            match node {
                Node::Folder => fs::create_dir_all(&to).unwrap(),
                // SQLite rebuilds the index of its log.
                Node::File(_) if path.to_string_lossy().ends_with("-shm") => (),
                Node::File(file) => {
                    let content = &self.files[*file];
                    fs::write(&to, content.after(luck, dice)).unwrap();
                }
            }
        }
    }
}

/// Changes a folder, unless that folder is lost itself.
fn apply(nodes: &mut BTreeMap<PathBuf, Node>, entry: &Entry) {
    if !entry.folder().is_some_and(|folder| nodes.contains_key(folder)) {
        return;
    }
    match entry {
        Entry::File(path, file) => nodes.insert(path.clone(), Node::File(*file)),
        Entry::Folder(path) => nodes.insert(path.clone(), Node::Folder),
        Entry::Rename(from, to, node) => {
            nodes.remove(from);
            nodes.insert(to.clone(), *node)
        }
        Entry::Link(path, node) => nodes.insert(path.clone(), *node),
        Entry::Remove(path) => nodes.remove(path),
    };
}

impl Content {
    /// Returns the content that may be there: unsynced pieces are missing, or torn at some sector.
    fn after(&self, luck: Luck, dice: &mut Dice) -> Vec<u8> {
        let mut bytes = self.synced.clone();
        for piece in &self.since {
            let fate = if luck == Luck::Some { dice.pick(3) } else { 0 };
            match piece {
                _ if luck == Luck::Nothing || fate == 1 => (),
                Piece::Truncate(length) => bytes.resize(*length, 0),
                Piece::Write(at, content) => {
                    let sectors = content.len().div_ceil(SECTOR);
                    let length = if fate == 2 {
                        (dice.pick(sectors + 1) * SECTOR).min(content.len())
                    } else {
                        content.len()
                    };
                    if bytes.len() < at + length {
                        bytes.resize(at + length, 0);
                    }
                    bytes[*at..at + length].copy_from_slice(&content[..length]);
                }
            }
        }
        bytes
    }
}
