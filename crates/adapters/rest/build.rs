//! Unpacks from Swagger UI's archive only the files that the documentation's page loads: the whole of it is four times as
//! large.

use std::env;
use std::error::Error;
use std::fs::File;
use std::io::{self, Cursor};
use std::path::Path;

use utoipa_swagger_ui_vendored::SWAGGER_UI_VENDORED;
use zip::ZipArchive;

const FILES: [&str; 3] = ["favicon-32x32.png", "swagger-ui-bundle.js", "swagger-ui.css"];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let folder = env::var("OUT_DIR")?;
    let mut archive = ZipArchive::new(Cursor::new(SWAGGER_UI_VENDORED))?;
    // The archive's only folder has the version in its name.
    let top = archive.by_index(0)?.name()?.to_string();
    for file in FILES {
        let mut content = archive.by_name(&format!("{top}dist/{file}"))?;
        io::copy(&mut content, &mut File::create(Path::new(&folder).join(file))?)?;
    }
    Ok(())
}
