//! Taking octets off the front of a piece; both parts keep its provenance.

use std::borrow::Cow;

use crate::tcp::Piece;

/// Takes the first `count` octets (all, if there are fewer) off a piece.
/// Nothing is copied where the piece is borrowed.
pub(crate) fn take<'a>(piece: &mut Piece<'a>, count: usize) -> Piece<'a> {
    let count = count.min(piece.bytes.len());
    let front = match &mut piece.bytes {
        Cow::Borrowed(bytes) => {
            let (front, rest) = bytes.split_at_checked(count).unwrap_or((bytes, &[]));
            *bytes = rest;
            Cow::Borrowed(front)
        }
        Cow::Owned(bytes) => {
            let rest = bytes.split_off(count);
            Cow::Owned(std::mem::replace(bytes, rest))
        }
    };
    let front = Piece {
        at: piece.at,
        bytes: front,
        stamp: piece.stamp,
        released: piece.released,
        segment_start: piece.segment_start,
    };
    moved(piece, count);
    front
}

/// Drops the first `count` octets (all, if there are fewer) of a piece.
pub(crate) fn skip(piece: &mut Piece<'_>, count: usize) {
    let count = count.min(piece.bytes.len());
    match &mut piece.bytes {
        Cow::Borrowed(bytes) => *bytes = bytes.get(count..).unwrap_or_default(),
        Cow::Owned(bytes) => drop(bytes.drain(..count)),
    }
    moved(piece, count);
}

/// Drops the octets of a borrowed piece up to `rest`, which are those at its end.
#[inline]
pub(crate) fn skip_to<'a>(piece: &mut Piece<'a>, rest: &'a [u8]) {
    let count = piece.bytes.len().saturating_sub(rest.len());
    piece.bytes = Cow::Borrowed(rest);
    moved(piece, count);
}

#[inline]
fn moved(piece: &mut Piece<'_>, count: usize) {
    piece.at = piece.at.saturating_add(count as u64);
    piece.segment_start &= count == 0;
}
