//! The example servers, octet by octet on the wire, and what the examples of
//! the library print.
//!
//! They run on a port that the system chooses. The client here is a plain
//! `TcpStream`, and takes the chunks apart itself.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const ONE: &str = "/api/v1/namespaces/kube-system/configmaps/coredns";
const WATCH: &str = "/api/v1/watch/namespaces/kube-system/configmaps/coredns";

/// An example server, ended when it goes out of scope.
struct Server {
    child: Child,
    address: SocketAddr,
}

impl Server {
    fn start(example: &str, args: &[&str]) -> Self {
        let mut child = Command::new(path(example))
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|e| {
                panic!("{example}: {e}; `cargo test` builds the examples, `cargo test --test examples` needs `cargo build --examples` before it")
            });
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        let address = first.trim().strip_prefix("listening on http://").unwrap();
        Self { address: address.parse().unwrap(), child }
    }

    fn connect(&self) -> Client {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Client { reader: BufReader::new(stream) }
    }

    /// One request on a connection of its own.
    fn ask(&self, method: &str, target: &str, body: &str) -> (String, String) {
        let mut client = self.connect();
        client.send(&request(method, target, body));
        client.response()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where Cargo puts an example: beside the folder of this test's own program.
fn path(example: &str) -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let target = own.parent().and_then(|deps| deps.parent()).unwrap();
    target.join("examples").join(format!("{example}{}", std::env::consts::EXE_SUFFIX))
}

fn request(method: &str, target: &str, body: &str) -> String {
    format!("{method} {target} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

/// One end of a conversation.
struct Client {
    reader: BufReader<TcpStream>,
}

impl Client {
    fn send(&mut self, text: &str) {
        self.reader.get_mut().write_all(text.as_bytes()).unwrap();
    }

    fn line(&mut self) -> String {
        let mut line = Vec::new();
        self.reader.read_until(b'\n', &mut line).unwrap();
        String::from_utf8(line).unwrap()
    }

    /// A response's head, with the empty line that ends it.
    fn head(&mut self) -> String {
        let mut head = String::new();
        loop {
            let line = self.line();
            assert!(line.ends_with("\r\n"), "{head}{line:?}");
            head += &line;
            if line == "\r\n" {
                return head;
            }
        }
    }

    fn exactly(&mut self, octets: usize) -> String {
        let mut text = vec![0; octets];
        self.reader.read_exact(&mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    /// A chunk: its size line as written, and its payload. The last has none.
    fn chunk(&mut self) -> (String, String) {
        let line = self.line();
        let hex = line.strip_suffix("\r\n").unwrap().to_owned();
        let payload = self.exactly(usize::from_str_radix(&hex, 16).unwrap());
        assert_eq!(self.exactly(2), "\r\n");
        (hex, payload)
    }

    /// A response whose length is given.
    fn response(&mut self) -> (String, String) {
        let head = self.head();
        let length = field(&head, "Content-Length").unwrap().parse().unwrap();
        let body = self.exactly(length);
        (head, body)
    }

    /// Whether nothing more comes, and the server closes.
    fn closed(&mut self) -> bool {
        self.reader.read(&mut [0]).unwrap() == 0
    }
}

fn field<'h>(head: &'h str, name: &str) -> Option<&'h str> {
    head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

#[test]
fn three_ticks_are_three_chunks_of_seven_and_the_last_chunk() {
    let server = Server::start("ticks", &["0", "--interval", "100"]);
    let mut client = server.connect();
    let begun = Instant::now();
    client.send(&request("GET", "/", ""));
    let head = client.head();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert_eq!(field(&head, "Transfer-Encoding"), Some("chunked"));
    assert_eq!(field(&head, "Content-Length"), None);
    for (number, hex) in ["7", "7", "7"].into_iter().enumerate() {
        assert_eq!(client.chunk(), (hex.into(), format!("tick {number}\n")));
        // Each came when it was its time, not with the others at the end.
        let due = Duration::from_millis(100 * u64::try_from(number).unwrap());
        assert!(begun.elapsed() >= due);
    }
    assert_eq!(client.chunk(), ("0".into(), String::new()));
    // The connection lives on.
    client.send(&request("GET", "/again", ""));
    client.head();
    assert_eq!(client.chunk().0, "7");
}

#[test]
fn the_first_tick_does_not_wait_for_the_second() {
    let server = Server::start("ticks", &["0", "--interval", "600000", "--count", "2"]);
    let mut client = server.connect();
    client.send(&request("GET", "/", ""));
    client.head();
    assert_eq!(client.chunk().1, "tick 0\n");
}

#[test]
fn a_watch_sees_added_794_and_after_a_put_modified_797() {
    let server = Server::start("configmap_watch", &["0"]);
    let mut watch = server.connect();
    watch.send(&request("GET", WATCH, ""));
    let head = watch.head();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    let names: Vec<&str> = head.lines().skip(1).filter_map(|line| Some(line.split_once(':')?.0)).collect();
    assert_eq!(names, ["Audit-Id", "Cache-Control", "Content-Type", "Date", "Transfer-Encoding"]);
    assert_eq!(field(&head, "Content-Type"), Some("application/json"));

    let (hex, added) = watch.chunk();
    assert_eq!((hex.as_str(), added.len()), ("31a", 794));
    assert!(added.starts_with(r#"{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"coredns","namespace":"kube-system","#), "{added}");
    assert!(added.contains(r#""resourceVersion":"70""#), "{added}");
    assert!(added.ends_with("}\n"), "{added}");

    let (_, now) = server.ask("GET", ONE, "");
    let (head, _) = server.ask("PUT", ONE, &now.replace(":9153", ":9154"));
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");

    let (hex, modified) = watch.chunk();
    assert_eq!((hex.as_str(), modified.len()), ("31d", 797));
    let event: serde_json::Value = serde_json::from_str(&modified).unwrap();
    assert_eq!(event["type"], "MODIFIED");
    assert_eq!(event["object"]["metadata"]["resourceVersion"], "71");
    let corefile = event["object"]["data"]["Corefile"].as_str().unwrap();
    assert!(corefile.contains(":9154"), "{corefile}");
}

#[test]
fn every_open_watch_sees_every_change_in_order() {
    let server = Server::start("configmap_watch", &["0"]);
    let targets = [
        WATCH,
        "/api/v1/namespaces/kube-system/configmaps?watch=true",
        "/api/v1/namespaces/kube-system/configmaps?watch=1&fieldSelector=metadata.name%3Dcoredns",
    ];
    let mut watches: Vec<Client> = targets
        .iter()
        .map(|target| {
            let mut watch = server.connect();
            watch.send(&request("GET", target, ""));
            watch.head();
            watch
        })
        .collect();
    for number in 1..=3 {
        let body = format!(r#"{{"data":{{"n":"{number}"}}}}"#);
        server.ask("PUT", ONE, &body);
    }
    server.ask("DELETE", ONE, "");
    server.ask("PUT", ONE, r#"{"data":{}}"#);
    for watch in &mut watches {
        let seen: Vec<(String, String)> = (0..6)
            .map(|_| {
                let event: serde_json::Value = serde_json::from_str(&watch.chunk().1).unwrap();
                let version = &event["object"]["metadata"]["resourceVersion"];
                (event["type"].as_str().unwrap().to_owned(), version.as_str().unwrap().to_owned())
            })
            .collect();
        let expected = [
            ("ADDED", "70"),
            ("MODIFIED", "71"),
            ("MODIFIED", "72"),
            ("MODIFIED", "73"),
            ("DELETED", "74"),
            ("ADDED", "75"),
        ];
        assert_eq!(seen, expected.map(|(t, v)| (t.to_owned(), v.to_owned())));
    }
}

#[test]
fn a_watch_ends_with_its_last_chunk_when_its_time_is_up() {
    let server = Server::start("configmap_watch", &["0"]);
    let mut watch = server.connect();
    watch.send(&request("GET", &format!("{WATCH}?timeoutSeconds=1"), ""));
    watch.head();
    assert_eq!(watch.chunk().0, "31a");
    assert_eq!(watch.chunk(), ("0".into(), String::new()));
    // The connection can be used again.
    watch.send(&request("GET", ONE, ""));
    assert!(watch.response().1.contains("Corefile"));
}

#[test]
fn a_watch_from_a_version_shows_only_what_came_later() {
    let server = Server::start("configmap_watch", &["0"]);
    server.ask("PUT", ONE, r#"{"data":{"n":"1"}}"#);
    server.ask("PUT", ONE, r#"{"data":{"n":"2"}}"#);
    let mut watch = server.connect();
    watch.send(&request("GET", &format!("{WATCH}?resourceVersion=71"), ""));
    watch.head();
    assert!(watch.chunk().1.contains(r#""resourceVersion":"72""#));
    // What is older than the history is gone, and only an event can still say so.
    let mut late = server.connect();
    late.send(&request("GET", &format!("{WATCH}?resourceVersion=5"), ""));
    assert!(late.head().starts_with("HTTP/1.1 200 OK"));
    let error = late.chunk().1;
    assert!(error.starts_with(r#"{"type":"ERROR","object":{"kind":"Status""#), "{error}");
    assert!(error.contains(r#""code":410"#), "{error}");
    assert_eq!(late.chunk().0, "0");
}

#[test]
fn a_selector_for_another_name_sees_nothing() {
    let server = Server::start("configmap_watch", &["0"]);
    let mut watch = server.connect();
    let target = "/api/v1/namespaces/kube-system/configmaps?watch=1&timeoutSeconds=1&fieldSelector=metadata.name=other";
    watch.send(&request("GET", target, ""));
    watch.head();
    server.ask("PUT", ONE, r#"{"data":{}}"#);
    assert_eq!(watch.chunk(), ("0".into(), String::new()));
}

#[test]
fn what_makes_no_sense_is_refused() {
    let server = Server::start("configmap_watch", &["0"]);
    let status = |method: &str, target: &str, body: &str| {
        let (head, body) = server.ask(method, target, body);
        let code = head.split(' ').nth(1).unwrap().to_owned();
        let said: serde_json::Value = serde_json::from_str(&body).unwrap();
        assert_eq!(said["kind"], "Status");
        assert_eq!(said["code"].to_string(), code);
        code
    };
    let (_, current) = server.ask("GET", ONE, "");
    server.ask("PUT", ONE, &current);
    // The same once more: now its resourceVersion is stale.
    assert_eq!(status("PUT", ONE, &current), "409");
    assert_eq!(status("PUT", ONE, "{"), "400");
    assert_eq!(status("PUT", ONE, r#"{"data":{"a":1}}"#), "400");
    assert_eq!(status("PUT", ONE, r#"{"metadata":{"name":"other"}}"#), "400");
    assert_eq!(status("PATCH", ONE, ""), "405");
    assert_eq!(status("GET", "/api/v1/pods?watch=1", ""), "404");
    assert_eq!(status("GET", &format!("{WATCH}?timeoutSeconds=soon"), ""), "400");
    server.ask("DELETE", ONE, "");
    assert_eq!(status("GET", ONE, ""), "404");
    assert_eq!(status("DELETE", ONE, ""), "404");
}

#[test]
fn a_client_that_leaves_or_sends_too_much_harms_nobody() {
    let server = Server::start("configmap_watch", &["0"]);
    // Leaves in the middle of a watch: the server closes too.
    let mut gone = server.connect();
    gone.send(&request("GET", WATCH, ""));
    gone.head();
    gone.chunk();
    gone.reader.get_ref().shutdown(Shutdown::Write).unwrap();
    assert!(gone.closed());
    // Leave without reading.
    for _ in 0..30 {
        let mut rude = server.connect();
        rude.send(&request("GET", WATCH, ""));
    }
    let refusals = [
        (format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(20_000)), "431"),
        (format!("PUT {ONE} HTTP/1.1\r\nContent-Length: 999999999\r\n\r\n"), "413"),
        (format!("PUT {ONE} HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"), "411"),
        (format!("GET {WATCH} HTTP/1.0\r\n\r\n"), "505"),
        ("\u{0}\u{1}\r\n\r\n".to_owned(), "400"),
    ];
    for (text, status) in refusals {
        let mut client = server.connect();
        client.send(&text);
        let head = client.head();
        assert_eq!(head.split(' ').nth(1), Some(status), "{head}");
    }
    assert!(server.ask("GET", ONE, "").1.contains("Corefile"));
}

#[test]
fn a_request_in_pieces_is_one_request() {
    let server = Server::start("configmap_watch", &["0"]);
    let mut client = server.connect();
    for piece in ["PU", "T ", ONE, " HTTP/1.1\r\nContent-Le", "ngth: 11\r\n\r", "\n{\"data\"", ":{}"] {
        client.send(piece);
        std::thread::sleep(Duration::from_millis(5));
    }
    client.send("}GET ");
    assert!(client.response().0.starts_with("HTTP/1.1 200 OK"));
    client.send(&format!("{ONE} HTTP/1.1\r\nConnection: close\r\n\r\n"));
    assert!(client.response().1.contains(r#""resourceVersion":"71""#));
    assert!(client.closed());
}

#[test]
fn a_port_that_is_taken_is_named() {
    let server = Server::start("ticks", &["0"]);
    let port = server.address.port().to_string();
    let second = Command::new(path("ticks")).arg(&port).output().unwrap();
    assert!(!second.status.success());
    let said = String::from_utf8(second.stderr).unwrap();
    assert!(said.contains(&format!("127.0.0.1:{port}")), "{said}");
}

/// What an example of the library prints.
fn prints(example: &str, args: &[&str]) -> String {
    let done =
        Command::new(path(example)).args(args).current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    assert!(done.stderr.is_empty(), "{example}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

#[test]
fn the_librarys_examples_print_what_the_program_says() {
    let text = prints("verdicts", &["testdata/informer.pcap"]);
    assert!(text.starts_with("fail: 3 of 4 chunks hold one event  /api/v1/namespaces/default/"), "{text}");
    assert!(text.ends_with("\nfail: 7 events\n"), "{text}");

    let text = prints("sizes", &["testdata/nginx-buffered.pcap"]);
    assert!(text.starts_with("     6 ×   8192 = 0x2000\n     5 ×   8184 = 0x1ff8\n"), "{text}");

    let text = prints("segments", &[]);
    assert!(text.starts_with("my tap: segments, 4 packets in 0.003 s, 1 TCP stream\n"), "{text}");
    assert!(text.contains("chunk 2 (0x9a = 154 octets, frame 4) holds events 2 and 3"), "{text}");
    assert!(text.ends_with("✗ fail: 1 violation\n"), "{text}");
}
