//! How a message's body is delimited (RFC 9112 §6.3).

use smallvec::SmallVec;

use super::{Fields, Framing, RequestHead, ResponseHead};
use crate::chunk::Lenience;

/// What a head says of its body.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Delimiter {
    /// How the body is delimited, or why nobody can know.
    pub(super) framing: Result<Framing, String>,
    /// Where the sender left the grammar and is read all the same.
    pub(super) remarks: SmallVec<[Lenience; 2]>,
}

impl Delimiter {
    pub(super) fn plain(framing: Framing) -> Self {
        Self { framing: Ok(framing), remarks: SmallVec::new() }
    }
}

/// What matters of the request for the response's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    /// No body follows the response's head.
    Head,
    /// A 2xx response makes the connection a tunnel.
    Connect,
    /// Any other, or unknown.
    Other,
}

impl Method {
    /// That of a request.
    pub(super) fn of(head: &RequestHead) -> Self {
        match head.method.as_deref() {
            Some("HEAD") => Self::Head,
            Some("CONNECT") => Self::Connect,
            _ => Self::Other,
        }
    }
}

/// How a request's body is delimited.
pub(super) fn of_request(head: &RequestHead) -> Delimiter {
    let read = Declared::read(head.fields.as_ref(), head.version.as_deref());
    match read.coding {
        Some(Coding::Chunked) => read.into(Ok(Framing::Chunked)),
        // RFC 9112 §6.3: the length can't be determined; a server refuses it.
        Some(Coding::Other(name)) => Delimiter {
            framing: Err(format!(
                "the last transfer coding of the request is \"{name}\", not chunked (RFC 9112, section 6.3)"
            )),
            remarks: read.remarks,
        },
        None => read.by_length(Framing::None),
    }
}

/// How a final response's body is delimited, given the method that it answers.
pub(super) fn of_response(head: &ResponseHead, method: Method) -> Delimiter {
    // RFC 9112 §6.3, rules 1 and 2.
    match (head.status.unwrap_or(200), method) {
        (101, _) | (200..=299, Method::Connect) => return Delimiter::plain(Framing::Tunnel),
        (100..=199 | 204 | 304, _) | (_, Method::Head) => return Delimiter::plain(Framing::None),
        _ => {}
    }
    let mut read = Declared::read(head.fields.as_ref(), head.version.as_deref());
    match read.coding {
        Some(Coding::Chunked) => read.into(Ok(Framing::Chunked)),
        Some(Coding::Other(_)) => {
            read.remarks.push(Lenience::NotChunkedLast);
            read.into(Ok(Framing::Close))
        }
        None => read.by_length(Framing::Close),
    }
}

/// Whether the fields ask for, or agree to, a protocol of that name.
pub(crate) fn upgrades_to(fields: Option<&Fields>, protocol: &str) -> bool {
    members(fields, "upgrade").any(|member| member.eq_ignore_ascii_case(protocol))
}

/// Whether the fields have an Upgrade field.
pub(super) fn has_upgrade(fields: Option<&Fields>) -> bool {
    members(fields, "upgrade").next().is_some()
}

/// Whether a field of that name matters for how a body is delimited, or for
/// what follows the exchange.
pub(super) fn tells(name: &[u8]) -> bool {
    let is = |telling: &str| name.len() == telling.len() && name.eq_ignore_ascii_case(telling.as_bytes());
    is("transfer-encoding") || is("content-length") || is("upgrade")
}

/// Whether a field's name is `name`, in any case. Most differ in length.
#[inline]
pub(crate) fn is_named(field: &str, name: &str) -> bool {
    field.len() == name.len() && field.eq_ignore_ascii_case(name)
}

/// The members of all fields of a name, read as lists (RFC 9110 §5.6.1).
pub(crate) fn members<'a>(fields: Option<&'a Fields>, name: &'static str) -> impl Iterator<Item = &'a str> {
    let values = fields.into_iter().flatten().filter(move |(field, _)| is_named(field, name));
    values.flat_map(|(_, value)| value.split(',')).map(str::trim).filter(|member| !member.is_empty())
}

#[derive(Debug)]
enum Coding {
    Chunked,
    Other(String),
}

/// What the fields declare.
struct Declared {
    /// The last transfer coding.
    coding: Option<Coding>,
    length: Option<Result<u64, String>>,
    remarks: SmallVec<[Lenience; 2]>,
}

impl Declared {
    fn read(fields: Option<&Fields>, version: Option<&str>) -> Self {
        let mut remarks = SmallVec::new();
        let mut chunked = 0;
        let mut coding = None;
        for member in members(fields, "transfer-encoding") {
            // RFC 9112 §7: codings are case-insensitive and may have parameters.
            let name = member.split(';').next().unwrap_or_default().trim();
            coding = Some(if name.eq_ignore_ascii_case("chunked") {
                chunked += 1;
                Coding::Chunked
            } else {
                Coding::Other(name.chars().take(40).collect())
            });
        }
        let mut lengths = members(fields, "content-length");
        let length = lengths.next().map(|first| {
            let mut several = false;
            for other in lengths {
                several = true;
                if other != first && length(other) != length(first) {
                    return Err(format!(
                        "Content-Length is given as \"{first}\" and as \"{other}\" (RFC 9112, section 6.3)"
                    ));
                }
            }
            if several {
                remarks.push(Lenience::LengthTwice);
            }
            length(first).ok_or_else(|| {
                let first: String = first.chars().take(40).collect();
                format!("the Content-Length \"{first}\" is no number of octets (RFC 9112, section 6.3)")
            })
        });
        if coding.is_some() {
            remarks.clear();
            if chunked > 1 {
                remarks.push(Lenience::ChunkedTwice);
            }
            if length.is_some() {
                remarks.push(Lenience::LengthBesideChunked);
            }
            // RFC 9112 §6.1: HTTP/1.0 has no transfer codings; receivers
            // nevertheless decode them.
            if version == Some("HTTP/1.0") {
                remarks.push(Lenience::CodingInHttp10);
            }
        }
        Self { coding, length, remarks }
    }

    fn into(self, framing: Result<Framing, String>) -> Delimiter {
        Delimiter { framing, remarks: self.remarks }
    }

    /// RFC 9112 §6.3, rules 5 to 8; an invalid length is an unrecoverable error.
    fn by_length(mut self, without: Framing) -> Delimiter {
        let framing = match self.length.take() {
            None => Ok(without),
            Some(Ok(0)) => Ok(Framing::ContentLength(0)),
            Some(length) => length.map(Framing::ContentLength),
        };
        self.into(framing)
    }
}

/// RFC 9110 §8.6: `Content-Length = 1*DIGIT`.
fn length(text: &str) -> Option<u64> {
    text.bytes().all(|octet| octet.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(fields: &[(&str, &str)]) -> Option<Fields> {
        Some(fields.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect())
    }

    fn response(status: u16, list: &[(&str, &str)]) -> ResponseHead {
        let version = Some("HTTP/1.1".into());
        ResponseHead { status: Some(status), version, fields: fields(list), ..Default::default() }
    }

    fn read(list: &[(&str, &str)]) -> (Option<Framing>, Vec<Lenience>) {
        let delimiter = of_response(&response(200, list), Method::Other);
        (delimiter.framing.ok(), delimiter.remarks.to_vec())
    }

    #[test]
    fn a_response_is_chunked_by_its_last_coding() {
        assert_eq!(read(&[("Transfer-Encoding", "chunked")]), (Some(Framing::Chunked), vec![]));
        assert_eq!(read(&[("transfer-ENCODING", "gzip , chUnked")]), (Some(Framing::Chunked), vec![]));
        assert_eq!(
            read(&[("Transfer-Encoding", "gzip"), ("Transfer-Encoding", "chunked")]),
            (Some(Framing::Chunked), vec![])
        );
        let to_the_close = (Some(Framing::Close), vec![Lenience::NotChunkedLast]);
        assert_eq!(read(&[("Transfer-Encoding", "chunked, gzip")]), to_the_close);
        assert_eq!(read(&[("Transfer-Encoding", "identity")]), to_the_close);
        assert_eq!(read(&[("Transfer-Encoding", "xchunked")]), to_the_close);
        assert_eq!(read(&[("Transfer-Encoding", "")]), (Some(Framing::Close), vec![]));
    }

    #[test]
    fn chunked_twice_is_read_once_and_said() {
        let twice = (Some(Framing::Chunked), vec![Lenience::ChunkedTwice]);
        assert_eq!(read(&[("Transfer-Encoding", "chunked"), ("Transfer-Encoding", "chunked")]), twice);
        assert_eq!(read(&[("Transfer-Encoding", "chunked, chunked")]), twice);
    }

    #[test]
    fn a_coding_wins_over_a_length_and_that_is_said() {
        assert_eq!(
            read(&[("Content-Length", "3"), ("Transfer-Encoding", "chunked")]),
            (Some(Framing::Chunked), vec![Lenience::LengthBesideChunked])
        );
        assert_eq!(
            read(&[("Content-Length", "3, x"), ("Transfer-Encoding", "chunked")]),
            (Some(Framing::Chunked), vec![Lenience::LengthBesideChunked])
        );
    }

    #[test]
    fn a_coding_in_http_1_0_is_read_and_said() {
        let mut head = response(200, &[("Transfer-Encoding", "chunked")]);
        head.version = Some("HTTP/1.0".into());
        let delimiter = of_response(&head, Method::Other);
        assert_eq!(delimiter.framing, Ok(Framing::Chunked));
        assert_eq!(delimiter.remarks.as_slice(), [Lenience::CodingInHttp10]);
    }

    #[test]
    fn lengths_agree_or_the_framing_is_invalid() {
        assert_eq!(read(&[("Content-Length", "5")]), (Some(Framing::ContentLength(5)), vec![]));
        let twice = (Some(Framing::ContentLength(5)), vec![Lenience::LengthTwice]);
        assert_eq!(read(&[("Content-Length", "5"), ("content-length", "5")]), twice);
        assert_eq!(read(&[("Content-Length", "5, 5")]), twice);
        for invalid in ["5, 6", "-1", "+5", "0x5", "5 5", "18446744073709551616"] {
            assert_eq!(read(&[("Content-Length", invalid)]).0, None, "{invalid}");
        }
        let different =
            of_response(&response(200, &[("Content-Length", "5"), ("Content-Length", "6")]), Method::Other);
        assert_eq!(
            different.framing.unwrap_err(),
            "Content-Length is given as \"5\" and as \"6\" (RFC 9112, section 6.3)"
        );
    }

    #[test]
    fn some_responses_have_no_body_whatever_they_declare() {
        let chunked = [("Transfer-Encoding", "chunked")];
        for status in [100, 103, 204, 304] {
            assert_eq!(of_response(&response(status, &chunked), Method::Other).framing, Ok(Framing::None));
        }
        assert_eq!(of_response(&response(200, &chunked), Method::Head).framing, Ok(Framing::None));
        assert_eq!(of_response(&response(200, &chunked), Method::Connect).framing, Ok(Framing::Tunnel));
        assert_eq!(of_response(&response(407, &chunked), Method::Connect).framing, Ok(Framing::Chunked));
        assert_eq!(of_response(&response(101, &[]), Method::Other).framing, Ok(Framing::Tunnel));
    }

    #[test]
    fn without_any_framing_a_request_has_no_body_and_a_response_goes_to_the_close() {
        assert_eq!(read(&[]), (Some(Framing::Close), vec![]));
        let request = RequestHead { fields: fields(&[("Host", "a")]), ..Default::default() };
        assert_eq!(of_request(&request).framing, Ok(Framing::None));
    }

    #[test]
    fn a_request_whose_last_coding_is_not_chunked_is_refused() {
        let request = |coding| {
            of_request(&RequestHead {
                fields: fields(&[("Transfer-Encoding", coding)]),
                ..Default::default()
            })
        };
        assert_eq!(request("chunked").framing, Ok(Framing::Chunked));
        assert!(request("chunked, gzip").framing.is_err());
    }
}
