//! `cargo xtask migrations`: checks what a migration does while servers of the previous version read and write.
//!
//! Released migrations must not change, and are listed with a digest in `migrations/released.txt`. A release adds its own:
//! `cargo xtask migrations --release`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::error::{Context as _, Error, Result};
use crate::task::Task;
use crate::workspace::Workspace;

pub(crate) const TASK: Task = Task {
    name: "migrations",
    usage: "[--release]",
    summary: "check that the version before can live with each new migration; list the present ones as released",
    run: |workspace, arguments| match arguments {
        [] => check(workspace),
        [option] if option == "--release" => release(workspace),
        _ => Err(Error::new("usage: cargo xtask migrations [--release]")),
    },
};

const ENGINES: [&str; 2] = ["postgres", "sqlite"];
const RELEASED: &str = "released.txt";

/// Prints a line for each broken rule.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let folder = workspace.root().join("migrations");
    let faults = faults(&folder)?;
    for fault in &faults {
        eprintln!("{fault}");
    }
    match faults.len() {
        0 => Ok(()),
        1 => Err(Error::new("a migration breaks a rule")),
        many => Err(Error::new(format!("migrations break rules in {many} places"))),
    }
}

fn release(workspace: &Workspace) -> Result<()> {
    let folder = workspace.root().join("migrations");
    let mut lines = String::new();
    for (name, text) in files(&folder)? {
        // Writing to a string does not fail.
        let _ = writeln!(lines, "{:016x}  {name}", digest(&text));
    }
    fs::write(folder.join(RELEASED), lines).context(|| format!("{RELEASED} cannot be written"))
}

/// Returns the files of all migrations by their paths below the folder, in order.
fn files(folder: &Path) -> Result<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    for engine in ENGINES {
        for migration in names(&folder.join(engine))? {
            for file in names(&folder.join(engine).join(&migration))? {
                let path = format!("{engine}/{migration}/{file}");
                let text = fs::read_to_string(folder.join(&path)).context(|| format!("{path} cannot be read"))?;
                found.insert(path, text);
            }
        }
    }
    Ok(found)
}

fn names(folder: &Path) -> Result<BTreeSet<String>> {
    let unreadable = || format!("{} cannot be read", folder.display());
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(folder).context(unreadable)? {
        names.insert(entry.context(unreadable)?.file_name().to_string_lossy().into_owned());
    }
    Ok(names)
}

/// Returns a digest, FNV-1a: it only has to detect mistakes, not attacks.
fn digest(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |digest, byte| {
        (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn faults(folder: &Path) -> Result<Vec<String>> {
    let mut faults = Vec::new();
    let [postgres, sqlite] = ENGINES.map(|engine| names(&folder.join(engine)));
    for migration in postgres?.symmetric_difference(&sqlite?) {
        faults.push(format!("{migration}: is there for one engine only"));
    }
    let list = fs::read_to_string(folder.join(RELEASED)).context(|| format!("{RELEASED} cannot be read"))?;
    let released: BTreeMap<&str, &str> = list
        .lines()
        .filter_map(|line| line.split_once("  "))
        .map(|(digest, path)| (path, digest))
        .collect();
    let files = files(folder)?;
    for path in released.keys().filter(|path| !files.contains_key(**path)) {
        faults.push(format!("{path}: was released and is gone"));
    }
    let last_released = released.keys().filter_map(|path| path.split('/').nth(1)).max();
    for (path, text) in &files {
        if let Some(released) = released.get(path.as_str()) {
            if format!("{:016x}", digest(text)) != *released {
                faults.push(format!("{path}: was released and is another now"));
            }
            continue;
        }
        let mut parts = path.split('/');
        let (Some(engine), Some(migration), Some(file)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        if last_released.is_some_and(|last| migration <= last) {
            faults.push(format!(
                "{path}: comes before {}, which was released",
                last_released.unwrap_or_default()
            ));
        }
        if file == "up.sql" {
            let metadata = files.get(&format!("{engine}/{migration}/metadata.toml"));
            let is_alone = metadata.is_some_and(|text| text.replace(' ', "").contains("run_in_transaction=false"));
            let found = statement_faults(engine, migration, text, is_alone);
            faults.extend(found.into_iter().map(|fault| format!("{path}: {fault}")));
        }
    }
    Ok(faults)
}

/// Returns the faults in a migration's statements.
fn statement_faults(engine: &str, migration: &str, text: &str, is_alone: bool) -> Vec<String> {
    let is_postgres = engine == "postgres";
    let statements = statements(text);
    let made: BTreeSet<&str> = statements.iter().filter_map(|words| created_table(words)).collect();
    let mut faults = Vec::new();
    for words in &statements {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        if let Some((index, table, is_concurrent)) = created_index(&words)
            && is_postgres
        {
            if !is_concurrent && !made.contains(table) {
                faults.push(format!(
                    "builds an index on {table}, which may be large: that stops its writers, so CREATE INDEX CONCURRENTLY in a migration \
                     of its own"
                ));
            }
            if is_concurrent && (statements.len() != 1 || !is_alone) {
                faults.push(format!(
                    "builds {index} concurrently: that is alone in its migration, with run_in_transaction = false in metadata.toml"
                ));
            }
            if is_concurrent
                && (migration.split_once('_').is_none_or(|(_, name)| name != index) || !has(&words, "IF NOT EXISTS"))
            {
                faults.push(format!(
                    "builds {index} concurrently: the migration has the index's name, by which it is found if it is broken off, and says \
                     IF NOT EXISTS"
                ));
            }
        }
        if is_postgres && words.starts_with(&["DROP", "TABLE"]) {
            faults.push("drops a table that the version before reads".to_owned());
        }
        if let Some(table) = altered_table(&words).filter(|table| !made.contains(table)) {
            faults.extend(alteration_fault(&words, is_postgres).map(|fault| format!("{fault} {table}")));
        }
    }
    faults
}

fn alteration_fault(words: &[&str], is_postgres: bool) -> Option<&'static str> {
    let adds_required = has(words, "ADD") && has(words, "NOT NULL") && !has(words, "DEFAULT");
    let is_new_name_of_table = has(words, "RENAME TO") && !is_postgres;
    if has(words, "DROP")
        && !has(words, "DROP NOT NULL")
        && !has(words, "DROP DEFAULT")
        && !has(words, "DROP CONSTRAINT")
    {
        Some("drops a column that the version before reads, of")
    } else if has(words, "RENAME") && !is_new_name_of_table {
        Some("gives another name to what the version before knows, of")
    } else if has(words, "SET NOT NULL") {
        Some("demands what the version before may leave out, of")
    } else if adds_required {
        Some("adds a column that the version before does not fill, and that has no default, to")
    } else {
        None
    }
}

/// Returns true if these words are in the statement, one after another.
fn has(words: &[&str], wanted: &str) -> bool {
    let wanted: Vec<&str> = wanted.split(' ').collect();
    words.windows(wanted.len()).any(|window| window == wanted.as_slice())
}

fn created_table(words: &[String]) -> Option<&str> {
    let mut rest = words
        .iter()
        .map(String::as_str)
        .skip_while(|word| ["CREATE", "UNLOGGED", "VIRTUAL"].contains(word));
    if words.first().is_none_or(|word| word != "CREATE") || rest.next() != Some("TABLE") {
        return None;
    }
    rest.find(|word| !["IF", "NOT", "EXISTS"].contains(word))
}

fn altered_table<'a>(words: &[&'a str]) -> Option<&'a str> {
    let rest = words.strip_prefix(&["ALTER", "TABLE"])?;
    rest.iter()
        .find(|word| !["IF", "EXISTS", "ONLY"].contains(word))
        .copied()
}

/// Returns the name of the index, its table, and whether it is built concurrently.
fn created_index<'a>(words: &[&'a str]) -> Option<(&'a str, &'a str, bool)> {
    let rest = words.strip_prefix(&["CREATE"])?;
    let rest = rest
        .strip_prefix(&["UNIQUE"])
        .unwrap_or(rest)
        .strip_prefix(&["INDEX"])?;
    let is_concurrent = rest.first() == Some(&"CONCURRENTLY");
    let on = rest.iter().position(|word| *word == "ON")?;
    let index = on.checked_sub(1).and_then(|before| rest.get(before))?;
    let table = rest.iter().skip(on + 1).find(|word| **word != "ONLY")?;
    Some((index, table, is_concurrent))
}

/// Splits statements into words: keywords in capitals, names in small letters, without comments and texts. Bodies of functions
/// are one word.
fn statements(text: &str) -> Vec<Vec<String>> {
    let mut statements = vec![Vec::new()];
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let (length, word) = if rest.starts_with("--") {
            (rest.find('\n').unwrap_or(rest.len()), None)
        } else if rest.starts_with("/*") {
            (rest.find("*/").map_or(rest.len(), |end| end + 2), None)
        } else if next == '\'' {
            (quoted(rest, "'"), Some("''".to_owned()))
        } else if next == '"' {
            let length = quoted(rest, "\"");
            (length, rest.get(1..length.saturating_sub(1)).map(str::to_owned))
        } else if let Some(tag) = dollar_tag(rest) {
            (quoted(rest, tag), Some("$$".to_owned()))
        } else if next == ';' {
            statements.push(Vec::new());
            (1, None)
        } else if next.is_alphanumeric() || next == '_' {
            let is_end = |character: char| !(character.is_alphanumeric() || character == '_' || character == '.');
            let length = rest.find(is_end).unwrap_or(rest.len());
            let word = rest.get(..length).unwrap_or_default();
            (
                length,
                Some(if is_keyword(word) {
                    word.to_uppercase()
                } else {
                    word.to_lowercase()
                }),
            )
        } else {
            let word = (!next.is_whitespace()).then(|| next.to_string());
            (next.len_utf8(), word)
        };
        if let Some(statement) = statements.last_mut() {
            statement.extend(word);
        }
        rest = rest.get(length.max(1)..).unwrap_or_default();
    }
    statements.retain(|statement| !statement.is_empty());
    statements
}

/// Returns the length of a text that begins and ends with this mark.
fn quoted(text: &str, mark: &str) -> usize {
    let inside = text.get(mark.len()..).unwrap_or_default();
    inside.find(mark).map_or(text.len(), |end| end + 2 * mark.len())
}

fn dollar_tag(text: &str) -> Option<&str> {
    let inside = text.strip_prefix('$')?;
    let end = inside.find('$')?;
    let is_tag = inside
        .get(..end)?
        .chars()
        .all(|character| character.is_alphabetic() || character == '_');
    if is_tag { text.get(..end + 2) } else { None }
}

fn is_keyword(word: &str) -> bool {
    const KEYWORDS: [&str; 27] = [
        "ADD",
        "ALTER",
        "COLUMN",
        "CONCURRENTLY",
        "CONSTRAINT",
        "CREATE",
        "DEFAULT",
        "DROP",
        "EXISTS",
        "GENERATED",
        "IF",
        "INDEX",
        "NOT",
        "NULL",
        "ON",
        "ONLY",
        "RENAME",
        "SET",
        "TABLE",
        "TO",
        "TYPE",
        "UNIQUE",
        "UNLOGGED",
        "USING",
        "VALID",
        "VIRTUAL",
        "WHERE",
    ];
    KEYWORDS.contains(&word.to_uppercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        statement_faults("postgres", "2026-12-01-000100_leads_colour", text, false)
    }

    #[track_caller]
    fn passes(text: &str) {
        assert_eq!(found(text), Vec::<String>::new(), "{text}");
    }

    #[track_caller]
    fn fails(text: &str, why: &str) {
        let faults = found(text);
        assert!(faults.iter().any(|fault| fault.contains(why)), "{text}: {faults:?}");
    }

    #[test]
    fn what_the_version_before_can_live_with_passes() {
        passes(
            "ALTER TABLE leads ADD COLUMN colour TEXT; ALTER TABLE leads ADD COLUMN doors BIGINT NOT NULL DEFAULT 0;",
        );
        passes("CREATE TABLE keys (id BIGINT NOT NULL PRIMARY KEY); CREATE INDEX keys_id ON keys (id);");
        passes(
            "CREATE TABLE IF NOT EXISTS \"keys\" (id BIGINT); create unique index keys_id on keys (id) where id > 0;",
        );
        passes(
            "-- ALTER TABLE leads DROP COLUMN colour;\nSELECT 'DROP TABLE leads;', $$ALTER TABLE leads RENAME TO it;$$;",
        );
        passes("ALTER TABLE leads ALTER COLUMN colour DROP NOT NULL");
    }

    #[test]
    fn what_it_cannot_live_with_is_found() {
        fails(
            "CREATE INDEX leads_colour ON leads (business_id, colour)",
            "may be large",
        );
        fails(
            "create\n  unique index leads_colour on only leads (colour)",
            "may be large",
        );
        fails("ALTER TABLE leads DROP COLUMN colour", "drops a column");
        fails("ALTER TABLE leads DROP colour", "drops a column");
        fails(
            "ALTER TABLE IF EXISTS leads RENAME COLUMN colour TO paint",
            "another name",
        );
        fails("ALTER TABLE leads RENAME TO enquiries", "another name");
        fails("ALTER TABLE leads ALTER COLUMN colour SET NOT NULL", "demands");
        fails("ALTER TABLE leads ADD COLUMN colour TEXT NOT NULL", "no default");
        fails("DROP TABLE lead_counts", "drops a table");
    }

    #[test]
    fn an_index_is_built_concurrently_and_alone() {
        fn faults(migration: &str, text: &str, is_alone: bool) -> usize {
            statement_faults("postgres", migration, text, is_alone).len()
        }
        let text = "CREATE INDEX CONCURRENTLY IF NOT EXISTS leads_colour ON leads (business_id, colour)";
        assert_eq!(faults("2026-12-01-000100_leads_colour", text, true), 0);
        assert_eq!(faults("2026-12-01-000100_leads_colour", text, false), 1);
        assert_eq!(faults("2026-12-01-000100_colours", text, true), 1);
        assert_eq!(
            faults("2026-12-01-000100_leads_colour", &format!("{text}; SELECT 1"), true),
            1
        );
        assert_eq!(
            faults(
                "2026-12-01-000100_leads_colour",
                &text.replace("IF NOT EXISTS ", ""),
                true
            ),
            1
        );
    }

    #[test]
    fn sqlite_builds_tables_anew() {
        let text = "CREATE TABLE anew (id INTEGER); DROP TABLE leads; ALTER TABLE anew RENAME TO leads; CREATE INDEX a ON b (c)";
        assert!(statement_faults("sqlite", "2026-12-01-000100_x", text, false).is_empty());
        let text = "ALTER TABLE leads DROP COLUMN colour";
        assert_eq!(statement_faults("sqlite", "2026-12-01-000100_x", text, false).len(), 1);
    }

    #[test]
    fn the_migrations_of_this_workspace_pass() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../migrations");
        assert_eq!(faults(&folder).unwrap(), Vec::<String>::new());
    }
}
