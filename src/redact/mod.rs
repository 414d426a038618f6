//! Secrets and credentials out of heads and bodies (`--redact`), before any
//! report sees them.
//!
//! What is taken for secret, and the marker that stands in its place: an
//! asterisk for each octet, so that sizes still fit and JSON stays JSON.
//!
//! | where | what |
//! | --- | --- |
//! | fields | credentials of Authorization and Proxy-Authorization, values of Cookie and Set-Cookie, keys and tokens by their field's name, the bearer token that a WebSocket client sends as a subprotocol, targets in Location and Referer |
//! | targets | user information; parameters whose name says token, secret, password, key, signature and the like |
//! | bodies | see [`Body`] |
//!
//! Where it can't be decided whether something is secret, it counts as secret.
//! What isn't decided here: names of objects and of keys aren't secret, nor is
//! any octet behind a name that says nothing.

mod beginning;
mod body;
mod look;
mod words;

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use memchr::memmem::Finder;
use smallvec::SmallVec;
use smol_str::SmolStr;

pub use body::{Body, Readable};

use crate::event::Summary;
use crate::http::{Fields, Model, RequestHead, ResponseHead, target};

/// What stands for an octet of a secret.
pub const MARK: u8 = b'*';

/// Masks what is secret in a request's head.
pub fn request(head: &mut RequestHead) {
    head.model = Model::default();
    if let Some(target) = head.target.as_mut().filter(|target| target_shows(target)) {
        *target = masked(target, &in_target(target)).into();
    }
    head.fields.iter_mut().for_each(fields);
}

/// Masks what is secret in a response's head.
pub fn response(head: &mut ResponseHead) {
    head.model = Model::default();
    head.fields.iter_mut().for_each(fields);
}

/// Masks what is secret in header or trailer fields.
pub fn fields(fields: &mut Fields) {
    if fields_show(Some(fields)) {
        *fields = fields
            .iter()
            .map(|(name, value)| (name.clone(), masked(value, &in_field(name, value)).into()))
            .collect();
    }
}

/// Masks what is secret in the texts that are shown of an event.
pub fn summary(summary: &mut Summary, readable: Readable) {
    for text in [&mut summary.data, &mut summary.message].into_iter().flatten() {
        let mut body = Body::new(readable);
        body.begin(0, usize::MAX);
        body.read(0, text.as_bytes());
        let mut octets = text.as_bytes().to_vec();
        body.mask(0, &mut octets);
        *text = String::from_utf8_lossy(&octets).into();
    }
}

/// Masks what a message quotes: it may be a payload's.
pub fn quoted(message: &mut String) {
    let mut ranges = Vec::new();
    let mut open = None;
    let mut escaped = false;
    for (at, octet) in message.bytes().enumerate() {
        match (octet, open) {
            _ if std::mem::take(&mut escaped) => {}
            (b'\\', Some(_)) => escaped = true,
            (b'"', None) => open = Some(at + 1),
            (b'"', Some(start)) => {
                ranges.push(start..at);
                open = None;
            }
            _ => {}
        }
    }
    ranges.extend(open.map(|start| start..message.len()));
    *message = masked(message, &ranges);
}

/// Masks the values of chunk extensions in a size line: what a body that is
/// framed wrongly has there is payload.
pub fn size_line(line: &mut [u8]) {
    let Some(start) = memchr::memchr(b';', line) else { return };
    let mut value = false;
    for octet in line.get_mut(start..).unwrap_or_default() {
        match octet {
            b';' => value = false,
            b'=' if !value => value = true,
            b'\r' | b'\n' | b'"' => {}
            octet if value => *octet = MARK,
            _ => {}
        }
    }
}

/// Whether a request's head shows something secret in its target, or, if
/// `fields` are shown, in these.
#[must_use]
pub fn request_shows(head: &RequestHead, fields: bool) -> bool {
    head.target.as_deref().is_some_and(target_shows) || (fields && fields_show(head.fields.as_ref()))
}

/// Whether fields show something secret that aren't among those `before`, at
/// the same place, of which it is known that they don't: of a server's heads
/// mostly the dates differ.
pub(crate) fn fields_show_besides(fields: &Fields, before: &Fields) -> bool {
    let before = before.iter().map(Some).chain(std::iter::repeat(None));
    fields.iter().zip(before).any(|(field, before)| before != Some(field) && field_shows(field))
}

/// Whether fields show something secret.
#[must_use]
pub fn fields_show(fields: Option<&Fields>) -> bool {
    fields.into_iter().flatten().any(field_shows)
}

fn field_shows((name, value): &(SmolStr, SmolStr)) -> bool {
    look::field_is_suspicious(name, value) && !in_field(name, value).is_empty()
}

pub(crate) use look::{target_is_as_harmless, target_is_suspicious};

pub(crate) fn target_shows(target: &str) -> bool {
    look::target_is_suspicious(target) && !in_target(target).is_empty()
}

/// Whether a payload, taken for itself, shows something secret in its first
/// `shown` octets.
#[must_use]
pub fn payload_shows(payload: &[u8], shown: usize) -> bool {
    let payload = payload.get(..shown).unwrap_or(payload);
    if NAMES.find(payload).is_none() && BEHIND_BEARER.find(payload).is_none() {
        return false;
    }
    let mut body = Body::new(Readable { text: true, coded: false, strict: false, secrets: false });
    body.begin(0, payload.len());
    body.read(0, payload);
    body.holds_secrets()
}

/// What a payload must hold for anything to be secret in it, made ready once.
static NAMES: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("Secret"));
static BEHIND_BEARER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("earer "));

/// A text with the marker over octets; the ranges lie on its characters'
/// edges, so that it stays text.
fn masked(text: &str, ranges: &[Range<usize>]) -> String {
    let mut octets = text.as_bytes().to_vec();
    for range in ranges {
        octets.get_mut(range.clone()).unwrap_or_default().fill(MARK);
    }
    String::from_utf8_lossy(&octets).into_owned()
}

/// Schemes whose name in front of credentials is no secret.
const SCHEMES: [&str; 9] =
    ["basic", "bearer", "digest", "negotiate", "ntlm", "token", "dpop", "hoba", "aws4-hmac-sha256"];

/// What is secret in a field's value.
fn in_field(name: &str, value: &str) -> Vec<Range<usize>> {
    let name = name.trim().to_ascii_lowercase();
    match name.as_str() {
        "authorization" | "proxy-authorization" => credentials(value),
        "cookie" => pairs(value, usize::MAX),
        // Behind the first pair come attributes: Path, Expires.
        "set-cookie" | "set-cookie2" => pairs(value, 1),
        "location" | "referer" | "content-location" | "link" | "refresh" => {
            let mut ranges = in_target(value);
            ranges.extend(in_text(value));
            ranges
        }
        // kubectl and browsers: base64url.bearer.authorization.k8s.io.TOKEN
        "sec-websocket-protocol" => protocols(value),
        name if is_secret_name(name) && !is_harmless_field(name) => whole(value),
        _ => in_text(value),
    }
}

fn whole(value: &str) -> Vec<Range<usize>> {
    Some(0..value.len()).filter(|range| !range.is_empty()).into_iter().collect()
}

/// `Basic dXNlcjpwYXNz`: the scheme stays.
fn credentials(value: &str) -> Vec<Range<usize>> {
    let start = value.len() - value.trim_start().len();
    let scheme = value.get(start..).unwrap_or_default().split([' ', '\t']).next().unwrap_or_default();
    let known = SCHEMES.iter().any(|known| known.eq_ignore_ascii_case(scheme));
    let behind = start + scheme.len();
    let rest = value.get(behind..).unwrap_or_default();
    let blanks = rest.len() - rest.trim_start().len();
    match known && blanks > 0 {
        true if behind + blanks < value.len() => Some(behind + blanks..value.len()).into_iter().collect(),
        true => Vec::new(),
        false => whole(value),
    }
}

/// The values of the first pairs `name=value; name=value`; what is no pair
/// among them is a value.
fn pairs(value: &str, most: usize) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut at = 0;
    for (place, pair) in value.split(';').enumerate() {
        let start = match pair.find('=') {
            Some(equals) => at + equals + 1,
            None => at + pair.len() - pair.trim_start().len(),
        };
        let end = at + pair.len();
        if place < most && start < end {
            ranges.push(start..end);
        }
        at = end + 1;
    }
    ranges
}

/// Subprotocols: those that carry a token.
fn protocols(value: &str) -> Vec<Range<usize>> {
    const BEARER: &str = "base64url.bearer.authorization.";
    let mut ranges = Vec::new();
    let mut at = 0;
    for protocol in value.split(',') {
        if let Some(found) = protocol.to_ascii_lowercase().find(BEARER) {
            let behind = at + found + BEARER.len();
            let rest = value.get(behind..at + protocol.len()).unwrap_or_default();
            let domain = if rest.to_ascii_lowercase().starts_with("k8s.io.") { "k8s.io.".len() } else { 0 };
            ranges.push(behind + domain..at + protocol.len());
        }
        at += protocol.len() + 1;
    }
    ranges.retain(|range| !range.is_empty());
    ranges
}

/// Fields whose name only sounds secret.
fn is_harmless_field(name: &str) -> bool {
    name.starts_with("sec-websocket-")
        || name.starts_with("access-control-")
        || name.starts_with("x-kubernetes-pf-")
        || matches!(
            name,
            "www-authenticate" | "proxy-authenticate" | "idempotency-key" | "signature-input" | "keep-alive"
        )
}

/// What is secret in a target or a URL: user information and parameters.
fn in_target(target: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let end = target.find(['?', '#']).unwrap_or(target.len());
    let before = target.get(..end).unwrap_or_default();
    // absolute-form, or authority-form as CONNECT has it.
    let authority = match before.find("://") {
        Some(scheme) => scheme + 3,
        None if before.starts_with("//") => 2,
        None => 0,
    };
    if authority > 0 || !before.starts_with('/') {
        let rest = before.get(authority..).unwrap_or_default();
        let rest = rest.split('/').next().unwrap_or_default();
        ranges.extend(rest.rfind('@').filter(|at| *at > 0).map(|at| authority..authority + at));
    }
    let mut at = end + 1;
    for parameter in target.get(at..).unwrap_or_default().split(['&', ';', '#', '?']) {
        if let Some(equals) = parameter.find('=') {
            let name = target::decoded(parameter.get(..equals).unwrap_or_default());
            if is_secret_name(&name) && equals + 1 < parameter.len() {
                ranges.push(at + equals + 1..at + parameter.len());
            }
        }
        at += parameter.len() + 1;
    }
    for found in in_text(target) {
        if !ranges.iter().any(|range| range.start < found.end && found.start < range.end) {
            ranges.push(found);
        }
    }
    ranges
}

/// Credentials that stand anywhere in a text: behind `Bearer` and `Basic`, and
/// JSON Web Tokens.
fn in_text(text: &str) -> Vec<Range<usize>> {
    if !look::text_is_suspicious(text) {
        return Vec::new();
    }
    let mut words = words::Words::default();
    let mut ranges = Vec::new();
    words.read(0, text.as_bytes(), &mut |range| {
        ranges.push(usize::try_from(range.start).unwrap_or(0)..usize::try_from(range.end).unwrap_or(0));
    });
    words.finish(&mut |range| {
        ranges.push(usize::try_from(range.start).unwrap_or(0)..usize::try_from(range.end).unwrap_or(0));
    });
    ranges
}

/// Finds what names of secret values have within, in upper or lower case.
static WITHIN: LazyLock<AhoCorasick> = LazyLock::new(|| {
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .kind(Some(AhoCorasickKind::DFA))
        .build(look::WITHIN)
        .unwrap_or_else(|error| unreachable!("a few short words: {error}"))
});

/// Whether a name, in any case, says that its value is secret. Only letters and
/// digits of it count.
fn is_secret_name(name: &str) -> bool {
    if !look::name_is_suspicious(name) {
        return false;
    }
    let mut plain: SmallVec<[u8; 64]> = SmallVec::new();
    if name.is_ascii() {
        plain.extend(name.bytes().filter(u8::is_ascii_alphanumeric));
    } else {
        for character in name.chars().filter(|character| character.is_alphanumeric()) {
            plain.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
    let is = |word: &str| plain.eq_ignore_ascii_case(word.as_bytes());
    // A list's place, which any client may show.
    (WITHIN.is_match(&plain) || look::WHOLE.into_iter().any(is)) && !is("continuetoken")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(name: &str, value: &str) -> String {
        let mut all = Fields::from([(name.into(), value.into())]);
        fields(&mut all);
        assert_eq!(all[0].1.len(), value.len());
        all[0].1.to_string()
    }

    fn target(target: &str) -> String {
        let mut head = RequestHead { target: Some(target.into()), ..RequestHead::default() };
        request(&mut head);
        assert_eq!(
            request_shows(&RequestHead { target: Some(target.into()), ..RequestHead::default() }, false),
            head.target.as_deref() != Some(target)
        );
        head.target.unwrap().to_string()
    }

    #[test]
    fn credentials_go_and_their_scheme_stays() {
        assert_eq!(field("Authorization", "Bearer abc.def"), "Bearer *******");
        assert_eq!(field("authorization", "basic  dXNlcg=="), "basic  ********");
        assert_eq!(field("Proxy-Authorization", "Digest username=\"x\", a=b"), "Digest *****************");
        assert_eq!(field("Authorization", "hunter2"), "*******");
        assert_eq!(field("Authorization", "Custom abc"), "**********");
        assert_eq!(field("Authorization", "Bearer"), "******");
        assert_eq!(field("X-Auth-Token", "abc"), "***");
        assert_eq!(field("X-Forwarded-Authorization-Copy", "Bearer abcdefgh1"), "****************");
        assert_eq!(field("X-Note", "sent Bearer abcdefgh1, twice"), "sent Bearer *********, twice");
        assert_eq!(field("Sec-WebSocket-Key", "dGhlIHNhbXBsZQ=="), "dGhlIHNhbXBsZQ==");
        assert_eq!(
            field("Sec-WebSocket-Protocol", "v4.channel.k8s.io, base64url.bearer.authorization.k8s.io.YWJj"),
            "v4.channel.k8s.io, base64url.bearer.authorization.k8s.io.****"
        );
        assert_eq!(field("Content-Type", "application/json;stream=watch"), "application/json;stream=watch");
        assert_eq!(field("Authorization", ""), "");
    }

    #[test]
    fn cookies_keep_their_names_and_attributes() {
        assert_eq!(field("Cookie", "a=1; session=xy=z; bare"), "a=*; session=****; ****");
        assert_eq!(field("Set-Cookie", "sid=31d4; Path=/; HttpOnly"), "sid=****; Path=/; HttpOnly");
        assert_eq!(field("Set-Cookie", "31d4"), "****");
        assert_eq!(field("Cookie", "größe=ü"), "größe=**");
    }

    #[test]
    fn targets_lose_user_information_and_secret_parameters() {
        assert_eq!(
            target("/api/v1/pods?watch=1&access_token=abc&resourceVersion=7&continue=x"),
            "/api/v1/pods?watch=1&access_token=***&resourceVersion=7&continue=x"
        );
        assert_eq!(target("/x?%74oken=a%20b&X-Amz-Signature=9&t"), "/x?%74oken=*****&X-Amz-Signature=*&t");
        assert_eq!(target("http://user:pw@host/x?y=1"), "http://*******@host/x?y=1");
        assert_eq!(target("u:p@host:443"), "***@host:443");
        assert_eq!(target("/x@y:z"), "/x@y:z");
        assert_eq!(target("/x#access_token=abc"), "/x#access_token=***");
        assert_eq!(field("Location", "https://a/cb?code=12&state=s"), "https://a/cb?code=**&state=s");
        assert_eq!(field("Referer", "https://u:p@a/"), "https://***@a/");
    }

    #[test]
    fn what_a_message_quotes_may_be_payload() {
        let mut message = "\"cGFz\\\"c\" stands where `a size` belongs".to_owned();
        quoted(&mut message);
        assert_eq!(message, "\"*******\" stands where `a size` belongs");
        let mut line = *b"5;a=secret;b=\"x\";c\r\n";
        size_line(&mut line);
        assert_eq!(&line, b"5;a=******;b=\"*\";c\r\n");
    }

    #[test]
    fn payloads_that_show_secrets_are_known() {
        let secret = br#"{"type":"ADDED","object":{"kind":"Secret","data":{"p":"aHVudGVy"}}}"#;
        assert!(payload_shows(secret, usize::MAX));
        assert!(!payload_shows(secret, 50), "what isn't shown is no matter");
        assert!(!payload_shows(br#"{"kind":"ConfigMap","data":{"p":"Secret"}}"#, usize::MAX));
        assert!(payload_shows(b"Authorization: Bearer abcdefghij", usize::MAX));
    }

    #[test]
    fn texts_of_events_lose_secrets_also_where_they_are_cut() {
        let mut shown = Summary {
            data: Some(r#"{"kind":"Secret","data":{"a":"b","c":"hunt"#.into()),
            ..Summary::default()
        };
        summary(&mut shown, Readable { text: true, coded: false, strict: false, secrets: false });
        assert_eq!(shown.data.as_deref(), Some(r#"{"kind":"Secret","data":{"a":"*","c":"****"#));
    }
}
