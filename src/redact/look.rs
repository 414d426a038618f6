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

/// Which pairs of neighbours the letters and digits of a name make, in either
/// case; what else is between them doesn't count, as it doesn't in the names of
/// secret values. A pair has one of 64 places: some have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pairs {
    pairs: u64,
    last: u8,
}

impl Pairs {
    const NONE: Self = Self { pairs: 0, last: 0 };

    /// What may be any letter: an octet of a character beyond ASCII, and `%`,
    /// which begins an encoded one.
    const ANY: u8 = 28;

    /// What each octet counts as; 0 for what doesn't.
    #[expect(clippy::indexing_slicing, reason = "a constant: it is made while this is compiled")]
    const CLASS: [u8; 256] = {
        let mut class = [0; 256];
        let mut octet = 0;
        while octet < class.len() {
            class[octet] = match octet as u8 {
                letter @ (b'a'..=b'z' | b'A'..=b'Z') => letter & 0x1f,
                b'0'..=b'9' => 27,
                b'%' | 0x80.. => Self::ANY,
                _ => 0,
            };
            octet += 1;
        }
        class
    };

    const fn add(&mut self, class: u8) {
        match class {
            0 => {}
            Self::ANY => self.pairs = u64::MAX,
            _ => {
                self.pairs |= 1u64.wrapping_shl(self.last as u32 * 11 + class as u32);
                self.last = class;
            }
        }
    }

    fn of(name: &[u8]) -> Self {
        let mut pairs = Self::NONE;
        for octet in name {
            pairs.add(Self::CLASS.get(usize::from(*octet)).copied().unwrap_or(Self::ANY));
        }
        pairs
    }

    /// Those of each of some words; with what begins a name, if they are names
    /// as a `whole`.
    #[expect(clippy::indexing_slicing, reason = "only constants are made with it, while this is compiled")]
    const fn each<const COUNT: usize>(words: [&str; COUNT], whole: bool) -> [u64; COUNT] {
        let mut all = [0; COUNT];
        let mut place = 0;
        while place < COUNT {
            let word = words[place].as_bytes();
            let (mut pairs, mut at) = (Self::NONE, 0);
            if !whole {
                (pairs.last, at) = (Self::CLASS[word[0] as usize], 1);
            }
            while at < word.len() {
                pairs.add(Self::CLASS[word[at] as usize]);
                at += 1;
            }
            all[place] = pairs.pairs;
            place += 1;
        }
        all
    }

    /// Whether a name of these may say that its value is secret.
    fn are_telling(self) -> bool {
        const PARTS: [u64; WITHIN.len()] = Pairs::each(WITHIN, false);
        const WHOLES: [u64; WHOLE.len()] = Pairs::each(WHOLE, true);
        // Without branches: the compiler compares several at once.
        let part = PARTS.iter().fold(false, |found, word| found | (self.pairs & word == *word));
        WHOLES.iter().fold(part, |found, word| found | (self.pairs == *word))
    }

    /// Whether a field's name of these may be one that is read in a way of its
    /// own.
    fn are_of_read(self) -> bool {
        const WORDS: [u64; READ.len()] = Pairs::each(READ, true);
        WORDS.iter().fold(self.pairs == u64::MAX, |found, word| found | (self.pairs == *word))
    }
}

/// Whether a name may say that its value is secret.
pub(super) fn name_is_suspicious(name: &str) -> bool {
    Pairs::of(name.as_bytes()).are_telling()
}

/// Whether a field may hold something secret.
pub(super) fn field_is_suspicious(name: &str, value: &str) -> bool {
    let pairs = Pairs::of(name.as_bytes());
    pairs.are_of_read() || (pairs.are_telling() && is_secret_name(name)) || text_is_suspicious(value)
}

/// Whether a target, or a URL, may hold something secret.
pub(crate) fn target_is_suspicious(target: &str) -> bool {
    let octets = target.as_bytes();
    // User information ends in it.
    if memchr::memchr(b'@', octets).is_some() || text_is_suspicious(target) {
        return true;
    }
    let Some(start) = memchr::memchr2(b'?', b'#', octets) else { return false };
    let query = octets.get(start + 1..).unwrap_or_default();
    query.split(|octet| matches!(octet, b'&' | b';' | b'#' | b'?')).any(|parameter| {
        let name = memchr::memchr(b'=', parameter).and_then(|equals| parameter.get(..equals));
        name.is_some_and(|name| {
            Pairs::of(name).are_telling()
                // What is encoded may be any letter.
                && std::str::from_utf8(name).map_or(true, |name| name.contains('%') || is_secret_name(name))
        })
    })
}

/// Whether a target differs from one `before` in digits alone that are no part
/// of a parameter's name, as those of clients do that ask again from another
/// version. No word that is looked for has digits: if the one before isn't
/// suspicious, neither is this one.
pub(crate) fn target_is_as_harmless(target: &str, before: &str) -> bool {
    let (target, before) = (target.as_bytes(), before.as_bytes());
    let same = 8 * target.chunks_exact(8).zip(before.chunks_exact(8)).take_while(|(a, b)| a == b).count();
    let rests = target.iter().zip(before).skip(same);
    let same = same + rests.take_while(|(a, b)| a == b).count();
    let (Some((start, rest)), Some(rest_before)) = (target.split_at_checked(same), before.get(same..)) else {
        return false;
    };
    let behind = rest.iter().rev().zip(rest_before.iter().rev()).take_while(|(a, b)| a == b).count();
    let differs = rest.get(..rest.len().saturating_sub(behind)).unwrap_or_default();
    let mark = start.iter().rev().find(|octet| matches!(octet, b'?' | b'#' | b'&' | b';' | b'='));
    !differs.is_empty() && differs.iter().all(u8::is_ascii_digit) && matches!(mark, None | Some(b'='))
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

    proptest! {
        #[test]
        fn a_target_with_other_digits_is_as_harmless(
            before in pieces(), behind in pieces(), digits in "[0-9]{0,3}", others in "[0-9]{0,3}|=|[?&]a=", within in 0..3usize,
        ) {
            let start = ["", "/a?", "/a?b="][within];
            let [one, other] = [digits, others].map(|part| format!("{start}{before}{part}{behind}"));
            for (one, other) in [(&one, &other), (&other, &one)] {
                if target_is_as_harmless(one, other) {
                    prop_assert!(target_is_suspicious(other) || !target_is_suspicious(one), "{} {}", one, other);
                }
            }
        }
    }

    #[test]
    fn another_version_is_as_harmless() {
        let target =
            |version| format!("/api/v1/pods?allowWatchBookmarks=true&resourceVersion={version}&watch=true");
        assert!(target_is_as_harmless(&target("1000"), &target("2005")));
        assert!(!target_is_as_harmless(&target("1000"), &target("1000&token=a")));
        assert!(!target_is_as_harmless("/?sid1=a", "/?sid2=a"), "a part of a name");
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
