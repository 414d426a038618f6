//! Short words of the page: times, sizes, events, and the signs of verdicts.

use crate::report::text::{counted, fit, fit_middle, grouped, printable};
use crate::report::{Event, ExchangeId, ExchangeVerdict, Outcome};
use crate::units::Timestamp;
use crate::verdict::Verdict;

/// Nanoseconds in the unit that reads best: `350 ns`, `12.4 ms`, `1.994 s`,
/// `12 min 3 s`, `3 h 12 min`.
pub(super) fn duration(nanos: i64) -> String {
    let sign = if nanos < 0 { "−" } else { "" };
    let nanos = nanos.unsigned_abs();
    let text = match nanos {
        0 => "0 s".to_owned(),
        1..1_000 => format!("{nanos} ns"),
        1_000..1_000_000 => three_digits(nanos, 1_000, "µs"),
        1_000_000..1_000_000_000 => three_digits(nanos, 1_000_000, "ms"),
        1_000_000_000..120_000_000_000 => {
            format!("{}.{:03} s", nanos / 1_000_000_000, nanos / 1_000_000 % 1_000)
        }
        120_000_000_000..7_200_000_000_000 => {
            let seconds = nanos / 1_000_000_000;
            format!("{} min {} s", seconds / 60, seconds % 60)
        }
        _ => {
            let minutes = nanos / 60_000_000_000;
            format!("{} h {} min", grouped(minutes / 60), minutes % 60)
        }
    };
    format!("{sign}{text}").replace(' ', "\u{a0}")
}

/// `1.23 ms`, `12.3 ms`, `123 ms`.
fn three_digits(nanos: u64, unit: u64, name: &str) -> String {
    let hundredths = nanos / (unit / 100);
    match hundredths {
        0..1_000 => format!("{}.{:02} {name}", hundredths / 100, hundredths % 100),
        1_000..10_000 => format!("{}.{} {name}", hundredths / 100, hundredths / 10 % 10),
        _ => format!("{} {name}", hundredths / 100),
    }
}

/// The time from one stamp to another; `None` where one of them isn't known.
pub(super) fn since(at: Option<Timestamp>, base: Option<Timestamp>) -> Option<i64> {
    Some(clamp(at?.nanos_since(base?)))
}

fn clamp(nanos: i128) -> i64 {
    // 292 years; a capture with longer gaps has clocks that jump.
    i64::try_from(nanos).unwrap_or(if nanos < 0 { i64::MIN + 1 } else { i64::MAX })
}

/// `+1.994 s`, as a table shows it.
pub(super) fn after(nanos: i64) -> String {
    if nanos < 0 { duration(nanos) } else { format!("+{}", duration(nanos)) }
}

/// `1,024 (0x400)`.
pub(super) fn both_bases(octets: u64) -> String {
    format!("{} (0x{octets:x})", grouped(octets))
}

/// What an event is called: `MODIFIED ConfigMap kube-system/coredns`.
pub(super) fn event_name(event: &Event) -> String {
    let summary = &event.summary;
    let mut words = Vec::new();
    words.extend(summary.event_type.as_deref().map(|name| fit(&printable(name), 30).into_owned()));
    words.extend(summary.kind.as_deref().map(|name| fit(&printable(name), 40).into_owned()));
    words.extend(match (&summary.namespace, &summary.name) {
        (Some(namespace), Some(name)) => {
            Some(fit_middle(&printable(&format!("{namespace}/{name}")), 60).into_owned())
        }
        (_, name) => name.as_deref().map(|name| fit_middle(&printable(name), 60).into_owned()),
    });
    if summary.kind.is_none()
        && let Some(data) = &summary.data
    {
        words.push(fit(&printable(data), 60).into_owned());
    }
    words.join(" ")
}

/// An event's type, as the filter lists it.
pub(super) fn event_type(event: &Event) -> Option<String> {
    event.summary.event_type.as_deref().map(|name| fit(&printable(name), 30).replace(' ', "\u{a0}"))
}

/// Which part of an event a chunk holds.
pub(super) const fn part_of(event: &Event, chunk: u64) -> &'static str {
    match (event.first_chunk < chunk, event.last_chunk > chunk) {
        (false, false) => "",
        (true, false) => "end of ",
        (false, true) => "beginning of ",
        (true, true) => "middle of ",
    }
}

/// What a chunk's verdict means, in few words.
pub(super) const fn verdict_words(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::One => "one event",
        Verdict::Several => "several events",
        Verdict::Part => "part of an event",
        Verdict::Mixed => "parts of several",
        Verdict::Invalid(_) => "no event",
        Verdict::Unverified(_) => "unverified",
        Verdict::Unchecked(_) => "not checked",
    }
}

/// How bad a verdict is, the worst last; what a mark of many chunks shows.
pub(super) const fn severity(verdict: &Verdict) -> u8 {
    match verdict {
        Verdict::Unchecked(_) => 0,
        Verdict::One => 1,
        Verdict::Unverified(_) => 2,
        Verdict::Several => 3,
        Verdict::Part => 4,
        Verdict::Mixed => 5,
        Verdict::Invalid(_) => 6,
    }
}

/// The verdict's name of a [`severity`].
pub(super) const fn severity_name(severity: u8) -> &'static str {
    match severity {
        0 => "unchecked",
        1 => "one",
        2 => "unverified",
        3 => "several",
        4 => "part",
        5 => "mixed",
        _ => "invalid",
    }
}

/// The anchor of an exchange within the page.
pub(super) fn anchor(capture: u64, id: ExchangeId) -> String {
    match id.stream {
        Some(stream) => format!("c{capture}-s{stream}-x{}", id.index),
        None => format!("c{capture}-x{}", id.index),
    }
}

/// An exchange's verdict: its class and its word.
pub(super) const fn exchange_verdict(verdict: ExchangeVerdict) -> (&'static str, &'static str) {
    match verdict {
        ExchangeVerdict::Pass => ("good", "pass"),
        ExchangeVerdict::Fail => ("bad", "fail"),
        ExchangeVerdict::Unverified => ("doubt", "unverified"),
        ExchangeVerdict::Unchecked => ("none", "not checked"),
    }
}

/// The outcome of all: its class and its words.
pub(super) const fn outcome(outcome: Outcome) -> (&'static str, &'static str) {
    match outcome {
        Outcome::Pass => ("good", "Check passed"),
        Outcome::Fail => ("bad", "Check failed"),
        Outcome::Empty => ("none", "Nothing to check"),
    }
}

/// A share of a whole in percent with two decimals, as SVG takes it; 0 where
/// there is no whole.
pub(super) fn percent(part: f64, whole: f64) -> String {
    let share = if whole > 0.0 { (part / whole * 100.0).clamp(-1000.0, 1000.0) } else { 0.0 };
    let text = format!("{share:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{}%", if text == "-0" { "0" } else { text })
}

/// With its first letter in upper case.
pub(super) fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// `3 chunks`, for sentences that begin with it.
pub(super) fn chunks(count: u64) -> String {
    counted(count, "chunk")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_in_the_unit_that_fits() {
        let cases =
            [0, 350, 1_234, 12_345_000, 999_000_000, 1_994_123_456, 723_000_000_000, 11_520_000_000_000];
        let texts = cases.map(|nanos| duration(nanos).replace('\u{a0}', " "));
        assert_eq!(
            texts.join("; "),
            "0 s; 350 ns; 1.23 µs; 12.3 ms; 999 ms; 1.994 s; 12 min 3 s; 3 h 12 min"
        );
        assert_eq!(after(-1_500).replace('\u{a0}', " "), "−1.50 µs");
        assert_eq!(duration(i64::MIN + 1).matches('h').count(), 1);
    }

    #[test]
    fn shares_are_short_and_never_not_a_number() {
        assert_eq!(percent(1.0, 3.0), "33.33%");
        assert_eq!(percent(1.0, 2.0), "50%");
        assert_eq!(percent(0.0, 0.0), "0%");
        assert_eq!(percent(-0.0001, 100.0), "0%");
    }
}
