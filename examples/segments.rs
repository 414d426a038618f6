//! Feeds segments of one's own to an analysis: here those of a watch, made by
//! hand, as a tap or a test would have them.
//!
//! ```text
//! cargo run --example segments
//! ```
//!
//! The library reads no interface. Whoever has packets from elsewhere decodes
//! them (`chunkscope::packet` does it for a frame) and pushes a [`Segment`]
//! each; everything from reassembly on is the library's.

use std::io;
use std::net::SocketAddr;

use chunkscope::limits::Limits;
use chunkscope::packet::{Flags, Segment};
use chunkscope::pipeline::Analysis;
use chunkscope::pipeline::options::Options;
use chunkscope::report::table::Table;
use chunkscope::report::text::TextOptions;
use chunkscope::units::{Stamp, Timestamp};

const REQUEST: &str = "GET /api/v1/configmaps?watch=1 HTTP/1.1\r\nHost: 127.0.0.1:8001\r\n\r\n";
const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";

/// One side of a connection: where it sends from, and its next octet.
struct End {
    address: SocketAddr,
    seq: u32,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut client = End { address: "127.0.0.1:54946".parse()?, seq: 1_000 };
    let mut server = End { address: "127.0.0.1:8001".parse()?, seq: 9_000 };
    let event = r#"{"type":"ADDED","object":{"kind":"ConfigMap","metadata":{"name":"coredns"}}}"#;
    let one = format!("{:x}\r\n{event}\n\r\n", event.len() + 1);
    let two = format!("{:x}\r\n{event}\n{event}\n\r\n", 2 * (event.len() + 1));

    let options = Options { summaries: true, keep_payload: Limits::default().payload, ..Options::default() };
    let mut table = Table::new(io::stdout().lock(), TextOptions::default());
    let mut analysis = Analysis::new(&options, &mut table);
    let mut tap = analysis.segments("my tap")?;
    let mut frame = 0;
    let mut send = |from: &mut End, to: &End, octets: &str| {
        frame += 1;
        let at = Timestamp::new(1_701_000_000, frame * 1_000, 6);
        let segment = Segment {
            stamp: Stamp { at: Some(at), ..Stamp::untimed(frame) },
            source: from.address,
            destination: to.address,
            seq: from.seq,
            ack: Some(to.seq),
            flags: Flags::default(),
            payload: octets.as_bytes(),
            cut: 0,
        };
        from.seq = from.seq.wrapping_add(octets.len() as u32);
        tap.push(&segment)
    };
    send(&mut client, &server, REQUEST)?;
    send(&mut server, &client, HEAD)?;
    send(&mut server, &client, &one)?;
    send(&mut server, &client, &two)?;
    tap.finish()?;
    analysis.conclude(false)?;
    Ok(())
}
