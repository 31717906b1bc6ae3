//! A wrong clock.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::server::Serve;

/// Makes the C library return another time of day: later by the number of seconds in a file. The time since the start stays
/// right.
const SOURCE: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *ahead;
static int (*original)(clockid_t, struct timespec *);

__attribute__((constructor)) static void begin(void) {
    original = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    const char *path = getenv("WRONG_CLOCK");
    int file = path ? open(path, O_RDONLY) : -1;
    if (file >= 0) {
        void *mapped = mmap(0, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
        close(file);
        if (mapped != MAP_FAILED) ahead = mapped;
    }
}

int clock_gettime(clockid_t id, struct timespec *time) {
    if (!original) begin();
    int outcome = original(id, time);
    if (outcome == 0 && id == CLOCK_REALTIME && ahead) time->tv_sec += *ahead;
    return outcome;
}
"#;

/// The clock of servers that are started on it: ahead of this machine's by the seconds that are set.
#[derive(Debug)]
pub struct WrongClock {
    library: PathBuf,
    ahead: PathBuf,
}

impl WrongClock {
    /// Makes a clock that is this number of seconds ahead, or late if it is negative. It is built in `folder` by a C compiler.
    pub fn new(folder: &Path, seconds: i64) -> Self {
        let (source, library) = (folder.join("wrong-clock.c"), folder.join("wrong-clock.so"));
        fs::write(&source, SOURCE).unwrap();
        let mut compiler = Command::new("cc");
        let compiled = compiler
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .args([&library, &source])
            .arg("-ldl")
            .status();
        assert!(
            compiled.is_ok_and(|status| status.success()),
            "cc cannot compile a wrong clock"
        );
        let clock = Self {
            library,
            ahead: folder.join("wrong-clock"),
        };
        clock.set(seconds);
        clock
    }

    /// Sets it this number of seconds ahead of this machine's from now on.
    pub fn set(&self, seconds: i64) {
        // The file is overwritten in place, since this very file is mapped.
        let mut file = fs::File::options()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&self.ahead)
            .unwrap();
        std::io::Write::write_all(&mut file, &seconds.to_ne_bytes()).unwrap();
    }
}

impl Serve {
    /// Runs it on a wrong clock.
    #[must_use]
    pub fn on_clock(self, clock: &WrongClock) -> Self {
        self.env("LD_PRELOAD", clock.library.display())
            .env("WRONG_CLOCK", clock.ahead.display())
    }
}
