//! Pipes, errors of the system, and parts of a recording.

use super::*;
use crate::capture::NothingYet;

/// A pipe: gives its parts one read each, then isn't ready.
struct Pipe {
    parts: Vec<Vec<u8>>,
}

impl Read for Pipe {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.parts.is_empty() {
            return Err(io::Error::new(io::ErrorKind::WouldBlock, "it would wait"));
        }
        let mut part = self.parts.remove(0);
        let got = part.as_slice().read(out)?;
        if got < part.len() {
            self.parts.insert(0, part.split_off(got));
        }
        Ok(got)
    }
}

#[test]
fn packets_that_have_arrived_are_not_held_up() {
    let ng = [
        [section(Little), interface(Little, 1, 0, &[])].concat(),
        enhanced(Little, 0, MICROS, b"one", &[]),
        enhanced(Little, 0, MICROS, b"two", &[]),
    ];
    for parts in [[plain_header(), packet(0, b"one"), packet(1, b"two")], ng] {
        // Also with a part of the next packet behind them.
        for more in [vec![], parts[1][..10].to_vec()] {
            let pipe = Pipe { parts: [parts.to_vec(), vec![more]].concat() };
            let pipe = Pipe { parts: pipe.parts.into_iter().filter(|p| !p.is_empty()).collect() };
            let mut capture = CaptureReader::open(pipe, &Limits::default(), 1).unwrap();
            assert_eq!(capture.next_frame().unwrap().unwrap().data, b"one");
            assert_eq!(capture.next_frame().unwrap().unwrap().data, b"two");
            let error = capture.next_frame().unwrap_err();
            assert!(matches!(&error, CaptureError::Io { source, .. }
                if source.kind() == io::ErrorKind::WouldBlock));
        }
    }
}

#[test]
fn errors_of_the_system_come_behind_the_packets_and_keep_their_source() {
    let file = plain(&[b"one", b"two"]);
    for packed in [file.clone(), zstd::encode_all(&file[..], 1).unwrap()] {
        let length = packed.len();
        let mut capture = CaptureReader::open(Pipe { parts: vec![packed] }, &Limits::default(), 1).unwrap();
        assert!(capture.next_frame().unwrap().is_some());
        assert!(capture.next_frame().unwrap().is_some());
        let error = capture.next_frame().unwrap_err();
        assert!(error.to_string().contains(&format!("offset {length}")), "{error}");
        assert_eq!(std::error::Error::source(&error).unwrap().to_string(), "it would wait");
        assert_eq!(capture.next_frame().unwrap(), None);
        assert_eq!(capture.problems(), []);
    }
}

#[test]
fn parts_of_a_recording_are_ordered_and_numbered_on() {
    let file = plain(&[b"one", b"two"]);
    let mut capture = CaptureReader::open(&file[..], &Limits::default(), 41).unwrap();
    let first = capture.first_time().unwrap().unwrap();
    assert_eq!(first.to_string(), "2023-08-02T13:10:02.000005Z");
    assert_eq!(capture.first_time().unwrap(), Some(first), "asked twice");
    assert_eq!(capture.packets(), 0);
    let frame = capture.next_frame().unwrap().unwrap();
    assert_eq!((frame.stamp.frame.get(), frame.data), (41, b"one".as_slice()));
    assert_eq!(capture.packets(), 1);
    assert_eq!(capture.next_frame().unwrap().unwrap().stamp.frame.get(), 42);
    assert_eq!(capture.next_frame().unwrap(), None);
    assert_eq!(capture.packets(), 2);
}

#[test]
fn a_part_can_be_numbered_after_its_first_time_is_known() {
    let file = [
        section(Little),
        interface(Little, 1, 0, &[]),
        block(Little, 0xbad, b"custom"),
        enhanced(Little, 9, MICROS, b"of no interface", &[]),
        enhanced(Little, 0, MICROS, b"x", &[]),
        enhanced(Little, 9, MICROS, b"of no interface", &[]),
    ]
    .concat();
    let mut capture = CaptureReader::open(&file[..], &Limits::default(), 1).unwrap();
    capture.first_time().unwrap();
    capture.renumber(101);
    assert_eq!(capture.next_frame().unwrap().unwrap().stamp.frame.get(), 103);
    assert_eq!(capture.next_frame().unwrap(), None);
    assert_eq!(capture.packets(), 4);
    let problem = &capture.problems()[0];
    assert_eq!((problem.frame.map(|f| f.get()), problem.count), (Some(102), 2));
}

#[test]
fn captures_without_packets_have_no_first_time() {
    let file = plain_header();
    let mut capture = CaptureReader::open(&file[..], &Limits::default(), 1).unwrap();
    assert_eq!(capture.first_time().unwrap(), None);
    assert_eq!(capture.next_frame().unwrap(), None);
    assert_eq!(capture.packets(), 0);
    assert_eq!(capture.problems(), []);
}

/// Gives an octet a read, and before each of them says that there is none yet.
struct Hesitant<'a> {
    octets: &'a [u8],
    ready: bool,
}

impl Read for Hesitant<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.ready = !self.ready;
        if !self.ready {
            return Err(NothingYet.into());
        }
        let place = out.get_mut(..1).unwrap_or_default();
        self.octets.read(place)
    }
}

#[test]
fn that_there_is_nothing_yet_loses_nothing() {
    let ng = [
        section(Little),
        interface(Little, 1, 0, &[]),
        enhanced(Little, 0, MICROS, b"one", &[]),
        enhanced(Little, 0, MICROS, b"second", &[]),
    ]
    .concat();
    for (file, most) in [
        (plain(&[b"one", b"second"]), usize::MAX),
        (ng, usize::MAX),
        // A decoder can't stop within its data: it waits.
        (zstd::encode_all(&plain(&[b"one", b"second"])[..], 1).unwrap(), 0),
    ] {
        let source = Hesitant { octets: &file, ready: true };
        let mut capture = CaptureReader::open(source, &Limits::default(), 1).unwrap();
        let (mut found, mut nothing) = (Vec::new(), 0);
        loop {
            match capture.next_frame() {
                Ok(Some(frame)) => found.push(frame.data.to_vec()),
                Ok(None) => break,
                Err(error) => {
                    assert!(error.is_nothing_yet(), "{error}");
                    nothing += 1;
                }
            }
        }
        assert_eq!(found, [&b"one"[..], b"second"]);
        assert!(if most == 0 { nothing == 0 } else { nothing > 40 }, "{nothing}");
        assert_eq!(capture.problems(), []);
    }
}
