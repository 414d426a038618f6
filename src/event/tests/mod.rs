//! How bodies are read: whole, octet by octet and cut anywhere, against
//! serde_json and against naive readers.

#![allow(clippy::single_range_in_vec_init, reason = "a list of spans that has one is meant")]

mod cbor;
mod grammar;
mod lines;
mod protobuf;
mod streams;
mod watches;

use super::{EventItem, Framer, Kind, MaybeSummary, OpenItem, Summary};

/// What a framer made of a body.
#[derive(Debug, PartialEq, Eq)]
struct Reading {
    items: Vec<EventItem>,
    open: Option<OpenItem>,
    faulted: bool,
    /// What the end of the body ended.
    last: Option<EventItem>,
}

/// Reads a body in pieces.
fn read<'a>(kind: Kind, pieces: impl IntoIterator<Item = &'a [u8]>) -> Reading {
    read_by(Framer::new(kind), pieces)
}

fn read_by<'a>(mut framer: Framer, pieces: impl IntoIterator<Item = &'a [u8]>) -> Reading {
    read_over(&mut framer, pieces)
}

/// The same by one that can go on with another body.
fn read_over<'a>(framer: &mut Framer, pieces: impl IntoIterator<Item = &'a [u8]>) -> Reading {
    let mut items = Vec::new();
    let mut offset = 0;
    let mut length = 0;
    for mut piece in pieces {
        length += piece.len() as u64;
        while let Some(item) = framer.read(&mut piece, &mut offset) {
            items.push(item);
            assert_eq!(offset + piece.len() as u64, length, "the offset keeps step with the octets");
        }
        assert!(piece.is_empty(), "`None` says that all is read");
        assert_eq!(offset, length);
    }
    let open = framer.open();
    let faulted = framer.is_faulted();
    let last = framer.finish();
    if last.is_some() {
        assert_eq!(framer.open(), None, "what the end ended isn't open");
        assert_eq!(framer.finish(), None, "the end ends an item once");
    }
    Reading { items, open, faulted, last }
}

/// Reads a body at one go.
fn whole(kind: Kind, body: &[u8]) -> Reading {
    read(kind, [body])
}

impl Reading {
    /// The same without what is known of the events.
    fn without_summaries(mut self) -> Self {
        for item in self.items.iter_mut().chain(&mut self.last) {
            if let EventItem::Event { summary, .. } = item {
                *summary = MaybeSummary::default();
            }
        }
        self
    }
}

/// Reads a body whole, octet by octet, and at every cut: always the same, and
/// the same without summaries.
fn everyhow(kind: Kind, body: &[u8]) -> Reading {
    let reading = whole(kind, body);
    assert_eq!(reading, read(kind, body.chunks(1)), "{kind:?} octet by octet: {}", body.escape_ascii());
    for cut in 1..body.len() {
        let (front, back) = body.split_at(cut);
        assert_eq!(reading, read(kind, [front, back]), "{kind:?} cut at {cut}: {}", body.escape_ascii());
    }
    for pieces in [vec![body], body.chunks(1).collect()] {
        let bare = read_by(Framer::without_summaries(kind), pieces).without_summaries();
        assert_eq!(whole(kind, body).without_summaries(), bare, "{kind:?}: {}", body.escape_ascii());
    }
    reading
}

/// The spans of the events in a reading.
fn spans(reading: &Reading) -> Vec<std::ops::Range<u64>> {
    let items = reading.items.iter().chain(&reading.last);
    items
        .filter_map(|item| match item {
            EventItem::Event { span, .. } => Some(span.clone()),
            EventItem::Invalid { .. } | EventItem::Filler { .. } | EventItem::Rest { .. } => None,
        })
        .collect()
}

/// The invalid item of a reading that has only one: its span's start, the
/// offset of the octet at fault, the message, and whether it is well-formed.
fn invalid(reading: &Reading) -> (u64, u64, &str, bool) {
    let mut invalid = reading.items.iter().chain(&reading.last).filter_map(|item| match item {
        EventItem::Invalid { span, at, message, well_formed } => {
            assert!(span.contains(at));
            Some((span.start, *at, message.as_str(), *well_formed))
        }
        EventItem::Event { .. } | EventItem::Filler { .. } | EventItem::Rest { .. } => None,
    });
    let found = invalid.next().expect("an invalid item");
    assert_eq!(invalid.next(), None);
    found
}

/// Whatever a body was like: nothing shows of it in the reading of the next one.
#[test]
fn a_spent_framer_reads_as_a_new_one() {
    let many = r#"{"type":"ADDED","object":{"kind":"Pod","metadata":{"name":"a"}}}"#.repeat(30);
    let bodies = [
        many.as_str(),
        r#"{"type":"MODIFIED","object":{"kind":"Pod","metadata":{"name":"b"}}}"#,
        r#"{"type":"ADDED","obj"#,
        r#"{"type":"ADDED","object":{}} x{"#,
        r#"1"#,
        r#" "a" [1,2] 3"#,
        "",
    ];
    for kind in [Kind::Watch, Kind::Json] {
        for spent in bodies {
            for body in bodies {
                let mut framer = Framer::new(kind);
                let (mut octets, mut offset) = (spent.as_bytes(), 0);
                while framer.read(&mut octets, &mut offset).is_some() {}
                framer.finish();
                assert!(framer.begin_anew(kind));
                assert_eq!(
                    read_by(framer, [body.as_bytes()]),
                    whole(kind, body.as_bytes()),
                    "{spent} {body}"
                );
                let mut amid = Framer::new(kind);
                amid.resume_amid(5);
                assert!(amid.begin_anew(kind));
                assert_eq!(read_by(amid, [body.as_bytes()]), whole(kind, body.as_bytes()), "{body}");
            }
        }
    }
    assert!(!Framer::new(Kind::Watch).begin_anew(Kind::Json));
    assert!(!Framer::new(Kind::Sse).begin_anew(Kind::Sse), "what begins its body matters to it");
}

#[test]
fn an_empty_body_has_nothing() {
    for kind in [Kind::Watch, Kind::WatchProtobuf, Kind::WatchCbor, Kind::Json, Kind::Ndjson, Kind::Sse] {
        let nothing = Reading { items: Vec::new(), open: None, faulted: false, last: None };
        assert_eq!(whole(kind, b""), nothing);
        assert_eq!(read(kind, []), nothing);
    }
}

#[test]
fn reading_begins_anew_behind_a_fault() {
    for kind in [Kind::Watch, Kind::Json, Kind::Ndjson] {
        let mut framer = Framer::new(kind);
        let mut offset = 0;
        let mut octets: &[u8] = b"{\"a\":<b>} [1]";
        assert!(matches!(framer.read(&mut octets, &mut offset), Some(EventItem::Invalid { at: 5, .. })));
        assert_eq!((offset, octets.len()), (6, 7));
        assert!(framer.is_faulted());
        assert_eq!(framer.open(), None);
        assert_eq!(framer.read(&mut octets, &mut offset), None);
        assert_eq!((offset, octets.len()), (13, 0), "what follows a fault is passed over");
        assert_eq!(framer.finish(), None);

        framer.resume(13);
        assert!(!framer.is_faulted());
        let mut octets: &[u8] = b" {\"type\":\"ADDED\",\"object\":{}}\n";
        let item = framer.read(&mut octets, &mut offset);
        assert!(matches!(item, Some(EventItem::Event { ref span, .. }) if *span == (14..42)), "{item:?}");
    }
}

#[test]
fn reading_begins_anew_behind_lost_octets() {
    for (kind, begun, event) in [
        (Kind::Watch, "{\"a\":[[\"\\u00", "{\"type\":\"ADDED\",\"object\":{}}"),
        (Kind::Json, "[[-1.", "[]"),
        (Kind::Ndjson, "[1]", "[]\n"),
        (Kind::Sse, ": c\ndata: x\r", "data: y\n\n"),
    ] {
        let mut framer = Framer::new(kind);
        let mut offset = 0;
        let mut octets = begun.as_bytes();
        assert_eq!(framer.read(&mut octets, &mut offset), None);
        assert_eq!(framer.open().map(|open| open.start), Some(0));
        offset = 1000;
        framer.resume(offset);
        assert_eq!(framer.open(), None, "{kind:?}");
        let mut octets = event.as_bytes();
        let item = framer.read(&mut octets, &mut offset);
        let end = 1000 + event.trim_end_matches(|c| c == '\n' && kind == Kind::Ndjson).len() as u64;
        assert!(matches!(item, Some(EventItem::Event { ref span, .. }) if *span == (1000..end)), "{item:?}");
    }
}

#[test]
fn offsets_at_the_end_of_their_range_overflow_nothing() {
    for kind in [Kind::Watch, Kind::WatchProtobuf, Kind::WatchCbor, Kind::Json, Kind::Ndjson, Kind::Sse] {
        for body in ["{\"a\":[1]}\n5\n", "data: x\r\n\r\n: x\n\n", "   \n\n", "\"x\"<"] {
            let mut framer = Framer::new(kind);
            let mut offset = u64::MAX - 2;
            framer.resume(offset);
            let mut octets = body.as_bytes();
            while framer.read(&mut octets, &mut offset).is_some() {}
            framer.finish();
        }
    }
}

#[test]
fn nothing_is_kept_of_events_where_nobody_asks() {
    let watch: &[u8] = br#"{"type":"ADDED","object":{"kind":"Pod","metadata":{"name":"a"}}}"#;
    for (kind, body) in [(Kind::Watch, watch), (Kind::Json, b"[1] "), (Kind::Ndjson, b"{}\n")] {
        let reading = read_by(Framer::without_summaries(kind), [body]);
        let [EventItem::Event { summary, .. }] = reading.items.as_slice() else { panic!("{reading:?}") };
        assert_eq!(**summary, Summary::default(), "{kind:?}");
    }
}
