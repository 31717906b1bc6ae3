//! The whole check against small workspaces on disk, with the real Cargo.

use std::env;
use std::fs;
use std::path::Path;

use super::violations;
use crate::scratch::Scratch;
use crate::workspace::Workspace;

const LINTS: &str = "[lints]\nworkspace = true\n";

/// A workspace of five crates that keeps every rule.
struct Fixture(Scratch);

impl Fixture {
    fn new() -> Self {
        let fixture = Self(Scratch::new(&env::temp_dir(), "architecture").unwrap());
        fixture.write(
            "Cargo.toml",
            "[workspace]\nresolver = '3'\nmembers = ['crates/domain/*', 'crates/adapters/*', 'crates/app']\n\
             exclude = ['.vendored']\n[workspace.lints.rust]\nunsafe_code = 'forbid'\n",
        );
        // A stand-in by the same name: the rule goes by names, and so the test needs no network.
        fixture.write(".vendored/tokio/Cargo.toml", "[package]\nname = 'tokio'\n");
        fixture.write(".vendored/tokio/src/lib.rs", "");
        fixture.write(
            ".vendored/helper/Cargo.toml",
            "[package]\nname = 'helper'\n[dependencies]\ntokio.path = '../tokio'\n",
        );
        fixture.write(".vendored/helper/src/lib.rs", "");
        fixture.member("domain/kernel", "");
        fixture.member(
            "domain/leads",
            "kernel.path = '../kernel'\n[dev-dependencies]\ntokio.path = '../../../.vendored/tokio'",
        );
        fixture.member(
            "adapters/mail",
            "leads.path = '../../domain/leads'\ntokio.path = '../../../.vendored/tokio'",
        );
        fixture.member("adapters/rest", "leads.path = '../../domain/leads'");
        fixture.member("app", "rest.path = '../adapters/rest'\nmail.path = '../adapters/mail'");
        fixture.write(
            "crates/app/src/system.rs",
            "pub fn now() { std::time::SystemTime::now(); }",
        );
        fixture
    }

    /// A crate with these dependencies, in place of the one that is there.
    fn member(&self, folder: &str, dependencies: &str) {
        let name = Path::new(folder).file_name().unwrap().to_str().unwrap();
        let manifest = format!("[package]\nname = '{name}'\n{LINTS}[dependencies]\n{dependencies}\n");
        self.write(&format!("crates/{folder}/Cargo.toml"), &manifest);
        self.write(&format!("crates/{folder}/src/lib.rs"), "");
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Rule and place of each violation.
    fn violations(&self) -> Vec<(&'static str, String)> {
        let found = violations(&Workspace::at(self.0.path())).unwrap();
        found
            .into_iter()
            .map(|violation| (violation.rule, violation.place))
            .collect()
    }

    #[track_caller]
    fn assert_violation(&self, rule: &str, place: &str) {
        let found = self.violations();
        assert!(
            found.iter().any(|(r, p)| *r == rule && p == place),
            "no `{rule}` at {place} in {found:?}"
        );
    }
}

#[test]
fn a_workspace_that_keeps_the_rules_is_clean() {
    assert_eq!(Fixture::new().violations(), []);
}

#[test]
fn an_adapter_that_knows_another_is_found() {
    let fixture = Fixture::new();
    fixture.member("adapters/mail", "rest.path = '../rest'");
    assert_eq!(
        fixture.violations(),
        [("dependencies point inwards", "mail".to_owned())]
    );
}

#[test]
fn a_domain_that_knows_an_adapter_is_found() {
    let fixture = Fixture::new();
    fixture.member("adapters/rest", "");
    fixture.member(
        "domain/leads",
        "kernel.path = '../kernel'\nrest.path = '../../adapters/rest'",
    );
    assert_eq!(
        fixture.violations(),
        [("dependencies point inwards", "leads".to_owned())]
    );
}

#[test]
fn io_far_behind_an_optional_dependency_is_found() {
    let fixture = Fixture::new();
    fixture.member(
        "domain/leads",
        "kernel.path = '../kernel'\nhelper = { path = '../../../.vendored/helper', optional = true }",
    );
    assert_eq!(fixture.violations(), [("the domain does no I/O", "leads".to_owned())]);
}

#[test]
fn io_of_one_domain_is_blamed_on_all_that_use_it() {
    let fixture = Fixture::new();
    fixture.member("domain/kernel", "helper.path = '../../../.vendored/helper'");
    fixture.assert_violation("the domain does no I/O", "kernel");
    fixture.assert_violation("the domain does no I/O", "leads");
}

#[test]
fn what_the_sources_do_is_found() {
    let fixture = Fixture::new();
    fixture.write("crates/domain/leads/src/deep/file.rs", "\n\nuse std::{fmt, env};\n");
    fixture.write("crates/adapters/mail/src/lib.rs", "fn f() { chrono::Utc::now(); }");
    assert_eq!(
        fixture.violations(),
        [
            (
                "the domain does no I/O",
                "crates/domain/leads/src/deep/file.rs:3".to_owned()
            ),
            ("there is one clock", "crates/adapters/mail/src/lib.rs:1".to_owned()),
        ]
    );
}

#[test]
fn lints_that_do_not_hold_are_found() {
    let fixture = Fixture::new();
    fixture.write("crates/domain/kernel/Cargo.toml", "[package]\nname = 'kernel'\n");
    fixture.assert_violation("lints hold everywhere", "crates/domain/kernel/Cargo.toml");
}

#[test]
fn a_stray_at_the_top_level_is_found() {
    let fixture = Fixture::new();
    fixture.write("scripts/build.sh", "");
    assert_eq!(fixture.violations(), [("the top level is fixed", "scripts".to_owned())]);
}
