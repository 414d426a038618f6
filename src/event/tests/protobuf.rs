//! Watch events in protobuf, against prost.

use proptest::prelude::*;
use prost::Message as _;
use smol_str::SmolStr;

use super::super::{EventItem, Framer, Kind, MaybeSummary, Summary};
use super::{everyhow, invalid, read, spans, whole};

/// k8s.io/apimachinery, `meta/v1/generated.proto` and `runtime/generated.proto`,
/// as far as this needs them.
#[derive(Clone, PartialEq, prost::Message)]
struct WatchEvent {
    #[prost(string, optional, tag = "1")]
    event_type: Option<String>,
    #[prost(message, optional, tag = "2")]
    object: Option<RawExtension>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct RawExtension {
    #[prost(bytes = "vec", optional, tag = "1")]
    raw: Option<Vec<u8>>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Unknown {
    #[prost(message, optional, tag = "1")]
    type_meta: Option<TypeMeta>,
    #[prost(bytes = "vec", optional, tag = "2")]
    raw: Option<Vec<u8>>,
    #[prost(string, optional, tag = "3")]
    content_encoding: Option<String>,
    #[prost(string, optional, tag = "4")]
    content_type: Option<String>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct TypeMeta {
    #[prost(string, optional, tag = "1")]
    api_version: Option<String>,
    #[prost(string, optional, tag = "2")]
    kind: Option<String>,
}

/// An object whose other fields have each wire type.
#[derive(Clone, PartialEq, prost::Message)]
struct Object {
    #[prost(message, optional, tag = "1")]
    metadata: Option<ObjectMeta>,
    #[prost(bytes = "vec", optional, tag = "2")]
    data: Option<Vec<u8>>,
    #[prost(uint64, optional, tag = "3")]
    number: Option<u64>,
    #[prost(fixed32, optional, tag = "4")]
    four: Option<u32>,
    #[prost(fixed64, optional, tag = "500")]
    eight: Option<u64>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ObjectMeta {
    #[prost(string, optional, tag = "1")]
    name: Option<String>,
    #[prost(string, optional, tag = "2")]
    generate_name: Option<String>,
    #[prost(string, optional, tag = "3")]
    namespace: Option<String>,
    #[prost(string, optional, tag = "5")]
    uid: Option<String>,
    #[prost(string, optional, tag = "6")]
    resource_version: Option<String>,
}

/// A message with its length in front.
fn frame(message: &[u8]) -> Vec<u8> {
    [&u32::try_from(message.len()).unwrap().to_be_bytes()[..], message].concat()
}

/// An object as it stands in a watch event.
fn raw(kind: &str, object: &Object) -> Vec<u8> {
    let unknown = Unknown {
        type_meta: Some(TypeMeta { api_version: Some("v1".into()), kind: Some(kind.into()) }),
        raw: Some(object.encode_to_vec()),
        content_encoding: Some(String::new()),
        content_type: Some(String::new()),
    };
    [b"k8s\0", &unknown.encode_to_vec()[..]].concat()
}

fn message(event_type: &str, raw: Vec<u8>) -> Vec<u8> {
    WatchEvent { event_type: Some(event_type.into()), object: Some(RawExtension { raw: Some(raw) }) }
        .encode_to_vec()
}

fn named(name: &str) -> Object {
    Object {
        metadata: Some(ObjectMeta {
            name: Some(name.into()),
            generate_name: Some(String::new()),
            namespace: Some("default".into()),
            uid: Some("4cf40881".into()),
            resource_version: Some("1393".into()),
        }),
        data: Some(vec![0xff; 40]),
        number: Some(u64::MAX),
        four: Some(4),
        eight: Some(8),
    }
}

fn event(name: &str) -> Vec<u8> {
    frame(&message("ADDED", raw("ConfigMap", &named(name))))
}

fn summary(name: &str) -> Summary {
    Summary {
        event_type: Some("ADDED".into()),
        api_version: Some("v1".into()),
        kind: Some("ConfigMap".into()),
        namespace: Some("default".into()),
        name: Some(name.into()),
        resource_version: Some("1393".into()),
        ..Summary::default()
    }
}

#[test]
fn a_frame_is_an_event_and_its_names_are_picked_out() {
    let (first, second) = (event("a"), event("bb"));
    let reading = everyhow(Kind::WatchProtobuf, &[&first[..], &second].concat());
    let (end, behind) = (first.len() as u64, (first.len() + second.len()) as u64);
    let expected = [(0..end, summary("a")), (end..behind, summary("bb"))]
        .map(|(span, summary)| EventItem::Event { span, summary: summary.into() });
    assert_eq!(reading.items, expected);
    assert_eq!((reading.open, reading.faulted), (None, false));
}

#[test]
fn of_a_status_no_names_are_read() {
    // Its first field is a ListMeta, whose first field is a link.
    let error = frame(&message("ERROR", raw("Status", &named("link"))));
    let reading = everyhow(Kind::WatchProtobuf, &error);
    let [EventItem::Event { summary, .. }] = &reading.items[..] else { panic!("{reading:?}") };
    assert_eq!((summary.event_type.as_deref(), summary.kind.as_deref()), (Some("ERROR"), Some("Status")));
    assert_eq!((&summary.name, &summary.namespace, &summary.resource_version), (&None, &None, &None));
}

#[test]
fn empty_texts_are_unknown() {
    let mut object = named("node");
    object.metadata.as_mut().unwrap().namespace = Some(String::new());
    let reading = everyhow(Kind::WatchProtobuf, &frame(&message("ADDED", raw("Node", &object))));
    let [EventItem::Event { summary, .. }] = &reading.items[..] else { panic!("{reading:?}") };
    assert_eq!((&summary.namespace, summary.name.as_deref()), (&None, Some("node")));
}

#[test]
fn of_a_field_given_twice_the_last_counts() {
    let twice = [message("ADDED", raw("Pod", &named("a"))), message("DELETED", raw("Node", &named("b")))];
    let reading = everyhow(Kind::WatchProtobuf, &frame(&twice.concat()));
    let [EventItem::Event { summary, .. }] = &reading.items[..] else { panic!("{reading:?}") };
    let found = [&summary.event_type, &summary.kind, &summary.name].map(|text| text.as_deref().unwrap());
    assert_eq!(found, ["DELETED", "Node", "b"]);
}

#[test]
fn a_message_that_is_no_watch_event_leaves_the_next_frame_whole() {
    let good = event("a");
    for (bad, says) in [
        (Vec::new(), "without `type`"),
        (message("BORN", raw("Pod", &named("a"))), "`type` is \"BORN\""),
        (WatchEvent { event_type: Some("ADDED".into()), object: None }.encode_to_vec(), "without `object`"),
        (message("ADDED", b"{\"kind\":\"Pod\"}".to_vec()), "doesn't begin with `k8s`"),
        (message("ADDED", b"k8".to_vec()), "ends within a field"),
        (b"\x0a\x05ADDED\x12\x05".to_vec(), "goes on behind its message"),
        (b"\x0a\x05ADDED\x12".to_vec(), "ends within a field"),
        (b"\x0a\x05ADDED\x0f".to_vec(), "wire type"),
        (b"\x02\x01".to_vec(), "whose number"),
        (vec![0xff; 12], "more than 64 bits"),
        (b"\x0a\x05ADDED\x19\x01".to_vec(), "goes on behind its message"),
    ] {
        let bad = frame(&bad);
        let body = [&bad[..], &good].concat();
        let reading = everyhow(Kind::WatchProtobuf, &body);
        let (start, _, message, well_formed) = invalid(&reading);
        assert!(message.contains(says) && well_formed && start == 0, "{message}, not {says}");
        assert_eq!(spans(&reading), [bad.len() as u64..body.len() as u64]);
    }
}

#[test]
fn a_length_that_no_client_believes_is_a_fault_at_its_first_octet_that_shows_it() {
    for (octets, at) in
        [(&b"{\"type\":\"ADDED\"}"[..], 0), (b"\x01\0\0\x01", 3), (b"\x02", 0), (b"\xff\xff\xff\xff", 0)]
    {
        let reading = everyhow(Kind::WatchProtobuf, octets);
        let (start, found, message, well_formed) = invalid(&reading);
        assert_eq!((start, found, well_formed), (0, at, false), "{message}");
        assert!(reading.faulted);
    }
    assert!(!whole(Kind::WatchProtobuf, b"\x01\0\0\0").faulted);
}

#[test]
fn a_frame_is_open_from_its_length_on_and_recognised_by_its_type_and_object() {
    let octets = event("a");
    let object = octets.windows(4).position(|window| window == b"k8s\0").unwrap() + 4;
    for end in 1..octets.len() {
        let open = whole(Kind::WatchProtobuf, &octets[..end]).open.unwrap();
        assert_eq!((open.start, open.end, open.recognised), (0, u64::MAX, end >= object), "{end}");
    }
}

#[test]
fn a_frame_that_is_no_event_whatever_follows_is_hopeless() {
    let mut framer = Framer::new(Kind::WatchProtobuf);
    for (octet, hopeless) in frame(&[0x0f, 0, 0]).iter().zip([false, false, false, false, true, true]) {
        framer.read(&mut &[*octet][..], &mut 0);
        assert_eq!(framer.is_hopeless(), hopeless);
    }
}

#[test]
fn reading_begins_anew_at_a_frame() {
    let mut framer = Framer::new(Kind::WatchProtobuf);
    let octets = event("a");
    assert_eq!(framer.read(&mut &octets[..20], &mut 0), None);
    framer.resume(1000);
    assert_eq!(framer.open(), None);
    let item = framer.read(&mut &octets[..], &mut 1000);
    assert!(matches!(item, Some(EventItem::Event { ref span, .. }) if span.start == 1000), "{item:?}");
    assert_eq!(framer.finish(), None);
}

fn object() -> impl Strategy<Value = Object> {
    let text = || proptest::option::of("[a-z0-9.ü-]{0,20}");
    let meta =
        (text(), text(), text(), text(), text()).prop_map(|(name, generate_name, namespace, uid, rv)| {
            ObjectMeta { name, generate_name, namespace, uid, resource_version: rv }
        });
    (
        proptest::option::of(meta),
        proptest::option::of(proptest::collection::vec(any::<u8>(), 0..300)),
        any::<Option<u64>>(),
        any::<Option<u32>>(),
        any::<Option<u64>>(),
    )
        .prop_map(|(metadata, data, number, four, eight)| Object { metadata, data, number, four, eight })
}

proptest! {
    /// What prost writes is read, wherever it is cut.
    #[test]
    fn what_prost_writes_is_read(
        objects in proptest::collection::vec((object(), "[A-Z][a-z]{0,8}"), 1..5), cut in 1usize..60,
    ) {
        let mut body = Vec::new();
        let mut expected = Vec::new();
        for (object, kind) in &objects {
            let start = body.len() as u64;
            body.extend(frame(&message("MODIFIED", raw(kind, object))));
            let meta = object.metadata.clone().unwrap_or_default();
            let text = |text: Option<String>| text.filter(|text| !text.is_empty()).map(SmolStr::from);
            let status = kind == "Status";
            expected.push(EventItem::Event {
                span: start..body.len() as u64,
                summary: MaybeSummary::from(Summary {
                    event_type: Some("MODIFIED".into()),
                    api_version: Some("v1".into()),
                    kind: Some(kind.into()),
                    namespace: text(meta.namespace).filter(|_| !status),
                    name: text(meta.name).filter(|_| !status),
                    resource_version: text(meta.resource_version).filter(|_| !status),
                    ..Summary::default()
                }),
            });
        }
        prop_assert_eq!(&read(Kind::WatchProtobuf, body.chunks(cut)).items, &expected);
        prop_assert_eq!(&whole(Kind::WatchProtobuf, &body).items, &expected);
    }

    /// Damaged frames never panic, read alike whatever the edges, and what they
    /// are taken for prost takes them for.
    #[test]
    fn damaged_frames_are_read_alike_and_as_prost_reads_them(
        object in object(), at in any::<proptest::sample::Index>(), octet in any::<u8>(),
    ) {
        let mut octets = message("ADDED", raw("Pod", &object));
        let at = at.index(octets.len());
        octets[at] = octet;
        let reading = everyhow(Kind::WatchProtobuf, &frame(&octets));
        // prost also refuses what isn't looked at here: texts that aren't UTF-8.
        if let (Ok(decoded), [EventItem::Event { summary, .. }]) =
            (WatchEvent::decode(&octets[..]), &reading.items[..])
        {
            prop_assert_eq!(decoded.event_type.as_deref(), summary.event_type.as_deref());
            let raw = decoded.object.and_then(|object| object.raw).unwrap_or_default();
            prop_assert!(raw.starts_with(b"k8s\0"));
            if let Ok(unknown) = Unknown::decode(&raw[4..]) {
                let meta = unknown.type_meta.unwrap_or_default();
                let kind = meta.kind.filter(|text| !text.is_empty());
                prop_assert_eq!(kind.as_deref(), summary.kind.as_deref());
            }
        }
    }

    #[test]
    fn any_octets_are_read_alike_whatever_the_edges(
        octets in proptest::collection::vec(prop_oneof![Just(0u8), Just(0x0a), Just(0x12), any::<u8>()], 0..60),
    ) {
        everyhow(Kind::WatchProtobuf, &octets);
        everyhow(Kind::WatchProtobuf, &frame(&octets));
    }
}
