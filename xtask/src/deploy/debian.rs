//! The Debian package: installed, configured, upgraded and purged in a clean chroot.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Trial, chroot, everything, missing, unprivileged};
use crate::dist;
use crate::error::{Context as _, Error, Result};
use crate::process;
use crate::task::Outcome;

/// The steps of an administrator, each with what must be so afterwards. `systemctl` is one that writes down its arguments.
const STEPS: [(&str, &str); 5] = [
    (
        "install",
        r#"
        dpkg --install /first.deb
        test "$(stat -c '%a %U %G' /etc/forecourt/forecourt.env)" = '640 root forecourt'
        test "$(stat -c '%a %U %G' /var/lib/forecourt)" = '750 forecourt forecourt'
        test "$(stat -c '%a %U %G' /usr/bin/forecourt)" = '755 root root'
        test "$(getent passwd forecourt | cut -d: -f7)" = /usr/sbin/nologin
        test -L /etc/systemd/system/multi-user.target.wants/forecourt.service
        grep -q '^/etc/forecourt/forecourt.env$' /var/lib/dpkg/info/forecourt.conffiles
        test ! -e /var/lib/forecourt/forecourt.db
        forecourt --version
        test -e /usr/share/man/man1/forecourt-serve.1.gz
        "#,
    ),
    (
        "an upgrade of what is not configured",
        r#"
        dpkg --install /second.deb
        test ! -e /var/lib/forecourt/forecourt.db
        ! grep -E '^(re)?start' /systemctl.log
        "#,
    ),
    (
        "configure",
        r#"
        (umask 077; head -c 32 /dev/urandom | base64 > /etc/forecourt/secret.key)
        echo '# ours' >> /etc/forecourt/forecourt.env
        "#,
    ),
    (
        "an upgrade",
        r#"
        dpkg --install /third.deb
        grep -q '^# ours$' /etc/forecourt/forecourt.env
        test "$(stat -c '%U' /var/lib/forecourt/forecourt.db)" = forecourt
        # It stops, migrates and starts, in this order.
        test "$(grep -E '^(stop|start) .*forecourt.service' /systemctl.log | cut -d' ' -f1 | tr '\n' ' ')" = 'stop start '
        grep -q '^start .*forecourt.service, with a database$' /systemctl.log
        "#,
    ),
    (
        "remove and purge",
        r#"
        dpkg --remove forecourt
        test -e /etc/forecourt/forecourt.env
        dpkg --purge forecourt </dev/null
        test ! -e /etc/forecourt/forecourt.env
        test -e /var/lib/forecourt/forecourt.db
        test -e /etc/forecourt/secret.key
        test ! -e /etc/systemd/system/multi-user.target.wants/forecourt.service
        "#,
    ),
];

/// Stands for systemd's: writes down its arguments, and whether there was a database.
const SYSTEMCTL: &str = r#"#!/bin/sh
while [ "${1#--}" != "$1" ]; do shift; done
database=; [ ! -e /var/lib/forecourt/forecourt.db ] || database=', with a database'
echo "$*$database" >> /systemctl.log
[ "$1" != is-enabled ] || echo enabled
"#;

pub(super) fn check(trial: &Trial<'_>) -> Result<Outcome> {
    let tools = [("dpkg-shlibdeps", "dpkg-dev"), ("mmdebstrap", "mmdebstrap")];
    if let Some(what) = missing(&tools).map_or_else(unprivileged, |what| Ok(Some(what)))? {
        return Ok(Outcome::Skipped(what));
    }
    let name = trial.files.iter().find(|file| file.ends_with(".deb"));
    let package = trial
        .release
        .folder()
        .join(name.ok_or_else(|| Error::new("the release has no package"))?);
    let lintian = lint(trial, &package)?;

    let scratch = trial.scratch()?;
    let program = trial.program(&scratch)?;
    let later = |number: u8| {
        let version = format!("{}+{number}", trial.release.version());
        dist::package_of_version(&trial.release, &program, &version, scratch.path())
    };
    let (second, third) = (later(2)?, later(3)?);
    let base = match base(trial)? {
        Ok(base) => base,
        Err(why) => return Ok(Outcome::Skipped(why)),
    };
    let root = scratch.path().join("root");
    fs::create_dir(&root).context(|| format!("{} cannot be made", root.display()))?;
    process::output(
        Command::new("tar")
            .arg("--extract")
            .arg("--file")
            .arg(base)
            .arg("--directory")
            .arg(&root),
    )?;
    for (from, to) in [(&package, "first.deb"), (&second, "second.deb"), (&third, "third.deb")] {
        fs::copy(from, root.join(to)).context(|| format!("{} cannot be copied", from.display()))?;
    }
    for (name, script) in STEPS {
        eprintln!("{name}");
        let said = everything(chroot(&root, "sh").args(["-exc", script]));
        said.map_err(|error| Error::new(format!("{name}: {error}")))?;
        // The first installation is in a system without one, as that of an image is.
        pretend_systemd(&root)?;
    }
    Ok(lintian.map_or(Outcome::Passed, Outcome::Skipped))
}

/// Has lintian look at the package; returns the reason if it could not.
fn lint(trial: &Trial<'_>, package: &Path) -> Result<Option<String>> {
    if let Some(what) = missing(&[("lintian", "lintian")]) {
        return Ok(Some(what));
    }
    let mut lintian = Command::new("lintian");
    lintian.args(["--allow-root", "--fail-on", "error,warning"]);
    if trial.options.program.is_some() {
        // A program that was built for tests is not stripped.
        lintian.args(["--suppress-tags", "unstripped-binary-or-object"]);
    }
    process::run(lintian.arg(package))?;
    Ok(None)
}

/// Returns the archive of a clean system of this machine's release, or the reason why there is none. It is made once.
fn base(trial: &Trial<'_>) -> Result<Result<PathBuf, String>> {
    let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let field = |name: &str| {
        release
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .unwrap_or_default()
            .trim_matches('"')
    };
    if field("ID=") != "debian" {
        return Ok(Err(
            "this machine's system is not Debian, whose libraries the program names".to_owned(),
        ));
    }
    let suite = field("VERSION_CODENAME=");
    let archive = trial.cache()?.join(format!("{suite}.tar"));
    if archive.is_file() {
        return Ok(Ok(archive));
    }
    let draft = archive.with_extension("draft.tar");
    let mut mmdebstrap = Command::new("mmdebstrap");
    if let Err(error) = process::output(mmdebstrap.args(["--quiet", "--variant=minbase", suite]).arg(&draft)) {
        return Ok(Err(format!("no clean system can be made: {error}")));
    }
    fs::rename(&draft, &archive).context(|| format!("{} cannot be named", archive.display()))?;
    Ok(Ok(archive))
}

/// Makes the scripts of the package believe that systemd runs.
fn pretend_systemd(root: &Path) -> Result<()> {
    let program = root.join("usr/bin/systemctl");
    let made = fs::write(&program, SYSTEMCTL).and_then(|()| fs::create_dir_all(root.join("run/systemd/system")));
    made.and_then(|()| fs::write(root.join("systemctl.log"), ""))
        .context(|| format!("{} cannot be written", program.display()))?;
    process::output(Command::new("chmod").arg("755").arg(&program)).map(drop)
}
