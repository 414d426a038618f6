//! The line of an exchange of which both heads were seen.

use std::net::SocketAddr;

use super::Pen;
use crate::report::ExchangeHead;
use crate::report::again::Again;
use crate::units::{Stamp, Timestamp};

/// What stands before the values.
const BEFORE: [&str; 8] = [
    r#","stream":"#,
    r#","exchange":"#,
    r#","index":"#,
    r#","client":""#,
    r#","frame":"#,
    r#","time":""#,
    r#","frame":"#,
    r#","time":""#,
];

/// The values.
enum Of {
    Stream,
    Exchange,
    Index,
    Client,
    RequestFrame,
    RequestTime,
    ResponseFrame,
    ResponseTime,
}

/// See the module.
#[derive(Debug, Default)]
pub(in super::super) struct UsualExchange {
    /// The heads that came last and are to be like.
    alike: Option<ExchangeHead>,
    line: Option<Again<8>>,
    /// What is known to be in it.
    client: Option<SocketAddr>,
    request: Option<Timestamp>,
    response: Option<Timestamp>,
}

impl UsualExchange {
    /// Keeps an exchange's line, if it is the second one of its like.
    pub(in super::super) fn keep(&mut self, head: &ExchangeHead, line: &[u8]) {
        if stamps(head).is_none() {
            return;
        }
        if self.alike.as_ref().is_some_and(|known| are_alike(known, head)) {
            *self = Self { alike: self.alike.take(), line: Again::of(line, BEFORE), ..Self::default() };
        } else {
            *self = Self { alike: Some(head.clone()), ..Self::default() };
        }
    }

    /// The line of an exchange that is like those before; `None` of others, and
    /// where none is kept.
    pub(in super::super) fn line(&mut self, head: &ExchangeHead, pen: &mut Pen) -> Option<&[u8]> {
        let line = self.line.as_mut()?;
        let [(request, requested), (response, responded)] = stamps(head)?;
        let (stream, client) = (head.id.stream?.0, head.client?);
        if !self.alike.as_ref().is_some_and(|known| are_alike(known, head)) {
            return None;
        }
        line.count(Of::Stream as usize, stream);
        line.number(Of::Exchange as usize, head.id.index);
        line.number(Of::Index as usize, head.id.index);
        if self.client.replace(client) != Some(client) {
            pen.address(line, Of::Client as usize, client);
        }
        line.number(Of::RequestFrame as usize, request);
        pen.time(line, Of::RequestTime as usize, &mut self.request, requested);
        line.number(Of::ResponseFrame as usize, response);
        pen.time(line, Of::ResponseTime as usize, &mut self.response, responded);
        Some(line.text())
    }
}

/// The frames and times of both heads.
fn stamps(head: &ExchangeHead) -> Option<[(u64, Timestamp); 2]> {
    let known = |stamp: Option<Stamp>| stamp.and_then(|stamp| Some((stamp.frame.get(), stamp.at?)));
    Some([known(head.request.as_ref()?.stamp)?, known(head.response.as_ref()?.stamp)?])
}

/// Whether the lines of two exchanges, both with stamps, differ in values alone.
fn are_alike(one: &ExchangeHead, other: &ExchangeHead) -> bool {
    let requests = one.request.as_ref().zip(other.request.as_ref());
    let responses = one.response.as_ref().zip(other.response.as_ref());
    one.server == other.server
        && one.framing == other.framing
        && one.expect == other.expect
        && requests.is_some_and(|(one, other)| {
            one.method == other.method
                && one.target == other.target
                && one.version == other.version
                && one.fields == other.fields
        })
        && responses.is_some_and(|(one, other)| {
            one.status == other.status
                && one.reason == other.reason
                && one.version == other.version
                && one.fields == other.fields
        })
}
