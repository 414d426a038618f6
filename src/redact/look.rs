//! A cheap look at names and texts that tells most of them harmless, before
//! anything is taken apart: the head of every exchange is looked through, and
//! hardly any holds a secret.
//!
//! It may be wrong in one way only: what it calls suspicious may well be
//! harmless, so the close look follows.

use super::is_secret_name;

/// Words that are within the names of secret values.
pub(super) const WITHIN: [&str; 16] = [
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "apikey",
    "accesskey",
    "privatekey",
    "signature",
    "credential",
    "session",
    "authorization",
    "bearer",
    "cookie",
    "authkey",
    "clientkey",
];

/// Words that are the names of secret values as a whole.
pub(super) const WHOLE: [&str; 8] = ["key", "sig", "pwd", "pass", "auth", "jwt", "code", "sid"];

/// Fields that are read in a way of their own, besides those whose names say
/// that they are secret.
const READ: [&str; 6] =
    ["location", "referer", "content-location", "link", "refresh", "sec-websocket-protocol"];

/// Which letters a name has, in either case; what is none between them doesn't
/// count, as it doesn't in the names of secret values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Letters(u32);

impl Letters {
    const NONE: Self = Self(0);
    /// A digit, in place of a letter.
    const DIGIT: u32 = 1;
    /// What is beyond ASCII: it may be a letter or none.
    const ANY: u32 = 1 << 31;

    /// What each octet counts as.
    #[expect(clippy::indexing_slicing, reason = "a constant: it is made while this is compiled")]
    const OF: [u32; 256] = {
        let mut of = [0; 256];
        let mut octet = 0;
        while octet < of.len() {
            of[octet] = match octet as u8 {
                b'a'..=b'z' | b'A'..=b'Z' => 1 << (octet & 0x1f),
                b'0'..=b'9' => Self::DIGIT,
                0x80.. => Self::ANY,
                _ => 0,
            };
            octet += 1;
        }
        of
    };

    #[expect(clippy::indexing_slicing, reason = "only constants are made with it, while this is compiled")]
    const fn of(word: &str) -> u32 {
        let octets = word.as_bytes();
        let (mut letters, mut at) = (0, 0);
        while at < octets.len() {
            letters |= Self::OF[octets[at] as usize];
            at += 1;
        }
        letters
    }

    fn add(&mut self, octet: u8) {
        self.0 |= Self::OF.get(usize::from(octet)).copied().unwrap_or(Self::ANY);
    }

    /// Whether a name of these letters may say that its value is secret.
    fn are_telling(self) -> bool {
        const PARTS: [u32; WITHIN.len()] = each(WITHIN);
        const WHOLES: [u32; WHOLE.len()] = each(WHOLE);
        // Without branches: the compiler compares several at once.
        let part = PARTS.iter().fold(false, |found, word| found | (self.0 & word == *word));
        let whole = WHOLES.iter().fold(false, |found, word| found | (self.0 == *word));
        part | whole | (self.0 & Self::ANY != 0)
    }

    /// Whether a field's name of these letters may be one that is read in a
    /// way of its own.
    fn are_of_read(self) -> bool {
        const WORDS: [u32; READ.len()] = each(READ);
        WORDS.iter().fold(false, |found, word| found | (self.0 == *word))
    }
}

#[expect(clippy::indexing_slicing, reason = "only constants are made with it, while this is compiled")]
const fn each<const COUNT: usize>(words: [&str; COUNT]) -> [u32; COUNT] {
    let mut letters = [0; COUNT];
    let mut place = 0;
    while place < COUNT {
        letters[place] = Letters::of(words[place]);
        place += 1;
    }
    letters
}

/// Whether a name may say that its value is secret.
pub(super) fn name_is_suspicious(name: &str) -> bool {
    letters(name).are_telling()
}

/// Whether a field may hold something secret.
pub(super) fn field_is_suspicious(name: &str, value: &str) -> bool {
    letters(name).are_of_read() || is_secret_name(name) || text_is_suspicious(value)
}

fn letters(name: &str) -> Letters {
    let mut letters = Letters::NONE;
    name.bytes().for_each(|octet| letters.add(octet));
    letters
}

/// Whether a target, or a URL, may hold something secret.
pub(super) fn target_is_suspicious(target: &str) -> bool {
    let octets = target.as_bytes();
    // User information ends in it.
    if memchr::memchr(b'@', octets).is_some() || text_is_suspicious(target) {
        return true;
    }
    let Some(start) = memchr::memchr2(b'?', b'#', octets) else { return false };
    let query = octets.get(start + 1..).unwrap_or_default();
    query.split(|octet| matches!(octet, b'&' | b';' | b'#' | b'?')).any(|parameter| {
        let Some(equals) = memchr::memchr(b'=', parameter) else { return false };
        let name = parameter.get(..equals).and_then(|name| std::str::from_utf8(name).ok());
        // What is encoded may be any letter.
        name.is_none_or(|name| name.contains('%') || is_secret_name(name))
    })
}

/// Whether credentials may stand in a text: behind `Bearer` or `Basic` and a
/// blank, or as a JSON Web Token, which begins with `eyJ`.
pub(super) fn text_is_suspicious(text: &str) -> bool {
    let octets = text.as_bytes();
    memchr::memchr2_iter(b' ', b'J', octets).any(|at| {
        let (before, found) = octets.split_at_checked(at).unwrap_or((octets, &[]));
        match (before.last().map(u8::to_ascii_lowercase), found.first()) {
            (Some(b'y'), Some(b'J')) => ends_in(before, b"ey"),
            (Some(b'r'), Some(b' ')) => ends_in(before, b"bearer"),
            (Some(b'c'), Some(b' ')) => ends_in(before, b"basic"),
            _ => false,
        }
    })
}

fn ends_in(octets: &[u8], word: &[u8]) -> bool {
    let start = octets.len().checked_sub(word.len());
    start.and_then(|start| octets.get(start..)).is_some_and(|end| end.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::super::{in_field, in_target, in_text};
    use super::*;
    use proptest::prelude::*;

    /// Pieces of names and texts in which secrets may show.
    fn pieces() -> impl Strategy<Value = String> {
        let words = WITHIN.into_iter().chain(WHOLE).chain(READ).map(str::to_owned);
        let others = [
            "Bearer ", "bAsIc ", "basic", "eyJ", "EYJhbGci", "eyj", "abcdefgh", ".", "..", " ", "-", "_",
            "[", "%74", "%", "+", "é", "=", "&", ";", "?", "#", "/", "//", "://", "@", "host", "Set-",
            "Proxy-", "x-", "1", "continue", "X", "e", "ſ", "K",
        ];
        let words: Vec<String> = words.chain(others.map(str::to_owned)).collect();
        let word = proptest::sample::select(words);
        let cased = (word, 0..3u8).prop_map(|(word, case)| match case {
            0 => word.to_ascii_uppercase(),
            1 => {
                let mut characters = word.chars();
                characters
                    .next()
                    .map_or_else(String::new, |c| c.to_ascii_uppercase().to_string() + characters.as_str())
            }
            _ => word,
        });
        proptest::collection::vec(cased, 0..9).prop_map(|pieces| pieces.concat())
    }

    /// Whether a name says that its value is secret, looked for word by word.
    fn says_secret(name: &str) -> bool {
        let plain: String = name.to_ascii_lowercase().chars().filter(|c| c.is_alphanumeric()).collect();
        let within = WITHIN.iter().any(|word| plain.contains(word));
        plain != "continuetoken" && (within || WHOLE.contains(&plain.as_str()))
    }

    proptest! {
        #[test]
        fn whatever_is_secret_is_suspicious(name in pieces(), value in pieces()) {
            prop_assert!(text_is_suspicious(&value) || in_text(&value).is_empty());
            prop_assert_eq!(is_secret_name(&name), says_secret(&name), "{}", name);
            prop_assert!(field_is_suspicious(&name, &value) || in_field(&name, &value).is_empty());
            for target in [value.clone(), format!("/a?{name}={value}"), format!("/a?b=c&{value}")] {
                prop_assert!(target_is_suspicious(&target) || in_target(&target).is_empty(), "{}", target);
            }
        }
    }

    #[test]
    fn what_watches_mostly_send_is_not_suspicious() {
        assert!(!target_is_suspicious(
            "/api/v1/pods?allowWatchBookmarks=true&resourceVersion=1000&watch=true"
        ));
        for (name, value) in [
            ("Host", "10.0.0.1:8001"),
            ("User-Agent", "kubectl/v1.33.1 (linux/amd64) kubernetes/8adc0f0"),
            ("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"),
            ("Accept-Encoding", "gzip"),
            ("Audit-Id", "3d1f2c5e-1f1b-4b57-9a43-0d8d9e3a9a11"),
            ("Cache-Control", "no-cache, private"),
            ("Content-Type", "application/json"),
            ("Date", "Fri, 01 May 2026 10:00:00 GMT"),
        ] {
            assert!(!field_is_suspicious(name, value), "{name}");
        }
    }
}
