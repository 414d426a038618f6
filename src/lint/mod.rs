//! The watch's own story (`--lint`): findings → what a Kubernetes watch says
//! that no correct server says, how it ended, and what a client that connected
//! again may have missed.
//!
//! [`Linter`] sees findings in the order in which reports get them, and adds
//! its own. It reads no octets and changes no verdict on a chunk. What it
//! claims holds for what the capture shows: where octets lack, it forgets what
//! it knew of the objects, and says nothing that depends on it.
//!
//! `docs/lint.md` has each code. Memory: the objects of an open watch, at most
//! [`Limits::lint_objects`], and the last watch of each client and resource, at
//! most [`Limits::lint_watches`]; beyond that, `watch-limit` says so.

mod reconnect;
mod story;
mod version;

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::event::Kind;
use crate::http::{Side, target};
use crate::limits::Limits;
use crate::report::{ExchangeEnd, ExchangeHead, ExchangeId, Expect, Finding};
use crate::units::FrameNo;

use reconnect::Clients;
use story::Story;

/// What is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Code {
    /// A resourceVersion is lower than one before it.
    RvRegression,
    /// An event came twice in a row.
    EventRepeated,
    /// ADDED for an object that is there.
    AddedTwice,
    /// Another event than ADDED for an object that was deleted.
    EventAfterDeleted,
    /// A BOOKMARK that the request didn't ask for.
    BookmarkUnasked,
    /// `sendInitialEvents` was asked for, and the bookmark that ends them
    /// never came.
    BookmarkEndMissing,
    /// The bookmark that ends the initial events came twice.
    BookmarkEndRepeated,
    /// The bookmark that ends the initial events came unasked.
    BookmarkEndUnasked,
    /// 410: a resourceVersion or a continue token is too old.
    Expired,
    /// A client resumed behind the last version that it had seen.
    ReconnectGap,
    /// A client resumed before the last version that it had seen.
    ReconnectReplay,
    /// A client resumed from the version that the server had called too old.
    ReconnectExpired,
    /// The watch ended with its timeout.
    EndedTimeout,
    /// The server ended the watch before its timeout.
    EndedEarly,
    /// The watch ended with an ERROR event.
    EndedError,
    /// The client left.
    EndedAbort,
    /// The server closed or reset the connection in the middle.
    EndedServerGone,
    /// The chunk framing broke.
    EndedBroken,
    /// More objects or watches than are followed.
    Limit,
}

impl Code {
    /// All codes, in the order of the documentation.
    pub const ALL: [Self; 19] = [
        Self::RvRegression,
        Self::EventRepeated,
        Self::AddedTwice,
        Self::EventAfterDeleted,
        Self::BookmarkUnasked,
        Self::BookmarkEndMissing,
        Self::BookmarkEndRepeated,
        Self::BookmarkEndUnasked,
        Self::Expired,
        Self::ReconnectGap,
        Self::ReconnectReplay,
        Self::ReconnectExpired,
        Self::EndedTimeout,
        Self::EndedEarly,
        Self::EndedError,
        Self::EndedAbort,
        Self::EndedServerGone,
        Self::EndedBroken,
        Self::Limit,
    ];

    /// Its name on the command line and in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::RvRegression => "watch-rv-regression",
            Self::EventRepeated => "watch-event-repeated",
            Self::AddedTwice => "watch-added-twice",
            Self::EventAfterDeleted => "watch-event-after-deleted",
            Self::BookmarkUnasked => "watch-bookmark-unasked",
            Self::BookmarkEndMissing => "watch-bookmark-end-missing",
            Self::BookmarkEndRepeated => "watch-bookmark-end-repeated",
            Self::BookmarkEndUnasked => "watch-bookmark-end-unasked",
            Self::Expired => "watch-expired",
            Self::ReconnectGap => "watch-reconnect-gap",
            Self::ReconnectReplay => "watch-reconnect-replay",
            Self::ReconnectExpired => "watch-reconnect-expired",
            Self::EndedTimeout => "watch-ended-timeout",
            Self::EndedEarly => "watch-ended-early",
            Self::EndedError => "watch-ended-error",
            Self::EndedAbort => "watch-ended-abort",
            Self::EndedServerGone => "watch-ended-server-gone",
            Self::EndedBroken => "watch-ended-broken",
            Self::Limit => "watch-limit",
        }
    }

    /// Whether it is how a watch ends if nothing is wrong.
    #[must_use]
    pub const fn is_ordinary(self) -> bool {
        matches!(self, Self::EndedTimeout | Self::EndedAbort)
    }
}

/// Something that was found in a watch's story.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lint {
    /// Whose exchange.
    pub exchange: ExchangeId,
    /// What.
    pub code: Code,
    /// The chunk in which its event became whole.
    pub chunk: Option<u64>,
    /// The frame to look up; `None` for raw HTTP.
    pub frame: Option<FrameNo>,
    /// The event.
    pub event: Option<u64>,
    /// What, one sentence without a full stop.
    pub message: String,
    /// Whether it fails the check (`--deny`).
    pub denied: bool,
}

/// Follows the watches of captures. See the module.
#[derive(Debug)]
pub struct Linter {
    deny: Vec<Code>,
    max_objects: usize,
    stories: HashMap<ExchangeId, Box<Story>, RandomState>,
    /// How many were found of each exchange that hasn't ended, and how many
    /// of these fail the check.
    counts: HashMap<ExchangeId, (u64, u64), RandomState>,
    clients: Clients,
    found: Vec<Lint>,
}

impl Linter {
    /// A linter of which findings with these codes fail the check.
    #[must_use]
    pub fn new(deny: &[Code], limits: &Limits) -> Self {
        Self {
            deny: deny.to_vec(),
            max_objects: limits.lint_objects,
            stories: HashMap::default(),
            counts: HashMap::default(),
            clients: Clients::new(limits.lint_watches),
            found: Vec::new(),
        }
    }

    /// Takes a finding; what is found by it is to be [taken](Self::take) before
    /// the next one. What is found at an exchange's end comes before that.
    pub fn finding(&mut self, finding: &Finding<'_>) {
        match finding {
            Finding::Capture(_) => {
                self.stories.clear();
                self.counts.clear();
                self.clients.clear();
            }
            Finding::Exchange(head) => self.begin(head),
            Finding::Event(id, event) => {
                if let Some(story) = self.stories.get_mut(id) {
                    story.event(event, self.max_objects);
                }
            }
            Finding::Chunk(judged) if judged.side == Side::Response => {
                if let Some(story) = self.stories.get_mut(&judged.exchange) {
                    story.chunk(judged, &mut self.found);
                }
            }
            Finding::ExchangeEnd(end) => self.end(end),
            Finding::Chunk(_) | Finding::Violation(_) | Finding::Lint(_) | Finding::CaptureEnd(_) => {}
        }
        for lint in &mut self.found {
            lint.denied = self.deny.contains(&lint.code);
            let counts = self.counts.entry(lint.exchange).or_default();
            counts.0 += 1;
            counts.1 += u64::from(lint.denied);
        }
    }

    /// What was found by the last finding.
    pub fn take(&mut self) -> Vec<Lint> {
        std::mem::take(&mut self.found)
    }

    /// How many were found of an exchange that ends, and how many fail the
    /// check; asked once.
    pub fn counts(&mut self, id: ExchangeId) -> (u64, u64) {
        self.counts.remove(&id).unwrap_or_default()
    }

    fn begin(&mut self, head: &ExchangeHead) {
        let target = head.request.as_ref().and_then(|request| request.target.as_deref());
        let status = head.response.as_ref().and_then(|response| response.status);
        let watches = target.is_some_and(target::asks_for_watch);
        if status == Some(410)
            && let Some(target) = target.filter(|target| under_api(target))
        {
            self.found.push(gone(head, target, watches));
        }
        if watches && status == Some(410) {
            self.clients.expired(head);
        }
        if !watches && status == Some(200) {
            self.clients.listed(head);
        }
        if matches!(head.expect, Some(Expect::Kind(Kind::Watch | Kind::WatchProtobuf))) {
            self.clients.began(head, &mut self.found);
            self.stories.insert(head.id, Box::new(Story::new(head)));
        }
    }

    fn end(&mut self, end: &ExchangeEnd) {
        let Some(mut story) = self.stories.remove(&end.head.id) else { return };
        story.end(end, &mut self.found);
        if !self.clients.ended(&end.head, story.last_version(), story.error_is_expiry()) {
            self.found.push(Lint {
                exchange: end.head.id,
                code: Code::Limit,
                chunk: None,
                frame: None,
                event: None,
                message: "more watches ended than are remembered: whether their clients connect again isn't followed"
                    .to_owned(),
                denied: false,
            });
        }
    }
}

/// Whether a target is the Kubernetes API's.
fn under_api(target: &str) -> bool {
    target::path(target).split('/').any(|part| matches!(part, "api" | "apis"))
}

/// A plain 410: to a watch, to a list that goes on, or to another list.
fn gone(head: &ExchangeHead, target: &str, watches: bool) -> Lint {
    let version = target::parameter(target, "resourceVersion").unwrap_or_default();
    let message = if watches {
        format!(
            "the server answered the watch with 410: the resourceVersion {version:?} is too old; list anew and watch \
             from the list's version"
        )
    } else if target::parameter(target, "continue").is_some() {
        "the server answered the list with 410: the continue token is too old; list anew without it, or go on with \
         the token of the answer, which gives another version of the rest"
            .to_owned()
    } else {
        format!(
            "the server answered the list with 410: the resourceVersion {version:?} is too old; list without it"
        )
    };
    Lint {
        exchange: head.id,
        code: Code::Expired,
        chunk: None,
        frame: head.response.as_ref().and_then(|response| response.stamp).map(|stamp| stamp.frame),
        event: None,
        message,
        denied: false,
    }
    .in_frames()
}

impl Lint {
    /// Without a frame where there are none.
    fn in_frames(mut self) -> Self {
        self.frame = self.frame.filter(|_| self.exchange.stream.is_some());
        self
    }
}
