//! Why a capture can't be read, and what a file is that is none.

use std::fmt;
use std::io;

use thiserror::Error;

use super::CaptureFormat;

/// Where in a capture: octets from its first one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Octets before it.
    pub offset: u64,
    /// Whether they are counted in the unpacked data, since the file is
    /// compressed.
    pub unpacked: bool,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "offset {}", self.offset)?;
        if self.unpacked {
            f.write_str(" of the unpacked data")?;
        }
        Ok(())
    }
}

/// What a source answers that has had no octets for a while, but may have
/// some later: a pipe from a recorder. Reading can go on behind it.
///
/// It is the error within an [`io::Error`], of any kind: no operating system
/// answers with it, so that nothing else is taken for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("no octets yet")]
pub struct NothingYet;

impl NothingYet {
    /// Whether an error is that.
    #[must_use]
    pub fn is(error: &io::Error) -> bool {
        error.get_ref().is_some_and(|inner| inner.is::<Self>())
    }
}

impl From<NothingYet> for io::Error {
    fn from(nothing: NothingYet) -> Self {
        Self::new(io::ErrorKind::WouldBlock, nothing)
    }
}

/// How a capture is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Compression {
    /// RFC 1952.
    Gzip,
    /// RFC 8878.
    Zstd,
    /// The LZ4 frame format, the legacy one too.
    Lz4,
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Lz4 => "lz4",
        })
    }
}

/// What a file looks like that is no capture.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Looks {
    /// A response as `curl -i` prints it.
    HttpResponse,
    /// Text of another kind.
    Text,
    /// A capture in a format that other programs convert: its name.
    OtherCapture(&'static str),
    /// Packed in a way that isn't unpacked here: by what.
    Packed(&'static str),
    /// Something else that has a name.
    Known(&'static str),
    /// Compressed data that ends before its first octets can be unpacked.
    Cut,
    /// Its first octets, at most eight.
    Octets(Vec<u8>),
}

/// What it looks like, and what to do.
impl fmt::Display for Looks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const WANTED: &str = "give a file that `tcpdump -w` or Wireshark wrote";
        match self {
            Self::HttpResponse => write!(
                f,
                "it is a raw HTTP response (as `curl --raw -i` prints it), without packets; --raw reads it"
            ),
            Self::Text => write!(f, "it is text; {WANTED}"),
            Self::OtherCapture(name) => {
                write!(f, "it is a {name} capture; convert it with `editcap -F pcap INPUT OUTPUT`")
            }
            Self::Packed(by) => write!(f, "it is packed with {by}; unpack it first"),
            Self::Known(what) => write!(f, "it is {what}; {WANTED}"),
            Self::Cut => f.write_str("the compressed data is cut; copy the file again"),
            Self::Octets(octets) => write!(f, "it begins with {}; {WANTED}", Hex(octets)),
        }
    }
}

/// What is wrong with a record or block whose end can't be found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// A pcap record's captured length can't be: the octets that it claims to
    /// have captured, and to have had on the wire.
    RecordLength {
        /// Octets captured.
        captured: u32,
        /// Octets on the wire.
        wire: u32,
    },
    /// What stands where a record was expected is none, but records follow:
    /// where.
    NoRecord {
        /// The offset of the next record or block.
        next: u64,
    },
    /// The octets where a record was expected begin another capture or archive.
    AnotherFile(&'static str),
    /// A pcapng block is shorter than any can be.
    BlockTooShort {
        /// Its declared length.
        length: u32,
    },
    /// A block or record is longer than what is believed.
    TooLong {
        /// Its declared length.
        length: u64,
        /// The most that is believed.
        limit: u64,
    },
    /// A pcapng block's length at its end isn't the one at its beginning.
    BlockEnds {
        /// The length at its beginning.
        first: u32,
        /// The length at its end.
        second: u32,
    },
    /// A section header without a byte-order magic.
    ByteOrder([u8; 4]),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RecordLength { captured, wire } => {
                write!(f, "a packet there claims {captured} captured octets of {wire}, which can't be")
            }
            Self::NoRecord { next } => {
                write!(f, "what stands there is no packet, and packets go on at offset {next}")
            }
            Self::AnotherFile(what) => write!(f, "{what} begins there"),
            Self::BlockTooShort { length } => {
                write!(f, "a block there claims {length} octets, less than a block has")
            }
            Self::TooLong { length, limit } => {
                write!(f, "a block there claims {length} octets, more than the {limit} believed")
            }
            Self::BlockEnds { first, second } => write!(
                f,
                "a block there gives its length as {first} at its beginning and {second} at its end"
            ),
            Self::ByteOrder(magic) => {
                write!(f, "a section header there has no byte-order magic but {}", Hex(magic))
            }
        }
    }
}

/// Why a capture, or the rest of it, can't be read. Messages don't name the
/// file: the caller knows its path.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// No octet at all.
    #[error("the file is empty; was the recorder stopped before it wrote anything?")]
    Empty,
    /// Neither pcap nor pcapng.
    #[error("not a packet capture{}: {looks}", Within(.within))]
    NotACapture {
        /// What it is instead.
        looks: Looks,
        /// What it is compressed with, if it is.
        within: Option<Compression>,
    },
    /// The file ends inside its header.
    #[error(
        "the file ends inside its {format} header, after {have} of {need} octets; \
         record it again, or copy it again"
    )]
    HeaderCut {
        /// The format that it begins as.
        format: CaptureFormat,
        /// Octets there.
        have: u64,
        /// Octets needed.
        need: u64,
    },
    /// A version of the format that isn't known.
    #[error(
        "{format} version {major}.{minor} at {place} isn't supported; \
         convert it with `editcap -F pcap INPUT OUTPUT`"
    )]
    UnsupportedVersion {
        /// The format.
        format: CaptureFormat,
        /// The major version.
        major: u16,
        /// The minor version.
        minor: u16,
        /// Where it stands.
        place: Place,
    },
    /// A record or block that can't be delimited, so that nothing behind it
    /// can be read. All packets before it were given out.
    #[error(
        "the {format} file is damaged at {place} ({}): {fault}; \
         packets before it were read, those behind it need a repair, for instance by `pcapfix`",
        Hex(.octets)
    )]
    Damaged {
        /// The format.
        format: CaptureFormat,
        /// Where the record or block begins.
        place: Place,
        /// Its first octets.
        octets: Vec<u8>,
        /// What is wrong with it.
        fault: Fault,
    },
    /// Compressed data that can't be unpacked.
    #[error(
        "the {compression} data is damaged at or before offset {offset} of the file; \
         packets before it were read; try to unpack it with `{compression} -d`"
    )]
    Unpack {
        /// How it is compressed.
        compression: Compression,
        /// Octets of the file that were taken in.
        offset: u64,
        /// What the decompressor says.
        #[source]
        source: io::Error,
    },
    /// The operating system failed to read.
    #[error("reading failed at offset {offset} of the file")]
    Io {
        /// Octets of the file that were read.
        offset: u64,
        /// What the operating system says.
        #[source]
        source: io::Error,
    },
}

impl CaptureError {
    /// Whether it is [`NothingYet`], behind which reading can go on.
    #[must_use]
    pub fn is_nothing_yet(&self) -> bool {
        matches!(self, Self::Io { source, .. } if NothingYet::is(source))
    }
}

struct Within<'a>(&'a Option<Compression>);

impl fmt::Display for Within<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(compression) => write!(f, " within {compression}"),
            None => Ok(()),
        }
    }
}

/// Octets as `0a 0d 0d 0a`.
struct Hex<'a>(&'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, octet) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str(" ")?;
            }
            write!(f, "{octet:02x}")?;
        }
        Ok(())
    }
}
