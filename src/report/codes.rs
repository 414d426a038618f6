//! What each code means for a client, and what to do about it: the rules and
//! notifications of SARIF, and the pages of the documentation, which a test
//! holds to the same words.

use crate::lint;

/// A code, explained.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Code {
    /// The code, which never changes.
    pub(super) id: &'static str,
    /// What it says, in a few words, without a full stop.
    pub(super) title: &'static str,
    /// What that means for a client, or for what can be known.
    pub(super) meaning: &'static str,
    /// What to do.
    pub(super) advice: &'static str,
}

/// What makes a check fail: the violations, then what keeps one from being made.
pub(super) const RULES: [Code; 9] = [
    Code {
        id: "several-events",
        title: "A chunk holds several events",
        meaning: "A client that takes a chunk for one event reads the first and fails at, or misses, the \
                  others.",
        advice: "In the client, look for the end of each event in the body, not for the end of a chunk. In the \
                 server, flush after each event, and tell proxies not to buffer. Where it is known and \
                 accepted: --allow several.",
    },
    Code {
        id: "partial-event",
        title: "A chunk holds a part of one event",
        meaning: "A client that parses chunk by chunk fails here: the rest of the event comes in other chunks.",
        advice: "In the client, read on until the event is whole. In the server, write each event at once and \
                 flush behind it; a proxy's buffer may be smaller than the event. Where it is known and \
                 accepted: --allow part.",
    },
    Code {
        id: "mixed-events",
        title: "A chunk holds parts of several events",
        meaning: "A client that parses chunk by chunk fails here: chunk edges and event edges have nothing to do \
                  with each other.",
        advice: "In the client, look for the end of each event in the body. Between client and server, look for \
                 a proxy that buffers (nginx: proxy_buffering off). Where it is known and accepted: --allow \
                 mixed.",
    },
    Code {
        id: "not-an-event",
        title: "A chunk holds something that is no event of the expected kind",
        meaning: "No client finds an event in these octets, whether it reads chunk by chunk or the body as a \
                  whole.",
        advice: "Look at the octet that the message names. If the stream is of another kind, say so with \
                 --expect; if it isn't an event stream, select others with --target.",
    },
    Code {
        id: "bad-framing",
        title: "The chunk framing is broken",
        meaning: "From here on no receiver can tell where a chunk begins (RFC 9112, section 7.1): a careful one \
                  gives up and closes the connection, a careless one takes framing for data.",
        advice: "Mend the sender that writes the size lines; servers and proxies that are kept up do it right.",
    },
    Code {
        id: "truncated-body",
        title: "The sender cut the body off",
        meaning: "A chunked body ends with a chunk of size 0. Without it the receiver has to take the body as \
                  incomplete (RFC 9112, section 8).",
        advice: "Look for what ended the sender or its connection: a crash, a timeout of a proxy, a restart. A \
                 client has to reconnect and to resume from the last event that it knows.",
    },
    Code {
        id: UNVERIFIED,
        title: "The capture lacks octets, so that not all could be checked",
        meaning: "Nobody can know from this capture whether each chunk holds exactly one event: the recorder \
                  lost octets, or began in the middle of an event.",
        advice: "Record again with a larger buffer (tcpdump -B 16384), without a snap length (-s 0), and from \
                 before the request on. Where gaps are accepted: --allow gaps.",
    },
    Code {
        id: UNREADABLE,
        title: "The capture can't be read, or not to its end",
        meaning: "What it holds behind that place, or all of it, is not checked.",
        advice: "Do what the message says. A file that another program still writes, or that was copied in part, \
                 has to be whole first.",
    },
    Code {
        id: NOTHING,
        title: "Nothing to check: no chunked event stream was found",
        meaning: "A check that checks nothing is no pass: the capture holds no chunked response of which events \
                  are expected, or none that is finished.",
        advice: "Record where the stream is plain HTTP/1.1, for instance at kubectl proxy, or say what the chunks \
                 hold with --expect. Where it is accepted: --allow nothing.",
    },
];

/// The rule for exchanges that could not be verified.
pub(super) const UNVERIFIED: &str = "unverified";

/// The rule for captures that can't be read; a problem has the same code.
pub(super) const UNREADABLE: &str = "unreadable-capture";

/// The rule for runs that checked nothing.
pub(super) const NOTHING: &str = "nothing-to-check";

/// What went wrong in reading a capture, or what it lacks: the contract's
/// problem codes. None of them makes a check fail by itself, unless the capture
/// can't be read at all.
pub(super) const PROBLEMS: [Code; 22] = [
    Code {
        id: UNREADABLE,
        title: "The capture can't be read",
        meaning: "Nothing of it is checked.",
        advice: "Do what the message says: another file, another format, other permissions.",
    },
    Code {
        id: "truncated-capture",
        title: "The capture ends in the middle of a packet",
        meaning: "The recorder was stopped while it wrote. All whole packets are read.",
        advice: "Stop tcpdump with an interrupt (Ctrl-C) and wait for it, or let it write packet by packet (-U).",
    },
    Code {
        id: "trailing-garbage",
        title: "Octets behind the last packet are no record",
        meaning: "They are passed over. All packets before them are read.",
        advice: "See whether the file was put together from others; --join reads parts one after the other.",
    },
    Code {
        id: "corrupt-block",
        title: "A record of the capture is damaged",
        meaning: "What it held is not read, and behind it there may be more that isn't.",
        advice: "Copy the capture again, or record again.",
    },
    Code {
        id: "cut-packets",
        title: "Packets were cut by the snap length",
        meaning: "Octets behind the cut are not in the capture: chunks that need them can't be verified.",
        advice: "Record whole packets: tcpdump -s 0.",
    },
    Code {
        id: "lost-octets",
        title: "The capture lacks octets of a stream",
        meaning: "Chunks that need them can't be verified. The client may well have received them.",
        advice: "Record with a larger buffer: tcpdump -B 16384.",
    },
    Code {
        id: "conflicting-overlap",
        title: "Copies of the same octets differ",
        meaning: "Those that came first count. The client may have read the others.",
        advice: "Look at both packets in Wireshark: a middlebox, or somebody, wrote into the connection.",
    },
    Code {
        id: "joined-midstream",
        title: "A stream was joined in the middle",
        meaning: "The capture begins inside a response, or lost octets of it. Chunks are checked from the first \
                  one on that begins an event.",
        advice: "Begin to record before the request.",
    },
    Code {
        id: "incomplete-fragments",
        title: "Fragmented IP datagrams are not whole",
        meaning: "Fragments of them are missing, and what they carried is not read.",
        advice: "Record with a filter by host: one by port keeps first fragments only.",
    },
    Code {
        id: "incomplete-head",
        title: "A request or response head lacks octets",
        meaning: "How the body is delimited isn't known, so it isn't read.",
        advice: "Record whole packets, from before the request on.",
    },
    Code {
        id: "lenient-framing",
        title: "A sender left the grammar of HTTP/1.1 where receivers tolerate it",
        meaning: "It is read all the same; a strict receiver may refuse it (RFC 9112).",
        advice: "Mend the sender; the message names the rule and the frame.",
    },
    Code {
        id: "unsupported-link",
        title: "Packets of a link type that is not read",
        meaning: "They are not checked.",
        advice: "Record on another interface (tcpdump -i any), or convert the capture with editcap -T.",
    },
    Code {
        id: "unsupported-encoding",
        title: "A content coding that is not decoded",
        meaning: "The chunks are listed, their events unchecked.",
        advice: "Let the client ask for plain content: Accept-Encoding: identity.",
    },
    Code {
        id: "unfinished-coding",
        title: "A content coding ends before its end",
        meaning: "Many clients take that for a broken response. What was decoded is checked.",
        advice: "Mend the sender: it has to finish the stream before the last chunk.",
    },
    Code {
        id: "decoding-limit",
        title: "A body decodes to more than is read",
        meaning: "The chunks from there on are unverified.",
        advice: "Let the client ask for plain content: Accept-Encoding: identity.",
    },
    Code {
        id: "encrypted-stream",
        title: "Connections are encrypted with TLS",
        meaning: "What they carry can't be seen, and is not checked.",
        advice: "Record where the traffic is in the clear, for instance at kubectl proxy.",
    },
    Code {
        id: "http2-stream",
        title: "Connections speak HTTP/2",
        meaning: "HTTP/2 has no chunks. What they carry is not checked.",
        advice: "Let the client speak HTTP/1.1 (curl --http1.1).",
    },
    Code {
        id: "payload-limit",
        title: "A payload is longer than what a report keeps of a chunk",
        meaning: "It is cut in the report. Verdicts don't depend on it.",
        advice: "Nothing has to be done.",
    },
    Code {
        id: "stream-limit",
        title: "More streams were open at once than are kept",
        meaning: "The longest idle ones were let go before their end. What comes of them much later may be counted as others.",
        advice: "Select connections with --port or --host.",
    },
    Code {
        id: "stream-numbers",
        title: "Streams may have higher numbers than in Wireshark",
        meaning: "Of streams that ended long before, it isn't kept that they were there: what came very late of one is counted as another.",
        advice: "Look up frames rather than streams, or cut the capture by time with editcap -A and -B.",
    },
    Code {
        id: "bad-time",
        title: "A packet has a time that can't be written",
        meaning: "Its time is unknown in the reports. Verdicts don't depend on it.",
        advice: "See whether the recorder's clock is right.",
    },
    Code {
        id: "unredacted-secret",
        title: "The reports show secrets",
        meaning: "Whoever reads them learns credentials or data of Secrets.",
        advice: "Give them on with --redact only, which masks these octets.",
    },
];

/// What `--lint` finds, in the order of [`lint::Code`]. None of it makes a check
/// fail, unless `--deny` names it.
pub(super) const LINTS: [Code; lint::Code::ALL.len()] = [
    Code {
        id: "watch-rv-regression",
        title: "A resourceVersion is lower than one before it",
        meaning: "A client that keeps the highest version, or the last one, resumes from another place \
                  than the server stands at: it misses events, or gets some again.",
        advice: "Look for what mixes the answers of several servers or caches (a load balancer, a proxy), \
                 and for a server that was restored from a backup.",
    },
    Code {
        id: "watch-event-repeated",
        title: "An event came twice in a row",
        meaning: "A client that counts events, or acts on each, acts twice.",
        advice: "Let the client pass over an event whose resourceVersion it has seen. Look for what sends \
                 events again: a proxy that retries, a server that replays.",
    },
    Code {
        id: "watch-added-twice",
        title: "ADDED for an object that is there",
        meaning: "A client that takes ADDED for a new object makes it twice, or loses what it knew of it.",
        advice: "Let the client take ADDED for an object that it has as a change. Look for what mixes the \
                 answers of several servers.",
    },
    Code {
        id: "watch-event-after-deleted",
        title: "An event for an object that was deleted",
        meaning: "A client that believes it brings a deleted object back, or fails since it has none.",
        advice: "Look for what changes the order of events: several servers behind one address, or a proxy.",
    },
    Code {
        id: "watch-bookmark-unasked",
        title: "A BOOKMARK that the request didn't ask for",
        meaning: "A client that doesn't know bookmarks takes it for an object without a name.",
        advice: "Let the client say allowWatchBookmarks=true if it knows them; otherwise mend the server.",
    },
    Code {
        id: "watch-bookmark-end-missing",
        title: "The bookmark that ends the initial events never came",
        meaning: "A client that waits for it never calls its cache complete: informers hang before they \
                  begin.",
        advice: "Look whether the server knows sendInitialEvents (WatchList), whether a proxy drops its \
                 parameters, and whether the watch ended too soon for it.",
    },
    Code {
        id: "watch-bookmark-end-repeated",
        title: "The bookmark that ends the initial events came twice",
        meaning: "A client that takes it for the end of the initial state replaces its objects by the few \
                  since the first.",
        advice: "Mend the server, or what copies its events.",
    },
    Code {
        id: "watch-bookmark-end-unasked",
        title: "The bookmark that ends the initial events came unasked",
        meaning: "A client that knows the annotation takes the objects so far for all that there are.",
        advice: "Mend the server, or the proxy that changes the request's parameters.",
    },
    Code {
        id: "watch-expired",
        title: "A resourceVersion or a continue token is too old (410)",
        meaning: "The server no longer has what was asked for: the client can't go on from there.",
        advice: "In the client, list anew and watch from the list's resourceVersion. If it happens often, \
                 let it ask for bookmarks (allowWatchBookmarks=true), so that the version it knows stays \
                 young.",
    },
    Code {
        id: "watch-reconnect-gap",
        title: "A client resumed behind the last version that it had seen",
        meaning: "Events between may have been missed, deletions among them: the client's objects may be \
                  wrong from then on.",
        advice: "In the client, resume from the last resourceVersion that it has seen, or list anew first.",
    },
    Code {
        id: "watch-reconnect-replay",
        title: "A client resumed before the last version that it had seen",
        meaning: "It gets events again, which it has to pass over.",
        advice: "In the client, keep the version of each event and bookmark, and resume from the last.",
    },
    Code {
        id: "watch-reconnect-expired",
        title: "A client resumed from the version that the server had called too old",
        meaning: "It fails again, and goes on to do so.",
        advice: "In the client, list anew after a 410 before it watches again.",
    },
    Code {
        id: "watch-ended-timeout",
        title: "The watch ended with its timeout",
        meaning: "That is how a server ends a watch: the client resumes from the last version that it knows.",
        advice: "Nothing has to be done.",
    },
    Code {
        id: "watch-ended-early",
        title: "The server ended the watch before its timeout",
        meaning: "The body is whole, so it was done in order: the server shut down, or could not encode an \
                  event.",
        advice: "Look into the server's log at that time. The client has to resume from the last version \
                 that it knows.",
    },
    Code {
        id: "watch-ended-error",
        title: "The watch ended with an ERROR event",
        meaning: "Nothing comes behind it. What the client has to do depends on the Status in it.",
        advice: "Look at the event. At 410, list anew; at others, connect again later each time.",
    },
    Code {
        id: "watch-ended-abort",
        title: "The client left",
        meaning: "That is how a client ends a watch.",
        advice: "Nothing has to be done, unless the client reports an error.",
    },
    Code {
        id: "watch-ended-server-gone",
        title: "The server's side went away in the middle",
        meaning: "The client sees a broken body, and has to connect again.",
        advice: "Look for what ended the connection: a timeout of a proxy or load balancer, a restart, a \
                 crash.",
    },
    Code {
        id: "watch-ended-broken",
        title: "The chunk framing broke",
        meaning: "No client can read on from there.",
        advice: "See bad-framing: mend the sender that writes the size lines.",
    },
    Code {
        id: "watch-limit",
        title: "More objects or watches than are followed",
        meaning: "Of the further ones nothing is said.",
        advice: "Select streams with --target, --stream or --port.",
    },
];

/// What SARIF says where results are left out.
pub(super) const LEFT_OUT: Code = Code {
    id: "results-left-out",
    title: "There are more results than a log may hold",
    meaning: "Code scanning takes 25,000 results of a run. Those that are left out are counted.",
    advice: "Take the JSON report, which has all: -o json=report.json.",
};

/// The place of a rule among [`RULES`], with [`LINTS`] behind them.
pub(super) fn rule(id: &str) -> Option<usize> {
    RULES.iter().chain(&LINTS).position(|code| code.id == id)
}

/// What a finding of `--lint` means.
pub(super) const fn lint_rule(code: lint::Code) -> &'static Code {
    #[expect(clippy::indexing_slicing, reason = "there is one of each, in that order")]
    &LINTS[code as usize]
}

/// What to do about a rule.
pub(super) fn advice(id: &str) -> &'static str {
    RULES.iter().find(|code| code.id == id).map_or("", |code| code.advice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::ViolationCode;

    const PAGE: &str = include_str!("../../docs/codes.md");

    #[test]
    fn every_violation_has_a_rule() {
        for code in [
            ViolationCode::SeveralEvents,
            ViolationCode::PartialEvent,
            ViolationCode::MixedEvents,
            ViolationCode::NotAnEvent,
            ViolationCode::BadFraming,
            ViolationCode::TruncatedBody,
        ] {
            assert!(rule(code.name()).is_some(), "{code:?}");
            assert!(!advice(code.name()).is_empty());
        }
    }

    #[test]
    fn every_finding_of_lint_has_its_own_rule() {
        for code in lint::Code::ALL {
            assert_eq!(lint_rule(code).id, code.name());
            assert!(rule(code.name()).is_some_and(|place| place >= RULES.len()));
        }
    }

    #[test]
    fn every_code_is_given_once() {
        for codes in [&RULES[..], &PROBLEMS, &LINTS] {
            let mut ids: Vec<_> = codes.iter().map(|code| code.id).collect();
            ids.sort_unstable();
            ids.dedup();
            assert_eq!(ids.len(), codes.len());
        }
    }

    #[test]
    fn the_documentation_explains_each_code_in_the_same_words() {
        for code in RULES.iter().chain(&PROBLEMS).chain(&LINTS).chain([&LEFT_OUT]) {
            let row = format!("| `{}` | {} | {} | {} |", code.id, code.title, code.meaning, code.advice);
            assert!(PAGE.contains(&row), "docs/codes.md has no row\n{row}");
        }
    }
}
