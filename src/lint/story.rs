//! One watch: its events in order, and how it ended.

use std::cmp::Ordering;
use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::version::{comparable, compare};
use super::{Code, Lint};
use crate::http::{BodyEnd, target};
use crate::report::{Event, ExchangeEnd, ExchangeHead, ExchangeId, JudgedChunk};
use crate::units::Timestamp;
use crate::verdict::Verdict;

/// Seconds after which the API server ends a watch without a timeout of its
/// own at the earliest (`--min-request-timeout`).
const SERVERS_TIMEOUT: f64 = 1800.0;

/// A watch may end so much before its timeout, since times are those of the
/// place of capture.
const SLACK: f64 = 1.0;

/// Characters shown of a server's message.
const SHOWN: usize = 200;

/// Findings that wait for their chunk; beyond that they come without.
const WAITING: usize = 1000;

/// What is known of a watch.
#[derive(Debug)]
pub(super) struct Story {
    exchange: ExchangeId,
    /// Whether it was seen from its head on.
    from_head: bool,
    asks_bookmarks: bool,
    asks_initial_events: bool,
    /// Seconds that the request asks for at most.
    timeout: Option<f64>,
    began: Option<Timestamp>,
    /// Whether events may still be of what existed already, in any order.
    initial: bool,
    initial_ended: bool,
    unasked_bookmark: bool,
    /// Whether its objects come in tables.
    tables: bool,
    /// The highest version so far.
    highest: Option<Box<str>>,
    /// What the last event was about.
    last: Option<Box<str>>,
    /// Whether objects are there, by kind, namespace and name.
    objects: HashMap<Box<str>, bool, RandomState>,
    full: bool,
    /// The ERROR event: its chunk, its number, and what it says.
    error: Option<(u64, u64, String)>,
    expired: bool,
    /// Findings whose chunk hasn't come.
    waiting: Vec<Lint>,
}

impl Story {
    pub(super) fn new(head: &ExchangeHead) -> Self {
        let target = head.request.as_ref().and_then(|request| request.target.as_deref());
        let asked = target.unwrap_or_default();
        let version = target::parameter(asked, "resourceVersion").unwrap_or_default();
        let initial_events = target::says_yes(asked, "sendInitialEvents");
        Self {
            exchange: head.id,
            from_head: target.is_some() && head.response.as_ref().is_some_and(|head| head.status.is_some()),
            // Who didn't see the request can't know what it asked for.
            asks_bookmarks: target.is_none() || target::says_yes(asked, "allowWatchBookmarks"),
            asks_initial_events: initial_events,
            timeout: target::parameter(asked, "timeoutSeconds").and_then(|seconds| seconds.parse().ok()),
            began: head.response.as_ref().and_then(|response| response.stamp?.at),
            initial: target.is_none() || initial_events || matches!(&*version, "" | "0"),
            initial_ended: false,
            unasked_bookmark: false,
            tables: false,
            highest: comparable(&version).filter(|version| !version.is_empty()).map(Into::into),
            last: None,
            objects: HashMap::default(),
            full: false,
            error: None,
            expired: false,
            waiting: Vec::new(),
        }
    }

    /// The highest version that its client has.
    pub(super) fn last_version(&self) -> Option<&str> {
        self.highest.as_deref()
    }

    /// Whether the server said that the version is too old.
    pub(super) fn error_is_expiry(&self) -> bool {
        self.expired
    }

    fn say(&mut self, event: &Event, code: Code, message: String) {
        if self.waiting.len() < WAITING {
            self.waiting.push(Lint {
                exchange: self.exchange,
                code,
                chunk: Some(event.last_chunk),
                frame: None,
                event: Some(event.index),
                message,
                denied: false,
            });
        }
    }

    /// The next event, of at most so many objects.
    pub(super) fn event(&mut self, event: &Event, max_objects: usize) {
        let summary = &event.summary;
        let word = summary.event_type.as_deref().unwrap_or_default();
        if word == "ERROR" {
            return self.error(event);
        }
        // The annotations of objects in tables aren't read.
        self.tables |= summary.kind.as_deref() == Some("Table");
        let bookmark = word == "BOOKMARK";
        if bookmark {
            self.bookmark(event);
        }
        let object = (!bookmark).then(|| name(event)).flatten();
        let in_any_order = self.initial && word == "ADDED";
        if let Some(version) = summary.resource_version.as_deref() {
            self.version(event, version, object.as_deref(), in_any_order, bookmark);
        }
        // What existed already has been sent when something else comes.
        self.initial &= word == "ADDED";
        self.last = object.as_deref().map(Into::into);
        let Some(object) = object else { return };
        let there = word != "DELETED";
        let room = self.objects.len() < max_objects;
        match self.objects.get_mut(&*object) {
            Some(known) => {
                let was = std::mem::replace(known, there);
                if was && word == "ADDED" {
                    self.say(
                        event,
                        Code::AddedTwice,
                        format!("{object} is ADDED, though it is there already"),
                    );
                } else if !was && word != "ADDED" {
                    let message = format!("{object} is {word}, though it was DELETED and not ADDED since");
                    self.say(event, Code::EventAfterDeleted, message);
                }
            }
            None if !room => {
                if !std::mem::replace(&mut self.full, true) {
                    let message = format!("more than {max_objects} objects: further ones aren't followed");
                    self.say(event, Code::Limit, message);
                }
            }
            None => {
                self.objects.insert(object.into_boxed_str(), there);
            }
        }
    }

    fn version(
        &mut self,
        event: &Event,
        version: &str,
        object: Option<&str>,
        in_any_order: bool,
        bookmark: bool,
    ) {
        let Some(highest) = &self.highest else {
            self.highest = comparable(version).map(Into::into);
            return;
        };
        match compare(version, highest) {
            Some(Ordering::Greater) => self.highest = comparable(version).map(Into::into),
            Some(Ordering::Less) if !in_any_order => {
                let what = if bookmark { "the bookmark" } else { "the event" };
                let message = format!("{what} has resourceVersion {version}, after {highest}");
                self.say(event, Code::RvRegression, message);
            }
            Some(Ordering::Equal) if !bookmark && object.is_some() && object == self.last.as_deref() => {
                let message =
                    format!("the event has resourceVersion {version}, as the one before of the same object");
                self.say(event, Code::EventRepeated, message);
            }
            _ => {}
        }
    }

    fn bookmark(&mut self, event: &Event) {
        if !self.asks_bookmarks && !std::mem::replace(&mut self.unasked_bookmark, true) {
            let message = "a BOOKMARK, though the request doesn't say allowWatchBookmarks=true".to_owned();
            self.say(event, Code::BookmarkUnasked, message);
        }
        if !event.summary.initial_events_end {
            return;
        }
        if std::mem::replace(&mut self.initial_ended, true) {
            let message = "the annotation k8s.io/initial-events-end comes a second time".to_owned();
            self.say(event, Code::BookmarkEndRepeated, message);
        } else if self.from_head && !self.asks_initial_events {
            let message =
                "the annotation k8s.io/initial-events-end, though the request doesn't say sendInitialEvents=true"
                    .to_owned();
            self.say(event, Code::BookmarkEndUnasked, message);
        }
    }

    fn error(&mut self, event: &Event) {
        let summary = &event.summary;
        let reason = summary.reason.as_deref().unwrap_or_default();
        let said: String = summary.message.as_deref().unwrap_or(reason).chars().take(SHOWN).collect();
        // Up to 1.17 the reason could be Gone too.
        self.expired = matches!(reason, "Expired" | "Gone") || said.contains("too old resource version");
        if self.expired {
            let message = format!(
                "an ERROR event with 410 in a 200 response: {said}; list anew and watch from the list's version"
            );
            self.say(event, Code::Expired, message);
        }
        self.error = Some((event.last_chunk, event.index, said));
    }

    /// A chunk's verdict is known: what waits for it can be said.
    pub(super) fn chunk(&mut self, judged: &JudgedChunk, found: &mut Vec<Lint>) {
        let chunk = &judged.chunk;
        if matches!(judged.verdict, Verdict::Unverified(_) | Verdict::Invalid(_)) {
            // Events are missing: nobody knows what became of the objects.
            self.objects.clear();
            self.last = None;
            self.initial = false;
        }
        let ready = self.waiting.iter().take_while(|lint| lint.chunk <= Some(chunk.index)).count();
        found.extend(self.waiting.drain(..ready).map(|mut lint| {
            lint.frame = Some(chunk.last.frame);
            lint.in_frames()
        }));
    }

    /// The watch is over.
    pub(super) fn end(&mut self, end: &ExchangeEnd, found: &mut Vec<Lint>) {
        found.append(&mut self.waiting);
        let Some(body) = &end.response_body else { return };
        let lasted = match (self.began, body.end_stamp.and_then(|stamp| stamp.at)) {
            (Some(began), Some(ended)) => Some(ended.nanos_since(began) as f64 / 1e9),
            _ => None,
        };
        let frame = body.end_stamp.map(|stamp| stamp.frame);
        let mut say = |code, chunk, event, message: String| {
            let lint = Lint { exchange: self.exchange, code, chunk, frame, event, message, denied: false };
            found.push(lint.in_frames());
        };
        let after = lasted.map_or_else(String::new, |lasted| format!(" after {lasted:.1} s"));
        if let Some((chunk, event, said)) = &self.error {
            let said = if said.is_empty() { String::new() } else { format!(": {said}") };
            say(
                Code::EndedError,
                Some(*chunk),
                Some(*event),
                format!("the watch ended{after} with an ERROR event{said}"),
            );
            return;
        }
        match body.end {
            BodyEnd::Complete if self.from_head => {
                let asked = self.timeout.filter(|timeout| *timeout > 0.0);
                match (lasted, asked) {
                    (Some(lasted), Some(asked)) if lasted + SLACK >= asked => say(
                        Code::EndedTimeout,
                        None,
                        None,
                        format!(
                            "the server ended the watch{after}: the request asks for {asked} s (timeoutSeconds)"
                        ),
                    ),
                    (Some(_), Some(asked)) => say(
                        Code::EndedEarly,
                        None,
                        None,
                        format!(
                            "the server ended the watch{after}, before the {asked} s that the request asks for: it shut \
                             down, or could not go on"
                        ),
                    ),
                    (Some(lasted), None) if lasted >= SERVERS_TIMEOUT => say(
                        Code::EndedTimeout,
                        None,
                        None,
                        format!(
                            "the server ended the watch{after}, by its own timeout (the request has none)"
                        ),
                    ),
                    (Some(_), None) => say(
                        Code::EndedEarly,
                        None,
                        None,
                        format!(
                            "the server ended the watch{after}, though the request has no timeout, and servers' own are \
                             1,800 s or more: it shut down, or could not go on"
                        ),
                    ),
                    (None, _) => {}
                }
                if self.asks_initial_events && !self.initial_ended && !self.tables {
                    say(
                        Code::BookmarkEndMissing,
                        None,
                        None,
                        "the request says sendInitialEvents=true, but no bookmark with k8s.io/initial-events-end came"
                            .to_owned(),
                    );
                }
            }
            BodyEnd::Aborted => {
                let how = if body.reset { "reset" } else { "closed" };
                say(Code::EndedAbort, None, None, format!("the client {how} the connection{after}"));
            }
            BodyEnd::Truncated => {
                let how = if body.reset { "reset" } else { "closed" };
                let message = format!(
                    "the server, or what is in front of it, {how} the connection{after} without a last chunk: resume \
                     from the last resourceVersion"
                );
                say(Code::EndedServerGone, None, None, message);
            }
            BodyEnd::Broken => {
                let message = format!("the chunk framing broke{after}: nothing behind that can be read");
                say(Code::EndedBroken, None, None, message);
            }
            // The capture ends first, or lacks what would tell.
            BodyEnd::Complete | BodyEnd::Open | BodyEnd::Lost => {}
        }
    }
}

/// `ConfigMap kube-system/coredns`
fn name(event: &Event) -> Option<String> {
    let summary = &event.summary;
    let name = summary.name.as_deref()?;
    let kind = summary.kind.as_deref().unwrap_or("object");
    Some(match summary.namespace.as_deref() {
        Some(namespace) => format!("{kind} {namespace}/{name}"),
        None => format!("{kind} {name}"),
    })
}
