//! What followed from the heads that came last, for heads that are the same.
//!
//! Whose fields are clones of those of a head before (as
//! [`Recent`](crate::http::Recent) gives them) needn't be looked through again.
//! What is held is what looking would find, so that it never matters what is
//! held.

use smol_str::SmolStr;

use super::expect::{Resolved, resolve};
use super::options::{Expectation, Options};
use crate::http::{Fields, Framing, Recent, RequestHead, ResponseHead};
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
    /// The last fields of each side that show none.
    harmless_request: Fields,
    harmless_response: Fields,
    /// What their chunks are expected to hold.
    exchanges: Memo<Exchange, Resolved>,
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
    status: Option<u16>,
    fields: Fields,
    framing: Option<Framing>,
    joined: bool,
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
        let harmless = &mut self.harmless_request;
        let look = || {
            let fields = head.fields.as_ref().filter(|_| options.shows.fields);
            head.target.as_deref().is_some_and(redact::target_shows)
                || fields.is_some_and(|fields| show_besides(fields, harmless))
        };
        options.shows.targets && self.requests.of(|request| request.is(head), || Request::of(head), look)
    }

    /// Whether the reports that are asked for show a secret of a response's head.
    pub(super) fn response_shows(&mut self, head: &ResponseHead, options: &Options) -> bool {
        let Some(fields) = head.fields.as_ref().filter(|_| options.shows.fields) else { return false };
        let harmless = &mut self.harmless_response;
        let look = || show_besides(fields, harmless);
        self.responses.of(|held| held.is_same(fields), || Some(fields.clone()), look)
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
        let look = || resolve(expectation, request, response, framing, joined);
        let (Some(request), Some(fields)) = (request, &response.fields) else { return look() };
        let is = |held: &Exchange| {
            held.fields.is_same(fields)
                && held.request.is(request)
                && (held.status, held.framing, held.joined) == (response.status, framing, joined)
        };
        let key = || {
            let request = Request::of(request)?;
            Some(Exchange { request, status: response.status, fields: fields.clone(), framing, joined })
        };
        self.exchanges.of(is, key, look)
    }
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
    use super::*;
    use crate::pipeline::options::Shows;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_held_never_matters(asked in proptest::collection::vec((0..3usize, 0..3usize, 0..3usize, 0..2u16, any::<bool>()), 1..40)) {
            let fields: [Fields; 3] = [
                [("Content-Type".into(), "application/json".into())].into(),
                [("Content-Type".into(), "text/event-stream".into()), ("Set-Cookie".into(), "a=b".into())].into(),
                Fields::default(),
            ];
            let targets = ["/api/v1/pods?watch=1", "/?token=abc", "/"];
            let options = Options { shows: Shows { targets: true, fields: true, payload: 0 }, ..Options::default() };
            let mut known = Known::default();
            for (target, request, response, status, joined) in asked {
                let request = RequestHead {
                    target: Some(targets[target].into()),
                    fields: Some(fields[request].clone()),
                    ..RequestHead::default()
                };
                let response = ResponseHead {
                    status: Some(200 + status * 200),
                    fields: Some(fields[response].clone()),
                    ..ResponseHead::default()
                };
                prop_assert_eq!(known.request_shows(&request, &options), redact::request_shows(&request, true));
                prop_assert_eq!(
                    known.response_shows(&response, &options),
                    redact::fields_show(response.fields.as_ref())
                );
                let framing = Some(Framing::Chunked);
                prop_assert_eq!(
                    known.resolve(Expectation::Auto, Some(&request), &response, framing, joined),
                    resolve(Expectation::Auto, Some(&request), &response, framing, joined)
                );
            }
        }
    }
}
