//! Clients that watch the same again: from which version they resumed, and
//! what they could have missed between.
//!
//! A client is an address, without its port; the same is a path with the same
//! selectors. A watch that begins while another of the same is open isn't a
//! reconnection: a client may watch twice.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

use foldhash::fast::RandomState;

use super::version::compare;
use super::{Code, Lint};
use crate::http::target;
use crate::report::ExchangeHead;

/// Parameters that say from where and for how long, not what.
const PLACE: [&str; 10] = [
    "watch",
    "resourceVersion",
    "resourceVersionMatch",
    "timeoutSeconds",
    "timeout",
    "allowWatchBookmarks",
    "sendInitialEvents",
    "limit",
    "continue",
    "pretty",
];

/// Who watches what, where.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Watch {
    client: IpAddr,
    server: SocketAddr,
    what: Box<str>,
}

/// The last watch of a client that ended.
#[derive(Debug)]
struct Last {
    /// The stream that it was on, in words.
    place: String,
    /// The highest version that it had; `None` where that isn't known.
    version: Option<Box<str>>,
    /// Whether the client has listed since.
    listed: bool,
    /// Whether it ended because the version that it began from is too old.
    expired: Option<Box<str>>,
}

/// What clients watched last.
#[derive(Debug)]
pub(super) struct Clients {
    last: HashMap<Watch, Last, RandomState>,
    most: usize,
    /// Whether it was said that there are more.
    full: bool,
}

impl Clients {
    pub(super) fn new(most: usize) -> Self {
        Self { last: HashMap::default(), most, full: false }
    }

    pub(super) fn clear(&mut self) {
        self.last.clear();
        self.full = false;
    }

    /// A client listed.
    pub(super) fn listed(&mut self, head: &ExchangeHead) {
        if let Some(last) = watch(head).and_then(|watch| self.last.get_mut(&watch)) {
            last.listed = true;
        }
    }

    /// A client's watch was refused with 410.
    pub(super) fn expired(&mut self, head: &ExchangeHead) {
        self.ended(head, None, true);
    }

    /// A watch has ended. Whether there was room to remember it, or it was
    /// said before that there is none.
    pub(super) fn ended(&mut self, head: &ExchangeHead, version: Option<&str>, expired: bool) -> bool {
        let Some(watch) = watch(head) else { return true };
        if self.last.len() >= self.most && !self.last.contains_key(&watch) {
            return std::mem::replace(&mut self.full, true);
        }
        let from = from(head);
        let last = Last {
            place: head.id.stream.map_or_else(String::new, |stream| format!("stream {stream}")),
            version: version.or(from.as_deref().filter(|from| !matches!(*from, "" | "0"))).map(Into::into),
            listed: false,
            expired: from.filter(|_| expired).map(String::into_boxed_str),
        };
        self.last.insert(watch, last);
        true
    }

    /// A watch begins: compares it with the client's last one.
    pub(super) fn began(&mut self, head: &ExchangeHead, found: &mut Vec<Lint>) {
        let Some(last) = watch(head).and_then(|watch| self.last.remove(&watch)) else { return };
        let target = head.request.as_ref().and_then(|request| request.target.as_deref()).unwrap_or_default();
        let from = from(head).unwrap_or_default();
        let Last { place, version, listed, expired } = last;
        let mut say = |code, message: String| {
            found.push(Lint {
                exchange: head.id,
                code,
                chunk: None,
                frame: head.request.as_ref().and_then(|request| request.stamp).map(|stamp| stamp.frame),
                event: None,
                message,
                denied: false,
            });
        };
        if expired.as_deref() == Some(&*from) {
            say(
                Code::ReconnectExpired,
                format!(
                    "the client watches from resourceVersion {from} again, which the server called too old on {place}: \
                     list anew first"
                ),
            );
            return;
        }
        let Some(version) = version else { return };
        if matches!(&*from, "" | "0") {
            // With sendInitialEvents a client is told where the state ends, and
            // can drop what isn't in it.
            if !target::says_yes(target, "sendInitialEvents") && !listed {
                say(
                    Code::ReconnectGap,
                    format!(
                        "the client watches anew without a resourceVersion, after {version} on {place}: it isn't told \
                         what was deleted between; resume from {version}, or list first"
                    ),
                );
            }
            return;
        }
        match compare(&from, &version) {
            Some(Ordering::Greater) if !listed => say(
                Code::ReconnectGap,
                format!(
                    "the client resumes from resourceVersion {from}, after {version} on {place}, and no list between \
                     was captured: it may have missed what happened between the two"
                ),
            ),
            Some(Ordering::Less) => say(
                Code::ReconnectReplay,
                format!(
                    "the client resumes from resourceVersion {from}, though it had seen {version} on {place}: events \
                     between the two come again"
                ),
            ),
            _ => {}
        }
    }
}

/// The version that a request asks from.
fn from(head: &ExchangeHead) -> Option<String> {
    let target = head.request.as_ref()?.target.as_deref()?;
    Some(target::parameter(target, "resourceVersion").unwrap_or_default().into_owned())
}

fn watch(head: &ExchangeHead) -> Option<Watch> {
    let target = head.request.as_ref()?.target.as_deref()?;
    let mut selectors: Vec<String> = target::parameters(target)
        .map(|(name, value)| (target::decoded(name), value))
        .filter(|(name, _)| !PLACE.contains(&&**name))
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    selectors.sort_unstable();
    let path = target::path(target).replacen("/watch/", "/", 1);
    let what = format!("{path}?{}", selectors.join("&")).into_boxed_str();
    Some(Watch { client: head.client?.ip(), server: head.server?, what })
}
