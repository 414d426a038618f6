//! Bodies in any pieces, masked at the worst moment: as soon as a chunk is there.

use proptest::prelude::*;

use super::*;

const JSON: Readable = Readable { text: true, coded: false, strict: true, secrets: false };
const TEXT: Readable = Readable { text: true, coded: false, strict: false, secrets: false };

/// The body as reports show it: in chunks of these sizes, over and over, each
/// masked when its last octet was read. `late`: masked when all was read.
fn masked(readable: Readable, body: &[u8], sizes: &[usize], late: bool) -> Vec<u8> {
    let mut redactor = Body::new(readable);
    let mut chunks = Vec::new();
    let mut rest = body;
    let mut at = 0;
    for &size in sizes.iter().cycle() {
        let Some((chunk, behind)) =
            rest.split_at_checked(size.min(rest.len())).filter(|(c, _)| !c.is_empty())
        else {
            break;
        };
        redactor.begin(at, usize::MAX);
        for (place, piece) in (0..).zip(chunk.chunks(3)) {
            redactor.read(at + 3 * place, piece);
        }
        let mut chunk = chunk.to_vec();
        if !late {
            redactor.mask(at, &mut chunk);
            redactor.forget(at + chunk.len() as u64);
        }
        chunks.push((at, chunk));
        at += chunks.last().unwrap().1.len() as u64;
        rest = behind;
    }
    let mut out = Vec::new();
    for (at, mut chunk) in chunks {
        if late {
            redactor.mask(at, &mut chunk);
        }
        out.extend_from_slice(&chunk);
    }
    assert_eq!(out.len(), body.len());
    out
}

/// The same in one chunk, as text.
fn whole(readable: Readable, body: &str) -> String {
    String::from_utf8(masked(readable, body.as_bytes(), &[usize::MAX], false)).unwrap()
}

#[test]
fn data_of_secrets_goes_and_all_else_stays() {
    let body = r#"{"type":"ADDED","object":{"kind":"Secret","apiVersion":"v1","metadata":{"name":"s"},"data":{"p":"aGk=","q":"eA=="},"stringData":{"r":"\"é"},"type":"Opaque"}}"#;
    let expected = r#"{"type":"ADDED","object":{"kind":"Secret","apiVersion":"v1","metadata":{"name":"s"},"data":{"p":"****","q":"****"},"stringData":{"r":"****"},"type":"Opaque"}}"#;
    assert_eq!(whole(JSON, body), expected);
    let plain = body.replace("Secret", "ConfigMap");
    assert_eq!(whole(JSON, &plain), plain);
}

#[test]
fn a_kind_may_come_behind_the_data_or_twice_or_in_escapes() {
    for kind in
        [r#""kind":"Secret""#, r#""kind":"ConfigMap","kind":"Secret""#, r#""\u006bind":"S\u0065cret""#]
    {
        let behind = format!(r#"{{"data":{{"a":"xyz"}},{kind}}}"#);
        assert!(whole(JSON, &behind).starts_with(r#"{"data":{"a":"***"}"#), "{behind}");
        let before = format!(r#"{{{kind},"d\u0061ta":{{"a":"xyz"}}}}"#);
        assert!(whole(JSON, &before).ends_with(r#"{"a":"***"}}"#), "{before}");
    }
}

#[test]
fn items_without_a_kind_have_their_lists() {
    let list =
        |kind: &str| format!(r#"{{"kind":"{kind}","items":[{{"metadata":{{}},"data":{{"a":"xyz"}}}}]}}"#);
    let behind =
        |kind: &str| format!(r#"{{"items":[{{"metadata":{{}},"data":{{"a":"xyz"}}}}],"kind":"{kind}"}}"#);
    for (kind, secret) in [("SecretList", true), ("List", true), ("ConfigMapList", false), ("PodList", false)]
    {
        for text in [list(kind), behind(kind)] {
            assert_eq!(whole(JSON, &text).contains("xyz"), !secret, "{text}");
        }
    }
    let own = r#"{"kind":"List","items":[{"kind":"ConfigMap","data":{"a":"xyz"}},{"kind":"Secret","data":{"a":"uvw"}}]}"#;
    assert_eq!(whole(JSON, own), own.replace("uvw", "***"));
}

#[test]
fn the_last_applied_configuration_of_a_secret_goes_whole() {
    let body = |kind: &str| {
        format!(
            r#"{{"kind":"{kind}","metadata":{{"annotations":{{"x":"y","kubectl.kubernetes.io/last-applied-configuration":"{{\"data\":{{\"a\":\"xyz\"}}}}\n"}}}}}}"#
        )
    };
    for (kind, secret) in [("Secret", true), ("PartialObjectMetadata", true), ("Pod", false)] {
        assert_eq!(whole(JSON, &body(kind)).contains("xyz"), !secret, "{kind}");
    }
    assert!(whole(JSON, &body("Secret")).contains(r#""x":"y""#));
}

#[test]
fn numbers_in_data_stay_numbers() {
    let text =
        whole(JSON, r#"{"kind":"Secret","data":{"a":-12.50e3,"b":true,"c":null,"d":[7,"x"],"e":{"f":"g"}}}"#);
    assert_eq!(
        text,
        r#"{"kind":"Secret","data":{"a":-11.11e1,"b":true,"c":null,"d":[1,"*"],"e":{"f":"*"}}}"#
    );
}

#[test]
fn credentials_are_secret_in_any_object() {
    let text =
        whole(JSON, r#"{"kind":"TokenReview","spec":{"token":"abc","tokenTTL":"5"},"password":["x","y"]}"#);
    assert_eq!(text, r#"{"kind":"TokenReview","spec":{"token":"***","tokenTTL":"5"},"password":["*","*"]}"#);
    let jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln";
    assert_eq!(
        whole(TEXT, &format!("data: see {jwt}!\n")),
        format!("data: see {}!\n", "*".repeat(jwt.len()))
    );
    assert_eq!(whole(TEXT, "a bearer  abcdefgh12, basic training"), "a bearer  **********, basic ********");
    assert_eq!(whole(TEXT, "eyJhbGciOiJIUzI1NiJ9 bearer of it"), "eyJhbGciOiJIUzI1NiJ9 bearer of it");
}

#[test]
fn without_a_kind_the_requests_resource_decides() {
    let patch = r#"{"data":{"a":"xyz"}}"#;
    assert_eq!(whole(JSON, patch), patch);
    let secrets = Readable { secrets: true, ..JSON };
    assert_eq!(whole(secrets, patch), r#"{"data":{"a":"***"}}"#);
    let json_patch = r#"[{"op":"replace","path":"/data/a","value":"xyz"}]"#;
    assert_eq!(whole(secrets, json_patch), r#"[{"op":"replace","path":"/data/a","value":"***"}]"#);
    let of = |target| Readable::of(None, Some(target)).secrets;
    assert!(of("/api/v1/namespaces/default/secrets/x?y") && !of("/api/v1/pods?fieldSelector=secrets"));
}

#[test]
fn what_is_behind_lost_octets_is_secret_up_to_the_next_event() {
    let event = r#"{"type":"ADDED","object":{"kind":"ConfigMap","data":{"a":"b"}}}"#;
    let body = format!("rest\"of:a,secret\"}}}}}}\n{{\"data\":{{\"a\":\"xyz\"}}}}\n{event}\n");
    let mut redactor = Body::new(JSON);
    redactor.begin(100, usize::MAX);
    redactor.lost(90);
    redactor.read(100, body.as_bytes());
    let mut octets = body.clone().into_bytes();
    redactor.mask(100, &mut octets);
    let text = String::from_utf8(octets).unwrap();
    assert_eq!(text.trim_start_matches('*'), format!("{event}\n"));
    assert_eq!(text.len(), body.len());
}

#[test]
fn what_isnt_json_is_secret_up_to_the_next_line_with_an_object() {
    let fault = r#"{"kind":"Secret" "data":{"a":"xyz"}}"#;
    let text = whole(JSON, &format!("{fault}\n{{\"a\":\"b\"}}\n"));
    assert!(!text.contains("xyz") && text.ends_with("{\"a\":\"b\"}\n"), "{text}");
    let events = "data: 5\" {\"kind\":\"Secret\",\"data\":{\"a\":\"xyz\"}}\n\n: größe\n";
    assert_eq!(whole(TEXT, events), events.replace("xyz", "***"));
    assert!(whole(JSON, "\u{1}\u{2}xyz").chars().all(|c| c == '*'), "binary");
}

#[test]
fn bodies_that_cant_be_read_are_secret_as_a_whole() {
    let fields = |pairs: &[(&str, &str)]| -> Fields {
        pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
    };
    for (pairs, text) in [
        (&[("Content-Type", "application/json")][..], true),
        (&[("content-type", "text/event-stream; charset=utf-8")], true),
        (&[], true),
        (&[("Content-Type", "application/json"), ("Content-Encoding", "gzip")], false),
        (&[("Content-Type", "application/json"), ("Transfer-Encoding", "gzip, chunked")], false),
        (&[("Content-Type", "application/vnd.kubernetes.protobuf;stream=watch")], false),
        (&[("Content-Type", "application/apply-patch+yaml")], false),
        (&[("Content-Type", "application/x-www-form-urlencoded")], false),
    ] {
        let readable = Readable::of(Some(&fields(pairs)), None);
        assert_eq!(readable.text && !readable.coded, text, "{pairs:?}");
    }
    assert_eq!(whole(Readable { text: false, ..JSON }, "xyz"), "***");
}

#[test]
fn strings_that_lie_too_deep_are_secret() {
    let deep = "[".repeat(200) + r#"{"a":"xyz"}"#;
    assert!(!whole(JSON, &deep).contains("xyz"));
    let behind = format!("{}{}", deep, "]".repeat(200)) + "\n{\"a\":\"b\"}";
    assert!(whole(JSON, &behind).ends_with("\n{\"a\":\"b\"}"));
}

#[test]
fn what_was_undecided_at_a_chunks_end_is_masked_and_what_was_decided_isnt() {
    let body = br#"{"data":{"a":"xyz","b":"uvw"},"kind":"ConfigMap","metadata":{}}"#;
    let text = String::from_utf8(masked(JSON, body, &[20, 100], false)).unwrap();
    assert_eq!(text, r#"{"data":{"a":"***","b":"uvw"},"kind":"ConfigMap","metadata":{}}"#);
    assert_eq!(masked(JSON, body, &[20, 100], true), body);
}

/// A document, as pieces of text of which some are secret.
#[derive(Debug, Clone)]
struct Document(Vec<(String, bool)>);

impl Document {
    fn octets(&self) -> Vec<u8> {
        self.0.iter().flat_map(|(text, _)| text.bytes()).collect()
    }

    fn secret(&self) -> Vec<bool> {
        self.0.iter().flat_map(|(text, secret)| text.bytes().map(|_| *secret)).collect()
    }
}

/// An object of some kind with data, its members in any order, white space
/// about, alone, in a watch event, or in a list.
fn document() -> impl Strategy<Value = Document> {
    let value = r#"[a-zA-Z0-9=é ]{0,12}(\\n|\\u00e9|\\")?"#;
    let data = proptest::collection::vec(("[a-z]{1,5}", value), 0..4);
    let member = (any::<bool>(), any::<bool>(), any::<[u8; 4]>(), data, 0..5u8, any::<bool>());
    member.prop_map(|(secret, string_data, order, data, wrap, spaced)| {
        let blank = if spaced { "\n  " } else { "" };
        let kind = match (secret, wrap) {
            (true, 3) | (false, 3) => None, // the list's
            (true, _) => Some("Secret"),
            (false, _) => Some("ConfigMap"),
        };
        let mut members: Vec<Vec<(String, bool)>> = Vec::new();
        members.extend(kind.map(|kind| vec![(format!(r#""kind":{blank}"{kind}""#), false)]));
        members.push(vec![(r#""metadata":{"name":"data","labels":{"kind":"x"}}"#.to_owned(), false)]);
        let name = if string_data { "stringData" } else { "data" };
        let mut all = vec![(format!("\"{name}\":{{{blank}"), false)];
        for (place, (key, value)) in data.iter().enumerate() {
            let comma = if place > 0 { "," } else { "" };
            all.push((format!("{comma}\"{key}\":\""), false));
            all.push((value.clone(), secret));
            all.push(("\"".to_owned(), false));
        }
        all.push(("}".to_owned(), false));
        members.push(all);
        let mut order: Vec<(u8, Vec<(String, bool)>)> = order.into_iter().zip(members).collect();
        order.sort_by_key(|(key, _)| *key);
        let mut pieces = vec![(format!("{{{blank}"), false)];
        for (place, (_, member)) in order.into_iter().enumerate() {
            if place > 0 {
                pieces.push((format!(",{blank}"), false));
            }
            pieces.extend(member);
        }
        pieces.push((format!("{blank}}}"), false));
        let (before, behind) = match wrap {
            0 => (String::new(), "\n".to_owned()),
            1 => (r#"{"type":"ADDED","object":"#.to_owned(), "}\n".to_owned()),
            2 => (r#"{"kind":"List","items":["#.to_owned(), "]}\n".to_owned()),
            3 if secret => (r#"{"kind":"SecretList","items":["#.to_owned(), "]}\n".to_owned()),
            3 => (r#"{"items":["#.to_owned(), "],\"kind\":\"ConfigMapList\"}\n".to_owned()),
            _ => (r#"{"object":"#.to_owned(), ",\"type\":\"DELETED\"}\n".to_owned()),
        };
        pieces.insert(0, (before, false));
        pieces.push((behind, false));
        Document(pieces)
    })
}

proptest! {
    /// Whatever the chunks are and whenever they are shown, no octet of a
    /// secret is. Shown when all is known, nothing else is masked.
    #[test]
    fn no_octet_of_a_secret_is_ever_shown(
        documents in proptest::collection::vec(document(), 1..5),
        sizes in proptest::collection::vec(1usize..60, 1..8),
    ) {
        let body: Vec<u8> = documents.iter().flat_map(Document::octets).collect();
        let secret: Vec<bool> = documents.iter().flat_map(Document::secret).collect();
        for late in [false, true] {
            let shown = masked(JSON, &body, &sizes, late);
            for (at, secret) in secret.iter().enumerate() {
                if *secret {
                    prop_assert_eq!(shown[at], MARK, "{} at {}: {}", late, at, String::from_utf8_lossy(&shown));
                } else if late {
                    prop_assert_eq!(shown[at], body[at], "{}: {}", at, String::from_utf8_lossy(&shown));
                }
            }
            if late {
                for line in String::from_utf8(shown).unwrap().split_inclusive("}\n").filter(|l| !l.trim().is_empty()) {
                    prop_assert!(serde_json::from_str::<serde_json::Value>(line).is_ok() || line.contains('\n'));
                }
            }
        }
    }

    /// Any octets at all, in any pieces, also with losses: no panic, and the
    /// same size.
    #[test]
    fn any_octets_are_read(
        pieces in proptest::collection::vec(
            prop_oneof!["[ -~\n]{0,20}", Just(r#"{"kind":"Secret","data":{"a":""#.to_owned()), Just("[{\"".to_owned())], 0..20,
        ),
        losses in proptest::collection::vec(any::<bool>(), 20),
    ) {
        let mut redactor = Body::new(JSON);
        let mut at = 0;
        for (piece, lost) in pieces.iter().zip(losses) {
            redactor.begin(at, 10);
            if lost {
                redactor.lost(at);
            }
            redactor.read(at, piece.as_bytes());
            let mut octets = piece.clone().into_bytes();
            redactor.mask(at, &mut octets);
            at += piece.len() as u64;
            redactor.forget(at);
        }
    }
}
