//! What the analysis is asked for: the expectation, what may not fail the
//! check, and which exchanges are looked at. All of it is known before the
//! first octet is read, and none of it depends on a command line.

use std::net::{IpAddr, SocketAddr};

use regex::Regex;

use crate::event::Kind;
use crate::limits::Limits;
use crate::lint::Code;
use crate::verdict::Allow;

/// What each chunk of a response must hold exactly one of (`--expect`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Expectation {
    /// What the exchange's heads and content ask for; nothing where they don't.
    #[default]
    Auto,
    /// Events of this kind, whatever the heads say.
    Kind(Kind),
    /// Anything: only the framing is checked.
    Any,
}

/// Which exchanges are counted and judged. An empty list selects all; a list
/// selects what matches any of its members; all four must select.
#[derive(Debug, Clone, Default)]
pub struct Filters {
    /// TCP streams, numbered as Wireshark's `tcp.stream`.
    pub streams: Vec<u64>,
    /// Ports at either end of the connection.
    pub ports: Vec<u16>,
    /// Addresses at either end of the connection.
    pub hosts: Vec<IpAddr>,
    /// What the request target must match, anywhere in it.
    pub target: Option<Regex>,
}

/// Everything that an analysis is asked for. The default checks all
/// exchanges by what they ask for, allows nothing, and keeps no payloads.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// What each chunk must hold exactly one of.
    pub expectation: Expectation,
    /// What shall not fail the check.
    pub allow: Allow,
    /// Which exchanges are looked at.
    pub filters: Filters,
    /// Payload octets that the reports want of each chunk, at most
    /// [`Limits::payload`].
    pub keep_payload: usize,
    /// Whether a report tells payloads that are UTF-8 from others.
    pub check_utf8: bool,
    /// Whether a report shows what is known of events besides their places.
    pub summaries: bool,
    /// Whether the report follows what comes as it comes: it is told what is
    /// under way, and that time passes.
    pub follow: bool,
    /// Threads to use, the calling one among them; up to 1 is that one alone.
    /// Captures are read and reports are written on the calling thread, so that
    /// neither need be [`Send`]; what is found doesn't depend on the number.
    /// Raw responses, and what [is followed](Self::follow), are read by one.
    pub threads: usize,
    /// Whether a report tells what makes chunk edges differ from event edges,
    /// and how a stream flows in time.
    pub explain: bool,
    /// Whether the story of each watch is followed; the codes of which
    /// findings fail the check.
    pub lint: Option<Vec<Code>>,
    /// Whether secrets and credentials are masked before any report sees them.
    pub redact: bool,
    /// What the reports show in which secrets may be; a problem tells if there
    /// are any. Nothing where they are masked.
    pub shows: Shows,
    /// What bounds memory.
    pub limits: Limits,
}

/// What the reports show of messages, as far as secrets may be in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Shows {
    /// Request targets.
    pub targets: bool,
    /// All header fields.
    pub fields: bool,
    /// The first octets of payloads, so many of each.
    pub payload: usize,
}

impl Filters {
    /// Whether a TCP stream with this number is looked at.
    #[must_use]
    pub fn selects_stream(&self, stream: u64) -> bool {
        self.streams.is_empty() || self.streams.contains(&stream)
    }

    /// Whether a connection between these two is looked at. The port and the
    /// address may match at different ends.
    #[must_use]
    pub fn selects_endpoints(&self, client: SocketAddr, server: SocketAddr) -> bool {
        let either = |matches: &dyn Fn(SocketAddr) -> bool| matches(client) || matches(server);
        (self.ports.is_empty() || either(&|end| self.ports.contains(&end.port())))
            && (self.hosts.is_empty() || either(&|end| self.hosts.contains(&end.ip())))
    }

    /// Whether an exchange with this request target is looked at. A target
    /// that wasn't captured (`None`) matches no expression.
    #[must_use]
    pub fn selects_target(&self, target: Option<&str>) -> bool {
        match &self.target {
            None => true,
            Some(pattern) => target.is_some_and(|target| pattern.is_match(target)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn no_filter_selects_everything() {
        let all = Filters::default();
        assert!(all.selects_stream(7));
        assert!(all.selects_endpoints(end("10.0.0.1:4000"), end("[::1]:80")));
        assert!(all.selects_target(Some("/")));
        assert!(all.selects_target(None));
    }

    #[test]
    fn streams_ports_and_hosts_select_what_any_member_matches() {
        let filters = Filters {
            streams: vec![1, 3],
            ports: vec![8001, 80],
            hosts: vec!["10.0.0.1".parse().unwrap(), "::1".parse().unwrap()],
            target: None,
        };
        assert!(filters.selects_stream(3));
        assert!(!filters.selects_stream(2));
        assert!(filters.selects_endpoints(end("10.0.0.1:4000"), end("10.0.0.2:8001")));
        assert!(filters.selects_endpoints(end("[::1]:80"), end("[::2]:4000")));
        assert!(!filters.selects_endpoints(end("10.0.0.1:4000"), end("10.0.0.2:8002")));
        assert!(!filters.selects_endpoints(end("10.0.0.3:4000"), end("10.0.0.2:8001")));
    }

    #[test]
    fn a_target_matches_anywhere_and_an_unseen_one_nowhere() {
        let filters = Filters { target: Some(Regex::new("watch=(true|1)").unwrap()), ..Filters::default() };
        assert!(filters.selects_target(Some("/api/v1/pods?watch=1&x=2")));
        assert!(!filters.selects_target(Some("/api/v1/pods")));
        assert!(!filters.selects_target(None));
    }
}
