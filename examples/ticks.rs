//! Streams three ticks, a second apart, each in a chunk of its own.
//!
//! ```text
//! cargo run --example ticks
//! curl --raw -N http://127.0.0.1:8080/
//! ```
//!
//! `--raw` shows the body as it is on the wire: `7`, `tick 0`, an empty line
//! (the CRLF that closes a chunk), and so on, and the last chunk, `0`. Each
//! chunk has 7 octets: `tick 0` has six, and the LF behind it counts.

use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use clap::Parser;

mod server;

/// Streams ticks, each in an HTTP chunk of its own.
///
/// Try it with: curl --raw -N http://127.0.0.1:8080/
#[derive(Parser)]
struct Args {
    /// The port on 127.0.0.1; 0 takes a free one and prints it.
    #[arg(default_value_t = 8080)]
    port: u16,
    /// Milliseconds from one tick to the next.
    #[arg(long, value_name = "MS", default_value_t = 1000)]
    interval: u64,
    /// How many ticks.
    #[arg(long, value_name = "N", default_value_t = 3)]
    count: u64,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let interval = Duration::from_millis(args.interval);
    server::run(args.port, move |request, connection| {
        if request.method != "GET" {
            return connection.respond("405 Method Not Allowed", "text/plain", b"only GET\n");
        }
        let mut body = connection.chunked("Content-Type: text/plain\r\n");
        for tick in 0..args.count {
            if tick > 0 {
                thread::sleep(interval);
            }
            if body.left()? {
                return Ok(());
            }
            // Without the flush in here, the ticks would wait in some buffer
            // and come together, as one chunk, at the end.
            body.chunk(format!("tick {tick}\n").as_bytes())?;
        }
        body.finish()
    })
}
