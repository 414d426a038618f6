//! Compares a JSON report with a truth: what a recording is known to hold.
//!
//! A truth is a subset of the report.
//!
//! - Of an object, each member that the truth has must be there and agree.
//! - A list must agree in length and in each item. Exchanges are matched by
//!   stream and index, chunks and events by index, so that a difference is
//!   named where it is. `{"$contains": [...]}` allows further items.
//! - Names that begin with `_` are remarks.
//!
//! Some members are computed from the report: `payload_sha256` of a chunk,
//! `violation_codes` of an exchange (each once, in alphabetical order), and
//! `exit_status` of the run.

use std::collections::BTreeSet;

use base64::Engine;
use serde_json::Value;

#[path = "sha256.rs"]
mod sha256;

/// What differs: one line each, which says where, what was expected, and what
/// is there.
pub fn differences(truth: &Value, report: &Value, status: i32) -> Vec<String> {
    let mut report = report.clone();
    if let Some(members) = report.as_object_mut() {
        // A truth gives the exchanges of all captures at the top.
        let exchanges: Vec<Value> = items(members.get("captures"))
            .flat_map(|capture| items(capture.get("exchanges")))
            .cloned()
            .collect();
        members.insert("exchanges".into(), exchanges.into());
        members.insert("exit_status".into(), status.into());
    }
    let mut found = Vec::new();
    value(truth, Some(&report), "", &mut found);
    found
}

fn items(list: Option<&Value>) -> impl Iterator<Item = &Value> {
    list.and_then(Value::as_array).into_iter().flatten()
}

fn value(truth: &Value, report: Option<&Value>, at: &str, found: &mut Vec<String>) {
    match (truth, report) {
        (Value::Object(wanted), Some(Value::Array(list))) if wanted.len() == 1 => {
            match wanted.get("$contains").and_then(Value::as_array) {
                Some(some) => items_of(some, list, at, false, found),
                None => differ(truth, report, at, found),
            }
        }
        (Value::Object(wanted), Some(object @ Value::Object(_))) => {
            for (name, wanted) in wanted.iter().filter(|(name, _)| !name.starts_with('_')) {
                assert!(!name.starts_with('$'), "{at}: {name} is no operator here");
                let computed = computed(name, object);
                let there = computed.as_ref().or_else(|| object.get(name));
                let at = if at.is_empty() { name.clone() } else { format!("{at}.{name}") };
                value(wanted, there, &at, found);
            }
        }
        (Value::Array(wanted), Some(Value::Array(list))) => {
            items_of(wanted, list, at, true, found);
        }
        _ if Some(truth) == report => {}
        _ => differ(truth, report, at, found),
    }
}

fn items_of(truth: &[Value], report: &[Value], at: &str, exact: bool, found: &mut Vec<String>) {
    let keys: &[&str] = match at.rsplit('.').next() {
        Some("exchanges") => &["stream", "index"],
        Some("chunks" | "events") => &["index"],
        _ => &[],
    };
    if keys.is_empty() || !truth.iter().chain(report).all(Value::is_object) {
        if report.len() < truth.len() || (exact && report.len() != truth.len()) {
            found.push(format!("{at}: expected {} items, got {}", truth.len(), report.len()));
        }
        for (number, (truth, report)) in truth.iter().zip(report).enumerate() {
            value(truth, Some(report), &format!("{at}[{number}]"), found);
        }
        return;
    }
    let key = |item: &Value| -> String {
        let parts = keys.iter().map(|k| item.get(k).unwrap_or(&Value::Null));
        parts.map(Value::to_string).collect::<Vec<_>>().join(",")
    };
    for wanted in truth {
        let key_wanted = key(wanted);
        let there = report.iter().find(|item| key(item) == key_wanted);
        match there {
            Some(_) => value(wanted, there, &format!("{at}[{key_wanted}]"), found),
            None => found.push(format!("{at}[{key_wanted}]: not there")),
        }
    }
    let known: BTreeSet<String> = truth.iter().map(key).collect();
    let mut seen = BTreeSet::new();
    for key in report.iter().map(key) {
        if exact && !known.contains(&key) {
            found.push(format!("{at}[{key}]: not expected"));
        }
        if !seen.insert(key.clone()) {
            found.push(format!("{at}[{key}]: there twice"));
        }
    }
}

fn differ(truth: &Value, report: Option<&Value>, at: &str, found: &mut Vec<String>) {
    let got = report.map_or("nothing".to_owned(), brief);
    found.push(format!("{at}: expected {}, got {got}", brief(truth)));
}

fn brief(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(150) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text,
    }
}

/// A member that the report doesn't have, but that follows from it.
fn computed(name: &str, object: &Value) -> Option<Value> {
    match name {
        "payload_sha256" => {
            let text = object.get("payload")?.as_str()?;
            let octets = match object.get("encoding")?.as_str()? {
                "base64" => base64::prelude::BASE64_STANDARD.decode(text).ok()?,
                _ => text.as_bytes().to_vec(),
            };
            Some(sha256::hex(&octets).into())
        }
        "violation_codes" => {
            let codes: BTreeSet<&str> = items(object.get("violations"))
                .filter_map(|violation| violation.get("code")?.as_str())
                .collect();
            Some(codes.into_iter().collect())
        }
        _ => None,
    }
}

#[test]
fn the_digests_of_fips_180_4() {
    for (message, digest) in [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
        ),
    ] {
        assert_eq!(sha256::hex(message.as_bytes()), digest);
    }
}

/// A comparison that can't fail compares nothing: each change of the report,
/// or of the truth, must be named where it is.
#[test]
fn each_difference_is_found_and_named() {
    let report = serde_json::json!({
        "captures": [{"exchanges": [
            {"stream": 0, "index": 0, "verdict": "fail",
             "response": {"body": {"chunks": [
                {"index": 1, "size": 3, "payload": "abc", "encoding": "utf-8"},
                {"index": 2, "size": 3, "payload": "YWJj", "encoding": "base64"}]}},
             "violations": [{"code": "b"}, {"code": "a"}, {"code": "b"}]},
            {"stream": 1, "index": 0, "verdict": "pass"}
        ]}]
    });
    let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    let truth = serde_json::json!({
        "_remark": 1,
        "exchanges": {"$contains": [
            {"stream": 0, "index": 0, "verdict": "fail", "violation_codes": ["a", "b"],
             "response": {"body": {"chunks": [
                {"index": 1, "size": 3, "payload_sha256": digest},
                {"index": 2, "payload_sha256": digest}]}}}
        ]},
        "exit_status": 1
    });
    assert_eq!(differences(&truth, &report, 1), [""; 0]);

    let one = |truth: &Value, report: &Value, status| {
        let found = differences(truth, report, status);
        assert_eq!(found.len(), 1, "{found:?}");
        found[0].split(':').next().unwrap().to_owned()
    };
    assert_eq!(one(&truth, &report, 0), "exit_status");
    let exchange = "/captures/0/exchanges/0";
    let chunks = "exchanges[0,0].response.body.chunks";
    for (pointer, new, named) in [
        (format!("{exchange}/verdict"), Value::from("pass"), "exchanges[0,0].verdict".to_owned()),
        (format!("{exchange}/violations"), Value::Null, "exchanges[0,0].violation_codes".to_owned()),
        (format!("{exchange}/stream"), 2.into(), "exchanges[0,0]".to_owned()),
        (
            format!("{exchange}/response/body/chunks/0/payload"),
            "abd".into(),
            format!("{chunks}[1].payload_sha256"),
        ),
        (
            format!("{exchange}/response/body/chunks/0/payload"),
            Value::Null,
            format!("{chunks}[1].payload_sha256"),
        ),
        (
            format!("{exchange}/response/body/chunks/1/encoding"),
            "utf-8".into(),
            format!("{chunks}[2].payload_sha256"),
        ),
        (format!("{exchange}/response/body/chunks/0/size"), Value::Null, format!("{chunks}[1].size")),
        (format!("{exchange}/response/body"), Value::Null, "exchanges[0,0].response.body".to_owned()),
    ] {
        let mut changed = report.clone();
        *changed.pointer_mut(&pointer).unwrap() = new;
        assert_eq!(one(&truth, &changed, 1), named);
    }
    let mut changed = report.clone();
    let list = changed.pointer_mut(&format!("{exchange}/response/body/chunks")).unwrap();
    list.as_array_mut().unwrap().push(serde_json::json!({"index": 3}));
    assert_eq!(one(&truth, &changed, 1), format!("{chunks}[3]"));
    let list = changed.pointer_mut(&format!("{exchange}/response/body/chunks")).unwrap();
    list.as_array_mut().unwrap().pop();
    list.as_array_mut().unwrap().pop();
    assert_eq!(one(&truth, &changed, 1), format!("{chunks}[2]"));
}
