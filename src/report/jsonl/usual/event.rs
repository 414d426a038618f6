//! The line of an event without `id` and `data`.

use smol_str::SmolStr;

use super::Pen;
use crate::event::Kind;
use crate::report::again::Again;
use crate::report::{Event, ExchangeId, Expect};

values! {
    Stream: r#","stream":"#,
    Exchange: r#","exchange":"#,
    Index: r#","index":"#,
    Type: r#","type":"#,
    ApiVersion: r#","api_version":"#,
    Kind: r#","kind":"#,
    Namespace: r#","namespace":"#,
    Name: r#","name":"#,
    ResourceVersion: r#","resource_version":"#,
    Offset: r#","offset":"#,
    Size: r#","size":"#,
    FirstChunk: r#","first_chunk":"#,
    LastChunk: r#","last_chunk":"#,
}

/// See the module.
#[derive(Debug, Default)]
pub(in super::super) struct UsualEvent {
    line: Option<Again<{ BEFORE.len() }>>,
    /// What is known to be in it.
    names: Names,
}

#[derive(Debug, Default)]
struct Names {
    event_type: Option<SmolStr>,
    api_version: Option<SmolStr>,
    kind: Option<SmolStr>,
    namespace: Option<SmolStr>,
    name: Option<SmolStr>,
}

impl UsualEvent {
    /// Keeps an event's line, if it is the first usual one.
    pub(in super::super) fn keep(
        &mut self,
        id: ExchangeId,
        event: &Event,
        expect: Option<Expect>,
        line: &[u8],
    ) {
        if self.line.is_some() || id.stream.is_none() || has_data(expect) {
            return;
        }
        self.line = Again::of(line, BEFORE);
        let summary = &event.summary;
        self.names = Names {
            event_type: summary.event_type.clone(),
            api_version: summary.api_version.clone(),
            kind: summary.kind.clone(),
            namespace: summary.namespace.clone(),
            name: summary.name.clone(),
        };
    }

    /// The line of a usual event; `None` of others, and where none is kept.
    #[inline]
    pub(in super::super) fn line(
        &mut self,
        id: ExchangeId,
        event: &Event,
        expect: Option<Expect>,
        pen: &mut Pen,
    ) -> Option<&[u8]> {
        let line = self.line.as_mut().filter(|_| !has_data(expect))?;
        line.count(Of::Stream as usize, id.stream?.0);
        line.number(Of::Exchange as usize, id.index);
        line.count(Of::Index as usize, event.index);
        let (known, summary) = (&mut self.names, &*event.summary);
        put_name(line, Of::Type as usize, &mut known.event_type, &summary.event_type, pen);
        put_name(line, Of::ApiVersion as usize, &mut known.api_version, &summary.api_version, pen);
        put_name(line, Of::Kind as usize, &mut known.kind, &summary.kind, pen);
        put_name(line, Of::Namespace as usize, &mut known.namespace, &summary.namespace, pen);
        put_name(line, Of::Name as usize, &mut known.name, &summary.name, pen);
        // It is another one each time.
        pen.string(line, Of::ResourceVersion as usize, summary.resource_version.as_deref());
        line.number(Of::Offset as usize, event.offset);
        line.number(Of::Size as usize, event.size);
        line.count(Of::FirstChunk as usize, event.first_chunk);
        line.count(Of::LastChunk as usize, event.last_chunk);
        Some(line.text())
    }
}

/// Puts a name there, if it isn't the one that is known to be.
#[inline(always)]
fn put_name<const N: usize>(
    line: &mut Again<N>,
    value: usize,
    known: &mut Option<SmolStr>,
    name: &Option<SmolStr>,
    pen: &mut Pen,
) {
    if known != name {
        known.clone_from(name);
        pen.string(line, value, name.as_deref());
    }
}

/// Whether the line of an event says more than usual.
const fn has_data(expect: Option<Expect>) -> bool {
    matches!(expect, Some(Expect::Kind(Kind::Sse | Kind::Json | Kind::Ndjson)))
}
