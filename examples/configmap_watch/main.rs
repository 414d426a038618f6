//! Serves a watch of one ConfigMap, framed as a Kubernetes API server frames it.
//!
//! It is for recording such a watch without a cluster:
//!
//! ```text
//! cargo run --example configmap_watch
//! curl -N http://127.0.0.1:8001/api/v1/watch/namespaces/kube-system/configmaps/coredns
//! ```
//!
//! The watch begins with an ADDED event. Change the ConfigMap, and every open
//! watch gets a MODIFIED event:
//!
//! ```text
//! url=http://127.0.0.1:8001/api/v1/namespaces/kube-system/configmaps/coredns
//! curl -s $url | sed 's/:9153/:9154/' | curl -s -X PUT --data-binary @- $url
//! ```
//!
//! The ConfigMap is laid out so that ADDED has 793 octets and MODIFIED 796. An
//! LF ends each, and the chunk counts it: 794 = 0x31a and 797 = 0x31d.
//!
//! What differs from a real API server: there is only this one ConfigMap, a PUT
//! is an event even if it changes nothing, and a PUT after a DELETE creates the
//! ConfigMap again.

use std::io;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;

use server::{Connection, Request};
use store::{NAME, NAMESPACE, Status, Store, json, line, uuid};

#[path = "../server/mod.rs"]
mod server;
mod store;

/// How long a watch lives whose client doesn't say.
const DEFAULT_TIMEOUT: u64 = 1800;
/// Serves a watch of the ConfigMap kube-system/coredns, as a Kubernetes API
/// server would.
///
/// Watch it: curl -N http://127.0.0.1:8001/api/v1/watch/namespaces/kube-system/configmaps/coredns
///
/// GET, PUT and DELETE it at /api/v1/namespaces/kube-system/configmaps/coredns;
/// each change is an event of every open watch.
#[derive(Parser)]
struct Args {
    /// The port on 127.0.0.1; 0 takes a free one and prints it.
    #[arg(default_value_t = 8001)]
    port: u16,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let store = Store::new();
    server::run(args.port, move |request, connection| answer(&store, request, connection))
}

/// Answers one request.
fn answer(store: &Store, request: &Request, connection: &mut Connection) -> io::Result<()> {
    let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
    let query = Query::parse(query);
    let one = format!("/api/v1/namespaces/{NAMESPACE}/configmaps/{NAME}");
    let all = format!("/api/v1/namespaces/{NAMESPACE}/configmaps");
    let watch_one = format!("/api/v1/watch/namespaces/{NAMESPACE}/configmaps/{NAME}");
    let watch_all = format!("/api/v1/watch/namespaces/{NAMESPACE}/configmaps");
    let result = match request.method.as_str() {
        "GET" if path == watch_one || path == watch_all || (path == all && query.watch) => {
            match query.check() {
                Ok(()) => return watch(store, &query, connection),
                Err(status) => Err(status),
            }
        }
        "GET" if path == all => Ok(("200 OK", store.list())),
        "GET" if path == one => store.get().map(|body| ("200 OK", body)),
        "PUT" if path == one => store
            .put(&request.body)
            .map(|(created, body)| (if created { "201 Created" } else { "200 OK" }, body)),
        "DELETE" if path == one => store.delete().map(|body| ("200 OK", body)),
        _ if [one, all, watch_one, watch_all].iter().any(|known| known == path) => {
            let message = format!("{} is not supported here", request.method.escape_debug());
            Err(Status::failure(405, "MethodNotAllowed", message))
        }
        _ => Err(Status::failure(
            404,
            "NotFound",
            "the server could not find the requested resource".to_owned(),
        )),
    };
    let (status, mut body) = result.unwrap_or_else(|status| {
        let line = match status.code {
            400 => "400 Bad Request",
            405 => "405 Method Not Allowed",
            409 => "409 Conflict",
            _ => "404 Not Found",
        };
        (line, json(&status))
    });
    body.push(b'\n');
    connection.respond(status, "application/json", &body)
}

/// Streams events until the client leaves or the time is up.
fn watch(store: &Store, query: &Query, connection: &mut Connection) -> io::Result<()> {
    let mut body = connection.chunked(&format!(
        "Audit-Id: {}\r\nCache-Control: no-cache, private\r\nContent-Type: application/json\r\n",
        uuid()
    ));
    let deadline = Instant::now() + Duration::from_secs(query.timeout);
    // Without a resourceVersion, or with 0, a watch begins with what there is.
    let (current, first) = store.begin();
    let (mut seen, first) = match query.version {
        None | Some(0) => (current, first.filter(|_| query.selected)),
        Some(version) => (version.min(current), None),
    };
    match first {
        // The head and the first event leave together, as from a real server.
        Some(event) => body.chunk(&event)?,
        None => body.flush()?,
    }
    while Instant::now() < deadline {
        match store.wait(seen, deadline) {
            // An event, a chunk: each is flushed by itself.
            Ok(events) => {
                for event in events {
                    seen = seen.saturating_add(1);
                    if query.selected {
                        body.chunk(&event)?;
                    }
                }
            }
            // The response began with 200: only an event can tell.
            Err(expired) => {
                body.chunk(&line("ERROR", &expired))?;
                break;
            }
        }
        if body.left()? {
            return Ok(());
        }
    }
    body.finish()
}

/// What a request's query says.
struct Query {
    watch: bool,
    /// Whether the ConfigMap is among what is asked for.
    selected: bool,
    version: Option<u64>,
    timeout: u64,
    /// The first parameter that makes no sense.
    bad: Option<String>,
}

impl Query {
    fn parse(text: &str) -> Self {
        let mut query =
            Self { watch: false, selected: true, version: None, timeout: DEFAULT_TIMEOUT, bad: None };
        for parameter in text.split('&') {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let value = decode(value);
            let fits = match name {
                "watch" => {
                    query.watch = matches!(value.as_str(), "true" | "1");
                    true
                }
                "fieldSelector" => {
                    query.selected = value.is_empty() || selects(&value);
                    true
                }
                "resourceVersion" if value.is_empty() => true,
                "resourceVersion" => {
                    query.version = value.parse().ok();
                    query.version.is_some()
                }
                "timeoutSeconds" => match value.parse::<u64>() {
                    // 0 means the default, as in Kubernetes; a day is enough for anybody.
                    Ok(seconds) => {
                        query.timeout = if seconds == 0 { DEFAULT_TIMEOUT } else { seconds.min(86_400) };
                        true
                    }
                    Err(_) => false,
                },
                _ => true,
            };
            if !fits {
                query.bad.get_or_insert(format!("{name}: {value:?} is not a number"));
            }
        }
        query
    }

    fn check(&self) -> Result<(), Status> {
        self.bad.as_ref().map_or(Ok(()), |bad| Err(Status::bad_request(bad)))
    }
}

/// Whether a field selector (`metadata.name=coredns`, parts joined by commas)
/// selects the ConfigMap.
fn selects(selector: &str) -> bool {
    selector.split(',').all(|part| match part.split_once('=') {
        Some(("metadata.name", name)) => name.trim_start_matches('=') == NAME,
        Some(("metadata.namespace", name)) => name.trim_start_matches('=') == NAMESPACE,
        _ => false,
    })
}

/// Resolves `%3D` and its like (RFC 3986, section 2.1).
fn decode(text: &str) -> String {
    let mut octets = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&octet, tail)) = rest.split_first() {
        let hex = tail.get(..2).filter(|_| octet == b'%');
        let code = hex.and_then(|hex| u8::from_str_radix(str::from_utf8(hex).ok()?, 16).ok());
        octets.push(code.unwrap_or(octet));
        rest = match code {
            Some(_) => tail.get(2..).unwrap_or_default(),
            None => tail,
        };
    }
    String::from_utf8_lossy(&octets).into_owned()
}
