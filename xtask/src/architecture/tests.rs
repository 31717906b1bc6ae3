use std::env;
use std::fs;
use std::path::Path;

use super::arrows::{self, Layer};
use super::violations;
use crate::scratch::Scratch;
use crate::workspace::Workspace;

#[test]
fn arrows_point_inwards() {
    const KERNEL: &str = "crates/domain/kernel";
    const ACCOUNTS: &str = "crates/domain/accounts";
    const REFERENCE: &str = "crates/domain/reference";
    const LEADS: &str = "crates/domain/leads";
    const VEHICLES: &str = "crates/domain/vehicles";
    const LISTINGS: &str = "crates/domain/listings";
    const INVOICES: &str = "crates/domain/invoices";
    const ORDERS: &str = "crates/domain/orders";
    const BILLING: &str = "crates/domain/billing";
    const SALES: &str = "crates/domain/sales";
    const PRINT: &str = "crates/domain/print";
    const DEALERSHIP: &str = "crates/domain/dealership";
    const STORAGE: &str = "crates/adapters/storage";
    const REST: &str = "crates/adapters/rest";
    const NET: &str = "crates/shared/net";
    const APP: &str = "crates/app";
    // Each layer with its allowed and its forbidden dependencies.
    let rules: [(&str, &[&str], &[&str]); 17] = [
        (KERNEL, &[], &[REFERENCE, ACCOUNTS, LEADS, STORAGE]),
        (REFERENCE, &[KERNEL], &[ACCOUNTS, LEADS]),
        (ACCOUNTS, &[KERNEL, REFERENCE], &[LEADS]),
        (
            LEADS,
            &[KERNEL, ACCOUNTS, REFERENCE],
            &[VEHICLES, DEALERSHIP, STORAGE, NET, APP],
        ),
        (LEADS, &["dev:crates/domain/vehicles"], &["dev:crates/adapters/storage"]),
        (VEHICLES, &[INVOICES], &[LISTINGS]),
        (LISTINGS, &[KERNEL, VEHICLES], &[INVOICES]),
        (INVOICES, &[KERNEL, BILLING, PRINT], &[VEHICLES, ORDERS]),
        (BILLING, &[KERNEL, ACCOUNTS, PRINT], &[INVOICES, VEHICLES]),
        (
            SALES,
            &[BILLING, VEHICLES, INVOICES, ORDERS, LEADS],
            &[LISTINGS, STORAGE],
        ),
        (PRINT, &[KERNEL], &[ACCOUNTS, REFERENCE, INVOICES]),
        (DEALERSHIP, &[LEADS, VEHICLES, LISTINGS, INVOICES, ACCOUNTS], &[STORAGE]),
        (
            REST,
            &[KERNEL, LEADS, DEALERSHIP, NET, "dev:crates/adapters/storage"],
            &[STORAGE, APP, "xtask"],
        ),
        (NET, &[], &["crates/shared/durable", KERNEL, STORAGE, APP, "tests"]),
        (APP, &[NET, STORAGE, REST, LEADS], &["tests"]),
        ("tests", &[APP, KERNEL], &[]),
        ("xtask", &["tests"], &[]),
    ];
    let remedy = |from: &str, to: &str| {
        let (to, for_tests) = to.strip_prefix("dev:").map_or((to, false), |to| (to, true));
        let [from, to] = [from, to].map(|folder| Layer::of(Path::new(folder)).unwrap());
        arrows::remedy(from, to, for_tests)
    };
    for (from, allowed, denied) in rules {
        for to in allowed {
            assert_eq!(remedy(from, to), None, "{from} → {to}");
        }
        for to in denied {
            assert!(remedy(from, to).is_some(), "{from} → {to}");
        }
    }
}

/// A small workspace on disk that keeps every rule, for the real Cargo.
struct Fixture(Scratch);

impl Fixture {
    fn new() -> Self {
        let fixture = Self(Scratch::new(&env::temp_dir(), "architecture").unwrap());
        fixture.write(
            "Cargo.toml",
            "[workspace]\nresolver = '3'\nmembers = ['crates/domain/*', 'crates/adapters/*', 'crates/app']\n\
             [workspace.lints.rust]\nunsafe_code = \"forbid\"\n",
        );
        fixture.member("domain/kernel", "");
        fixture.member("domain/leads", "kernel.path = '../kernel'");
        fixture.member("adapters/mail", "leads.path = '../../domain/leads'");
        fixture.member("app", "mail.path = '../adapters/mail'");
        fixture.write(
            "crates/app/src/lib.rs",
            "mod system;\n#[cfg(test)]\n#[path = \"other/tests.rs\"]\nmod tests;",
        );
        fixture.write("crates/app/src/system.rs", "#[expect(clippy::disallowed_methods)]");
        fixture.write("crates/app/src/other/tests.rs", "pub(crate) mod deep;");
        fixture.write("crates/app/src/other/deep/mod.rs", "");
        fixture
    }

    /// Writes a crate with these dependencies, in place of the existing one.
    fn member(&self, folder: &str, dependencies: &str) {
        let name = Path::new(folder).file_name().unwrap().to_str().unwrap();
        let manifest =
            format!("[package]\nname = '{name}'\n[lints]\nworkspace = true\n[dependencies]\n{dependencies}\n");
        self.write(&format!("crates/{folder}/Cargo.toml"), &manifest);
        self.write(&format!("crates/{folder}/src/lib.rs"), "");
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Returns each violation's rule and place.
    fn violations(&self) -> Vec<String> {
        let found = violations(&Workspace::at(self.0.path())).unwrap();
        let head = |line: String| line.splitn(3, ": ").take(2).collect::<Vec<_>>().join(": ");
        found.into_iter().map(head).collect()
    }
}

#[test]
fn a_workspace_that_keeps_the_rules_is_clean() {
    assert_eq!(Fixture::new().violations(), [""; 0]);
}

#[test]
fn an_arrow_that_points_outwards_is_found() {
    let fixture = Fixture::new();
    fixture.member("domain/kernel", "mail.path = '../../adapters/mail'");
    fixture.member("adapters/mail", "");
    assert_eq!(fixture.violations(), ["dependencies point inwards: kernel"]);
}

#[test]
fn what_no_tool_sees_in_the_files_is_found() {
    let fixture = Fixture::new();
    fixture.write("scripts/build.sh", "");
    fixture.write("crates/domain/kernel/Cargo.toml", "[package]\nname = 'kernel'\n");
    fixture.write("crates/domain/leads/src/stray.rs", "");
    fixture.member("adapters/mail", "[lib]\ntest = false");
    fixture.write(
        "crates/adapters/mail/src/lib.rs",
        "mod address;\n#[expect(clippy::disallowed_methods)]\n#[cfg(test)]\nmod tests {}",
    );
    fixture.write("crates/adapters/mail/src/address.rs", "#[cfg(test)]\nmod tests {}");
    let with_path = "#[path = \"../src/address.rs\"]\nmod address;";
    fixture.write("crates/adapters/mail/tests/units.rs", with_path);
    let mut found = fixture.violations();
    found.sort_unstable();
    assert_eq!(
        found,
        [
            "every file is compiled: crates/domain/leads/src/stray.rs",
            "every test is run: crates/adapters/mail/src/lib.rs",
            "lints hold everywhere: crates/domain/kernel/Cargo.toml",
            "the top level is fixed: scripts",
            "there is one clock: crates/adapters/mail/src/lib.rs",
        ]
    );
}
