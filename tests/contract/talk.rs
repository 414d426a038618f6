//! Conversations, and what the program says of them.

use std::fmt::Write as _;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use chunkscope::packet::Flags;
use serde_json::Value;

use crate::schema;
use crate::segments::{self, Sent};

/// A request for a watch.
pub const REQUEST: &str = "GET /api/v1/pods?watch=1 HTTP/1.1\r\nHost: api\r\n\r\n";
/// The head of a chunked JSON response.
pub const HEAD: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
/// The last chunk and an empty trailer section.
pub const LAST: &str = "0\r\n\r\n";

/// A watch event with its LF; its object has the name given.
pub fn event(name: &str) -> String {
    format!("{{\"type\":\"ADDED\",\"object\":{{\"kind\":\"Pod\",\"metadata\":{{\"name\":\"{name}\"}}}}}}\n")
}

/// A payload as a chunk.
pub fn chunk(payload: impl AsRef<[u8]>) -> Vec<u8> {
    let payload = payload.as_ref();
    let mut octets = format!("{:x}\r\n", payload.len()).into_bytes();
    octets.extend_from_slice(payload);
    octets.extend_from_slice(b"\r\n");
    octets
}

/// The head of a chunked response of that content type.
pub fn head(content_type: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nTransfer-Encoding: chunked\r\n\r\n")
}

/// A connection as a capture saw it; each part is a packet, a millisecond after the last.
#[derive(Debug, Clone)]
pub struct Talk {
    pub sent: Vec<Sent>,
    client: SocketAddr,
    server: SocketAddr,
    /// The next sequence numbers of the client and of the server.
    next: [u32; 2],
    args: Vec<String>,
}

/// A connection seen from its handshake on: frames 1 to 3.
pub fn talk() -> Talk {
    midstream().handshake()
}

/// A connection whose handshake wasn't captured.
pub fn midstream() -> Talk {
    Talk {
        sent: Vec::new(),
        client: "10.0.0.1:40000".parse().unwrap(),
        server: "10.0.0.2:8001".parse().unwrap(),
        next: [1000, 5000],
        args: Vec::new(),
    }
}

/// A watch up to its response head (frames 4 and 5), and its body's first octets.
pub fn watch() -> Talk {
    talk().client(REQUEST).server(HEAD)
}

/// A response of that content type, to a request for `/`.
pub fn stream_of(content_type: &str) -> Talk {
    talk().client("GET / HTTP/1.1\r\nHost: api\r\n\r\n").server(head(content_type))
}

const PLAIN: Flags = Flags { syn: false, fin: false, rst: false };

impl Talk {
    pub fn between(mut self, client: &str, server: &str) -> Self {
        (self.client, self.server) = (client.parse().unwrap(), server.parse().unwrap());
        for segment in &mut self.sent {
            let forward = segment.destination.port() == 8001;
            (segment.source, segment.destination) =
                if forward { (self.client, self.server) } else { (self.server, self.client) };
        }
        self
    }

    /// The program is called with these arguments too.
    pub fn args(mut self, args: &[&str]) -> Self {
        self.args.extend(args.iter().map(|arg| (*arg).to_owned()));
        self
    }

    pub fn handshake(mut self) -> Self {
        let syn = Flags { syn: true, ..PLAIN };
        self.segment(0, syn, b"", false);
        self.segment(1, syn, b"", true);
        self.segment(0, PLAIN, b"", true);
        self
    }

    fn segment(&mut self, side: usize, flags: Flags, payload: &[u8], ack: bool) {
        let (source, destination) =
            if side == 0 { (self.client, self.server) } else { (self.server, self.client) };
        let segment = Sent {
            seconds: 1_700_000_000,
            micros: u32::try_from(self.sent.len() + 1).unwrap() * 1000,
            source,
            destination,
            seq: self.next[side],
            ack: ack.then_some(self.next[1 - side]),
            flags,
            payload: payload.to_vec(),
        };
        self.next[side] = self.next[side].wrapping_add(segment.len());
        self.sent.push(segment);
    }

    pub fn client(mut self, octets: impl AsRef<[u8]>) -> Self {
        self.segment(0, PLAIN, octets.as_ref(), true);
        self
    }

    pub fn server(mut self, octets: impl AsRef<[u8]>) -> Self {
        self.segment(1, PLAIN, octets.as_ref(), true);
        self
    }

    pub fn chunk(self, payload: impl AsRef<[u8]>) -> Self {
        self.server(chunk(payload))
    }

    /// The server sends octets that the capture lacks.
    pub fn server_lost(mut self, octets: usize) -> Self {
        self.next[1] = self.next[1].wrapping_add(u32::try_from(octets).unwrap());
        self
    }

    /// The client sends octets that the capture lacks.
    pub fn client_lost(mut self, octets: usize) -> Self {
        self.next[0] = self.next[0].wrapping_add(u32::try_from(octets).unwrap());
        self
    }

    pub fn client_acks(mut self) -> Self {
        self.segment(0, PLAIN, b"", true);
        self
    }

    pub fn client_fin(mut self) -> Self {
        self.segment(0, Flags { fin: true, ..PLAIN }, b"", true);
        self
    }

    pub fn server_fin(mut self) -> Self {
        self.segment(1, Flags { fin: true, ..PLAIN }, b"", true);
        self
    }

    pub fn client_rst(mut self) -> Self {
        self.segment(0, Flags { rst: true, ..PLAIN }, b"", true);
        self
    }

    pub fn server_rst(mut self) -> Self {
        self.segment(1, Flags { rst: true, ..PLAIN }, b"", true);
        self
    }

    /// What follows is a later connection of the same endpoints.
    pub fn anew(mut self) -> Self {
        self.next = [700_000, 900_000];
        self
    }

    /// The capture.
    pub fn capture(&self) -> Vec<u8> {
        segments::write(&self.sent)
    }

    pub fn report(&self) -> Seen {
        let args: Vec<&str> = self.args.iter().map(String::as_str).collect();
        run(&self.capture(), &args)
    }

    /// The only exchange.
    pub fn exchange(&self) -> Exchange {
        let mut exchanges = self.report().exchanges();
        assert_eq!(exchanges.len(), 1, "{exchanges:#?}");
        exchanges.remove(0)
    }
}

/// A JSON report, the exit status and the messages.
#[derive(Debug)]
pub struct Seen {
    pub report: Value,
    pub status: i32,
    pub messages: String,
}

/// The program on a capture from standard input.
pub fn run(input: &[u8], args: &[&str]) -> Seen {
    let mut all = vec!["-f", "json", "-"];
    all.extend(args);
    let (stdout, messages, status) = call(input, &all);
    let report: Value = serde_json::from_slice(&stdout).unwrap_or_else(|e| panic!("{e}: {messages}"));
    schema::assert_report(&report);
    Seen { report, status, messages }
}

/// The program on files.
pub fn run_on(files: &[&PathBuf], args: &[&str]) -> Seen {
    let mut all = vec!["-f", "json"];
    all.extend(args);
    all.extend(files.iter().map(|file| file.to_str().unwrap()));
    let (stdout, messages, status) = call(b"", &all);
    let report: Value = serde_json::from_slice(&stdout).unwrap_or_else(|e| panic!("{e}: {messages}"));
    schema::assert_report(&report);
    Seen { report, status, messages }
}

/// Standard output, standard error and the exit status.
pub fn call(input: &[u8], args: &[&str]) -> (Vec<u8>, String, i32) {
    let mut child = Command::new(assert_cmd::cargo::cargo_bin!("chunkscope"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let feed = std::thread::spawn(move || {
        // A program that refuses its arguments reads nothing.
        let _ = stdin.write_all(&input);
    });
    let done = child.wait_with_output().unwrap();
    feed.join().unwrap();
    let messages = String::from_utf8_lossy(&done.stderr).into_owned();
    let status = done.status.code().unwrap_or_else(|| panic!("ended by a signal; {messages}"));
    (done.stdout, messages, status)
}

static FILES: AtomicU32 = AtomicU32::new(0);

/// Octets in a file of their own.
pub fn file(name: &str, octets: &[u8]) -> PathBuf {
    let number = FILES.fetch_add(1, Ordering::Relaxed);
    let mut folder = String::new();
    write!(folder, "contract-{}-{number}", std::process::id()).unwrap();
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(folder);
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    std::fs::write(&path, octets).unwrap();
    path
}

impl Seen {
    pub fn exchanges(&self) -> Vec<Exchange> {
        let captures = self.report["captures"].as_array().unwrap();
        captures
            .iter()
            .flat_map(|capture| capture["exchanges"].as_array().unwrap())
            .map(|exchange| Exchange(exchange.clone()))
            .collect()
    }

    pub fn capture(&self) -> &Value {
        &self.report["captures"][0]
    }

    /// The codes of the first capture's problems.
    pub fn problems(&self) -> Vec<String> {
        strings(&self.capture()["problems"], "code")
    }

    pub fn problem(&self, code: &str) -> &Value {
        let problems = self.capture()["problems"].as_array().unwrap();
        let mut of_code = problems.iter().filter(|problem| problem["code"] == code);
        let problem = of_code.next().unwrap_or_else(|| panic!("no {code} in {problems:?}"));
        assert!(of_code.next().is_none(), "{code} is said once: {problems:?}");
        problem
    }

    pub fn summary(&self, member: &str) -> u64 {
        self.report["summary"][member].as_u64().unwrap()
    }
}

/// An exchange of a report.
#[derive(Debug, Clone)]
pub struct Exchange(pub Value);

impl std::ops::Deref for Exchange {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.0
    }
}

impl Exchange {
    /// The response's body.
    pub fn body(&self) -> &Value {
        &self["response"]["body"]
    }

    pub fn chunks(&self) -> Vec<Value> {
        self.body()["chunks"].as_array().cloned().unwrap_or_default()
    }

    pub fn verdicts(&self) -> Vec<String> {
        strings(&self.body()["chunks"], "verdict")
    }

    pub fn events(&self) -> Vec<Value> {
        self["events"].as_array().cloned().unwrap()
    }

    /// The names of the events' objects.
    pub fn names(&self) -> Vec<String> {
        strings(&self["events"], "name")
    }

    /// Each violation as its code and its chunk.
    pub fn violations(&self) -> Vec<(String, Option<u64>)> {
        let violations = self["violations"].as_array().unwrap();
        violations.iter().map(|v| (v["code"].as_str().unwrap().to_owned(), v["chunk"].as_u64())).collect()
    }

    pub fn end(&self) -> &str {
        self.body()["end"].as_str().unwrap()
    }
}

fn strings(list: &Value, member: &str) -> Vec<String> {
    let list = list.as_array().cloned().unwrap_or_default();
    list.iter().map(|item| item[member].as_str().unwrap_or("null").to_owned()).collect()
}
