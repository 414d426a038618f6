//! `docs/rfc-map.md` names tests that exist, and all of the contract's.

use std::collections::BTreeSet;
use std::path::Path;

use regex::Regex;

const MAP: &str = include_str!("../../docs/rfc-map.md");

fn source(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The names of the tests in a source, those of properties and macros too.
fn tests_of(source: &str) -> BTreeSet<String> {
    let test = Regex::new(r"#\[test\]\s+(?:#\[[^\]]*\]\s+)*fn ([a-z0-9_]+)").unwrap();
    let truth = Regex::new(r#"(?m)^    ([a-z0-9_]+): ""#).unwrap();
    test.captures_iter(source).chain(truth.captures_iter(source)).map(|found| found[1].to_owned()).collect()
}

/// Each test that the map names: its file and its name.
fn named() -> BTreeSet<(String, String)> {
    let reference = Regex::new(r"`((?:src|tests)/[a-z0-9_/]+\.rs)::([a-z0-9_]+)`").unwrap();
    reference.captures_iter(MAP).map(|found| (found[1].to_owned(), found[2].to_owned())).collect()
}

#[test]
fn every_test_that_the_map_names_exists() {
    let named = named();
    assert!(named.len() > 100);
    let missing: Vec<_> =
        named.iter().filter(|(file, test)| !tests_of(&source(file)).contains(test)).collect();
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn the_map_names_every_test_of_the_contract() {
    let named = named();
    let mut missing = Vec::new();
    for name in [
        "chunks",
        "exchanges",
        "framing",
        "joining",
        "kinds",
        "problems",
        "raw",
        "run",
        "times",
        "totals",
        "verdicts",
    ] {
        let file = format!("tests/contract/{name}.rs");
        let tests = tests_of(&source(&file));
        missing
            .extend(tests.into_iter().map(|test| (file.clone(), test)).filter(|test| !named.contains(test)));
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn every_row_names_a_test() {
    for row in MAP.lines().filter(|line| line.starts_with("| ")) {
        let heading = row.ends_with("| test |") || row.starts_with("| ---");
        assert!(heading || row.contains(".rs::"), "{row}");
    }
}
