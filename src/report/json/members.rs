//! The members of the report's objects, for the document and for its lines.

use std::borrow::Cow;
use std::io;
use std::net::SocketAddr;

use super::text::{JsonText, Sink, Style, key};
use crate::chunk::{Fields, Run, extensions, frames, size_digits};
use crate::event::Kind;
use crate::hints::Hint;
use crate::hints::pace::Timing;
use crate::http::{BodyEnd, Framing, Protocol, RequestHead, ResponseHead, Side};
use crate::lint::Lint;
use crate::report::payload::{Excerpt, Payload};
use crate::report::{
    Body, Conclusion, Event, ExchangeHead, ExchangeId, Expect, JudgedChunk, OtherStream, Problem, Violation,
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
#[inline]
fn seen(id: ExchangeId, stamp: Option<Stamp>) -> Option<Stamp> {
    stamp.filter(|_| id.stream.is_some())
}

/// A chunk's members. Its payload, if long, goes to `sink` in pieces.
pub(crate) fn chunk<S: Style>(
    text: &mut JsonText<S>,
    judged: &JudgedChunk,
    payload: Payload,
    sink: Sink<'_>,
) -> io::Result<()> {
    let (id, chunk) = (judged.exchange, &judged.chunk);
    text.number(key!("index"), chunk.index);
    match chunk.message {
        None => text.digits(key!("size_hex"), size_digits(&chunk.size_line)),
        Some(_) => text.null(key!("size_hex")),
    }
    text.number(key!("size"), chunk.size);
    text.maybe_text(key!("extensions"), chunk.extensions().as_deref());
    text.number(key!("offset"), chunk.offset);
    text.number(key!("received"), chunk.received);
    trail(text, id, &chunk.trail);
    text.time(key!("first_time"), seen(id, Some(chunk.first)).and_then(|stamp| stamp.at));
    text.time(key!("time"), seen(id, Some(chunk.last)).and_then(|stamp| stamp.at));
    shown(text, payload.excerpt(judged), chunk.received, sink)?;
    if let Some(decoded) = &judged.decoded {
        let size = decoded.span.end.saturating_sub(decoded.span.start);
        text.key(key!("decoded"));
        text.open();
        text.number(key!("offset"), decoded.span.start);
        text.number(key!("size"), size);
        shown(text, payload.decoded(decoded), size, sink)?;
        text.close();
    }
    if let Some(message) = chunk.message {
        text.key(key!("message"));
        text.open();
        text.name(key!("opcode"), if message.text { "text" } else { "binary" });
        text.number(key!("frames"), message.frames);
        text.close();
    }
    text.name(key!("verdict"), judged.verdict.name());
    match &judged.verdict {
        Verdict::Invalid(fault) => text.text(key!("reason"), &fault.message),
        Verdict::Unverified(reason) | Verdict::Unchecked(Some(reason)) => text.text(key!("reason"), reason),
        Verdict::One | Verdict::Several | Verdict::Part | Verdict::Mixed | Verdict::Unchecked(None) => {}
    }
    text.numbers(key!("events"), judged.events.iter().map(|event| event.index));
    Ok(())
}

/// What is shown of `octets` octets, and how it is written.
fn shown<S: Style>(
    text: &mut JsonText<S>,
    excerpt: Option<Excerpt<'_>>,
    octets: u64,
    sink: Sink<'_>,
) -> io::Result<()> {
    let Some(excerpt) = excerpt else {
        text.null(key!("payload"));
        text.null(key!("encoding"));
        return Ok(());
    };
    text.payload(key!("payload"), excerpt, sink)?;
    text.name(key!("encoding"), excerpt.encoding());
    if excerpt.is_cut(octets) {
        text.literal(key!("payload_cut"), "true");
    }
    Ok(())
}

/// The frames of some runs: ascending, without duplicates; none for raw HTTP.
fn trail<S: Style>(text: &mut JsonText<S>, id: ExchangeId, trail: &[Run]) {
    if id.stream.is_none() {
        return text.literal(key!("frames"), "[]");
    }
    if let [Run { frame: Some(frame), .. }] = trail {
        return text.numbers(key!("frames"), std::iter::once(frame.get()));
    }
    if trail.is_sorted_by_key(|run| run.frame) {
        let mut before = None;
        text.numbers(
            key!("frames"),
            trail
                .iter()
                .filter_map(|run| run.frame)
                .filter(|&frame| before.replace(frame) != Some(frame))
                .map(|f| f.get()),
        );
    } else {
        text.numbers(key!("frames"), frames(trail).into_iter().map(|frame| frame.get()));
    }
}

/// An event's members; `id` and `data` only for kinds that have them.
pub(crate) fn event<S: Style>(text: &mut JsonText<S>, event: &Event, expect: Option<Expect>) {
    let summary = &event.summary;
    text.number(key!("index"), event.index);
    text.maybe_text(key!("type"), summary.event_type.as_deref());
    text.maybe_text(key!("api_version"), summary.api_version.as_deref());
    text.maybe_text(key!("kind"), summary.kind.as_deref());
    text.maybe_text(key!("namespace"), summary.namespace.as_deref());
    text.maybe_text(key!("name"), summary.name.as_deref());
    text.maybe_text(key!("resource_version"), summary.resource_version.as_deref());
    if let Some(Expect::Kind(kind @ (Kind::Sse | Kind::Json | Kind::Ndjson))) = expect {
        if kind == Kind::Sse {
            text.maybe_text(key!("id"), summary.id.as_deref());
        }
        text.maybe_text(key!("data"), summary.data.as_deref());
    }
    text.number(key!("offset"), event.offset);
    text.number(key!("size"), event.size);
    text.number(key!("first_chunk"), event.first_chunk);
    text.number(key!("last_chunk"), event.last_chunk);
}

/// A violation's members; `side` only where it is the request's.
pub(crate) fn violation<S: Style>(text: &mut JsonText<S>, violation: &Violation) {
    text.name(key!("code"), violation.code.name());
    text.maybe_number(key!("chunk"), violation.chunk);
    text.maybe_number(key!("frame"), violation.frame.map(|frame| frame.get()));
    text.text(key!("message"), &violation.message);
    if violation.side == Side::Request {
        text.name(key!("side"), "request");
    }
}

/// A lint's members.
pub(crate) fn lint<S: Style>(text: &mut JsonText<S>, lint: &Lint) {
    text.name(key!("code"), lint.code.name());
    text.maybe_number(key!("chunk"), lint.chunk);
    text.maybe_number(key!("frame"), lint.frame.map(|frame| frame.get()));
    text.maybe_number(key!("event"), lint.event);
    text.text(key!("message"), &lint.message);
    text.literal(key!("denied"), if lint.denied { "true" } else { "false" });
}

/// A hint's members.
pub(crate) fn hint<S: Style>(text: &mut JsonText<S>, hint: &Hint) {
    text.name(key!("code"), hint.cause.name());
    text.numbers(key!("chunks"), hint.chunks.iter().copied());
    text.number(key!("count"), hint.count);
    text.text(key!("message"), &hint.message);
    text.text(key!("advice"), hint.cause.advice());
}

/// How a stream flows in time, as a member.
pub(crate) fn timing<S: Style>(text: &mut JsonText<S>, timing: Option<&Timing>) {
    let Some(timing) = timing else {
        return text.null(key!("timing"));
    };
    text.key(key!("timing"));
    text.open();
    text.seconds(key!("time_to_first_event"), timing.time_to_first_event);
    text.seconds(key!("longest_gap"), timing.longest_gap.map(|(nanos, _)| nanos));
    text.maybe_number(key!("longest_gap_before"), timing.longest_gap.map(|(_, chunk)| chunk));
    text.number(key!("pauses"), timing.pauses);
    text.number(key!("singles"), timing.singles);
    text.number(key!("bursts"), timing.bursts);
    text.name(key!("buffered"), timing.buffered.name());
    match timing.answer() {
        // A constant, without anything to escape.
        Cow::Borrowed(answer) => text.name(key!("message"), answer),
        Cow::Owned(answer) => text.text(key!("message"), &answer),
    }
    text.close();
}

/// A problem's members.
pub(crate) fn problem<S: Style>(text: &mut JsonText<S>, problem: &Problem) {
    text.name(key!("code"), problem.code);
    text.maybe_number(key!("frame"), problem.frame.map(|frame| frame.get()));
    text.text(key!("message"), &problem.message);
    text.maybe_number(key!("stream"), problem.stream.map(|stream| stream.0));
    text.number(key!("count"), problem.count);
}

/// A list of streams that aren't HTTP/1, as a member.
pub(crate) fn other_streams<S: Style>(text: &mut JsonText<S>, streams: &[OtherStream]) {
    text.open_list(key!("other_streams"));
    for other in streams {
        text.element();
        text.number(key!("stream"), other.stream.0);
        text.name(key!("protocol"), protocol(other.protocol));
        text.close();
    }
    text.close_list();
}

/// An exchange's number on its stream, and its endpoints.
pub(crate) fn endpoints<S: Style>(text: &mut JsonText<S>, head: &ExchangeHead) {
    let seen = |end: Option<SocketAddr>| end.filter(|_| head.id.stream.is_some());
    text.number(key!("index"), head.id.index);
    text.address(key!("client"), seen(head.client));
    text.address(key!("server"), seen(head.server));
}

/// A request's start line.
pub(crate) fn request_line<S: Style>(text: &mut JsonText<S>, request: &RequestHead) {
    text.maybe_text(key!("method"), request.method.as_deref());
    text.maybe_text(key!("target"), request.target.as_deref());
    text.maybe_text(key!("version"), request.version.as_deref());
}

/// A response's start line.
pub(crate) fn status_line<S: Style>(text: &mut JsonText<S>, response: &ResponseHead) {
    text.maybe_number(key!("status"), response.status.map(u64::from));
    text.maybe_text(key!("reason"), response.reason.as_deref());
    text.maybe_text(key!("version"), response.version.as_deref());
}

/// The frame and time of a head.
pub(crate) fn head_stamp<S: Style>(text: &mut JsonText<S>, id: ExchangeId, stamp: Option<Stamp>) {
    let stamp = seen(id, stamp);
    text.maybe_number(key!("frame"), stamp.map(|stamp| stamp.frame.get()));
    text.time(key!("time"), stamp.and_then(|stamp| stamp.at));
}

/// A body's members before its chunks.
pub(crate) fn body<S: Style>(text: &mut JsonText<S>, body: Option<&Body>) {
    let body = body.unwrap_or(&UNKNOWN_BODY);
    text.maybe_name(key!("framing"), body.framing.map(framing));
    text.number(key!("size"), body.size);
    text.name(key!("end"), end(body.end));
    text.literal(key!("joined"), if body.joined.is_some() { "true" } else { "false" });
    text.number(key!("skipped"), body.joined.unwrap_or(0));
}

/// A body's last chunk, as a member.
pub(crate) fn last_chunk<S: Style>(text: &mut JsonText<S>, id: ExchangeId, body: Option<&Body>) {
    let Some(last) = body.and_then(|body| body.last_chunk.as_ref()) else {
        return text.null(key!("last_chunk"));
    };
    text.key(key!("last_chunk"));
    text.open();
    text.digits(key!("size_hex"), size_digits(&last.size_line));
    text.maybe_text(key!("extensions"), extensions(&last.size_line).as_deref());
    trail(text, id, &last.trail);
    text.time(key!("time"), seen(id, Some(last.last)).and_then(|stamp| stamp.at));
    text.close();
}

/// A body's trailer fields, as a member.
pub(crate) fn trailers<S: Style>(text: &mut JsonText<S>, body: Option<&Body>) {
    let last = body.and_then(|body| body.last_chunk.as_ref());
    text.fields(key!("trailers"), Some(last.map_or(&Fields::default(), |last| &last.trailers)));
}

/// The counts over all captures.
pub(crate) fn summary<S: Style>(text: &mut JsonText<S>, conclusion: &Conclusion) {
    let totals = &conclusion.totals;
    text.number(key!("captures"), totals.captures);
    text.number(key!("packets"), totals.packets);
    text.number(key!("streams"), totals.streams);
    text.number(key!("exchanges"), totals.exchanges);
    text.number(key!("checked"), totals.checked);
    text.number(key!("chunks"), totals.chunks);
    text.number(key!("events"), totals.events);
    text.number(key!("violations"), totals.violations);
    text.number(key!("unverified"), totals.unverified);
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
