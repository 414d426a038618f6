//! The members of the report's objects, for the document and for its lines.

use std::io;
use std::net::SocketAddr;

use super::text::{JsonText, Sink};
use crate::chunk::{Run, frames};
use crate::event::Kind;
use crate::http::{BodyEnd, Framing, Protocol, RequestHead, ResponseHead, Side};
use crate::report::payload::Payload;
use crate::report::{
    Body, Conclusion, Event, ExchangeHead, ExchangeId, Expect, JudgedChunk, OtherStream, Problem,
    Violation,
};
use crate::units::Stamp;
use crate::verdict::Verdict;

/// The report's name and version, which every document says.
pub(crate) const SCHEMA: &str = "chunkscope.report/1";

/// A body of which nothing was said.
const UNKNOWN_BODY: Body = Body {
    framing: None,
    size: 0,
    end: BodyEnd::Open,
    end_stamp: None,
    reset: false,
    joined: None,
    chunks: 0,
    last_chunk: None,
};

/// Raw HTTP has no packets: stamps mean nothing there.
fn seen(id: ExchangeId, stamp: Option<Stamp>) -> Option<Stamp> {
    stamp.filter(|_| id.stream.is_some())
}

/// A chunk's members. Its payload, if long, goes to `sink` in pieces.
pub(crate) fn chunk(
    text: &mut JsonText,
    judged: &JudgedChunk,
    payload: Payload,
    sink: Sink<'_>,
) -> io::Result<()> {
    let (id, chunk) = (judged.exchange, &judged.chunk);
    text.number("index", chunk.index);
    text.name("size_hex", Some(chunk.size_hex()));
    text.number("size", chunk.size);
    text.text("extensions", chunk.extensions().as_deref());
    text.number("offset", chunk.offset);
    text.number("received", chunk.received);
    trail(text, id, &chunk.trail);
    text.time(
        "first_time",
        seen(id, Some(chunk.first)).and_then(|stamp| stamp.at),
    );
    text.time(
        "time",
        seen(id, Some(chunk.last)).and_then(|stamp| stamp.at),
    );
    match payload.excerpt(judged) {
        Some(excerpt) => {
            text.payload("payload", excerpt, sink)?;
            text.name("encoding", Some(excerpt.encoding()));
            if excerpt.is_cut(judged) {
                text.literal("payload_cut", "true");
            }
        }
        None => {
            text.literal("payload", "null");
            text.literal("encoding", "null");
        }
    }
    text.name("verdict", Some(judged.verdict.name()));
    match &judged.verdict {
        Verdict::Invalid(fault) => text.text("reason", Some(&fault.message)),
        Verdict::Unverified(reason) | Verdict::Unchecked(Some(reason)) => {
            text.text("reason", Some(reason))
        }
        Verdict::One
        | Verdict::Several
        | Verdict::Part
        | Verdict::Mixed
        | Verdict::Unchecked(None) => {}
    }
    text.numbers("events", judged.events.iter().map(|event| event.index));
    Ok(())
}

/// The frames of some runs: ascending, without duplicates; none for raw HTTP.
fn trail(text: &mut JsonText, id: ExchangeId, trail: &[Run]) {
    if id.stream.is_none() {
        return text.literal("frames", "[]");
    }
    if trail.is_sorted_by_key(|run| run.frame) {
        let mut before = None;
        text.numbers(
            "frames",
            trail
                .iter()
                .filter_map(|run| run.frame)
                .filter(|&frame| before.replace(frame) != Some(frame))
                .map(|f| f.get()),
        );
    } else {
        text.numbers("frames", frames(trail).into_iter().map(|frame| frame.get()));
    }
}

/// An event's members; `id` and `data` only for kinds that have them.
pub(crate) fn event(text: &mut JsonText, event: &Event, expect: Option<Expect>) {
    let summary = &event.summary;
    text.number("index", event.index);
    text.text("type", summary.event_type.as_deref());
    text.text("api_version", summary.api_version.as_deref());
    text.text("kind", summary.kind.as_deref());
    text.text("namespace", summary.namespace.as_deref());
    text.text("name", summary.name.as_deref());
    text.text("resource_version", summary.resource_version.as_deref());
    if let Some(Expect::Kind(kind @ (Kind::Sse | Kind::Json | Kind::Ndjson))) = expect {
        if kind == Kind::Sse {
            text.text("id", summary.id.as_deref());
        }
        text.text("data", summary.data.as_deref());
    }
    text.number("offset", event.offset);
    text.number("size", event.size);
    text.number("first_chunk", event.first_chunk);
    text.number("last_chunk", event.last_chunk);
}

/// A violation's members; `side` only where it is the request's.
pub(crate) fn violation(text: &mut JsonText, violation: &Violation) {
    text.name("code", Some(violation.code.name()));
    text.maybe_number("chunk", violation.chunk);
    text.maybe_number("frame", violation.frame.map(|frame| frame.get()));
    text.text("message", Some(&violation.message));
    if violation.side == Side::Request {
        text.name("side", Some("request"));
    }
}

/// A problem's members.
pub(crate) fn problem(text: &mut JsonText, problem: &Problem) {
    text.name("code", Some(problem.code));
    text.maybe_number("frame", problem.frame.map(|frame| frame.get()));
    text.text("message", Some(&problem.message));
    text.maybe_number("stream", problem.stream.map(|stream| stream.0));
    text.number("count", problem.count);
}

/// A list of streams that aren't HTTP/1, as a member.
pub(crate) fn other_streams(text: &mut JsonText, streams: &[OtherStream]) {
    text.key("other_streams");
    text.raw("[");
    for other in streams {
        text.element();
        text.number("stream", other.stream.0);
        text.name("protocol", Some(protocol(other.protocol)));
        text.close();
    }
    text.raw("]");
}

/// An exchange's number on its stream, and its endpoints.
pub(crate) fn endpoints(text: &mut JsonText, head: &ExchangeHead) {
    let address = |end: Option<SocketAddr>| {
        end.filter(|_| head.id.stream.is_some())
            .map(|end| end.to_string())
    };
    text.number("index", head.id.index);
    text.name("client", address(head.client).as_deref());
    text.name("server", address(head.server).as_deref());
}

/// A request's start line.
pub(crate) fn request_line(text: &mut JsonText, request: &RequestHead) {
    text.text("method", request.method.as_deref());
    text.text("target", request.target.as_deref());
    text.text("version", request.version.as_deref());
}

/// A response's start line.
pub(crate) fn status_line(text: &mut JsonText, response: &ResponseHead) {
    text.maybe_number("status", response.status.map(u64::from));
    text.text("reason", response.reason.as_deref());
    text.text("version", response.version.as_deref());
}

/// The frame and time of a head.
pub(crate) fn head_stamp(text: &mut JsonText, id: ExchangeId, stamp: Option<Stamp>) {
    let stamp = seen(id, stamp);
    text.maybe_number("frame", stamp.map(|stamp| stamp.frame.get()));
    text.time("time", stamp.and_then(|stamp| stamp.at));
}

/// A body's members before its chunks.
pub(crate) fn body(text: &mut JsonText, body: Option<&Body>) {
    let body = body.unwrap_or(&UNKNOWN_BODY);
    text.name("framing", body.framing.map(framing));
    text.number("size", body.size);
    text.name("end", Some(end(body.end)));
    text.literal(
        "joined",
        if body.joined.is_some() {
            "true"
        } else {
            "false"
        },
    );
    text.number("skipped", body.joined.unwrap_or(0));
}

/// A body's last chunk, as a member.
pub(crate) fn last_chunk(text: &mut JsonText, id: ExchangeId, body: Option<&Body>) {
    let last = body.and_then(|body| body.last_chunk.as_ref());
    text.key("last_chunk");
    if let Some(last) = last {
        text.open();
        let digits = last
            .size_line
            .iter()
            .take_while(|octet| octet.is_ascii_hexdigit())
            .count();
        let digits = last
            .size_line
            .get(..digits)
            .and_then(|digits| std::str::from_utf8(digits).ok());
        text.name("size_hex", Some(digits.unwrap_or_default()));
        text.text(
            "extensions",
            crate::chunk::extensions(&last.size_line).as_deref(),
        );
        trail(text, id, &last.trail);
        text.time("time", seen(id, Some(last.last)).and_then(|stamp| stamp.at));
        text.close();
    } else {
        text.raw("null");
    }
}

/// A body's trailer fields, as a member.
pub(crate) fn trailers(text: &mut JsonText, body: Option<&Body>) {
    let last = body.and_then(|body| body.last_chunk.as_ref());
    text.fields(
        "trailers",
        Some(last.map_or(&[], |last| last.trailers.as_slice())),
    );
}

/// The counts over all captures.
pub(crate) fn summary(text: &mut JsonText, conclusion: &Conclusion) {
    let totals = &conclusion.totals;
    text.number("captures", totals.captures);
    text.number("packets", totals.packets);
    text.number("streams", totals.streams);
    text.number("exchanges", totals.exchanges);
    text.number("checked", totals.checked);
    text.number("chunks", totals.chunks);
    text.number("events", totals.events);
    text.number("violations", totals.violations);
    text.number("unverified", totals.unverified);
}

/// A framing's name.
pub(crate) const fn framing(framing: Framing) -> &'static str {
    match framing {
        Framing::Chunked => "chunked",
        Framing::ContentLength(_) => "content-length",
        Framing::Close => "close",
        Framing::None => "none",
        Framing::Tunnel => "tunnel",
    }
}

const fn end(end: BodyEnd) -> &'static str {
    match end {
        BodyEnd::Complete => "complete",
        BodyEnd::Open => "open",
        BodyEnd::Aborted => "aborted",
        BodyEnd::Truncated => "truncated",
        BodyEnd::Broken => "broken",
        BodyEnd::Lost => "lost",
    }
}

const fn protocol(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Tls => "tls",
        Protocol::Http2 => "http2",
        Protocol::Other => "other",
    }
}
