//! SARIF 2.1.0 (OASIS) for code scanning: a result a violation or a finding of
//! `--lint`, a notification a problem.
//!
//! A capture has neither lines nor symbols. Where tools ask for a line, it is
//! the frame, which is what one looks up in Wireshark; stream, exchange and
//! chunk are logical locations. Fingerprints are made of what stays the same
//! when the same conversation is recorded again: the rule, the request, and
//! the how-manieth it is. What `--allow` lets pass is a suppressed note. What
//! made chunk edges differ from event edges is told once an exchange, by the
//! first result on a chunk's events.
//!
//! Code scanning refuses logs with more than 25,000 results. So those of an
//! exchange and of a run are bounded, errors and notes apart, and a
//! notification says how many are left out.
//!
//! Results go to a [`Spool`] until their capture is done, then to the output
//! in the order of their exchanges; notifications come behind all results, so
//! they wait in another. Memory doesn't grow with the capture.
//!
//! The file is long since the shapes of the format stand in it, each a few lines,
//! which say nothing without what fills them.

use std::collections::HashMap;
use std::io::{self, Seek as _, SeekFrom, Write};

use foldhash::fast::RandomState;
use serde::Serialize;
use tempfile::SpooledTempFile;

use crate::lint::Lint;
use crate::report::cases::{Cases, allowed, allowed_words, answered_in, plain, problem_words, sentences};
use crate::report::closing::Run;
use crate::report::codes::{Code, LEFT_OUT, LINTS, NOTHING, PROBLEMS, RULES, UNREADABLE, UNVERIFIED, rule};
use crate::report::phrases::request_line;
use crate::report::spool::{Slot, Spool};
use crate::report::text::{counted, fit_middle, grouped, printable};
use crate::report::why::hint_text;
use crate::report::{
    CaptureEnd, Conclusion, ExchangeEnd, ExchangeHead, ExchangeId, ExchangeVerdict, Finding, Format, Outcome,
    Problem, Report, Violation, ViolationCode,
};
use crate::units::FrameNo;
use crate::verdict::Allow;

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// Octets of notifications kept in memory.
const KEPT: usize = 1 << 20;

/// Targets whose exchanges are numbered for fingerprints: more than anybody
/// looks at. Beyond, equal ones are told apart within their exchange only.
const NUMBERED: usize = 100_000;

/// Columns of a request in a message.
const REQUEST_COLUMNS: usize = 120;

/// Results that code scanning takes of a run.
const MOST: u64 = 25_000;

/// Errors of a run that are listed.
const ERRORS: u64 = 20_000;

/// Notes of a run that are listed: what is allowed, and what `--lint` found
/// that fails nothing.
const NOTES: u64 = 4_000;

/// Results on captures as a whole.
const OF_CAPTURES: u64 = 1_000;

const _: () = assert!(ERRORS + NOTES + OF_CAPTURES <= MOST, "a run has room for each kind");

/// Results of an exchange that are listed, errors and notes each.
const OF_EXCHANGE: u64 = 1_000;

/// The name of our fingerprints; a new way to make them gets a new number.
const FINGERPRINT: &str = "chunkscopeFinding/v1";

/// What GitHub compares.
const LINE_HASH: &str = "primaryLocationLineHash";

/// Writes a SARIF log.
#[derive(Debug)]
pub struct SarifReport<W> {
    out: W,
    allow: Allow,
    begun: bool,
    cases: Cases,
    run: Run,
    /// The results of the capture that is read, each with a comma before it.
    spool: Spool,
    /// Whether a result is out.
    any: bool,
    notifications: SpooledTempFile,
    artifacts: Vec<Artifact>,
    path: String,
    open: HashMap<ExchangeId, Subject, RandomState>,
    /// How many exchanges with a request's hash had results.
    numbered: HashMap<u64, u64, RandomState>,
    errors: Room,
    notes: Room,
    of_captures: Room,
}

/// Room for a number of results; what finds none is counted.
#[derive(Debug)]
struct Room {
    left: u64,
    left_out: u64,
}

impl Room {
    const fn of(left: u64) -> Self {
        Self { left, left_out: 0 }
    }

    /// Whether one more has room, both here and `within`.
    const fn take(&mut self, within: &mut u64) -> bool {
        if self.left == 0 || *within == 0 {
            self.left_out += 1;
            return false;
        }
        self.left -= 1;
        *within -= 1;
        true
    }
}

/// The parts of an exchange's results.
#[derive(Debug, Clone, Copy)]
#[repr(u8)]
enum Part {
    Before,
    /// The one that waits for the exchange's end, for what made it.
    Held,
    Behind,
}

/// What results say of their exchange.
#[derive(Debug)]
struct Subject {
    request: String,
    /// Of what stays the same of the request when it is made again.
    hash: u64,
    /// The how-manieth exchange with this request that has results, once it has.
    number: Option<u64>,
    /// Results of each rule so far.
    counts: [u64; RULES.len() + LINTS.len()],
    /// Results for which there is room yet: errors, and notes.
    room: [u64; 2],
    /// The first that is about the events of a chunk, and its fingerprint.
    held: Option<Box<(Found, String)>>,
}

impl<W: Write> SarifReport<W> {
    /// A report that is written to `out` capture by capture.
    pub fn new(out: W, allow: Allow) -> Self {
        Self {
            out,
            allow,
            begun: false,
            cases: Cases::new(allow),
            run: Run::default(),
            spool: Spool::new(),
            any: false,
            notifications: SpooledTempFile::new(KEPT),
            artifacts: Vec::new(),
            path: String::new(),
            open: HashMap::default(),
            numbered: HashMap::default(),
            errors: Room::of(ERRORS),
            notes: Room::of(NOTES),
            of_captures: Room::of(OF_CAPTURES),
        }
    }

    fn begin(&mut self) -> io::Result<()> {
        if std::mem::replace(&mut self.begun, true) {
            return Ok(());
        }
        write!(
            self.out,
            "{{\n\"$schema\": \"{SCHEMA}\",\n\"version\": \"2.1.0\",\n\"runs\": [{{\n\"tool\": "
        )?;
        serde_json::to_writer_pretty(&mut self.out, &Tool { driver: Driver::new() })?;
        self.out.write_all(b",\n\"results\": [")
    }

    fn violation(&mut self, violation: &Violation, told: &str) -> io::Result<()> {
        let id = violation.exchange;
        let about_events = matches!(
            violation.code,
            ViolationCode::SeveralEvents
                | ViolationCode::PartialEvent
                | ViolationCode::MixedEvents
                | ViolationCode::NotAnEvent
        );
        let finding = Found {
            rule: violation.code.name(),
            level: Level::Error,
            text: told.to_owned(),
            chunk: violation.chunk,
            frame: violation.frame,
            allowed: None,
            about_events,
        };
        self.of_exchange(id, finding)
    }

    fn lint(&mut self, lint: &Lint) -> io::Result<()> {
        let level = match lint.denied {
            true => Level::Error,
            false if lint.code.is_ordinary() => Level::None,
            false => Level::Note,
        };
        let event = lint.event.map(|event| format!("event {}: ", grouped(event))).unwrap_or_default();
        let finding = Found {
            rule: lint.code.name(),
            level,
            text: format!("{event}{}", printable(&lint.message)),
            chunk: lint.chunk,
            frame: lint.frame,
            allowed: None,
            about_events: false,
        };
        self.of_exchange(lint.exchange, finding)
    }

    fn of_exchange(&mut self, id: ExchangeId, finding: Found) -> io::Result<()> {
        let Some(subject) = self.open.get_mut(&id) else { return Ok(()) };
        let [errors, notes] = &mut subject.room;
        let has_room = match finding.level {
            Level::Error | Level::Warning => self.errors.take(errors),
            Level::Note | Level::None => self.notes.take(notes),
        };
        if !has_room {
            return Ok(());
        }
        let number = match subject.number {
            Some(number) => number,
            None => {
                let room = self.numbered.len() < NUMBERED || self.numbered.contains_key(&subject.hash);
                let number = if room { *self.numbered.entry(subject.hash).or_default() } else { 0 };
                if room {
                    self.numbered.insert(subject.hash, number + 1);
                }
                subject.number = Some(number);
                number
            }
        };
        let rule_index = rule(finding.rule).unwrap_or_default();
        let count = subject.counts.get_mut(rule_index);
        let ordinal = count.map_or(0, |count| {
            *count += 1;
            *count
        });
        let mut hash = Fnv::default();
        hash.add(&[finding.rule.as_bytes(), &subject.hash.to_le_bytes(), &number.to_le_bytes()]);
        let fingerprint = format!("{:016x}:{ordinal}", hash.0);
        let part = match &subject.held {
            Some(_) => Part::Behind,
            None if finding.about_events => {
                subject.held = Some(Box::new((finding, fingerprint)));
                return Ok(());
            }
            None => Part::Before,
        };
        let request = subject.request.clone();
        let line = self.result(id, &request, &finding, &fingerprint, "")?;
        self.spool.append(Slot { exchange: id, part: part as u8 }, &line)
    }

    /// A result on an exchange, as a line.
    fn result(
        &self,
        id: ExchangeId,
        request: &str,
        finding: &Found,
        fingerprint: &str,
        causes: &str,
    ) -> io::Result<Vec<u8>> {
        let text = message(&format!("{request}: {}.{causes}", finding.text.trim_end_matches('.')));
        let properties =
            Properties { stream: id.stream.map(|stream| stream.0), exchange: id.index, chunk: finding.chunk };
        line(&Outcoming {
            rule_id: finding.rule,
            rule_index: rule(finding.rule).unwrap_or_default(),
            kind: finding.level.kind(),
            level: finding.level,
            message: Message { text },
            locations: [self.location(finding.frame, Some((id, finding.chunk)))],
            partial_fingerprints: Some(Fingerprints([(FINGERPRINT, fingerprint), (LINE_HASH, fingerprint)])),
            suppressions: finding.allowed.as_deref().map(Suppression::by),
            properties: Some(properties),
        })
    }

    /// A place in the capture that is read, which will be the next artifact.
    fn location(&self, frame: Option<FrameNo>, within: Option<(ExchangeId, Option<u64>)>) -> Location {
        Location {
            physical_location: PhysicalLocation {
                artifact_location: ArtifactLocation {
                    uri: uri(&self.path),
                    index: Some(self.artifacts.len()),
                },
                region: Region { start_line: frame.map_or(1, FrameNo::get) },
            },
            logical_locations: within.map(|(id, chunk)| [LogicalLocation::of(id, chunk)]),
        }
    }

    fn exchange(&mut self, end: &ExchangeEnd) -> io::Result<()> {
        let id = end.head.id;
        let case = self.cases.end(end);
        self.run.exchange(end, &case.failures);
        if end.verdict == ExchangeVerdict::Unverified {
            let said = plain(&sentences(self.allow).verdict_text(end));
            let (frame, text) = match case.doubt {
                Some((frame, doubt)) => (frame, format!("{said}. First, {doubt}")),
                None => (None, said),
            };
            let allowed = self.allow.gaps.then(|| "--allow gaps".to_owned());
            let level = if allowed.is_some() { Level::Note } else { Level::Error };
            let finding =
                Found { rule: UNVERIFIED, level, text, chunk: None, frame, allowed, about_events: true };
            self.of_exchange(id, finding)?;
        }
        for (code, word, count) in allowed(&end.tally, self.allow) {
            let finding = Found {
                rule: code.name(),
                level: Level::Note,
                text: allowed_words(code, count),
                chunk: None,
                frame: answered_in(end),
                allowed: Some(format!("--allow {word}")),
                about_events: true,
            };
            self.of_exchange(id, finding)?;
        }
        let Some(subject) = self.open.remove(&id) else { return Ok(()) };
        let Some(held) = subject.held else { return Ok(()) };
        let (finding, fingerprint) = &*held;
        let causes = end.hints.iter().map(|hint| format!(" Likely cause: {}", plain(&hint_text(hint))));
        let line = self.result(id, &subject.request, finding, fingerprint, &causes.collect::<String>())?;
        self.spool.append(Slot { exchange: id, part: Part::Held as u8 }, &line)
    }

    fn capture(&mut self, end: &CaptureEnd) -> io::Result<()> {
        self.run.capture(end);
        self.open.clear();
        self.begin()?;
        let (out, any) = (&mut self.out, &mut self.any);
        self.spool.drain(|_, octets| write_results(out, any, octets))?;
        if let Some(reason) = &end.unread {
            let text = format!("{}: {}", printable(&end.path), printable(reason));
            self.of_run(UNREADABLE, Level::Error, &text, None)?;
        }
        for problem in &end.problems {
            self.notification(problem, end)?;
        }
        let mime_type = match end.format {
            // RFC 9112, section 10.1.
            Some(Format::Http) => Some("message/http"),
            Some(Format::Pcap) => Some("application/vnd.tcpdump.pcap"),
            Some(Format::Pcapng) => Some("application/x-pcapng"),
            Some(Format::Segments) | None => None,
        };
        let parts = if end.parts.is_empty() { std::slice::from_ref(&end.path) } else { &end.parts };
        self.artifacts.extend(parts.iter().map(|path| Artifact {
            location: ArtifactLocation { uri: uri(path), index: None },
            mime_type,
            roles: ["analysisTarget"],
        }));
        Ok(())
    }

    /// A result on the capture that is read as a whole, written at once.
    fn of_run(
        &mut self,
        rule_id: &'static str,
        level: Level,
        text: &str,
        allowed: Option<&str>,
    ) -> io::Result<()> {
        // A log of which the last word is that nothing was checked has room for it.
        let mut room = u64::MAX;
        if rule_id != NOTHING && !self.of_captures.take(&mut room) {
            return Ok(());
        }
        let mut hash = Fnv::default();
        hash.add(&[rule_id.as_bytes(), self.path.as_bytes()]);
        let fingerprint = format!("{:016x}:1", hash.0);
        let result = Outcoming {
            rule_id,
            rule_index: rule(rule_id).unwrap_or_default(),
            kind: level.kind(),
            level,
            message: Message { text: message(&format!("{}.", text.trim_end_matches('.'))) },
            locations: [self.location(None, None)],
            partial_fingerprints: Some(Fingerprints([
                (FINGERPRINT, &fingerprint),
                (LINE_HASH, &fingerprint),
            ])),
            suppressions: allowed.map(Suppression::by),
            properties: None,
        };
        write_results(&mut self.out, &mut self.any, &line(&result)?)
    }

    fn notification(&mut self, problem: &Problem, end: &CaptureEnd) -> io::Result<()> {
        let frame = problem.frame.filter(|_| end.packets > 0);
        let mut location = self.location(frame, None);
        location.logical_locations = problem.stream.map(|stream| {
            let name = format!("stream {stream}");
            [LogicalLocation { fully_qualified_name: name.clone(), name, kind: "stream" }]
        });
        let notification = Notification {
            descriptor: Descriptor {
                id: problem.code,
                index: PROBLEMS.iter().position(|code| code.id == problem.code),
            },
            level: if problem.code == UNREADABLE { Level::Error } else { Level::Warning },
            message: Message { text: message(&problem_words(problem, end)) },
            locations: Some([location]),
        };
        self.notify(&notification)
    }

    fn notify(&mut self, notification: &Notification) -> io::Result<()> {
        self.notifications.write_all(b",\n")?;
        serde_json::to_writer(&mut self.notifications, notification)?;
        Ok(())
    }

    /// Says how many results are left out, if any are.
    fn left_out(&mut self) -> io::Result<()> {
        let counts = [
            (self.errors.left_out, "error"),
            (self.notes.left_out, "note"),
            (self.of_captures.left_out, "capture"),
        ];
        let counts: Vec<_> = counts
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, noun)| counted(count, noun))
            .collect();
        if counts.is_empty() {
            return Ok(());
        }
        let text = format!(
            "Left out: {}. Of an exchange {} results are listed, of a run {} errors and {} notes. {}",
            counts.join(", "),
            grouped(OF_EXCHANGE),
            grouped(ERRORS),
            grouped(NOTES),
            LEFT_OUT.advice,
        );
        self.notify(&Notification {
            descriptor: Descriptor { id: LEFT_OUT.id, index: Some(PROBLEMS.len()) },
            level: Level::Warning,
            message: Message { text },
            locations: None,
        })
    }
}

/// A result before it is put together.
#[derive(Debug)]
struct Found {
    rule: &'static str,
    level: Level,
    text: String,
    chunk: Option<u64>,
    frame: Option<FrameNo>,
    /// The option that lets it pass.
    allowed: Option<String>,
    /// Whether what made chunk edges differ from event edges explains it.
    about_events: bool,
}

/// A result on a line of its own, behind a comma.
fn line(result: &Outcoming<'_>) -> io::Result<Vec<u8>> {
    let mut line = b",\n".to_vec();
    serde_json::to_writer(&mut line, result)?;
    Ok(line)
}

/// Writes results; the very first one has no comma before it.
fn write_results(out: &mut impl Write, any: &mut bool, octets: &[u8]) -> io::Result<()> {
    let first = !std::mem::replace(any, true);
    out.write_all(octets.get(usize::from(first)..).unwrap_or_default())
}

impl<W: Write> Report for SarifReport<W> {
    fn finding(&mut self, finding: &Finding<'_>) -> io::Result<()> {
        let told = self.cases.take(finding);
        match finding {
            Finding::Capture(path) => {
                (*path).clone_into(&mut self.path);
                self.run.begin(path);
                self.begin()
            }
            Finding::Exchange(head) => {
                self.open.insert(head.id, Subject::of(head));
                Ok(())
            }
            Finding::Violation(violation) => match told {
                Some((_, told)) => self.violation(violation, &told),
                None => Ok(()),
            },
            Finding::ExchangeEnd(end) => self.exchange(end),
            Finding::CaptureEnd(end) => self.capture(end),
            Finding::Lint(lint) => self.lint(lint),
            Finding::Event(..) | Finding::Chunk(_) => Ok(()),
        }
    }

    fn finish(&mut self, conclusion: &Conclusion) -> io::Result<()> {
        self.begin()?;
        if conclusion.outcome == Outcome::Empty {
            let said = self.cases.conclude(conclusion);
            let (level, allowed) = if self.allow.nothing {
                (Level::Note, Some("--allow nothing"))
            } else {
                (Level::Error, None)
            };
            // It is said of the last capture: a result needs a place.
            if let Some(last) = self.artifacts.pop() {
                self.of_run(NOTHING, level, &said, allowed)?;
                self.artifacts.push(last);
            }
        }
        self.left_out()?;
        let out = &mut self.out;
        out.write_all(b"\n],\n\"artifacts\": ")?;
        serde_json::to_writer_pretty(&mut *out, &self.artifacts)?;
        let status = conclusion.exit_status(self.allow);
        write!(
            out,
            ",\n\"invocations\": [{{\n\"executionSuccessful\": {},\n\"exitCode\": {status},\n\
             \"exitCodeDescription\": {},\n\"toolExecutionNotifications\": [",
            status != 2,
            serde_json::to_string(&self.cases.conclude(conclusion))?,
        )?;
        self.notifications.seek(SeekFrom::Start(0))?;
        let mut comma = [0];
        // Behind the first one's comma.
        if io::Read::read(&mut self.notifications, &mut comma)? > 0 {
            io::copy(&mut self.notifications, out)?;
        }
        out.write_all(b"\n]\n}],\n\"columnKind\": \"unicodeCodePoints\"")?;
        let left_out = [&self.errors, &self.notes, &self.of_captures].map(|room| room.left_out);
        if let [errors, notes, captures] = left_out
            && errors + notes + captures > 0
        {
            let counts = format!("{{\"errors\": {errors}, \"notes\": {notes}, \"captures\": {captures}}}");
            write!(out, ",\n\"properties\": {{\"resultsLeftOut\": {counts}}}")?;
        }
        out.write_all(b"\n}]\n}\n")?;
        out.flush()
    }
}

impl Subject {
    fn of(head: &ExchangeHead) -> Self {
        let request = fit_middle(&request_line(head), REQUEST_COLUMNS).into_owned();
        let mut hash = Fnv::default();
        match &head.request {
            Some(request) => {
                let target = steady(request.target.as_deref().unwrap_or_default());
                hash.add(&[request.method.as_deref().unwrap_or_default().as_bytes(), target.as_bytes()]);
            }
            None => hash.add(&[]),
        }
        Self {
            request,
            hash: hash.0,
            number: None,
            counts: [0; RULES.len() + LINTS.len()],
            room: [OF_EXCHANGE; 2],
            held: None,
        }
    }
}

/// A request target without what differs each time that a watch is begun.
fn steady(target: &str) -> String {
    const FLEETING: [&str; 4] = ["resourceVersion", "timeout", "timeoutSeconds", "continue"];
    let Some((path, query)) = target.split_once('?') else { return target.to_owned() };
    let kept = query.split('&').filter(|pair| {
        let name = pair.split_once('=').map_or(*pair, |(name, _)| name);
        !FLEETING.contains(&name)
    });
    format!("{path}?{}", kept.collect::<Vec<_>>().join("&"))
}

/// FNV-1a: the same for all versions and machines, as fingerprints must be.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    /// Adds texts, with an edge between each two.
    fn add(&mut self, texts: &[&[u8]]) {
        for octet in texts.iter().flat_map(|text| text.iter().chain(&[0xff])) {
            self.0 = (self.0 ^ u64::from(*octet)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

/// A text that no viewer takes for one with a link in it (SARIF 2.1.0,
/// section 3.11.6).
fn message(text: &str) -> String {
    text.replace("](", "\\](")
}

/// A path as a URI reference (RFC 3986): relative stays relative.
fn uri(path: &str) -> String {
    let path = if cfg!(windows) { path.replace('\\', "/") } else { path.to_owned() };
    let mut uri = String::new();
    if path.starts_with('/') {
        uri.push_str("file://");
    } else if path.split('/').next().is_some_and(|step| step.contains(':')) {
        // What stands before a colon would be a scheme (section 4.2).
        uri.push_str("./");
    }
    for octet in path.bytes() {
        match octet {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                uri.push(char::from(octet));
            }
            b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b';' | b'=' | b':' | b'@' => {
                uri.push(char::from(octet));
            }
            _ => uri.push_str(&format!("%{octet:02X}")),
        }
    }
    uri
}

#[derive(Serialize)]
struct Tool {
    driver: Driver,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Driver {
    name: &'static str,
    version: &'static str,
    semantic_version: &'static str,
    rules: Vec<Rule>,
    notifications: Vec<Rule>,
}

impl Driver {
    fn new() -> Self {
        let version = env!("CARGO_PKG_VERSION");
        let rules = RULES.iter().map(|code| Rule::of(code, Level::Error));
        let lints = LINTS.iter().map(|code| Rule::of(code, Level::Note));
        let notifications = PROBLEMS.iter().chain([&LEFT_OUT]).map(|code| Rule::of(code, Level::Warning));
        Self {
            name: "chunkscope",
            version,
            semantic_version: version,
            rules: rules.chain(lints).collect(),
            notifications: notifications.collect(),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Rule {
    id: &'static str,
    /// The id in PascalCase: some viewers show only names.
    name: String,
    short_description: Message,
    full_description: Message,
    help: Help,
    default_configuration: Configuration,
}

impl Rule {
    fn of(code: &Code, level: Level) -> Self {
        let name = code.id.split('-').map(|word| match word.split_at_checked(1) {
            Some((first, rest)) => first.to_ascii_uppercase() + rest,
            None => String::new(),
        });
        Self {
            id: code.id,
            name: name.collect(),
            short_description: Message { text: format!("{}.", code.title) },
            full_description: Message { text: format!("{}. {}", code.title, code.meaning) },
            help: Help {
                text: format!("{}\n\nWhat to do: {}", code.meaning, code.advice),
                markdown: format!("{}\n\n**What to do:** {}", code.meaning, code.advice),
            },
            default_configuration: Configuration { level },
        }
    }
}

#[derive(Serialize)]
struct Help {
    text: String,
    markdown: String,
}

#[derive(Serialize)]
struct Configuration {
    level: Level,
}

#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "lowercase")]
enum Level {
    Error,
    Warning,
    Note,
    None,
}

impl Level {
    /// What has no level is no fault (SARIF 2.1.0, section 3.27.10).
    const fn kind(self) -> Option<&'static str> {
        match self {
            Self::None => Some("informational"),
            _ => None,
        }
    }
}

#[derive(Serialize)]
struct Message {
    text: String,
}

/// A result.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Outcoming<'a> {
    rule_id: &'static str,
    rule_index: usize,
    /// `fail` unless it is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    level: Level,
    message: Message,
    locations: [Location; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    partial_fingerprints: Option<Fingerprints<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    suppressions: Option<[Suppression; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    properties: Option<Properties>,
}

struct Fingerprints<'a>([(&'static str, &'a str); 2]);

impl Serialize for Fingerprints<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0)
    }
}

#[derive(Serialize)]
struct Suppression {
    kind: &'static str,
    status: &'static str,
    justification: String,
}

impl Suppression {
    fn by(option: &str) -> [Self; 1] {
        [Self { kind: "external", status: "accepted", justification: option.to_owned() }]
    }
}

#[derive(Serialize)]
struct Properties {
    stream: Option<u64>,
    exchange: u64,
    chunk: Option<u64>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Location {
    physical_location: PhysicalLocation,
    #[serde(skip_serializing_if = "Option::is_none")]
    logical_locations: Option<[LogicalLocation; 1]>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PhysicalLocation {
    artifact_location: ArtifactLocation,
    region: Region,
}

#[derive(Debug, Serialize)]
struct ArtifactLocation {
    uri: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<usize>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    start_line: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LogicalLocation {
    name: String,
    fully_qualified_name: String,
    kind: &'static str,
}

impl LogicalLocation {
    fn of(id: ExchangeId, chunk: Option<u64>) -> Self {
        let mut path = id.stream.map(|stream| format!("stream {stream}/")).unwrap_or_default();
        let mut name = format!("exchange {}", id.index);
        path.push_str(&name);
        let mut kind = "exchange";
        if let Some(chunk) = chunk {
            (name, kind) = (format!("chunk {chunk}"), "chunk");
            path = format!("{path}/{name}");
        }
        Self { name, fully_qualified_name: path, kind }
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Artifact {
    location: ArtifactLocation,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<&'static str>,
    roles: [&'static str; 1],
}

#[derive(Serialize)]
struct Notification {
    descriptor: Descriptor,
    level: Level,
    message: Message,
    #[serde(skip_serializing_if = "Option::is_none")]
    locations: Option<[Location; 1]>,
}

#[derive(Serialize)]
struct Descriptor {
    id: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<usize>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;

    #[test]
    fn the_results_on_everything_read_so() {
        let mut out = Vec::new();
        samples::tell(&mut SarifReport::new(&mut out, Allow::default()), &samples::everything());
        let text = String::from_utf8(out).unwrap();
        let (_, behind) = text.split_once("\"results\": ").unwrap();
        insta::assert_snapshot!(behind);
    }

    #[test]
    fn what_differs_each_time_is_no_part_of_a_fingerprint() {
        let target = "/api/v1/pods?resourceVersion=17&watch=1&timeoutSeconds=5&timeout=9s&continue=abc&labelSelector=a";
        assert_eq!(steady(target), "/api/v1/pods?watch=1&labelSelector=a");
        assert_eq!(steady("/x?resourceVersionMatch=Exact"), "/x?resourceVersionMatch=Exact");
        assert_eq!(steady("/x"), "/x");
    }

    #[test]
    fn fingerprints_are_those_of_the_published_function() {
        // The test vectors of FNV-1a, 64 bits.
        let hash = |text: &str| {
            text.bytes().fold(Fnv::default().0, |hash, octet| {
                (hash ^ u64::from(octet)).wrapping_mul(0x0000_0100_0000_01b3)
            })
        };
        assert_eq!(hash("foobar"), 0x8594_4171_f739_67e8);
        let mut one = Fnv::default();
        one.add(&[b"ab", b"c"]);
        let mut other = Fnv::default();
        other.add(&[b"a", b"bc"]);
        assert_ne!(one.0, other.0);
    }

    #[test]
    fn uris_are_relative_where_paths_are() {
        assert_eq!(uri("a/b.pcap"), "a/b.pcap");
        assert_eq!(uri("../a b.pcap"), "../a%20b.pcap");
        assert_eq!(uri("/tmp/x#1?.pcap"), "file:///tmp/x%231%3F.pcap");
        assert_eq!(uri("12:30.pcap"), "./12:30.pcap");
        assert_eq!(uri("a/12:30.pcap"), "a/12:30.pcap");
        assert_eq!(uri("ü%\\\u{fffd}"), "%C3%BC%25%5C%EF%BF%BD");
    }
}
