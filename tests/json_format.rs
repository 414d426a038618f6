//! `docs/json-format.md` and `docs/report.schema.json` say the same.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use serde_json::Value;

#[path = "support/schema.rs"]
mod schema;

const PAGE: &str = include_str!("../docs/json-format.md");

#[test]
fn the_schema_is_one() {
    let schema: Value = serde_json::from_str(schema::SCHEMA).unwrap();
    assert!(jsonschema::meta::is_valid(&schema));
}

#[test]
fn the_worked_example_is_a_report() {
    let (_, behind) = PAGE.split_once("```json\n").unwrap();
    let (example, _) = behind.split_once("```").unwrap();
    let example: Value = serde_json::from_str(example).unwrap();
    schema::assert_report(&example);
    assert_eq!(example["version"], env!("CARGO_PKG_VERSION"));
    let chunks = &example["captures"][0]["exchanges"][0]["response"]["body"]["chunks"];
    for chunk in chunks.as_array().unwrap() {
        let size = u64::from_str_radix(chunk["size_hex"].as_str().unwrap(), 16).unwrap();
        assert_eq!(chunk["size"], size);
    }
}

/// The names of all properties, and the values of all lists of values, below.
fn words(schema: &Value, found: &mut Vec<String>) {
    match schema {
        Value::Object(members) => {
            for (name, below) in members {
                match (name.as_str(), below) {
                    ("properties", Value::Object(properties)) => found.extend(properties.keys().cloned()),
                    ("enum" | "examples", Value::Array(values)) => {
                        found.extend(values.iter().filter_map(Value::as_str).map(str::to_owned));
                    }
                    _ => {}
                }
                words(below, found);
            }
        }
        Value::Array(elements) => elements.iter().for_each(|below| words(below, found)),
        _ => {}
    }
}

#[test]
fn every_member_and_every_word_of_the_schema_is_explained() {
    let schema: Value = serde_json::from_str(schema::SCHEMA).unwrap();
    let mut found = Vec::new();
    words(&schema, &mut found);
    assert!(found.len() > 100);
    let unexplained: Vec<_> = found.iter().filter(|word| !PAGE.contains(&format!("`{word}`"))).collect();
    assert!(unexplained.is_empty(), "{unexplained:?}");
}

#[test]
#[should_panic(expected = "/captures/0/colour: the schema doesn't know this member")]
fn a_member_that_nobody_decided_on_is_noticed() {
    let (_, behind) = PAGE.split_once("```json\n").unwrap();
    let mut example: Value = serde_json::from_str(behind.split_once("```").unwrap().0).unwrap();
    example["captures"][0]["colour"] = Value::from("red");
    schema::assert_report(&example);
}

#[test]
fn parts_are_held_against_their_definitions() {
    schema::assert_part(
        "violation",
        &serde_json::json!({
            "code": "bad-framing", "chunk": null, "frame": 7, "message": "the size line is empty"
        }),
    );
}
