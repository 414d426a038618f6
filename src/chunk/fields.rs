//! Field lines of heads and trailer sections (RFC 9112 §5, §7.1.2).
//!
//! httparse reads what follows the grammar. What it refuses is read line by
//! line, as tolerant receivers do, and each liberty is said.

use std::ops::Deref;
use std::sync::Arc;

use smallvec::SmallVec;
use smol_str::SmolStr;

use super::Lenience;

/// Header or trailer fields in order, names and values as received; a fold is
/// one space. A clone shares them: the heads of a client or a server repeat,
/// and what is found of an exchange is told more than once.
#[derive(Debug, Clone, Default, Eq)]
pub struct Fields {
    /// `None` where there are none, as in most trailer sections.
    pairs: Option<Arc<[(SmolStr, SmolStr)]>>,
}

impl Fields {
    /// The fields.
    #[must_use]
    pub fn as_slice(&self) -> &[(SmolStr, SmolStr)] {
        self.pairs.as_deref().unwrap_or_default()
    }

    /// Whether these are known to be the same fields without a look at them:
    /// one is a clone of the other. Others may be equal nevertheless.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        match (&self.pairs, &other.pairs) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (one, other) => one.is_none() && other.is_none(),
        }
    }
}

impl Deref for Fields {
    type Target = [(SmolStr, SmolStr)];

    fn deref(&self) -> &Self::Target {
        self.as_slice()
    }
}

impl PartialEq for Fields {
    fn eq(&self, other: &Self) -> bool {
        self.is_same(other) || self.as_slice() == other.as_slice()
    }
}

impl FromIterator<(SmolStr, SmolStr)> for Fields {
    fn from_iter<T: IntoIterator<Item = (SmolStr, SmolStr)>>(pairs: T) -> Self {
        let pairs: Arc<[_]> = pairs.into_iter().collect();
        Self { pairs: Some(pairs).filter(|pairs| !pairs.is_empty()) }
    }
}

impl<const COUNT: usize> From<[(SmolStr, SmolStr); COUNT]> for Fields {
    fn from(pairs: [(SmolStr, SmolStr); COUNT]) -> Self {
        pairs.into_iter().collect()
    }
}

impl From<Vec<(SmolStr, SmolStr)>> for Fields {
    fn from(pairs: Vec<(SmolStr, SmolStr)>) -> Self {
        Self { pairs: (!pairs.is_empty()).then(|| pairs.into()) }
    }
}

impl<'f> IntoIterator for &'f Fields {
    type Item = &'f (SmolStr, SmolStr);
    type IntoIter = std::slice::Iter<'f, (SmolStr, SmolStr)>;

    fn into_iter(self) -> Self::IntoIter {
        self.as_slice().iter()
    }
}

/// What some field lines say.
#[derive(Debug, Default)]
pub(crate) struct FieldLines {
    /// Names and values, in order.
    pub(crate) fields: Fields,
    /// Where the lines leave the grammar, with the offset of the line.
    pub(crate) remarks: SmallVec<[(Lenience, usize); 1]>,
}

/// Fields beyond this many are read line by line.
const MANY: usize = 64;

/// Fields that most messages keep within.
const USUAL: usize = 16;

/// Reads field lines; each line has its line end, and an empty line at the end
/// may be missing.
pub(crate) fn parse(lines: &[u8]) -> FieldLines {
    if matches!(lines, b"" | b"\r\n") {
        return FieldLines::default();
    }
    let read = match strict::<USUAL>(lines) {
        Err(httparse::Error::TooManyHeaders) => strict::<MANY>(lines),
        read => read,
    };
    match read {
        Ok(Some(fields)) => FieldLines { fields, remarks: SmallVec::new() },
        _ => tolerant(lines),
    }
}

/// What httparse reads of at most `MOST` field lines; `None` where they don't
/// end in an empty line.
fn strict<const MOST: usize>(lines: &[u8]) -> Result<Option<Fields>, httparse::Error> {
    let mut slots = [httparse::EMPTY_HEADER; MOST];
    Ok(match httparse::parse_headers(lines, &mut slots)? {
        httparse::Status::Complete((_, headers)) => {
            Some(headers.iter().map(|header| (header.name.into(), text(header.value))).collect())
        }
        httparse::Status::Partial => None,
    })
}

fn tolerant(lines: &[u8]) -> FieldLines {
    let mut fields: Vec<(SmolStr, SmolStr)> = Vec::new();
    let mut remarks = SmallVec::new();
    let mut offset = 0;
    for line in lines.split_inclusive(|&octet| octet == b'\n') {
        let start = offset;
        offset += line.len();
        let line = without_end(line);
        if line.is_empty() {
            break;
        }
        if line.first().is_some_and(|octet| is_white(*octet)) {
            let folded = text(trim(line));
            match fields.last_mut() {
                // RFC 9112 §5.2: a fold is one space.
                Some((_, value)) => {
                    let between = if value.is_empty() || folded.is_empty() { "" } else { " " };
                    *value = SmolStr::from_iter([value.as_str(), between, &folded]);
                    remarks.push((Lenience::ObsFold, start));
                }
                // RFC 9112 §2.2: such a line before the first field is consumed
                // without further processing.
                None => remarks.push((Lenience::InvalidField, start)),
            }
            continue;
        }
        let Some((name, value)) = memchr::memchr(b':', line).and_then(|colon| line.split_at_checked(colon))
        else {
            remarks.push((Lenience::InvalidField, start));
            continue;
        };
        let bare = name.trim_ascii_end();
        if bare.is_empty() || !bare.iter().all(|octet| is_token(*octet)) {
            remarks.push((Lenience::InvalidField, start));
        } else if bare.len() < name.len() {
            remarks.push((Lenience::SpaceBeforeColon, start));
        }
        if !bare.is_empty() {
            fields.push((text(bare), self::value(value.get(1..).unwrap_or_default())));
        }
    }
    FieldLines { fields: fields.into(), remarks }
}

/// The value of a field, of what stands between its colon and its line end.
pub(crate) fn value(octets: &[u8]) -> SmolStr {
    text(trim(octets))
}

/// A line without its line end.
pub(crate) fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn trim(mut value: &[u8]) -> &[u8] {
    while let [first, rest @ ..] = value
        && is_white(*first)
    {
        value = rest;
    }
    while let [rest @ .., last] = value
        && is_white(*last)
    {
        value = rest;
    }
    value
}

/// SP or HTAB: RFC 9112's OWS.
const fn is_white(octet: u8) -> bool {
    matches!(octet, b' ' | b'\t')
}

/// RFC 9110 §5.6.2: `tchar`.
pub(crate) const fn is_token(octet: u8) -> bool {
    octet.is_ascii_alphanumeric()
        || matches!(
            octet,
            b'!' | b'#'
                | b'$'
                | b'%'
                | b'&'
                | b'\''
                | b'*'
                | b'+'
                | b'-'
                | b'.'
                | b'^'
                | b'_'
                | b'`'
                | b'|'
                | b'~'
        )
}

/// Octets as a string; those that aren't UTF-8 as U+FFFD.
pub(crate) fn text(octets: &[u8]) -> SmolStr {
    match std::str::from_utf8(octets) {
        Ok(text) => text.into(),
        Err(_) => String::from_utf8_lossy(octets).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &str) -> (Vec<(SmolStr, SmolStr)>, Vec<Lenience>) {
        let read = parse(lines.as_bytes());
        (read.fields.to_vec(), read.remarks.iter().map(|(lenience, _)| *lenience).collect())
    }

    fn pair(name: &str, value: &str) -> (SmolStr, SmolStr) {
        (name.into(), value.into())
    }

    #[test]
    fn fields_by_the_grammar_are_read_without_remark() {
        assert_eq!(
            read("Host: a\r\nX-Empty:\r\nTabs:\t b c \t\r\n\r\n"),
            (vec![pair("Host", "a"), pair("X-Empty", ""), pair("Tabs", "b c")], vec![])
        );
        assert_eq!(read("\r\n"), (vec![], vec![]));
        assert_eq!(read(""), (vec![], vec![]));
    }

    #[test]
    fn clones_are_the_same_and_others_may_be_equal() {
        let fields = || Fields::from([pair("A", "b")]);
        let one = fields();
        assert!(one.is_same(&one.clone()) && !one.is_same(&fields()));
        assert_eq!(one, fields());
        assert_ne!(one, Fields::from([pair("A", "c")]));
        assert_ne!(one, Fields::default());
        assert!(
            Fields::default().is_same(&Vec::new().into())
                && Fields::from_iter([]).is_same(&Fields::default())
        );
    }

    #[test]
    fn a_fold_is_one_space() {
        assert_eq!(read("A: b\r\n\t  c\r\n\r\n"), (vec![pair("A", "b c")], vec![Lenience::ObsFold]));
        assert_eq!(
            read("Transfer-Encoding:\r\n chunked\r\n\r\n"),
            (vec![pair("Transfer-Encoding", "chunked")], vec![Lenience::ObsFold])
        );
    }

    #[test]
    fn white_space_before_a_colon_is_said() {
        assert_eq!(
            read("Transfer-Encoding : chunked\r\n\r\n"),
            (vec![pair("Transfer-Encoding", "chunked")], vec![Lenience::SpaceBeforeColon])
        );
    }

    #[test]
    fn a_line_that_is_no_field_is_said_and_passed_over() {
        assert_eq!(read("nonsense\r\nA: b\r\n\r\n"), (vec![pair("A", "b")], vec![Lenience::InvalidField]));
        assert_eq!(read(" x: y\r\nA: b\r\n\r\n"), (vec![pair("A", "b")], vec![Lenience::InvalidField]));
        assert_eq!(read("Odd Name: b\r\n\r\n"), (vec![pair("Odd Name", "b")], vec![Lenience::InvalidField]));
    }

    #[test]
    fn a_hundred_fields_are_all_read() {
        let lines: String = (0..100).map(|n| format!("X-{n}: {n}\r\n")).collect();
        let (fields, remarks) = read(&(lines + "\r\n"));
        assert_eq!((fields.len(), remarks.len()), (100, 0));
        assert_eq!(fields.last(), Some(&pair("X-99", "99")));
    }

    #[test]
    fn lines_without_the_final_empty_line_are_read() {
        assert_eq!(read("A: b\r\n"), (vec![pair("A", "b")], vec![]));
    }
}
