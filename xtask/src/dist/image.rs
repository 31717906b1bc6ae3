//! The image, built by buildah without a daemon from `docs/deploy/Containerfile`.
//!
//! The file is a layout of OCI and an archive of Docker at once: `skopeo`, `umoci` and `podman` read the one, `docker load` the
//! other. The description of the image is Docker's, since OCI's has no health check; readers of OCI's ignore that member.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::archive::pack;
use super::{Program, Release, copy, create_folder, empty_folder, sums, write};
use crate::error::{Context as _, Error, Result};
use crate::process;
use crate::scratch::Scratch;

/// The certificates of public authorities on Debian and its kin, and on Fedora and its kin.
const CERTIFICATES: [&str; 2] = ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"];

/// Returns the programs to make images of, one for each kind of machine: the static one where there is one.
pub(super) fn programs<'a>(release: &Release<'_>, programs: &'a [Program]) -> Result<Vec<&'a Program>> {
    let mut chosen: Vec<&Program> = programs
        .iter()
        .filter(|program| program.target.ends_with("-musl"))
        .collect();
    let machine = |program: &Program| program.target.split('-').next().unwrap_or_default().to_owned();
    for program in programs.iter().filter(|program| program.target == release.host) {
        if !chosen.iter().any(|other| machine(other) == machine(program)) {
            eprintln!(
                "note: without a static program the image has the libraries that the one for {} names",
                program.target
            );
            chosen.push(program);
        }
    }
    if chosen.is_empty() {
        return Err(Error::new(
            "none of the targets makes an image: it takes a -musl one, or this machine's own",
        ));
    }
    Ok(chosen)
}

/// Makes the image; returns its name.
pub(super) fn make(release: &Release<'_>, program: &Program) -> Result<String> {
    let context = release.target_directory.join("image");
    fill(&context, program)?;
    let scratch = Scratch::new(&release.folder(), "image")?;
    let [root, run, built, layout] = ["root", "run", "built", "layout"].map(|name| scratch.path().join(name));
    // A store of its own, so that nothing is left on this machine.
    let buildah = || {
        let mut buildah = release.workspace.command("buildah");
        buildah
            .arg("--root")
            .arg(&root)
            .arg("--runroot")
            .arg(&run)
            .args(["--storage-driver", "vfs"]);
        buildah
    };
    let created = release.date("+%Y-%m-%dT%H:%M:%SZ")?;
    let file = release.workspace.root().join("docs/deploy/Containerfile");
    let mut build = buildah();
    build
        .args([
            "build",
            "--isolation",
            "chroot",
            "--format",
            "docker",
            "--quiet",
            "--tag",
            "forecourt",
        ])
        .args(["--timestamp", &release.commit.time.to_string()])
        .args(["--platform", platform(&program.target)?])
        .args(["--build-arg", &format!("VERSION={}", release.version())])
        .args(["--build-arg", &format!("REVISION={}", release.commit.id)])
        .args(["--build-arg", &format!("CREATED={created}")])
        .arg("--file")
        .arg(&file)
        .arg(&context);
    process::run(&mut build)?;
    let mut push = buildah();
    push.args([
        "push",
        "--quiet",
        "--format",
        "v2s2",
        "--compression-format",
        "gzip",
        "forecourt",
    ]);
    process::run(push.arg(format!("dir:{}", built.display())))?;
    process::output(buildah().args(["rmi", "--all", "--force"]))?;

    lay_out(release, &built, &layout)?;
    let name = format!("forecourt-{}-{}.oci.tar", release.version(), program.target);
    pack(
        release,
        &layout,
        &["blobs", "index.json", "manifest.json", "oci-layout"],
        &release.folder().join(&name),
    )?;
    Ok(name)
}

/// Returns the image's name for the machines of a target.
fn platform(target: &str) -> Result<&'static str> {
    match target.split('-').next() {
        Some("x86_64") => Ok("linux/amd64"),
        Some("aarch64") => Ok("linux/arm64"),
        _ => Err(Error::new(format!("the platform of {target} is not known here"))),
    }
}

/// Fills the folder that the image is built from.
fn fill(context: &Path, program: &Program) -> Result<()> {
    empty_folder(context)?;
    create_folder(&context.join("data"))?;
    let root = context.join("root");
    // The folders above the data are root's.
    create_folder(&root.join("var/lib"))?;
    copy(&program.path, &root.join("usr/bin/forecourt"))?;
    let certificates = CERTIFICATES.iter().map(Path::new).find(|path| path.is_file());
    let certificates = certificates
        .ok_or_else(|| Error::new("no certificates are on this machine (Debian's package ca-certificates)"))?;
    copy(certificates, &root.join("etc/ssl/certs/ca-certificates.crt"))?;
    if !program.target.ends_with("-musl") {
        for library in libraries(&process::output(Command::new("ldd").arg(&program.path))?) {
            let at = library.strip_prefix("/").unwrap_or(&library);
            copy(&library, &root.join(at))?;
        }
    }
    let data = format!("{}", context.join("data").display());
    process::output(Command::new("chmod").args(["-R", "u=rwX,go=rX"]).arg(context))?;
    process::output(Command::new("chmod").args(["750", &data])).map(drop)
}

/// Reads the paths that `ldd` prints: one on each line, but for what the kernel provides.
fn libraries(said: &str) -> Vec<PathBuf> {
    let words = said
        .lines()
        .filter_map(|line| line.split_whitespace().find(|word| word.starts_with('/')));
    words.map(PathBuf::from).collect()
}

/// Makes the layout from an image in a folder as buildah writes it.
fn lay_out(release: &Release<'_>, built: &Path, layout: &Path) -> Result<()> {
    let read = |name: &str| {
        let path = built.join(name);
        let text = fs::read(&path).context(|| format!("{} cannot be read", path.display()))?;
        serde_json::from_slice::<Value>(&text).context(|| format!("{} is not understood", path.display()))
    };
    let manifest = read("manifest.json")?;
    let digest = |blob: &Value| {
        blob["digest"]
            .as_str()
            .unwrap_or_default()
            .trim_start_matches("sha256:")
            .to_owned()
    };
    let blobs = layout.join("blobs/sha256");
    create_folder(&blobs)?;
    let layers: Vec<&Value> = manifest["layers"].as_array().into_iter().flatten().collect();
    for layer in &layers {
        copy(&built.join(digest(layer)), &blobs.join(digest(layer)))?;
    }
    let blob = |content: &Value| {
        let draft = blobs.join("draft");
        let text = content.to_string();
        write(&draft, &text)?;
        let sum = sums::checksum(release.workspace, &draft)?;
        fs::rename(&draft, blobs.join(&sum)).context(|| format!("{sum} cannot be named"))?;
        Ok::<_, Error>((format!("sha256:{sum}"), text.len()))
    };
    let (config, config_size) = blob(&without_chance(read(&digest(&manifest["config"]))?))?;
    let oci_layers = layers.iter().map(|layer| {
        json!({
            "mediaType": "application/vnd.oci.image.layer.v1.tar+gzip",
            "digest": layer["digest"],
            "size": layer["size"],
        })
    });
    let (image, image_size) = blob(&json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": {"mediaType": "application/vnd.oci.image.config.v1+json", "digest": config, "size": config_size},
        "layers": oci_layers.collect::<Vec<_>>(),
    }))?;
    let version = release.version();
    let index = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [{
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "digest": image,
            "size": image_size,
            "annotations": {"org.opencontainers.image.ref.name": version},
        }],
    });
    let at = |digest: &str| format!("blobs/sha256/{}", digest.trim_start_matches("sha256:"));
    let docker = json!([{
        "Config": at(&config),
        "RepoTags": [format!("forecourt:{version}")],
        "Layers": layers.iter().map(|layer| at(&digest(layer))).collect::<Vec<_>>(),
    }]);
    write(&layout.join("index.json"), index.to_string())?;
    write(&layout.join("manifest.json"), docker.to_string())?;
    write(
        &layout.join("oci-layout"),
        json!({"imageLayoutVersion": "1.0.0"}).to_string(),
    )
}

/// Removes what buildah draws by chance from the description of an image: names of the container in which it was built.
fn without_chance(mut config: Value) -> Value {
    if let Some(members) = config.as_object_mut() {
        members.remove("container");
        members.remove("container_config");
    }
    if let Some(members) = config["config"].as_object_mut() {
        members.remove("Hostname");
        members.remove("Image");
    }
    config
}

/// Unpacks an image's file into a folder, as a layout of OCI.
pub(crate) fn unpack_layout(file: &Path, folder: &Path) -> Result<()> {
    create_folder(folder)?;
    process::output(
        Command::new("tar")
            .arg("--extract")
            .arg("--file")
            .arg(file)
            .arg("--directory")
            .arg(folder),
    )
    .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_read_from_what_the_loader_says() {
        let said = "\tlinux-vdso.so.1 (0x00007ffd)\n\tlibgcc_s.so.1 => /lib/x86_64-linux-gnu/libgcc_s.so.1 (0x00007f)\n\
                    \tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f)\n\t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n";
        let expected = [
            "/lib/x86_64-linux-gnu/libgcc_s.so.1",
            "/lib/x86_64-linux-gnu/libc.so.6",
            "/lib64/ld-linux-x86-64.so.2",
        ];
        assert_eq!(libraries(said), expected.map(PathBuf::from));
        assert!(libraries("\tstatically linked\n").is_empty());
    }

    #[test]
    fn an_image_has_no_trace_of_the_container_that_it_was_built_in() {
        let config = json!({
            "created": "2026", "container": "f00", "container_config": {"Hostname": "f00"},
            "config": {"Hostname": "f00", "Image": "", "User": "65532:65532", "Healthcheck": {"Test": ["CMD"]}},
        });
        let expected = json!({"created": "2026", "config": {"User": "65532:65532", "Healthcheck": {"Test": ["CMD"]}}});
        assert_eq!(without_chance(config), expected);
    }

    #[test]
    fn the_static_program_is_preferred() {
        let given = |targets: &[&str]| -> Vec<Program> {
            targets
                .iter()
                .map(|target| Program::given(target, PathBuf::new()))
                .collect()
        };
        let workspace = crate::workspace::Workspace::locate().unwrap();
        let mut release = Release::new(&workspace).unwrap();
        "x86_64-unknown-linux-gnu".clone_into(&mut release.host);
        let chosen = |targets: &[&str]| {
            let all = given(targets);
            let chosen = programs(&release, &all)?;
            Ok::<_, Error>(chosen.iter().map(|program| program.target.clone()).collect::<Vec<_>>())
        };
        let [gnu, musl, arm_gnu, arm_musl] = [
            "x86_64-unknown-linux-gnu",
            "x86_64-unknown-linux-musl",
            "aarch64-unknown-linux-gnu",
            "aarch64-unknown-linux-musl",
        ];
        assert_eq!(chosen(&[gnu, musl, arm_gnu, arm_musl]).unwrap(), [musl, arm_musl]);
        assert_eq!(chosen(&[gnu, arm_gnu]).unwrap(), [gnu]);
        assert!(chosen(&[arm_gnu]).is_err());
    }
}
