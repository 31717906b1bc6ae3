//! Rebuilds this crate when a migration is added: the macro that embeds them cannot notice a new file by itself.

fn main() {
    println!("cargo::rerun-if-changed=../../../migrations");
}
