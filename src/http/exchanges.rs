//! Which response answers which request: the n-th final response the n-th
//! request (RFC 9112 §9.3.2), as far as the capture lets one count.

use smallvec::SmallVec;

use super::framing::Method;
use super::{ResponseHead, Side};
use crate::units::Stamp;

/// The exchanges of a stream that aren't over.
#[derive(Debug, Default)]
pub(super) struct Exchanges {
    /// The next one's number.
    next: u64,
    /// In the order of their requests: mostly one, and never many more than may
    /// await their response.
    queue: SmallVec<[Slot; 1]>,
    /// Requests that await their response, in `queue`.
    awaited: usize,
    /// How many octets of the server's were passed over so far.
    passed_over: u64,
    /// The last interim response, while its final one is awaited.
    pub(super) interim: Option<Box<ResponseHead>>,
}

#[derive(Debug)]
enum Slot {
    /// So many requests were not seen (or are too many to keep), but their
    /// responses are to come.
    Unseen(u64),
    Exchange(Exchange),
}

/// An exchange that isn't over.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) index: u64,
    pub(super) method: Method,
    request_over: bool,
    response: Response,
    /// The request asks for a tunnel: what its body is depends on the
    /// response. The packet that ended its head.
    pub(super) undecided: Option<Stamp>,
    /// How many octets of the server's were passed over when the request came.
    passed_over: u64,
    /// It may have been answered by octets that were passed over.
    doubtful: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Response {
    Awaited,
    Begun,
    Over,
}

/// The exchange that a final response belongs to.
#[derive(Debug)]
pub(super) struct Answered {
    pub(super) index: u64,
    pub(super) method: Method,
    pub(super) undecided: Option<Stamp>,
    /// Exchanges whose response was never seen: it came before this one.
    pub(super) passed: Vec<u64>,
}

impl Answered {
    /// One of whose request nothing is known.
    fn of(index: u64, passed: Vec<u64>) -> Self {
        Self { index, method: Method::Other, undecided: None, passed }
    }
}

impl Exchange {
    /// Its response begins.
    fn answer(&mut self, passed: Vec<u64>) -> Answered {
        self.response = Response::Begun;
        Answered { index: self.index, method: self.method, undecided: self.undecided.take(), passed }
    }
}

impl Exchanges {
    /// None, written over those of a stream that is over.
    pub(super) fn begin_anew(&mut self) {
        let Self { next, queue, awaited, passed_over, interim } = self;
        (*next, *awaited, *passed_over, *interim) = (0, 0, 0, None);
        queue.clear();
    }

    /// Whether there was any.
    pub(super) fn any(&self) -> bool {
        self.next > 0
    }

    /// Whether none is open, and no interim response stands for one.
    pub(super) fn is_quiet(&self) -> bool {
        self.queue.is_empty() && self.interim.is_none()
    }

    /// A request: its exchange's number, and one that is given up for it where
    /// more than `limit` await their response.
    pub(super) fn request(&mut self, method: Method, passed_over: u64, limit: usize) -> (u64, Option<u64>) {
        if self.passed_over != passed_over {
            self.passed_over = passed_over;
            // A client that doesn't pipeline has its answer when it asks again.
            for exchange in self.exchanges_mut() {
                exchange.doubtful |=
                    exchange.response == Response::Awaited && exchange.passed_over < passed_over;
            }
        }
        let index = self.add(Response::Awaited, method, passed_over);
        self.awaited += 1;
        let given_up = if self.awaited > limit { self.give_up_first() } else { None };
        (index, given_up)
    }

    /// A body joined in the middle: an exchange of its own, of which only that
    /// side is known. A joined request awaits no response: the one that is
    /// awaited answers the request whose body it goes on with.
    pub(super) fn joined(&mut self, side: Side) -> u64 {
        let response = if side == Side::Response { Response::Begun } else { Response::Over };
        let index = self.add(response, Method::Other, 0);
        if let Some(exchange) = self.get_mut(index) {
            exchange.request_over = side == Side::Response;
        }
        index
    }

    fn add(&mut self, response: Response, method: Method, passed_over: u64) -> u64 {
        let index = self.next;
        self.next += 1;
        self.queue.push(Slot::Exchange(Exchange {
            index,
            method,
            request_over: false,
            response,
            undecided: None,
            passed_over,
            doubtful: false,
        }));
        index
    }

    /// A request was lost where one was due.
    pub(super) fn request_lost(&mut self) {
        match self.queue.last_mut() {
            Some(Slot::Unseen(_)) => {}
            _ => self.queue.push(Slot::Unseen(1)),
        }
    }

    /// A final response: its exchange, by number. Where its request wasn't
    /// seen it has one of its own.
    pub(super) fn respond(&mut self) -> Answered {
        // Mostly one request awaits its response.
        if let Some(Slot::Exchange(first)) = self.queue.first_mut()
            && first.response == Response::Awaited
            && !first.doubtful
        {
            self.awaited = self.awaited.saturating_sub(1);
            return first.answer(Vec::new());
        }
        if self.take_unseen() {
            return self.of_its_own();
        }
        let (mut first, mut certain) = (None, None);
        for exchange in self.exchanges_mut().filter(|exchange| exchange.response == Response::Awaited) {
            first.get_or_insert(exchange.index);
            if !exchange.doubtful {
                certain = Some(exchange.index);
                break;
            }
        }
        let Some(index) = certain.or(first) else {
            return self.of_its_own();
        };
        let mut passed = Vec::new();
        for exchange in self.exchanges_mut().take_while(|exchange| exchange.index < index) {
            if exchange.response == Response::Awaited {
                exchange.response = Response::Over;
                passed.push(exchange.index);
            }
        }
        self.awaited = self.awaited.saturating_sub(passed.len() + 1);
        match self.get_mut(index) {
            Some(exchange) => exchange.answer(passed),
            None => Answered::of(index, passed),
        }
    }

    /// A response whose request wasn't seen.
    fn of_its_own(&mut self) -> Answered {
        Answered::of(self.joined(Side::Response), Vec::new())
    }

    /// A response was lost where one was due: the exchange that it belongs to,
    /// if its request was seen.
    pub(super) fn response_lost(&mut self) -> Option<Answered> {
        if self.take_unseen() || !self.awaits() {
            return None;
        }
        Some(self.respond())
    }

    /// Whether the next response answers a request that wasn't seen.
    fn take_unseen(&mut self) -> bool {
        let due = self.queue.iter().position(|slot| match slot {
            Slot::Unseen(_) => true,
            Slot::Exchange(exchange) => exchange.response == Response::Awaited,
        });
        let Some(place) = due else { return false };
        let Some(Slot::Unseen(count)) = self.queue.get_mut(place) else {
            return false;
        };
        *count = count.saturating_sub(1);
        if *count == 0 {
            self.queue.remove(place);
        }
        true
    }

    /// The first awaited response is awaited no longer; if it comes, it has an
    /// exchange of its own.
    fn give_up_first(&mut self) -> Option<u64> {
        let due = self.queue.iter().position(|slot| match slot {
            Slot::Unseen(_) => false,
            Slot::Exchange(exchange) => exchange.response == Response::Awaited,
        })?;
        let Some(Slot::Exchange(exchange)) = self.queue.get_mut(due) else {
            return None;
        };
        exchange.response = Response::Over;
        let index = exchange.index;
        self.awaited = self.awaited.saturating_sub(1);
        match due.checked_sub(1).and_then(|before| self.queue.get_mut(before)) {
            Some(Slot::Unseen(count)) => *count = count.saturating_add(1),
            _ => self.queue.insert(due, Slot::Unseen(1)),
        }
        Some(index)
    }

    /// One side's message is over: whether the exchange is, which is forgotten
    /// then.
    pub(super) fn over(&mut self, index: u64, side: Side) -> bool {
        self.end(index, |exchange| match side {
            Side::Request => exchange.request_over = true,
            Side::Response => exchange.response = Response::Over,
        })
    }

    /// Whether both sides are over; then it is forgotten.
    pub(super) fn remove_over(&mut self, index: u64) -> bool {
        self.end(index, |_| {})
    }

    /// The same behind a change.
    fn end(&mut self, index: u64, change: impl FnOnce(&mut Exchange)) -> bool {
        let Some(place) = self.place(index) else { return false };
        let Some(Slot::Exchange(exchange)) = self.queue.get_mut(place) else { return false };
        change(exchange);
        let over = exchange.request_over && exchange.response == Response::Over;
        if over {
            self.queue.remove(place);
        }
        over
    }

    /// Where the exchange of that number is, if it isn't over.
    #[inline]
    fn place(&self, index: u64) -> Option<usize> {
        let is = |slot: &Slot| matches!(slot, Slot::Exchange(exchange) if exchange.index == index);
        // The newest or the oldest, mostly.
        if self.queue.last().is_some_and(is) {
            return Some(self.queue.len().saturating_sub(1));
        }
        self.queue.iter().position(is)
    }

    /// Requests whose body depends on a response, and the packet that ended
    /// their head; their body is decided now.
    pub(super) fn decide(&mut self) -> Option<(u64, Stamp)> {
        self.exchanges_mut().find_map(|exchange| Some((exchange.index, exchange.undecided.take()?)))
    }

    /// The numbers of all that aren't over, in order.
    pub(super) fn indices(&mut self) -> Vec<u64> {
        self.exchanges_mut().map(|exchange| exchange.index).collect()
    }

    /// Nothing more comes of an exchange: whether it was open until now.
    pub(super) fn forget(&mut self, index: u64) -> bool {
        let Some(place) = self.place(index) else { return false };
        let Slot::Exchange(exchange) = self.queue.remove(place) else { return false };
        if exchange.response == Response::Awaited {
            self.awaited = self.awaited.saturating_sub(1);
        }
        true
    }

    /// Whether some request awaits its response.
    pub(super) fn awaits(&self) -> bool {
        self.awaited > 0
    }

    /// The exchange of that number, if it isn't over.
    pub(super) fn get_mut(&mut self, index: u64) -> Option<&mut Exchange> {
        let place = self.place(index)?;
        match self.queue.get_mut(place) {
            Some(Slot::Exchange(exchange)) => Some(exchange),
            _ => None,
        }
    }

    fn exchanges_mut(&mut self) -> impl Iterator<Item = &mut Exchange> {
        self.queue.iter_mut().filter_map(|slot| match slot {
            Slot::Exchange(exchange) => Some(exchange),
            Slot::Unseen(_) => None,
        })
    }
}
