//! What followed from the heads that came last, for heads that are the same.
//!
//! Whose fields are clones of those of a head before (as
//! [`Recent`](crate::http::Recent) gives them) needn't be looked through again,
//! and where they are like those only what differs is.
//! What is held is what looking would find, so that it never matters what is
//! held.

use std::cell::LazyCell;

use smol_str::SmolStr;

use super::expect::{READ_OF_REQUEST, READ_OF_RESPONSE, Resolved, resolve};
use super::options::{Expectation, Options};
use crate::event::Framer;
use crate::http::target::asks_for_watch;
use crate::http::{Fields, Framing, Model, Recent, RequestHead, ResponseHead, is_named};
use crate::redact;

/// How many of each are held, as many as heads.
const HELD: usize = 4;

/// What is known of heads, by one set of options.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// The heads that were read last.
    pub(super) recent: Recent,
    /// Whether they show a secret.
    requests: Memo<Request, bool>,
    responses: Memo<Fields, bool>,
    /// The last target that doesn't even look as if it shows one.
    harmless_target: Option<SmolStr>,
    /// The last fields of each side that show none.
    harmless_request: Fields,
    harmless_response: Fields,
    /// The models of the last heads of each side that show none.
    harmless_models: (Model, Model),
    /// What their chunks are expected to hold.
    exchanges: Memo<Exchange, Resolved>,
    /// The last that was asked for of heads that are copies.
    last: Option<Last>,
    /// What found the events of a body that is over.
    pub(super) framer: Option<Framer>,
}

/// What is looked at of a request.
#[derive(Debug, Clone)]
struct Request {
    target: Option<SmolStr>,
    fields: Fields,
}

/// What tells what is expected.
#[derive(Debug, Clone)]
struct Exchange {
    request: Request,
    /// Whether the target asks for a watch, if there is one.
    asks: Option<bool>,
    status: Option<u16>,
    fields: Fields,
    framing: Option<Framing>,
    joined: bool,
}

/// What is expected of an exchange whose heads are copies of these.
#[derive(Debug)]
struct Last {
    request: Model,
    response: Model,
    framing: Option<Framing>,
    joined: bool,
    resolved: Resolved,
}

impl Request {
    fn is(&self, head: &RequestHead) -> bool {
        head.fields.as_ref().is_some_and(|fields| self.fields.is_same(fields)) && self.target == head.target
    }

    fn of(head: &RequestHead) -> Option<Self> {
        Some(Self { target: head.target.clone(), fields: head.fields.clone()? })
    }
}

impl Known {
    /// Whether the reports that are asked for show a secret of a request's head.
    pub(super) fn request_shows(&mut self, head: &RequestHead, options: &Options) -> bool {
        if !options.shows.targets || head.model.is(&self.harmless_models.0) {
            return false;
        }
        let shows = self.other_request_shows(head, options);
        self.harmless_models.0 = if shows { Model::default() } else { head.model.share() };
        shows
    }

    fn other_request_shows(&mut self, head: &RequestHead, options: &Options) -> bool {
        let (harmless_target, harmless) = (&mut self.harmless_target, &mut self.harmless_request);
        let fields = head.fields.as_ref().filter(|_| options.shows.fields);
        if let (Some(target), Some(before), Some(fields)) = (&head.target, &*harmless_target, fields)
            && harmless.is_same(fields)
            && (target == before || redact::target_is_as_harmless(target, before))
        {
            return false;
        }
        let look = || {
            *harmless_target = head.target.clone().filter(|target| !redact::target_is_suspicious(target));
            let target_shows =
                harmless_target.is_none() && head.target.as_deref().is_some_and(redact::target_shows);
            target_shows || fields.is_some_and(|fields| show_besides(fields, harmless))
        };
        self.requests.of(|request| request.is(head), || Request::of(head), look)
    }

    /// Whether the reports that are asked for show a secret of a response's head.
    pub(super) fn response_shows(&mut self, head: &ResponseHead, options: &Options) -> bool {
        let Some(fields) = head.fields.as_ref().filter(|_| options.shows.fields) else { return false };
        if head.model.is(&self.harmless_models.1) {
            return false;
        }
        let harmless = &mut self.harmless_response;
        let look = || show_besides(fields, harmless);
        let shows = self.responses.of(|held| held.is_same(fields), || Some(fields.clone()), look);
        self.harmless_models.1 = if shows { Model::default() } else { head.model.share() };
        shows
    }

    /// As [`resolve`].
    pub(super) fn resolve(
        &mut self,
        expectation: Expectation,
        request: Option<&RequestHead>,
        response: &ResponseHead,
        framing: Option<Framing>,
        joined: bool,
    ) -> Resolved {
        let Some(request) = request else { return resolve(expectation, None, response, framing, joined) };
        if let Some(last) = &self.last
            && request.model.is(&last.request)
            && response.model.is(&last.response)
            && (framing, joined) == (last.framing, last.joined)
        {
            return last.resolved.clone();
        }
        let resolved = self.resolve_other(expectation, request, response, framing, joined);
        let (request, response) = (request.model.share(), response.model.share());
        self.last = Some(Last { request, response, framing, joined, resolved: resolved.clone() });
        resolved
    }

    fn resolve_other(
        &mut self,
        expectation: Expectation,
        request: &RequestHead,
        response: &ResponseHead,
        framing: Option<Framing>,
        joined: bool,
    ) -> Resolved {
        let look = || resolve(expectation, Some(request), response, framing, joined);
        let Some(fields) = &response.fields else { return look() };
        let target = &request.target;
        let asks = LazyCell::new(|| target.as_deref().map(asks_for_watch));
        let is = |held: &Exchange| {
            (held.status, held.framing, held.joined) == (response.status, framing, joined)
                && (held.request.target == *target || held.asks == *asks)
                && request
                    .fields
                    .as_ref()
                    .is_some_and(|fields| are_alike(&held.request.fields, fields, &READ_OF_REQUEST))
                && are_alike(&held.fields, fields, &READ_OF_RESPONSE)
        };
        let key = || {
            let (request, asks) = (Request::of(request)?, *asks);
            Some(Exchange { request, asks, status: response.status, fields: fields.clone(), framing, joined })
        };
        self.exchanges.of(is, key, look)
    }
}

/// Whether fields have the same names, and the same values where one of those
/// is among `read`.
fn are_alike(some: &Fields, others: &Fields, read: &[&str]) -> bool {
    let alike = |((name, value), (other_name, other)): (&(SmolStr, SmolStr), &(SmolStr, SmolStr))| {
        name == other_name && (value == other || !read.iter().any(|read| is_named(name, read)))
    };
    some.is_same(others) || (some.len() == others.len() && some.iter().zip(others).all(alike))
}

/// Whether fields show a secret; if not, they are the ones that are `harmless`.
fn show_besides(fields: &Fields, harmless: &mut Fields) -> bool {
    let show = redact::fields_show_besides(fields, harmless);
    if !show {
        *harmless = fields.clone();
    }
    show
}

/// The last answers to a question, by what was asked.
#[derive(Debug)]
struct Memo<K, V> {
    answers: Vec<(K, V)>,
    oldest: usize,
}

impl<K, V> Default for Memo<K, V> {
    fn default() -> Self {
        Self { answers: Vec::new(), oldest: 0 }
    }
}

impl<K, V: Clone> Memo<K, V> {
    /// The answer that is held for a key that `is` the one; else what `look`
    /// finds, which is held by `key` in place of the oldest.
    fn of(
        &mut self,
        is: impl Fn(&K) -> bool,
        key: impl FnOnce() -> Option<K>,
        look: impl FnOnce() -> V,
    ) -> V {
        if let Some((_, answer)) = self.answers.iter().find(|(held, _)| is(held)) {
            return answer.clone();
        }
        let answer = look();
        if let Some(key) = key() {
            let entry = (key, answer.clone());
            match self.answers.get_mut(self.oldest) {
                Some(place) => *place = entry,
                None => self.answers.push(entry),
            }
            self.oldest = (self.oldest + 1) % HELD;
        }
        answer
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::event::Kind;
    use crate::pipeline::options::Shows;
    use proptest::collection::vec;
    use proptest::option;
    use proptest::prelude::*;
    use proptest::sample::select;

    /// Fields with few names, so that those of two are often alike.
    fn fields() -> impl Strategy<Value = Fields> {
        let names =
            [&READ_OF_REQUEST[..], &READ_OF_RESPONSE[..], &["Date", "Authorization", "X-Api-Key"]].concat();
        let values = vec![
            "",
            "a",
            "application/json",
            "text/event-stream",
            "application/vnd.kubernetes.protobuf",
            "gzip",
            "chunked",
            "websocket",
            "base64.x",
            "Bearer abcdefghijklmnop",
        ];
        let field = (select(names), select(values)).prop_map(|(name, value)| (name.into(), value.into()));
        vec(field, 0..4).prop_map(Fields::from)
    }

    proptest! {
        #[test]
        fn what_is_held_never_matters(
            held in vec(fields(), 3),
            // With one of its values another one.
            asked in vec((0..3usize, 0..3usize, option::of(0..3usize), 0..6usize, 0..3u16, any::<bool>()), 1..40),
        ) {
            let targets = ["/api/v1/pods?watch=1", "/api/v1/pods?watch=2", "/?token=abc", "/", "/a?resourceVersion=10&b", "/a?resourceVersion=32&b"];
            let options = Options { shows: Shows { targets: true, fields: true, payload: 0 }, ..Options::default() };
            let (mut known, mut others) = (Known::default(), Known::default());
            let mut models = HashMap::new();
            for (request, response, other, target, status, joined) in asked {
                let fields = |place: usize| {
                    let mut fields = held[place].to_vec();
                    if let Some((_, value)) = other.and_then(|other| fields.get_mut(other)) {
                        *value = "another".into();
                    }
                    if other.is_some() { fields.into() } else { held[place].clone() }
                };
                let mut request = RequestHead {
                    target: Some(targets[target].into()),
                    fields: Some(fields(request)),
                    ..RequestHead::default()
                };
                let mut response = ResponseHead {
                    status: [Some(200), Some(101), Some(404)][usize::from(status)],
                    fields: Some(fields(response)),
                    ..ResponseHead::default()
                };
                // Some are told to be copies of those before that say the same.
                let mut model = |said: String| models.entry(said).or_insert_with(Model::new).share();
                if other.is_none() || target % 2 == 0 {
                    request.model = model(format!("{request:?}"));
                    response.model = model(format!("{response:?}"));
                }
                prop_assert_eq!(known.request_shows(&request, &options), redact::request_shows(&request, true));
                prop_assert_eq!(
                    known.response_shows(&response, &options),
                    redact::fields_show(response.fields.as_ref())
                );
                for framing in [Framing::Chunked, Framing::Tunnel] {
                    for expectation in [Expectation::Auto, Expectation::Kind(Kind::Watch)] {
                        // A run has one expectation.
                        let known = if expectation == Expectation::Auto { &mut known } else { &mut others };
                        prop_assert_eq!(
                            known.resolve(expectation, Some(&request), &response, Some(framing), joined),
                            resolve(expectation, Some(&request), &response, Some(framing), joined)
                        );
                    }
                }
            }
        }
    }
}
