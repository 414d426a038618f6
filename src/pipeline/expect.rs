//! What an exchange's chunks are expected to hold.

use crate::coding::{Coding, MOST_CODINGS};
use crate::event::Kind;
use crate::http::target::asks_for_watch;
use crate::http::{Framing, RequestHead, ResponseHead, is_named, members, upgrades_to};
use crate::report::Expect;

use super::judge::Task;
use super::options::Expectation;

/// What follows for an exchange from its heads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Resolved {
    /// What is expected, `None` where nothing is, or it isn't known yet.
    pub(super) expect: Option<Expect>,
    /// What is to be done with the chunks of the response.
    pub(super) task: Task,
    /// The encoding that isn't supported, where that is why nothing is checked.
    pub(super) unsupported: Option<String>,
    /// The codings of the body in which events are looked for, in the order in
    /// which they were applied.
    pub(super) codings: Vec<Coding>,
}

/// The fields of a request and of a response that are looked at here; so is
/// whether the target asks for a watch, and the status.
pub(super) const READ_OF_REQUEST: [&str; 1] = ["accept"];
pub(super) const READ_OF_RESPONSE: [&str; 6] = [
    "content-type",
    "content-encoding",
    "transfer-encoding",
    "upgrade",
    "sec-websocket-extensions",
    "sec-websocket-protocol",
];

impl Resolved {
    fn nothing() -> Self {
        Self { expect: None, task: Task::Pass(None), unsupported: None, codings: Vec::new() }
    }
}

/// Decides what the chunks of a response hold; `joined` tells that the
/// response's body was joined in the middle.
pub(super) fn resolve(
    expectation: Expectation,
    request: Option<&RequestHead>,
    response: &ResponseHead,
    framing: Option<Framing>,
    joined: bool,
) -> Resolved {
    let kind = match expectation {
        Expectation::Any => {
            return Resolved { expect: Some(Expect::Any), ..Resolved::nothing() };
        }
        Expectation::Kind(kind) => kind,
        Expectation::Auto => match guess(request, response) {
            Guess::Kind(kind) => kind,
            Guess::Watch if framing == Some(Framing::Chunked) => {
                return match codings(response) {
                    Ok(codings) => {
                        let task = Task::Guess { kind: encoding(response.content_type()), joined };
                        Resolved { task, codings, ..Resolved::nothing() }
                    }
                    Err(_) => Resolved::nothing(),
                };
            }
            Guess::Nothing | Guess::Watch => return Resolved::nothing(),
        },
    };
    let websocket = is_websocket(response);
    let kind = match kind {
        Kind::Watch if websocket => encoding(&accepted(request)),
        Kind::Watch => encoding(response.content_type()),
        kind => kind,
    };
    let expect = Some(Expect::Kind(kind));
    let codings = if websocket { message_codings(kind, response) } else { codings(response) };
    match codings {
        Ok(codings) => Resolved { expect, task: Task::Check { kind, joined }, unsupported: None, codings },
        Err(encoding) => Resolved {
            expect,
            task: Task::Pass(Some(format!("{encoding} isn't decoded"))),
            unsupported: Some(encoding),
            codings: Vec::new(),
        },
    }
}

enum Guess {
    Nothing,
    Kind(Kind),
    /// Only the body can tell.
    Watch,
}

fn guess(request: Option<&RequestHead>, response: &ResponseHead) -> Guess {
    let request = request.filter(|request| request.target.is_some());
    let Some(status) = response.status else {
        // A body that was joined in the middle, behind a head that nobody saw.
        return if response.fields.is_none() { Guess::Watch } else { Guess::Nothing };
    };
    if is_websocket(response) {
        let asked = request.and_then(|request| request.target.as_deref()).is_some_and(asks_for_watch);
        return if asked { Guess::Kind(Kind::Watch) } else { Guess::Nothing };
    }
    if !(200..300).contains(&status) {
        return Guess::Nothing;
    }
    let content_type = response.content_type();
    let media_type = media_type(content_type);
    if media_type.eq_ignore_ascii_case("text/event-stream") {
        return Guess::Kind(Kind::Sse);
    }
    if NDJSON.iter().any(|name| media_type.eq_ignore_ascii_case(name)) {
        return Guess::Kind(Kind::Ndjson);
    }
    let asked = request.and_then(|request| request.target.as_deref()).is_some_and(asks_for_watch);
    if asked || has_parameter(content_type, "stream", "watch") {
        return Guess::Kind(Kind::Watch);
    }
    if request.is_none() && (is_json(media_type) || media_type.eq_ignore_ascii_case("application/cbor-seq")) {
        return Guess::Watch;
    }
    Guess::Nothing
}

/// The media types of lines of JSON.
const NDJSON: [&str; 5] = [
    "application/x-ndjson",
    "application/ndjson",
    "application/jsonl",
    "application/x-jsonlines",
    "application/stream+json",
];

/// A content type without its parameters.
fn media_type(content_type: &str) -> &str {
    let end = memchr::memchr(b';', content_type.as_bytes()).unwrap_or(content_type.len());
    content_type.get(..end).unwrap_or_default().trim()
}

fn is_json(media_type: &str) -> bool {
    let suffix = media_type.len().checked_sub("+json".len()).and_then(|at| media_type.get(at..));
    media_type.eq_ignore_ascii_case("application/json")
        || suffix.is_some_and(|suffix| suffix.eq_ignore_ascii_case("+json"))
}

/// Whether a media type has a parameter of that value (RFC 9110 §5.6.6).
fn has_parameter(content_type: &str, name: &str, value: &str) -> bool {
    content_type.split(';').skip(1).any(|parameter| {
        parameter.split_once('=').is_some_and(|(n, v)| {
            n.trim().eq_ignore_ascii_case(name) && v.trim().trim_matches('"').eq_ignore_ascii_case(value)
        })
    })
}

/// The codings of a response's body in the order in which they were applied:
/// content codings (RFC 9110 §8.4), then transfer codings before `chunked` (RFC
/// 9112 §6.1). The error names the first that isn't decoded.
fn codings(response: &ResponseHead) -> Result<Vec<Coding>, String> {
    let fields = response.fields.as_ref();
    let mut codings = Vec::new();
    for (name, field, none) in
        [("content", "content-encoding", "identity"), ("transfer", "transfer-encoding", "chunked")]
    {
        for member in members(fields, field).filter(|member| !member.eq_ignore_ascii_case(none)) {
            codings.push(Coding::of(member).ok_or_else(|| format!("{name} coding {member}"))?);
        }
    }
    if codings.len() > MOST_CODINGS {
        return Err(format!("a stack of {} codings", codings.len()));
    }
    Ok(codings)
}

/// Whether a response makes the connection a WebSocket (RFC 6455 §4.2.2).
pub(super) fn is_websocket(response: &ResponseHead) -> bool {
    response.status == Some(101) && upgrades_to(response.fields.as_ref(), "websocket")
}

/// What a request accepts first.
fn accepted(request: Option<&RequestHead>) -> String {
    let fields = request.and_then(|request| request.fields.as_ref());
    members(fields, "accept").next().unwrap_or_default().to_owned()
}

/// What keeps the messages of a WebSocket from being read; they have no codings.
fn message_codings(kind: Kind, response: &ResponseHead) -> Result<Vec<Coding>, String> {
    let fields = response.fields.as_ref();
    if let Some(extension) = members(fields, "sec-websocket-extensions").next() {
        let name = extension.split(';').next().unwrap_or_default().trim();
        return Err(format!("WebSocket extension {name}"));
    }
    let encoded = members(fields, "sec-websocket-protocol").find(|name| name.contains("base64"));
    if let Some(protocol) = encoded {
        return Err(format!("WebSocket subprotocol {protocol}"));
    }
    if kind == Kind::WatchProtobuf {
        // Without the lengths that tell events apart.
        return Err("protobuf in WebSocket messages".to_owned());
    }
    Ok(Vec::new())
}

/// The encoding of a watch, by its content type.
fn encoding(content_type: &str) -> Kind {
    let media_type = media_type(content_type);
    if media_type.eq_ignore_ascii_case("application/json") {
        // As nearly all are.
        return Kind::Watch;
    }
    let media_type = media_type.to_ascii_lowercase();
    match () {
        () if media_type.contains("protobuf") => Kind::WatchProtobuf,
        () if media_type.contains("cbor") => Kind::WatchCbor,
        () => Kind::Watch,
    }
}

impl ResponseHead {
    fn content_type(&self) -> &str {
        let fields = self.fields.as_deref().unwrap_or_default();
        let field = fields.iter().find(|(name, _)| is_named(name, "content-type"));
        field.map(|(_, value)| value.as_str()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(target: &str) -> RequestHead {
        RequestHead { method: Some("GET".into()), target: Some(target.into()), ..RequestHead::default() }
    }

    fn response(status: u16, fields: &[(&str, &str)]) -> ResponseHead {
        ResponseHead {
            status: Some(status),
            fields: Some(fields.iter().map(|(n, v)| ((*n).into(), (*v).into())).collect()),
            ..ResponseHead::default()
        }
    }

    fn auto(target: Option<&str>, status: u16, fields: &[(&str, &str)]) -> Resolved {
        let request = target.map(request);
        let response = response(status, fields);
        resolve(Expectation::Auto, request.as_ref(), &response, Some(Framing::Chunked), false)
    }

    const JSON: (&str, &str) = ("Content-Type", "application/json");

    #[test]
    fn a_watch_is_told_by_its_target() {
        for target in [
            "/api/v1/pods?watch=true",
            "/api/v1/pods?limit=5&watch=1&timeoutSeconds=3",
            "/api/v1/watch/namespaces/kube-system/configmaps/coredns",
            "/apis/apps/v1/watch/deployments",
            "/k8s/clusters/c-1/api/v1/watch/pods",
            "http://127.0.0.1:8001/api/v1/watch/pods",
        ] {
            assert_eq!(auto(Some(target), 200, &[JSON]).expect, Some(Expect::Kind(Kind::Watch)), "{target}");
        }
        for target in
            ["/api/v1/pods", "/api/v1/pods?watch=false", "/watch/api/", "/api/v1/watch", "/x?unwatch=1"]
        {
            assert_eq!(auto(Some(target), 200, &[JSON]), Resolved::nothing(), "{target}");
        }
    }

    #[test]
    fn content_types_tell_other_kinds() {
        let kind = |value| auto(Some("/"), 200, &[("content-type", value)]).expect;
        assert_eq!(kind("Text/Event-Stream; charset=utf-8"), Some(Expect::Kind(Kind::Sse)));
        assert_eq!(kind("application/x-ndjson"), Some(Expect::Kind(Kind::Ndjson)));
        assert_eq!(kind("application/json;stream=watch"), Some(Expect::Kind(Kind::Watch)));
        assert_eq!(kind("application/json"), None);
    }

    #[test]
    fn only_success_is_checked_under_auto() {
        assert_eq!(auto(Some("/api/v1/pods?watch=1"), 410, &[JSON]), Resolved::nothing());
        let gone = response(410, &[JSON]);
        let named = resolve(Expectation::Kind(Kind::Watch), None, &gone, Some(Framing::Chunked), false);
        assert_eq!(named.task, Task::Check { kind: Kind::Watch, joined: false });
    }

    #[test]
    fn without_a_request_the_body_tells() {
        assert_eq!(auto(None, 200, &[JSON]).task, Task::Guess { kind: Kind::Watch, joined: false });
        assert_eq!(auto(None, 200, &[("Content-Type", "text/html")]).task, Task::Pass(None));
    }

    #[test]
    fn codings_are_those_of_the_content_and_then_those_of_the_transfer() {
        let watch = Some("/api/v1/pods?watch=1");
        let codings = |fields: &[(&str, &str)]| auto(watch, 200, &[&[JSON], fields].concat()).codings;
        assert_eq!(codings(&[("Content-Encoding", "GZIP")]), [Coding::Gzip]);
        assert_eq!(codings(&[("Content-Encoding", "identity")]), []);
        assert_eq!(
            codings(&[
                ("Transfer-Encoding", "deflate, chunked"),
                ("Content-Encoding", "br , identity"),
                ("content-encoding", "zstd"),
            ]),
            [Coding::Brotli, Coding::Zstd, Coding::Deflate]
        );
        assert_eq!(codings(&[("Transfer-Encoding", "Chunked, chunked")]), []);
    }

    #[test]
    fn a_guess_is_made_in_the_decoded_body() {
        let guess = auto(None, 200, &[JSON, ("Content-Encoding", "gzip")]);
        assert_eq!(
            (guess.task, guess.codings),
            (Task::Guess { kind: Kind::Watch, joined: false }, vec![Coding::Gzip])
        );
        assert_eq!(auto(None, 200, &[JSON, ("Content-Encoding", "x")]), Resolved::nothing());
    }

    #[test]
    fn encodings_that_are_not_read_leave_chunks_unchecked() {
        let watch = Some("/api/v1/pods?watch=1");
        let compress = auto(watch, 200, &[JSON, ("Content-Encoding", "gzip, compress")]);
        assert_eq!(compress.expect, Some(Expect::Kind(Kind::Watch)));
        assert_eq!(compress.unsupported.as_deref(), Some("content coding compress"));
        assert_eq!(compress.codings, []);
        let protobuf =
            auto(watch, 200, &[("Content-Type", "application/vnd.kubernetes.protobuf;stream=watch")]);
        assert_eq!(protobuf.expect, Some(Expect::Kind(Kind::WatchProtobuf)));
        assert_eq!(protobuf.unsupported, None);
        let chunked = auto(watch, 200, &[JSON, ("Transfer-Encoding", "x, chunked")]);
        assert_eq!(chunked.unsupported.as_deref(), Some("transfer coding x"));
        let many = auto(watch, 200, &[JSON, ("Content-Encoding", "br,br,br,br,br,br")]);
        assert_eq!(many.unsupported.as_deref(), Some("a stack of 6 codings"));
    }
}
