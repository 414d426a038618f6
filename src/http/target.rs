//! Request targets: path and query (RFC 9112 §3.2, RFC 3986 §3.4).

use std::borrow::Cow;

/// The path of a target, without scheme, authority and query.
pub(crate) fn path(target: &str) -> &str {
    let before = target.split(['?', '#']).next().unwrap_or_default();
    match before.find("://") {
        // absolute-form
        Some(scheme) => {
            let rest = before.get(scheme + 3..).unwrap_or_default();
            rest.find('/').and_then(|slash| rest.get(slash..)).unwrap_or("/")
        }
        None => before,
    }
}

/// The parameters of a target's query, names and values as written.
pub(crate) fn parameters(target: &str) -> impl Iterator<Item = (&str, &str)> {
    let query = target.split_once('?').map_or("", |(_, query)| query);
    let query = query.split('#').next().unwrap_or_default();
    query
        .split('&')
        .filter(|parameter| !parameter.is_empty())
        .map(|parameter| parameter.split_once('=').unwrap_or((parameter, "")))
}

/// The value of a target's parameter, decoded; of several the first counts, as
/// in Go's `url.Values`.
pub(crate) fn parameter<'t>(target: &'t str, name: &str) -> Option<Cow<'t, str>> {
    parameters(target).find(|(found, _)| decoded(found) == name).map(|(_, value)| decoded(value))
}

/// Whether a parameter says yes, as Kubernetes reads it.
pub(crate) fn says_yes(target: &str, name: &str) -> bool {
    parameter(target, name).is_some_and(|value| matches!(&*value, "true" | "1" | "True" | "TRUE" | "t" | "T"))
}

/// Whether a request target asks the Kubernetes API for a watch: by
/// `watch=true` or `watch=1` in the query, or by a `/watch/` segment under
/// `/api/` or `/apis/`.
pub(crate) fn asks_for_watch(target: &str) -> bool {
    let (target, _) = cut(target, b'#').unwrap_or((target, ""));
    let (path, query) = cut(target, b'?').unwrap_or((target, ""));
    if split(query, b'&').any(|pair| matches!(pair, "watch=true" | "watch=1")) {
        return true;
    }
    let mut under_api = false;
    let mut segments = split(path, b'/').peekable();
    while let Some(segment) = segments.next() {
        // `/watch/` has a slash behind it, so it isn't the last segment.
        if under_api && segment == "watch" && segments.peek().is_some() {
            return true;
        }
        under_api |= matches!(segment, "api" | "apis");
    }
    false
}

/// The parts of a text before and behind the first of an ASCII character. Each
/// exchange's target is looked through: `str::split_once` takes longer.
fn cut(text: &str, at: u8) -> Option<(&str, &str)> {
    let place = memchr::memchr(at, text.as_bytes())?;
    Some((text.get(..place)?, text.get(place + 1..)?))
}

/// The parts of a text between ASCII characters, as `str::split` gives them.
fn split(text: &str, at: u8) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        match cut(text, at) {
            Some((part, behind)) => {
                rest = Some(behind);
                Some(part)
            }
            None => rest.take(),
        }
    })
}

/// Text with its percent-encoded octets and plus signs decoded.
pub(crate) fn decoded(text: &str) -> Cow<'_, str> {
    if !text.contains(['%', '+']) {
        return Cow::Borrowed(text);
    }
    let mut octets = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let digit = |place: usize| behind.get(place).and_then(|octet| char::from(*octet).to_digit(16));
        match (first, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => {
                octets.push(u8::try_from(high * 16 + low).unwrap_or_default());
                rest = behind.get(2..).unwrap_or_default();
            }
            (b'+', ..) => {
                octets.push(b' ');
                rest = behind;
            }
            _ => {
                octets.push(first);
                rest = behind;
            }
        }
    }
    Cow::Owned(String::from_utf8_lossy(&octets).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_split_as_by_the_standard_library() {
        for text in ["", "&", "a", "a&b", "&a&&é&", "é&ü"] {
            assert!(split(text, b'&').eq(text.split('&')), "{text:?}");
        }
    }

    #[test]
    fn paths_and_parameters_are_found_in_any_form_of_target() {
        assert_eq!(path("/api/v1/pods?watch=1"), "/api/v1/pods");
        assert_eq!(path("http://u:p@host:8001/api?x"), "/api");
        assert_eq!(path("http://host"), "/");
        assert_eq!(path("*"), "*");
        let target = "/pods?watch=1&&resource%56ersion=%31+2&x#&y=2";
        assert_eq!(parameter(target, "resourceVersion").as_deref(), Some("1 2"));
        assert_eq!(parameter(target, "x").as_deref(), Some(""));
        assert_eq!(parameter(target, "y"), None);
        assert!(says_yes(target, "watch") && !says_yes(target, "x"));
        assert_eq!(decoded("100%"), "100%");
        assert_eq!(decoded("%zz%e9"), "%zz\u{fffd}");
    }
}
