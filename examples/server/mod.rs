//! As much of an HTTP/1.1 server as the example servers need.
//!
//! A thread a connection, requests one after the other on it. Everything that
//! a client sends is bounded: the head, the body, the time between octets, and
//! the number of connections. What a chunk is on the wire is in [`Chunked`].

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// A request's start line and fields; a larger one is refused with 431.
const HEAD_LIMIT: usize = 16 * 1024;
/// Header fields of a request.
const FIELD_LIMIT: usize = 64;
/// A request's body; a larger one is refused with 413.
const BODY_LIMIT: usize = 1024 * 1024;
/// Connections at a time; one more gets a 503 and is closed.
const CONNECTION_LIMIT: usize = 64;
/// What a connection above that is told.
const BUSY: &str = "503 Service Unavailable";
/// How long a connection may be silent, or a client may refuse to read.
const PATIENCE: Duration = Duration::from_secs(60);

/// A request, whole.
pub struct Request {
    /// The method.
    pub method: String,
    /// The request target as sent: path and query.
    pub target: String,
    /// The body; empty where there is none.
    pub body: Vec<u8>,
    /// Whether the client wants the connection closed behind the response.
    close: bool,
}

/// Listens on 127.0.0.1, prints the address, and answers requests for ever.
/// Returns only when that can't be: the port is taken, or not allowed.
pub fn run<H>(port: u16, handler: H) -> ExitCode
where
    H: Fn(&Request, &mut Connection) -> io::Result<()> + Send + Sync + 'static,
{
    match listen(port).map(|listener| serve(&listener, handler)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("cannot listen on 127.0.0.1:{port}: {e}; name another port, or 0 for a free one");
            ExitCode::FAILURE
        }
    }
}

fn listen(port: u16) -> io::Result<TcpListener> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    // With port 0 the system chose one: whoever started the server reads it here.
    let mut out = io::stdout().lock();
    writeln!(out, "listening on http://{}", listener.local_addr()?)?;
    out.flush()?;
    Ok(listener)
}

fn serve<H>(listener: &TcpListener, handler: H)
where
    H: Fn(&Request, &mut Connection) -> io::Result<()> + Send + Sync + 'static,
{
    let handler = Arc::new(handler);
    let open = Arc::new(AtomicUsize::new(0));
    for stream in listener.incoming() {
        let Ok(stream) = stream else {
            // Out of descriptors, or a client that left at once: neither ends the server.
            thread::sleep(Duration::from_millis(10));
            continue;
        };
        if open.fetch_add(1, Ordering::Relaxed) >= CONNECTION_LIMIT {
            open.fetch_sub(1, Ordering::Relaxed);
            // So short an answer fits into any socket's buffer: it doesn't block.
            let _ = Connection::new(stream).respond(BUSY, "text/plain", b"");
            continue;
        }
        let (handler, open) = (Arc::clone(&handler), Arc::clone(&open));
        thread::spawn(move || {
            let _counted = Counted(open);
            // A client that leaves is no event for a server.
            let _ = converse(stream, &*handler);
        });
    }
}

/// Lowers the count of connections, also when the handler panics.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Answers the requests of one connection.
fn converse(
    stream: TcpStream,
    handler: &impl Fn(&Request, &mut Connection) -> io::Result<()>,
) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    // Each write shall leave at once, as a segment of its own.
    stream.set_nodelay(true)?;
    let mut connection = Connection::new(stream);
    loop {
        match connection.request() {
            Ok(Some(request)) => {
                let octets = request.body.len();
                eprintln!("{} {} ({octets} octets)", request.method, request.target.escape_debug());
                handler(&request, &mut connection)?;
                if request.close {
                    break;
                }
            }
            Ok(None) => break,
            Err(Refusal::Lost(e)) => return Err(e),
            Err(Refusal::Status(status)) => {
                connection.respond(status, "text/plain", format!("{status}\n").as_bytes())?;
                break;
            }
        }
    }
    connection.close()
}

/// Why there is no request.
enum Refusal {
    /// It is answered with this status, and the connection is closed.
    Status(&'static str),
    /// The connection is gone.
    Lost(io::Error),
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::Lost(error)
    }
}

/// What is known of a request when its head is read.
struct Head {
    request: Request,
    octets: usize,
    body: usize,
    waits: bool,
}

/// A connection to a client.
pub struct Connection {
    stream: TcpStream,
    /// What was read and belongs to the next request.
    unread: Vec<u8>,
}

impl Connection {
    fn new(stream: TcpStream) -> Self {
        Self { stream, unread: Vec::new() }
    }

    /// Reads the next request; `None` when the client has closed.
    fn request(&mut self) -> Result<Option<Request>, Refusal> {
        let head = loop {
            if let Some(head) = parse(&self.unread)? {
                break head;
            }
            if self.unread.len() > HEAD_LIMIT {
                return Err(Refusal::Status("431 Request Header Fields Too Large"));
            }
            if self.read_more()? == 0 {
                return Ok(None);
            }
        };
        if head.waits {
            self.stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        self.unread.drain(..head.octets);
        while self.unread.len() < head.body {
            if self.read_more()? == 0 {
                return Ok(None);
            }
        }
        let mut request = head.request;
        let rest = self.unread.split_off(head.body);
        request.body = std::mem::replace(&mut self.unread, rest);
        Ok(Some(request))
    }

    fn read_more(&mut self) -> io::Result<usize> {
        let mut octets = [0; 4096];
        let read = self.stream.read(&mut octets)?;
        self.unread.extend(octets.iter().take(read));
        Ok(read)
    }

    /// Sends a whole response whose length is known.
    ///
    /// # Errors
    /// The client is gone.
    pub fn respond(&mut self, status: &str, content_type: &str, body: &[u8]) -> io::Result<()> {
        let mut octets = format!(
            "HTTP/1.1 {status}\r\nContent-Length: {}\r\nContent-Type: {content_type}\r\nDate: {}\r\n\r\n",
            body.len(),
            date()
        )
        .into_bytes();
        octets.extend_from_slice(body);
        self.stream.write_all(&octets)
    }

    /// Begins a chunked response. Its head waits for the first chunk, or for
    /// [`Chunked::flush`].
    pub fn chunked(&mut self, fields: &str) -> Chunked<'_> {
        let head =
            format!("HTTP/1.1 200 OK\r\n{fields}Date: {}\r\nTransfer-Encoding: chunked\r\n\r\n", date());
        Chunked { connection: self, buffer: head.into_bytes() }
    }

    /// Closes. What the client still sends is read first, within bounds: a
    /// socket closed over unread octets is reset, and the client may lose the answer.
    fn close(mut self) -> io::Result<()> {
        self.stream.shutdown(Shutdown::Write)?;
        self.stream.set_read_timeout(Some(Duration::from_secs(1)))?;
        let mut rest = (&mut self.stream).take(64 * 1024);
        io::copy(&mut rest, &mut io::sink()).map(|_| ())
    }

    /// Whether the client has closed its side: then nobody waits for an answer.
    fn left(&self) -> io::Result<bool> {
        self.stream.set_nonblocking(true)?;
        let peeked = self.stream.peek(&mut [0]);
        self.stream.set_nonblocking(false)?;
        match peeked {
            Ok(octets) => Ok(octets == 0),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(e) => Err(e),
        }
    }
}

/// A chunked response body (RFC 9112, section 7.1).
pub struct Chunked<'c> {
    connection: &'c mut Connection,
    buffer: Vec<u8>,
}

impl Chunked<'_> {
    /// Sends a chunk, and doesn't wait for more to send with it.
    ///
    /// # Errors
    /// The client is gone.
    pub fn chunk(&mut self, payload: &[u8]) -> io::Result<()> {
        // An empty payload would be the last chunk.
        if payload.is_empty() {
            return Ok(());
        }
        // The size in hexadecimal, CRLF, the payload, CRLF.
        write!(self.buffer, "{:x}\r\n", payload.len())?;
        self.buffer.extend_from_slice(payload);
        self.buffer.extend_from_slice(b"\r\n");
        self.flush()
    }

    /// Sends what waits: the head, before the first chunk.
    ///
    /// # Errors
    /// The client is gone.
    pub fn flush(&mut self) -> io::Result<()> {
        self.connection.stream.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    /// Whether the client has left.
    ///
    /// # Errors
    /// It has, and by a reset.
    pub fn left(&self) -> io::Result<bool> {
        self.connection.left()
    }

    /// Ends the body: the last chunk, whose size is 0, and an empty trailer section.
    ///
    /// # Errors
    /// The client is gone.
    pub fn finish(mut self) -> io::Result<()> {
        self.buffer.extend_from_slice(b"0\r\n\r\n");
        self.flush()
    }
}

/// Reads a request's head; `None` if it isn't whole yet.
fn parse(octets: &[u8]) -> Result<Option<Head>, Refusal> {
    const BAD: Refusal = Refusal::Status("400 Bad Request");

    let mut fields = [httparse::EMPTY_HEADER; FIELD_LIMIT];
    let mut parsed = httparse::Request::new(&mut fields);
    let size = match parsed.parse(octets) {
        Ok(httparse::Status::Complete(size)) if size <= HEAD_LIMIT => size,
        Ok(httparse::Status::Partial) => return Ok(None),
        Ok(_) | Err(httparse::Error::TooManyHeaders) => {
            return Err(Refusal::Status("431 Request Header Fields Too Large"));
        }
        Err(_) => return Err(BAD),
    };
    let (Some(method), Some(target), Some(version)) = (parsed.method, parsed.path, parsed.version) else {
        return Err(BAD);
    };
    if version != 1 {
        // An HTTP/1.0 client doesn't know chunks.
        return Err(Refusal::Status("505 HTTP Version Not Supported"));
    }
    let mut head = Head {
        request: Request {
            method: method.to_owned(),
            target: target.to_owned(),
            body: Vec::new(),
            close: false,
        },
        octets: size,
        body: 0,
        waits: false,
    };
    for field in parsed.headers.iter() {
        let value = String::from_utf8_lossy(field.value);
        let value = value.trim();
        if field.name.eq_ignore_ascii_case("content-length") {
            head.body = value.parse().map_err(|_| BAD)?;
        } else if field.name.eq_ignore_ascii_case("transfer-encoding") {
            return Err(Refusal::Status("411 Length Required"));
        } else if field.name.eq_ignore_ascii_case("connection") {
            head.request.close |= value.eq_ignore_ascii_case("close");
        } else if field.name.eq_ignore_ascii_case("expect") {
            head.waits |= value.eq_ignore_ascii_case("100-continue");
        }
    }
    if head.body > BODY_LIMIT {
        return Err(Refusal::Status("413 Content Too Large"));
    }
    Ok(Some(head))
}

/// Now, as HTTP writes it (RFC 9110, section 5.6.7).
fn date() -> jiff::fmt::strtime::Display<'static> {
    jiff::Timestamp::now().strftime("%a, %d %b %Y %H:%M:%S GMT")
}
