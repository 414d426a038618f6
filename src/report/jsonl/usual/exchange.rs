//! The line of an exchange of which both heads were seen.

use std::net::SocketAddr;

use smol_str::SmolStr;

use super::Pen;
use crate::http::{Fields, Model};
use crate::report::ExchangeHead;
use crate::report::again::Again;
use crate::report::json::text::{Compact, JsonText};
use crate::units::{Stamp, Timestamp};

values! {
    Stream: r#","stream":"#,
    Exchange: r#","exchange":"#,
    Index: r#","index":"#,
    Client: r#","client":""#,
    Target: r#","target":"#,
    RequestFields: r#","headers":"#,
    RequestFrame: r#","frame":"#,
    RequestTime: r#","time":""#,
    ResponseFields: r#","headers":"#,
    ResponseFrame: r#","frame":"#,
    ResponseTime: r#","time":""#,
}

/// How many models of heads are remembered that say the same: there is one for
/// each share that streams are dealt out to.
const MODELS: usize = 16;

/// See the module.
#[derive(Debug, Default)]
pub(in super::super) struct UsualExchange {
    /// The heads of the exchange that came last, and that others are to be like.
    alike: Option<ExchangeHead>,
    line: Option<Again<{ BEFORE.len() }>>,
    /// The models of heads whose target and fields are those in it.
    models: Vec<(Model, Model)>,
    /// What is known to be in it.
    client: Option<SocketAddr>,
    target: Option<SmolStr>,
    request: Known,
    response: Known,
}

/// What is known to be in it of one of its heads.
#[derive(Debug, Default)]
struct Known {
    fields: Fields,
    time: Option<Timestamp>,
}

/// The fields, the frame and the time of a head.
type Values<'h> = (&'h Fields, u64, Timestamp);

impl UsualExchange {
    /// Keeps an exchange's line, if it is the second one of its like.
    pub(in super::super) fn keep(&mut self, head: &ExchangeHead, line: &[u8]) {
        let Some([(requested, _, _), (responded, _, _)]) = taken_apart(head) else {
            return;
        };
        let is_alike = self.alike.as_ref().is_some_and(|known| are_alike(known, head));
        *self = Self {
            line: if is_alike { Again::of(line, BEFORE) } else { None },
            target: head.request.as_ref().and_then(|request| request.target.clone()),
            request: Known { fields: requested.clone(), time: None },
            response: Known { fields: responded.clone(), time: None },
            alike: if is_alike { self.alike.take() } else { Some(head.clone()) },
            client: None,
            models: Vec::new(),
        };
    }

    /// The line of an exchange that is like those before; `None` of others, and
    /// where none is kept. Header fields are written as `fields` does.
    pub(in super::super) fn line(
        &mut self,
        head: &ExchangeHead,
        fields: &mut JsonText<Compact>,
        pen: &mut Pen,
    ) -> Option<&[u8]> {
        let line = self.line.as_mut()?;
        let [request, response] = taken_apart(head)?;
        let (stream, client) = (head.id.stream?.0, head.client?);
        let known = self.alike.as_ref()?;
        let same = self.models.iter().any(|models| have_models(head, models));
        if !(are_framed_alike(known, head) && (same || have_like_heads(known, head))) {
            return None;
        }
        line.count(Of::Stream as usize, stream);
        line.number(Of::Exchange as usize, head.id.index);
        line.number(Of::Index as usize, head.id.index);
        pen.address(line, Of::Client as usize, &mut self.client, client);
        let mut changed = false;
        if !same {
            let target = &head.request.as_ref()?.target;
            if self.target != *target {
                self.target.clone_from(target);
                pen.string(line, Of::Target as usize, target.as_deref());
                changed = true;
            }
        }
        let mut put = |known: &mut Known, (list, frame, time): Values<'_>, of: [Of; 3]| {
            let [of_fields, of_frame, of_time] = of.map(|of| of as usize);
            if !same && known.fields != *list {
                known.fields.clone_from(list);
                line.put(of_fields, fields.fields_text(list));
                changed = true;
            }
            line.number(of_frame, frame);
            pen.time(line, of_time, &mut known.time, time);
        };
        put(&mut self.request, request, [Of::RequestFields, Of::RequestFrame, Of::RequestTime]);
        put(&mut self.response, response, [Of::ResponseFields, Of::ResponseFrame, Of::ResponseTime]);
        if changed || self.models.len() >= MODELS {
            self.models.clear();
        }
        if !same {
            let (request, response) = (head.request.as_ref()?, head.response.as_ref()?);
            if request.model.is_known() && response.model.is_known() {
                self.models.push((request.model.share(), response.model.share()));
            }
        }
        Some(line.text())
    }
}

/// The values of both heads.
#[inline(always)]
fn taken_apart(head: &ExchangeHead) -> Option<[Values<'_>; 2]> {
    let known = |fields, stamp: Option<Stamp>| Some((fields, stamp?.frame.get(), stamp?.at?));
    let (request, response) = (head.request.as_ref()?, head.response.as_ref()?);
    Some([known(request.fields.as_ref()?, request.stamp)?, known(response.fields.as_ref()?, response.stamp)?])
}

/// Whether the lines of two exchanges, both to be taken apart, differ in values
/// alone.
fn are_alike(one: &ExchangeHead, other: &ExchangeHead) -> bool {
    are_framed_alike(one, other) && have_like_heads(one, other)
}

/// As far as this isn't said in their heads.
fn are_framed_alike(one: &ExchangeHead, other: &ExchangeHead) -> bool {
    one.server == other.server && one.framing == other.framing && one.expect == other.expect
}

/// Whether the heads of an exchange are copies of these.
fn have_models(head: &ExchangeHead, (request, response): &(Model, Model)) -> bool {
    head.request.as_ref().is_some_and(|head| head.model.is(request))
        && head.response.as_ref().is_some_and(|head| head.model.is(response))
}

/// As far as it is said in their heads.
fn have_like_heads(one: &ExchangeHead, other: &ExchangeHead) -> bool {
    let requests = one.request.as_ref().zip(other.request.as_ref());
    let responses = one.response.as_ref().zip(other.response.as_ref());
    requests.is_some_and(|(one, other)| one.method == other.method && one.version == other.version)
        && responses.is_some_and(|(one, other)| {
            one.status == other.status && one.reason == other.reason && one.version == other.version
        })
}
