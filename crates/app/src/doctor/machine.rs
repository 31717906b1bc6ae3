//! Checks of the machine: its disks, its clock, its limits, and the store of files.

use std::{
    fs,
    path::{Path, PathBuf},
};

use bytes::Bytes;
use chrono::DateTime;
use forecourt_files::{FileKind, FileName, FileStore, FileStoreError, find_mismatches};
use forecourt_kernel::{BoxError, BusinessId, Clock as _, Random as _};
use forecourt_storage::RunningServer;
use futures_util::{TryStreamExt as _, stream};
use rustix::{
    fs::{statfs, statvfs},
    process::{Resource, getrlimit},
};

use super::{Checked, Context, Finding, Status, Unchecked, database, services};
use crate::{
    system::{SystemClock, SystemRandom},
    wiring,
};

const MIB: u64 = 1024 * 1024;
const GIB: u64 = 1024 * MIB;
/// The bytes of the probe.
const PROBE: usize = 1024;
/// The business of the probe, which no real one is.
const NO_BUSINESS: BusinessId = BusinessId::new(0);
/// The number of files without a record from which something is wrong.
const MAX_STRAYS: usize = 1_000;
/// The number of files that are compared at once.
const COMPARED_AT_ONCE: u32 = 500;
/// The milliseconds by which clocks may differ.
const MAX_OFFSET: i64 = 2_000;
/// The seconds by which the time at the public URL may differ, which is only told to the second.
const MAX_DISTANCE: i64 = 5;
/// The number of files that a busy server has open.
const OPEN_FILES: u64 = 8_192;
const MIN_MEMORY: u64 = 256 * MIB;
/// The file system of a container's own layer, by its number in Linux's `magic.h`.
const OVERLAYFS: i64 = 0x794C_7630;

pub(super) async fn disk(context: &Context) -> Checked {
    let settings = context.settings()?;
    let mut places = vec![
        ("data folder", settings.data_dir.clone()),
        ("scratch", settings.data_dir.join("scratch")),
    ];
    if let Some(file) = database::file(settings) {
        places.push(("database", file));
    }
    let mut worst = Finding::ok("there is room");
    for (name, path) in places {
        let found = statvfs(present(&path).as_path())?;
        let room = |free: u64, all: u64| Room { free, all };
        let bytes = room(found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize);
        let inodes = room(found.f_favail, found.f_files);
        let finding = judge_disk(name, bytes, inodes);
        let is_worse = |finding: &Finding| match finding.status {
            Status::Fail => worst.status != Status::Fail,
            Status::Warn => !worst.status.is_bad(),
            Status::Ok | Status::Skip => worst.status == Status::Ok,
        };
        if is_worse(&finding) {
            worst = finding;
        }
    }
    Ok(worst)
}

/// Returns the path, or the nearest folder above it that exists.
fn present(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let found = absolute.ancestors().find(|path| path.exists());
    found.unwrap_or(Path::new("/")).to_owned()
}

/// The room on a disk, in bytes or in inodes.
#[derive(Clone, Copy)]
pub(super) struct Room {
    pub(super) free: u64,
    pub(super) all: u64,
}

impl Room {
    /// Returns true if less than this part of it is free; a file system without a limit has all.
    const fn is_below(self, percent: u64) -> bool {
        self.all > 0 && self.free < self.all / 100 * percent
    }
}

pub(super) fn judge_disk(name: &str, bytes: Room, inodes: Room) -> Finding {
    let found = format!(
        "{name}: {} MiB of {} MiB free{}",
        bytes.free / MIB,
        bytes.all / MIB,
        if inodes.is_below(10) { ", and few inodes" } else { "" }
    );
    let remedy = "free some room, enlarge the disk, or move the data: FORECOURT_DATA_DIR, FORECOURT_BLOB_URL";
    if bytes.is_below(2) || bytes.free < 200 * MIB || inodes.is_below(2) {
        Finding::fail(found, remedy)
    } else if bytes.is_below(10) || bytes.free < GIB || inodes.is_below(10) {
        Finding::warn(found, remedy)
    } else {
        Finding::ok(found)
    }
}

pub(super) async fn files_store(context: &Context) -> Checked {
    let settings = context.settings()?;
    let probed = async {
        let files = wiring::files(settings).map_err(|error| Unchecked::from(error).0)?;
        probe(&*files).await.map_err(|error| Unchecked::from(error).0)
    };
    Ok(match probed.await {
        Ok(()) => Finding::ok("a file was written, read and deleted"),
        Err(fault) => Finding::fail(
            fault,
            "correct FORECOURT_BLOB_URL, or give this account the right to write there (chown -R, or the bucket's policy)",
        ),
    })
}

async fn probe(files: &dyn FileStore) -> Result<(), FileStoreError> {
    let name = FileName::random(&SystemRandom, FileKind::Pdf);
    let mut content = vec![0; PROBE];
    SystemRandom.fill(&mut content);
    let content = Bytes::from(content);
    let stream = Box::pin(stream::iter([Ok::<_, BoxError>(content.clone())]));
    files.put(NO_BUSINESS, &name, PROBE as u64, stream).await?;
    let read = async {
        let Some(file) = files.open(NO_BUSINESS, &name, None).await? else {
            return Err(FileStoreError("what was written is not there".into()));
        };
        let read: Vec<Bytes> = file.content.try_collect().await.map_err(FileStoreError)?;
        if read.concat() == content {
            Ok(())
        } else {
            Err(FileStoreError("what was written is read differently".into()))
        }
    };
    let read = read.await;
    files.delete(NO_BUSINESS, &name).await?;
    read
}

pub(super) async fn files_sweep(context: &Context) -> Checked {
    let settings = context.settings()?;
    let files = wiring::files(settings)?;
    let database = wiring::database_of(settings, context.storage()?, None);
    let mut strays = 0;
    for business in files.businesses().await? {
        let mut after = None;
        loop {
            let mut records = database.read_for(Some(business)).await?;
            let now = SystemClock.now();
            let found = find_mismatches(
                &*files,
                records.as_mut(),
                business,
                after.as_ref(),
                COMPARED_AT_ONCE,
                now,
            );
            let found = found.await?;
            strays += found.orphans.len();
            after = found.next;
            if after.is_none() || strays > MAX_STRAYS {
                break;
            }
        }
    }
    Ok(judge_strays(strays))
}

pub(super) fn judge_strays(strays: usize) -> Finding {
    if strays > MAX_STRAYS {
        Finding::warn(
            format!("more than {MAX_STRAYS} files have no record"),
            "forecourt files check lists them; check that DATABASE_URL and FORECOURT_BLOB_URL belong together",
        )
    } else {
        Finding::ok(format!("{strays} files have no record"))
    }
}

pub(super) async fn clock(context: &Context) -> Checked {
    let offset = match &context.storage {
        Ok(storage) => storage.clock_offset(&SystemClock).await?,
        Err(_) => None,
    };
    let mut distance = None;
    let settings = context.settings()?;
    if let (Some(_), false) = (&settings.public_url, context.no_network)
        && let Ok(answer) = services::healthz(settings).await
        && let Some(date) = answer.date.and_then(|date| DateTime::parse_from_rfc2822(&date).ok())
    {
        distance = Some(date.timestamp() - SystemClock.now().epoch_seconds());
    }
    Ok(judge_clock(offset, &context.servers, distance))
}

pub(super) fn judge_clock(offset: Option<i64>, servers: &[RunningServer], distance: Option<i64>) -> Finding {
    let remedy = "timedatectl set-ntp true (on the machine whose clock is wrong)";
    if let Some(offset) = offset.filter(|offset| offset.abs() > MAX_OFFSET) {
        return Finding::fail(format!("this clock is {offset} ms ahead of the database's"), remedy);
    }
    let offsets = servers.iter().filter_map(|running| running.clock_offset);
    if let (Some(least), Some(most)) = (offsets.clone().min(), offsets.max())
        && most - least > MAX_OFFSET
    {
        return Finding::fail(
            format!("the clocks of two servers are {} ms apart", most - least),
            remedy,
        );
    }
    if let Some(distance) = distance.filter(|distance| distance.abs() > MAX_DISTANCE) {
        return Finding::fail(
            format!("the clock at the public URL is {distance} s ahead of this one"),
            remedy,
        );
    }
    Finding::ok("the clocks agree")
}

pub(super) async fn limits(context: &Context) -> Checked {
    let files = getrlimit(Resource::Nofile).current;
    let memory = fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let memory = memory.and_then(|text| text.trim().parse().ok());
    let kind = statfs(present(&context.settings()?.data_dir).as_path()).map(|found| found.f_type);
    Ok(judge_limits(files, memory, kind.unwrap_or_default() == OVERLAYFS))
}

/// Assesses limits, where `None` is no limit.
pub(super) fn judge_limits(files: Option<u64>, memory: Option<u64>, is_in_layer: bool) -> Finding {
    if is_in_layer {
        return Finding::warn(
            "the data folder is in a container's own layer, and is lost with it",
            "mount a volume: docker run --volume forecourt:/var/lib/forecourt …",
        );
    }
    if let Some(files) = files.filter(|files| *files < OPEN_FILES) {
        return Finding::warn(
            format!("{files} files may be open"),
            format!("ulimit -n {OPEN_FILES} (systemd: LimitNOFILE=65536)"),
        );
    }
    if let Some(memory) = memory.filter(|memory| *memory < MIN_MEMORY) {
        return Finding::warn(
            format!("{} MiB of memory may be used", memory / MIB),
            "raise the limit to 256 MiB or more (docker run --memory 512m, systemd: MemoryMax=512M)",
        );
    }
    Finding::ok("open files and memory suffice")
}
