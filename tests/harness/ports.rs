//! Ports for servers to listen on.

use std::fs::{self, File};
use std::net::TcpListener;
use std::process;
use std::sync::atomic::{AtomicU16, Ordering};

/// The first port: below those that Linux, macOS and Windows use for outgoing connections, so that no client takes a port
/// between its choice and its use.
const FIRST: u16 = 12_000;
const COUNT: u16 = 18_000;

/// A port that is reserved as long as this value exists. Tests run in several processes, so a file lock keeps them apart; the
/// system releases it when its process dies.
#[derive(Debug)]
pub struct Port {
    number: u16,
    _lock: File,
}

impl Port {
    /// Reserves one on which nothing listens.
    pub fn reserve() -> Self {
        static NEXT: AtomicU16 = AtomicU16::new(0);
        let folder = std::env::temp_dir().join("forecourt-test-ports");
        fs::create_dir_all(&folder).unwrap();
        // Processes begin far apart, so that they rarely try the same ones.
        let start = u16::try_from(process::id().wrapping_mul(97) % u32::from(COUNT)).unwrap();
        for _ in 0..COUNT {
            let step = NEXT.fetch_add(1, Ordering::Relaxed) % COUNT;
            let number = FIRST + (start + step) % COUNT;
            let lock = File::create(folder.join(number.to_string())).unwrap();
            if lock.try_lock().is_ok() && TcpListener::bind(("127.0.0.1", number)).is_ok() {
                return Self { number, _lock: lock };
            }
        }
        panic!("no port is free");
    }

    /// Returns its number.
    pub const fn number(&self) -> u16 {
        self.number
    }
}
