//! Phrases that the reports for people share: names of places and requests,
//! how a body is delimited and how it ended, why nothing was checked.

use smol_str::SmolStr;

use crate::event::Kind;
use crate::http::{BodyEnd, Fields, Framing, RequestHead, ResponseHead, Side};
use crate::report::text::{counted, fit_middle, grouped, printable, range, ranges, seconds};
use crate::report::{Body, ExchangeEnd, ExchangeHead, ExchangeId, Expect, Tally};
use crate::units::{Stamp, Timestamp};

/// What one chunk must hold exactly one of, in words.
pub(super) const fn unit(expect: Option<Expect>) -> &'static str {
    match expect {
        Some(Expect::Kind(Kind::Watch | Kind::WatchProtobuf | Kind::WatchCbor)) => "watch event",
        Some(Expect::Kind(Kind::Json)) => "JSON text",
        Some(Expect::Kind(Kind::Ndjson)) => "line of JSON",
        Some(Expect::Kind(Kind::Sse)) => "server-sent event",
        Some(Expect::Any) | None => "event",
    }
}

/// `stream 3, exchange 1`: the exchange is named unless it is a stream's first.
pub(super) fn place(id: ExchangeId) -> String {
    match (id.stream, id.index) {
        (Some(stream), 0) => format!("stream {stream}"),
        (Some(stream), index) => format!("stream {stream}, exchange {index}"),
        (None, index) => format!("response {index}"),
    }
}

/// `GET /api/v1/pods`.
pub(super) fn request_line(head: &ExchangeHead) -> String {
    match &head.request {
        None if head.client.is_none() => "response".to_owned(),
        None => "(the request was not captured)".to_owned(),
        Some(RequestHead { method: Some(method), target: Some(target), .. }) => {
            format!("{} {}", printable(method), printable(target))
        }
        Some(_) => "(the request's head was not captured whole)".to_owned(),
    }
}

/// `200 OK, application/json, chunked`.
pub(super) fn response_line(head: &ExchangeHead) -> String {
    let Some(ResponseHead { status, reason, fields, .. }) = &head.response else {
        return "no response captured".to_owned();
    };
    let mut facts = Vec::new();
    match status {
        Some(status) => {
            let reason = reason.as_deref().unwrap_or_default();
            facts.push(format!("{status} {}", printable(reason)).trim_end().to_owned());
        }
        None => facts.push("(the head was not captured)".to_owned()),
    }
    for name in ["content-type", "content-encoding"] {
        facts
            .extend(field(fields.as_ref(), name).map(|value| fit_middle(&printable(value), 60).into_owned()));
    }
    let websocket =
        field(fields.as_ref(), "upgrade").is_some_and(|name| name.eq_ignore_ascii_case("websocket"));
    facts.push(match head.framing {
        Some(Framing::Tunnel) if websocket => "WebSocket: a message stands for a chunk".to_owned(),
        other => framing(other),
    });
    facts.join(", ")
}

/// A field's value, by its name in lower case.
pub(super) fn field<'a>(fields: Option<&'a Fields>, name: &str) -> Option<&'a str> {
    let mut found = fields?.iter().filter(|(field, _)| field.eq_ignore_ascii_case(name));
    found.next().map(|(_, value)| value.as_str())
}

/// How a body is delimited, in words.
pub(super) fn framing(framing: Option<Framing>) -> String {
    match framing {
        Some(Framing::Chunked) => "chunked".to_owned(),
        Some(Framing::ContentLength(octets)) => format!("Content-Length {octets}"),
        Some(Framing::Close) => "read to the close".to_owned(),
        Some(Framing::None) => "no body".to_owned(),
        Some(Framing::Tunnel) => "tunnel".to_owned(),
        None => "framing not known".to_owned(),
    }
}

/// The stamp that times count from, if any: the request's, else the response's.
pub(super) fn base(head: &ExchangeHead) -> Option<Timestamp> {
    let request = head.request.as_ref().and_then(|request| request.stamp?.at);
    request.or_else(|| head.response.as_ref().and_then(|response| response.stamp?.at))
}

/// When it was asked and answered, and what times count from.
pub(super) fn when(head: &ExchangeHead) -> Option<String> {
    let request = head.request.as_ref().and_then(|request| request.stamp);
    let response = head.response.as_ref().and_then(|response| response.stamp);
    match (request, response) {
        (Some(Stamp { at: Some(asked), frame }), Some(Stamp { at: Some(answered), frame: second })) => {
            let nanos = answered.nanos_since(asked);
            let (sign, after) = (if nanos < 0 { "" } else { "+" }, seconds(nanos, 3));
            Some(format!(
                "requested {asked} (frame\u{a0}{frame}), answered {sign}{after} (frame\u{a0}{second})"
            ))
        }
        (Some(Stamp { at: Some(asked), frame }), _) => {
            Some(format!("requested {asked} (frame\u{a0}{frame})"))
        }
        (_, Some(Stamp { at: Some(answered), frame })) => {
            Some(format!("answered {answered} (frame\u{a0}{frame}); times count from here"))
        }
        (Some(Stamp { frame, .. }), Some(Stamp { frame: second, .. })) => Some(format!(
            "requested in frame\u{a0}{frame}, answered in frame\u{a0}{second}; the packets have no times"
        )),
        _ => None,
    }
}

/// How a body ended, a clause.
pub(super) fn body_end(body: &Body, side: Side) -> String {
    let (sender, receiver) = match side {
        Side::Request => ("client", "server"),
        Side::Response => ("server", "client"),
    };
    let frame = match body.end_stamp {
        Some(stamp) => format!(" (frame\u{a0}{})", stamp.frame),
        None => String::new(),
    };
    let closed = if body.reset { "reset" } else { "closed" };
    let chunked = body.framing == Some(Framing::Chunked);
    // RFC 9112 §7.1: a chunked body ends with the last chunk, its trailer
    // section and an empty line.
    let missing = match (&body.last_chunk, chunked) {
        (Some(_), true) => "; the last chunk is there, but not the empty line behind it",
        (None, true) => "; no last chunk",
        (_, false) => "",
    };
    match body.end {
        BodyEnd::Complete => match body.framing {
            Some(Framing::Chunked) => {
                let last = body.last_chunk.as_ref();
                let frame = last.map_or(frame, |last| {
                    let frames: Vec<_> = last.trail.iter().filter_map(|run| run.frame).collect();
                    match frames.last() {
                        Some(frame) => format!(" (frame\u{a0}{frame})"),
                        None => String::new(),
                    }
                });
                let trailers = last.map_or(&[][..], |last| &last.trailers);
                format!("complete: last chunk{frame}{}", trailer_text(trailers))
            }
            Some(Framing::ContentLength(_)) => "complete: all octets of its declared length".to_owned(),
            Some(Framing::Close) => format!("complete: the {sender} {closed} the connection{frame}"),
            Some(Framing::None) => "no body".to_owned(),
            Some(Framing::Tunnel) => format!("the tunnel was {closed}{frame}"),
            None => "complete".to_owned(),
        },
        BodyEnd::Open => format!("the capture ends before the body does{missing}"),
        BodyEnd::Aborted => format!("the {receiver} {closed} the connection{frame}{missing}"),
        BodyEnd::Truncated => {
            format!("the {sender} {closed} the connection{frame}{missing}: the body is cut off")
        }
        BodyEnd::Broken => {
            format!("the chunk framing is invalid{frame}: nothing behind that octet was interpreted")
        }
        // A head that lacks octets doesn't say how its body ends.
        BodyEnd::Lost if body.framing.is_none() => {
            format!("the capture lacks octets of the head{frame}, so that the body can't be read")
        }
        BodyEnd::Lost => {
            format!("the capture lacks octets here{frame}: where the next chunk begins can't be known")
        }
    }
}

fn trailer_text(trailers: &[(SmolStr, SmolStr)]) -> String {
    if trailers.is_empty() {
        return String::new();
    }
    let shown = trailers
        .iter()
        .take(8)
        .map(|(name, value)| format!("{}: {}", printable(name), fit_middle(&printable(value), 60)));
    let shown: Vec<_> = shown.collect();
    let more = trailers.len().saturating_sub(shown.len());
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    format!(", trailers {}{more}", shown.join(", "))
}

/// How many chunks a table leaves out, and what they hold.
pub(super) fn tally_words(tally: &Tally, expect: Option<Expect>) -> String {
    let counts = [
        (tally.one, format!("one {} each", unit(expect))),
        (tally.several, "several events".to_owned()),
        (tally.part, "a part of an event".to_owned()),
        (tally.mixed, "parts of several events".to_owned()),
        (tally.invalid, "no event".to_owned()),
        (tally.unverified, "can't be verified".to_owned()),
        (tally.unchecked, "not checked".to_owned()),
    ];
    let found: Vec<_> = counts.into_iter().filter(|(count, _)| *count > 0).collect();
    let chunks = counted(tally.chunks(), "more chunk");
    match found.as_slice() {
        [(1, words)] => format!("{chunks}: {}", words.trim_end_matches(" each")),
        [(_, words)] => format!("{chunks}: {words}"),
        several => {
            let several = several.iter().map(|(count, words)| format!("{} {words}", grouped(*count)));
            format!("{chunks}: {}", several.collect::<Vec<_>>().join(", "))
        }
    }
}

/// Why nothing was checked.
pub(super) fn unchecked(end: &ExchangeEnd) -> String {
    let head = &end.head;
    if head.response.is_none() {
        return "nothing to check: no response was captured".to_owned();
    }
    match (head.expect, head.framing) {
        (Some(Expect::Any), Some(Framing::Chunked)) => {
            "the chunk framing is valid; what the chunks hold was not checked (--expect any)".to_owned()
        }
        (Some(expect), Some(Framing::Chunked)) if end.tally.chunks() == 0 => {
            format!("nothing to check: {} was asked for, but no chunk came", expected(expect))
        }
        (Some(_), Some(Framing::Chunked)) if end.tally.unchecked == 1 => {
            "nothing to check: the only chunk is unfinished or holds nothing to judge".to_owned()
        }
        (Some(_), Some(Framing::Chunked)) => {
            "nothing to check: no chunk is finished and holds something to judge".to_owned()
        }
        (Some(Expect::Any), framing) => {
            format!("not chunked ({}): there is no chunk framing to check", self::framing(framing))
        }
        (Some(expect), framing) => {
            let expected = expected(expect);
            format!("{expected}, but not chunked ({}): there are no chunks to check", self::framing(framing))
        }
        (None, Some(Framing::Chunked)) => {
            "not checked: nothing says that each chunk is an event (--expect KIND checks it all the same)"
                .to_owned()
        }
        (None, _) => "not checked: no chunked event stream".to_owned(),
    }
}

const fn expected(expect: Expect) -> &'static str {
    match expect {
        Expect::Kind(Kind::Watch | Kind::WatchProtobuf | Kind::WatchCbor) => "a watch",
        Expect::Kind(Kind::Sse) => "an event stream",
        Expect::Kind(Kind::Json | Kind::Ndjson) => "a JSON stream",
        Expect::Any => "a chunked body",
    }
}

/// Ascending numbers in words: `3`, `3 and 5`, `3–5, 7 and 9`, cut behind 12.
pub(super) fn listed(numbers: impl Iterator<Item = u64>) -> String {
    let mut texts: Vec<String> = Vec::new();
    let ranges = ranges(numbers);
    for &(first, last) in ranges.iter().take(12) {
        texts.push(range(first, last));
    }
    if ranges.len() > texts.len() {
        return format!("{}, …", texts.join(", "));
    }
    match texts.pop() {
        Some(last) if texts.is_empty() => last,
        Some(last) => format!("{} and {last}", texts.join(", ")),
        None => String::new(),
    }
}
