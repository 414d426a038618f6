//! What a file is, by its first octets.

use super::error::{Compression, Looks};

/// How many octets [`looks`] wants to see.
pub(super) const LOOK: usize = 512;

/// The compression that begins with these octets, at least four.
pub(super) fn compression(octets: &[u8]) -> Option<Compression> {
    match octets {
        // RFC 1952 §2.3.1: ID1, ID2; the only method is 8.
        [0x1f, 0x8b, 8, ..] => Some(Compression::Gzip),
        // RFC 8878 §3.1.1.
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Compression::Zstd),
        // LZ4 frame format, and its legacy form.
        [0x04, 0x22, 0x4d, 0x18, ..] | [0x02, 0x21, 0x4c, 0x18, ..] => Some(Compression::Lz4),
        _ => None,
    }
}

/// Whether these octets begin a skippable frame (RFC 8878 §3.1.2), which both
/// zstd and lz4 files may have anywhere between frames.
pub(super) const fn is_skippable(octets: &[u8]) -> bool {
    matches!(octets, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

/// Captures of other formats, archives and programs that are taken for
/// captures by mistake.
const MAGICS: &[(&[u8], Looks)] = &[
    (b"snoop\0\0\0", Looks::OtherCapture("snoop")),
    (b"RTSS", Looks::OtherCapture("Network Monitor 1")),
    (b"GMBU", Looks::OtherCapture("Network Monitor 2")),
    (b"XCP\0", Looks::OtherCapture("NetXray or Windows Sniffer")),
    (b"TRSNIFF data    \x1a", Looks::OtherCapture("DOS Sniffer")),
    (b"iptrace ", Looks::OtherCapture("AIX iptrace")),
    (b"btsnoop\0", Looks::OtherCapture("btsnoop")),
    (b"\x05VNF", Looks::OtherCapture("Visual Networks")),
    (b"\xaa\xaa\xaa\xaa", Looks::OtherCapture("InfoVista 5View")),
    (b"\0\0\x02\0\x12\x05\0\x10", Looks::OtherCapture("Tektronix K12")),
    (b"\x7fver", Looks::OtherCapture("OmniPeek")),
    (b"\x54\x52\0\x64", Looks::OtherCapture("NetScaler")),
    (b"\xfd7zXZ\0", Looks::Packed("xz")),
    (b"BZh", Looks::Packed("bzip2")),
    (b"PK\x03\x04", Looks::Packed("zip")),
    (b"7z\xbc\xaf\x27\x1c", Looks::Packed("7-Zip")),
    (b"\x1f\x9d", Looks::Packed("compress")),
    (b"\x1f\x8b", Looks::Packed("an unknown method of gzip")),
    (b"\x28\xb5\x2f\xfd", Looks::Packed("zstd, twice")),
    (b"\x04\x22\x4d\x18", Looks::Packed("lz4, twice")),
    (b"\x7fELF", Looks::Known("an ELF program or library")),
    (b"\x89PNG", Looks::Known("a PNG image")),
    (b"\xff\xd8\xff", Looks::Known("a JPEG image")),
    (b"GIF8", Looks::Known("a GIF image")),
    (b"%PDF", Looks::Known("a PDF document")),
    (b"SQLite format 3\0", Looks::Known("an SQLite database")),
];

/// What a file looks like whose first octets are no capture's. More than
/// [`LOOK`] may be there, or not: by chance, of which nothing may depend.
pub(super) fn looks(octets: &[u8]) -> Looks {
    let octets = octets.get(..LOOK).unwrap_or(octets);
    if octets.starts_with(b"HTTP/1.") {
        return Looks::HttpResponse;
    }
    if let [0x1f, 0x8b, 8, ..] = octets {
        return Looks::Packed("gzip, twice");
    }
    if let Some((_, looks)) = MAGICS.iter().find(|(magic, _)| octets.starts_with(magic)) {
        return looks.clone();
    }
    if octets.get(257..262) == Some(b"ustar") {
        return Looks::Packed("tar");
    }
    if is_text(octets) {
        return Looks::Text;
    }
    Looks::Octets(octets.iter().take(8).copied().collect())
}

/// Whether these octets, which may end inside a character, are text.
fn is_text(octets: &[u8]) -> bool {
    let valid = match std::str::from_utf8(octets) {
        Ok(text) => text,
        // The look may cut a character: all but its last octets must be valid.
        Err(error) if error.error_len().is_none() => octets
            .get(..error.valid_up_to())
            .and_then(|octets| std::str::from_utf8(octets).ok())
            .unwrap_or_default(),
        Err(_) => return false,
    };
    !valid.is_empty()
        && valid.chars().all(|c| !c.is_control() || matches!(c, '\t' | '\n' | '\r' | '\x1b' | '\x0c'))
}

/// The name of a capture or archive that begins with these octets, for what
/// stands where a packet was expected.
pub(super) fn file_begins(octets: &[u8]) -> Option<&'static str> {
    match octets {
        [0x0a, 0x0d, 0x0d, 0x0a, ..] => Some("a pcapng file"),
        [0xa1, 0xb2, 0xc3, 0xd4, ..]
        | [0xd4, 0xc3, 0xb2, 0xa1, ..]
        | [0xa1, 0xb2, 0x3c, 0x4d, ..]
        | [0x4d, 0x3c, 0xb2, 0xa1, ..]
        | [0xa1, 0xb2, 0xcd, 0x34, ..]
        | [0x34, 0xcd, 0xb2, 0xa1, ..] => Some("a pcap file"),
        _ => match compression(octets)? {
            Compression::Gzip => Some("a gzip file"),
            Compression::Zstd => Some("a zstd file"),
            Compression::Lz4 => Some("an lz4 file"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_no_captures_are_named() {
        assert_eq!(looks(b"HTTP/1.1 200 OK\r\n"), Looks::HttpResponse);
        assert_eq!(looks(b"hello\n"), Looks::Text);
        assert_eq!(looks("Gr\u{fc}\u{df}e".as_bytes().split_last().unwrap().1), Looks::Text);
        assert_eq!(looks("caf\u{e9}".as_bytes().split_last().unwrap().1), Looks::Text);
        assert_eq!(looks(b"\x7fELF\x02\x01"), Looks::Known("an ELF program or library"));
        assert_eq!(looks(b"snoop\0\0\0\0\0\0\x02"), Looks::OtherCapture("snoop"));
        assert_eq!(looks(b"\x01\x02\x03\0\0\0\0\0\0"), Looks::Octets(vec![1, 2, 3, 0, 0, 0, 0, 0]));
        let mut tar = vec![0; 512];
        tar[..4].copy_from_slice(b"name");
        tar[257..262].copy_from_slice(b"ustar");
        assert_eq!(looks(&tar), Looks::Packed("tar"));
    }

    #[test]
    fn octets_that_came_besides_make_no_difference() {
        for first in [&b"text "[..], b"\x01\x02\x03 "] {
            let octets: Vec<u8> = first.iter().copied().cycle().take(LOOK).chain([0xff, 0, 0xc3]).collect();
            for more in LOOK..=octets.len() {
                assert_eq!(looks(&octets[..more]), looks(&octets[..LOOK]));
            }
        }
    }
}
