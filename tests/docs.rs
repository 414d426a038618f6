//! The commands that the documentation shows, run, and their output compared.
//!
//! In README.md and docs/*.md, a fenced block with the info string `console`
//! is a session in a shell: a line that begins with `$ ` is a command, the
//! lines below it are its standard output, up to the next command.
//!
//! ````text
//! ```console
//! $ chunkscope -q testdata/informer.pcap
//! # exit status 1
//! ```
//! ````
//!
//! - A command that begins with `chunkscope ` or `cargo run --release -- ` is
//!   run, by `sh` in the repository's root. Others are for the reader.
//! - A status other than 0 is given by a last line `# exit status N`.
//! - Output has 100 columns. `<!-- columns: 80 -->` on a line of its own
//!   changes that down to the next such line, or the end of the file.
//! - A line `...` stands for any lines, also none.
//! - White space at the end of a line doesn't count.
//!
//! `UPDATE_DOCS=1 cargo test --test docs` writes what the program says into
//! the blocks. Where a block with `...` still fits, it stays.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::path::{Path, PathBuf};
use std::process::Command;

const DEFAULT_COLUMNS: u32 = 100;

/// What a document becomes when its commands are run, and what differs.
#[derive(Debug, PartialEq)]
struct Checked {
    text: String,
    commands: usize,
    differences: Vec<String>,
}

/// Goes through a document. `run` gets a command and the columns, and gives
/// the lines of its standard output and its status.
fn check(text: &str, run: impl Fn(&str, u32) -> (Vec<String>, i32)) -> Checked {
    let mut out = Checked { text: String::new(), commands: 0, differences: Vec::new() };
    let mut columns = DEFAULT_COLUMNS;
    let mut lines = text.lines().enumerate().peekable();
    while let Some((_, line)) = lines.next() {
        out.push(line);
        if let Some(number) =
            line.trim().strip_prefix("<!-- columns: ").and_then(|rest| rest.strip_suffix(" -->"))
        {
            columns = number.parse().expect("a number of columns");
        }
        let Some(fence) = fence(line) else { continue };
        let console = line.trim_start_matches('`').trim() == "console";
        while let Some((number, line)) = lines.next_if(|(_, line)| *line != fence) {
            out.push(line);
            let Some(command) = line.strip_prefix("$ ").filter(|_| console) else {
                continue;
            };
            let mut command = command.to_owned();
            while command.ends_with('\\') {
                let (_, more) = lines.next().expect("a line behind the backslash");
                out.push(more);
                command.push('\n');
                command.push_str(more);
            }
            let Some(command) = runnable(&command) else {
                continue;
            };
            let mut shown = Vec::new();
            while let Some((_, line)) = lines.next_if(|(_, line)| *line != fence && !line.starts_with("$ ")) {
                shown.push(line.trim_end().to_owned());
            }
            let (mut real, status) = run(&command, columns);
            out.commands += 1;
            if status != 0 {
                real.push(format!("# exit status {status}"));
            }
            if fits(&shown, &real) {
                shown.iter().for_each(|line| out.push(line));
            } else {
                real.iter().for_each(|line| out.push(line));
                out.differences.push(format!(
                    "line {}: {command}\n--- shown\n{}\n--- real\n{}\n",
                    number + 1,
                    shown.join("\n"),
                    real.join("\n")
                ));
            }
        }
        // The fence that closes must not be taken for one that opens.
        if let Some((_, line)) = lines.next() {
            out.push(line);
        }
    }
    out
}

impl Checked {
    fn push(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }
}

/// The line that closes the fenced block that this line opens.
fn fence(line: &str) -> Option<&str> {
    let ticks = line.len() - line.trim_start_matches('`').len();
    (ticks >= 3).then(|| &line[..ticks])
}

/// The command to run, if it is one of ours.
fn runnable(command: &str) -> Option<String> {
    match command.strip_prefix("cargo run --release -- ") {
        Some(args) => Some(format!("chunkscope {args}")),
        None => command.starts_with("chunkscope ").then(|| command.to_owned()),
    }
}

/// Whether the shown lines are the real ones, a `...` standing for any.
fn fits(shown: &[String], real: &[String]) -> bool {
    match shown.split_first() {
        None => real.is_empty(),
        Some((first, rest)) if first == "..." => (0..=real.len()).any(|skipped| fits(rest, &real[skipped..])),
        Some((first, rest)) => {
            real.split_first().is_some_and(|(line, real)| line == first && fits(rest, real))
        }
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Runs a command with the built program in front of all others.
fn run(command: &str, columns: u32) -> (Vec<String>, i32) {
    let program = assert_cmd::cargo::cargo_bin!("chunkscope");
    let mut path = program.parent().unwrap().as_os_str().to_owned();
    if let Some(rest) = std::env::var_os("PATH") {
        path.push(":");
        path.push(rest);
    }
    let done = Command::new("sh")
        .args(["-c", command])
        .current_dir(root())
        .env("PATH", path)
        .env("COLUMNS", columns.to_string())
        .env("NO_COLOR", "1")
        .output()
        .unwrap();
    let text = String::from_utf8(done.stdout).expect("output in UTF-8");
    let lines = text.lines().map(|line| line.trim_end().to_owned());
    (lines.collect(), done.status.code().unwrap_or(-1))
}

fn documents() -> Vec<PathBuf> {
    let mut documents = vec![root().join("README.md")];
    let entries = std::fs::read_dir(root().join("docs")).unwrap();
    documents.extend(entries.map(|entry| entry.unwrap().path()));
    documents.retain(|path| path.extension().is_some_and(|e| e == "md"));
    documents.sort();
    documents
}

#[test]
fn every_command_of_the_documentation_says_what_is_shown() {
    let update = std::env::var_os("UPDATE_DOCS").is_some_and(|value| value != "0");
    let mut commands = 0;
    let mut differences = Vec::new();
    for path in documents() {
        let text = std::fs::read_to_string(&path).unwrap();
        let checked = check(&text, run);
        commands += checked.commands;
        if update && checked.text != text {
            std::fs::write(&path, &checked.text).unwrap();
        } else {
            let name = path.strip_prefix(root()).unwrap().display();
            differences.extend(checked.differences.iter().map(|d| format!("{name}, {d}")));
        }
    }
    assert!(commands > 0, "the documentation shows no command");
    assert!(
        differences.is_empty(),
        "{}\nUPDATE_DOCS=1 cargo test --test docs writes what is real",
        differences.join("\n")
    );
}

/// The targets of a text's links, outside of code.
fn links(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut code: Option<String> = None;
    for line in text.lines() {
        match (&code, fence(line)) {
            (None, Some(end)) => code = Some(end.to_owned()),
            (Some(end), _) if end == line => code = None,
            (None, None) => {
                let rest = line.split("](").skip(1);
                found.extend(
                    rest.filter_map(|rest| rest.split_once(')')).map(|(target, _)| target.to_owned()),
                );
            }
            (Some(_), _) => {}
        }
    }
    found
}

/// The anchor that a heading gets, as GitHub and mdBook make it.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn every_page_is_in_the_book_and_every_link_leads_somewhere() {
    let summary = links(&std::fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap());
    for path in documents() {
        let name = path.file_name().unwrap().to_str().unwrap();
        let in_book = path.parent().unwrap().ends_with("docs");
        assert!(
            !in_book || name == "SUMMARY.md" || summary.iter().any(|link| link == name),
            "docs/{name} is in no chapter of docs/SUMMARY.md"
        );
        for link in links(&std::fs::read_to_string(&path).unwrap()) {
            if link.contains("://") {
                continue;
            }
            let (file, wanted) = link.split_once('#').map_or((&*link, None), |(file, a)| (file, Some(a)));
            let target = if file.is_empty() { path.clone() } else { path.parent().unwrap().join(file) };
            assert!(target.exists(), "{name} links to {link}, which isn't there");
            assert!(!(in_book && file.starts_with("..")), "{name} links out of the book: {link}");
            if let Some(wanted) = wanted {
                let text = std::fs::read_to_string(&target).unwrap();
                let heads = text.lines().filter(|line| line.starts_with('#'));
                let found =
                    heads.map(|line| anchor(line.trim_start_matches('#').trim())).any(|a| a == wanted);
                assert!(found, "{name} links to {link}, and there is no such heading");
            }
        }
    }
}

/// A stand-in for the program: says what it was asked, twice.
fn echo(command: &str, columns: u32) -> (Vec<String>, i32) {
    let line = format!("{command} at {columns}");
    (vec![line.clone(), line], i32::from(command.contains("bad")))
}

#[test]
fn a_session_that_is_right_stays_as_it_is() {
    let text = "\
# A title

```console
$ sudo tcpdump -w x
anything
$ chunkscope x
chunkscope x at 100
chunkscope x at 100
$ chunkscope bad
...
# exit status 1
```

<!-- columns: 80 -->
```console
$ cargo run --release -- y
...
chunkscope y at 80
```

```text
$ chunkscope not a session
```
";
    let checked = check(text, echo);
    assert_eq!(checked.differences, [""; 0]);
    assert_eq!(checked.commands, 3);
    assert_eq!(checked.text, text);
}

#[test]
fn a_session_that_is_wrong_is_named_and_mended() {
    let wrong = [
        "$ chunkscope x\nchunkscope x at 100\n",
        "$ chunkscope x\n",
        "$ chunkscope x\nchunkscope x at 99\n...\n",
        "$ chunkscope x\nchunkscope x at 100\nchunkscope x at 100\n# exit status 1\n",
    ];
    for session in wrong {
        let checked = check(&format!("```console\n{session}```\n"), echo);
        assert_eq!(checked.differences.len(), 1, "{session}");
        assert!(checked.differences[0].starts_with("line 2: chunkscope x\n"));
        assert_eq!(
            checked.text,
            "```console\n$ chunkscope x\nchunkscope x at 100\nchunkscope x at 100\n```\n"
        );
        assert_eq!(check(&checked.text, echo).differences, [""; 0]);
    }
    let checked = check("```console\n$ chunkscope bad\n```\n", echo);
    assert!(checked.text.ends_with("\n# exit status 1\n```\n"), "{}", checked.text);
}

#[test]
fn a_command_may_go_on_behind_a_backslash() {
    let text = "```console\n$ chunkscope a \\\n    b\nx\n```\n";
    let said = |command: &str, _: u32| {
        assert_eq!(command, "chunkscope a \\\n    b");
        (vec!["x".to_owned()], 0)
    };
    assert_eq!(check(text, said).differences, [""; 0]);
}

#[test]
fn a_real_command_runs_in_the_repository() {
    assert_eq!(run("test -f Cargo.toml && echo $COLUMNS; exit 3", 72), (vec!["72".to_owned()], 3));
}
