//! Holds JSON reports against `docs/report.schema.json`.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use serde_json::Value;

/// The published schema.
pub const SCHEMA: &str = include_str!("../../docs/report.schema.json");

/// Panics, naming each fault, unless `report` is a valid report without
/// members that the schema doesn't know. (The schema itself lets them pass:
/// consumers shall accept additions. Ours are to be conscious ones.)
#[allow(dead_code, reason = "not every test that uses this module has documents")]
pub fn assert_report(report: &Value) {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    assert_valid(&schema, &schema, report);
}

/// The same for a part of a report: `definition` is its name in `$defs`.
#[allow(dead_code, reason = "not every test that uses this module has parts")]
pub fn assert_part(definition: &str, part: &Value) {
    let root: Value = serde_json::from_str(SCHEMA).unwrap();
    let mut schema = root["$defs"][definition].clone();
    assert!(schema.is_object(), "no definition {definition}");
    schema["$defs"] = root["$defs"].clone();
    assert_valid(&root, &schema, part);
}

fn assert_valid(root: &Value, schema: &Value, instance: &Value) {
    let validator = jsonschema::draft202012::new(schema).unwrap();
    let mut faults: Vec<String> =
        validator.iter_errors(instance).map(|fault| format!("{}: {fault}", fault.instance_path())).collect();
    unknown_members(root, &[schema], instance, "", &mut faults);
    assert!(faults.is_empty(), "not a valid report:\n{}\n{instance:#}", faults.join("\n"));
}

/// Lists the members of `instance` that none of the schemas has as a property.
fn unknown_members(root: &Value, schemas: &[&Value], instance: &Value, path: &str, faults: &mut Vec<String>) {
    let schemas = resolved(root, schemas);
    match instance {
        Value::Object(members) => {
            for (name, value) in members {
                let known: Vec<_> =
                    schemas.iter().filter_map(|schema| schema["properties"].get(name)).collect();
                let path = format!("{path}/{name}");
                if known.is_empty() {
                    faults.push(format!("{path}: the schema doesn't know this member"));
                }
                unknown_members(root, &known, value, &path, faults);
            }
        }
        Value::Array(elements) => {
            let items: Vec<_> = schemas.iter().filter_map(|schema| schema.get("items")).collect();
            for (place, element) in elements.iter().enumerate() {
                unknown_members(root, &items, element, &format!("{path}/{place}"), faults);
            }
        }
        _ => {}
    }
}

/// The schemas, and all that they refer to or choose from.
fn resolved<'a>(root: &'a Value, schemas: &[&'a Value]) -> Vec<&'a Value> {
    let mut all = schemas.to_vec();
    let mut next = 0;
    while let Some(&schema) = all.get(next) {
        next += 1;
        if let Some(reference) = schema["$ref"].as_str() {
            all.push(root.pointer(reference.strip_prefix('#').unwrap()).unwrap());
        }
        all.extend(schema["anyOf"].as_array().into_iter().flatten());
    }
    all
}
