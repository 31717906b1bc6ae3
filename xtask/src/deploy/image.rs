//! The image: what it says of itself, and that it serves as user 65532 on a root that cannot be written.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::{Trial, expect, missing, unprivileged};
use crate::dist;
use crate::error::{Context as _, Error, Result};
use crate::process;
use crate::server::Server;
use crate::services::free_port;
use crate::task::Outcome;

/// The most that the image may weigh, compressed.
const MAX_BYTES: u64 = 25_000_000;

/// Mounts a root so that it cannot be written, with the folders that a runtime of containers adds, and runs a program there.
const CONTAINED: &str = r#"
root=$1; shift
mkdir -p "$root/proc" "$root/dev"
mount --bind "$root" "$root"
mount --rbind /proc "$root/proc"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for device in null urandom; do touch "$root/dev/$device" && mount --bind "/dev/$device" "$root/dev/$device"; done
mount --bind "$DATA" "$root/var/lib/forecourt"
mount -o remount,bind,ro "$root"
exec chroot --userspec=65532:65532 --groups= "$root" "$@"
"#;

pub(super) fn check(trial: &Trial<'_>) -> Result<Outcome> {
    let tools = [
        ("buildah", "buildah"),
        ("umoci", "umoci"),
        ("skopeo", "skopeo"),
        ("unshare", "util-linux"),
    ];
    if let Some(what) = missing(&tools).map_or_else(unprivileged, |what| Ok(Some(what)))? {
        return Ok(Outcome::Skipped(what));
    }
    let machine = trial.release.host.split('-').next().unwrap_or_default();
    let is_ours = |file: &&String| file.ends_with(".oci.tar") && file.contains(machine);
    let name = trial
        .files
        .iter()
        .find(is_ours)
        .ok_or_else(|| Error::new("the release has no image of this machine's kind"))?;
    let file = trial.release.folder().join(name);
    // Both forms can be read.
    for form in ["oci-archive", "docker-archive"] {
        let said = process::output(
            Command::new("skopeo")
                .arg("inspect")
                .arg(format!("{form}:{}", file.display())),
        )?;
        let said: Value = serde_json::from_str(&said).context(|| "what skopeo prints is not understood".to_owned())?;
        let version = said["Labels"]["org.opencontainers.image.version"]
            .as_str()
            .unwrap_or_default();
        expect("the version that the image names", &version, &trial.release.version())?;
    }
    let scratch = trial.scratch()?;
    let layout = scratch.path().join("layout");
    dist::unpack_layout(&file, &layout)?;
    let (config, bytes) = describe(&layout)?;
    eprintln!("the image weighs {bytes} bytes");
    // A program that was built for tests weighs more than one that is shipped.
    if bytes > MAX_BYTES && trial.options.program.is_none() {
        return Err(Error::new(format!(
            "the image weighs {bytes} bytes, and may weigh {MAX_BYTES}"
        )));
    }

    let bundle = scratch.path().join("bundle");
    let image = format!("{}:{}", layout.display(), trial.release.version());
    process::output(Command::new("umoci").args(["unpack", "--image", &image]).arg(&bundle))?;
    serve(&config, &bundle.join("rootfs"), scratch.path())?;
    Ok(Outcome::Passed)
}

/// Checks what the image says of itself; returns its settings and its bytes.
fn describe(layout: &Path) -> Result<(Value, u64)> {
    let read = |path: &Path| {
        let text = fs::read(path).context(|| format!("{} cannot be read", path.display()))?;
        serde_json::from_slice::<Value>(&text).context(|| format!("{} is not understood", path.display()))
    };
    let blob = |blob: &Value| {
        let digest = blob["digest"].as_str().unwrap_or_default().replace(':', "/");
        read(&layout.join("blobs").join(digest))
    };
    let manifest = blob(&read(&layout.join("index.json"))?["manifests"][0])?;
    let bytes: u64 = manifest["layers"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|layer| layer["size"].as_u64())
        .sum();
    let config = blob(&manifest["config"])?["config"].take();
    expect("the user", &config["User"], &json!("65532:65532"))?;
    expect("the list of ports", &config["ExposedPorts"], &json!({"8080/tcp": {}}))?;
    expect(
        "the health check",
        &config["Healthcheck"]["Test"],
        &json!(["CMD", "forecourt", "health"]),
    )?;
    for label in [
        "title",
        "description",
        "version",
        "revision",
        "created",
        "licenses",
        "source",
        "url",
        "documentation",
    ] {
        let value = config["Labels"][format!("org.opencontainers.image.{label}")].as_str();
        if value.is_none_or(str::is_empty) {
            return Err(Error::new(format!("the image has no label {label}")));
        }
    }
    Ok((config, bytes))
}

/// Starts the server as a container would, and has the health check look at it.
fn serve(config: &Value, root: &Path, scratch: &Path) -> Result<()> {
    let data = scratch.join("data");
    fs::create_dir(&data).context(|| format!("{} cannot be made", data.display()))?;
    process::output(Command::new("chown").arg("65532:65532").arg(&data))?;
    let (port, admin) = (free_port()?, free_port()?);
    let contained = |arguments: &[&str]| {
        let mut command = Command::new("unshare");
        command
            .args(["--mount", "sh", "-ec", CONTAINED, "sh"])
            .arg(root)
            .args(arguments);
        crate::codegen::without_settings(&mut command);
        let variables = config["Env"].as_array().into_iter().flatten().filter_map(Value::as_str);
        // The shell before the program keeps its own path.
        let variables = variables
            .filter_map(|variable| variable.split_once('='))
            .filter(|(name, _)| *name != "PATH");
        command
            .envs(variables)
            .env("DATA", &data)
            .env("FORECOURT_BIND", format!("0.0.0.0:{port}"))
            .env("FORECOURT_ADMIN_BIND", format!("127.0.0.1:{admin}"));
        command
    };
    let server = Server::start(
        contained(&["/usr/bin/forecourt", "serve"]),
        port,
        "/readyz",
        &scratch.join("log"),
    )?;
    process::output(&mut contained(&["/usr/bin/forecourt", "health"]))?;
    server.stop()?;
    if process::output(&mut contained(&["/usr/bin/forecourt", "health"])).is_ok() {
        return Err(Error::new("the health check calls a server healthy that has stopped"));
    }
    let owner = process::output(
        Command::new("stat")
            .args(["--format", "%u"])
            .arg(data.join("forecourt.db")),
    )?;
    expect("the owner of the database", &owner.trim(), &"65532")
}
