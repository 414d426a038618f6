//! `action.yml`: the script of its last step, run by bash as a runner does.

use std::path::Path;
use std::process::Command;

use crate::talk::*;

const ACTION: &str = include_str!("../../action.yml");

/// The script of the step that checks.
fn script() -> String {
    let (_, behind) = ACTION.split_once("      run: |\n").unwrap();
    behind.lines().map(|line| format!("{}\n", line.strip_prefix("        ").unwrap_or(line))).collect()
}

/// Runs it within `folder`: the status, standard output, and what it set as
/// its output.
fn run(folder: &Path, inputs: &[(&str, &str)]) -> (i32, String, String) {
    let output = folder.join("github-output");
    let mut command = Command::new("bash");
    command.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", &script()]).current_dir(folder);
    for name in ["CAPTURES", "OPTIONS", "JUNIT", "SARIF", "MARKDOWN"] {
        let value = inputs.iter().find(|(input, _)| *input == name).map_or("", |(_, value)| value);
        command.env(name, value);
    }
    command.env("BINARY", assert_cmd::cargo::cargo_bin!("chunkscope")).env("BUILT", "/nonexistent");
    let done = command
        .env("GITHUB_OUTPUT", &output)
        .env("GITHUB_STEP_SUMMARY", folder.join("summary.md"))
        .output()
        .unwrap_or_else(|error| panic!("bash: {error}"));
    let set = std::fs::read_to_string(&output).unwrap();
    (done.status.code().unwrap(), String::from_utf8(done.stdout).unwrap(), set)
}

#[test]
fn the_step_fails_as_the_check_does_and_leaves_its_reports() {
    let folder = tempfile::tempdir().unwrap();
    let bad = watch().chunk("oops").server(LAST).capture();
    let good = watch().chunk(event("a")).server(LAST).capture();
    for (name, octets) in [("a b.pcap", &bad), ("c.pcap", &good), ("d*.pcap", &good)] {
        std::fs::write(folder.path().join(name), octets).unwrap();
    }
    let reports = [("JUNIT", "out.xml"), ("SARIF", "out.sarif"), ("MARKDOWN", "out.md")];
    let inputs = |captures: &'static str| {
        let mut inputs = reports.to_vec();
        inputs.push(("CAPTURES", captures));
        inputs
    };
    let (status, said, set) = run(folder.path(), &inputs("  c.pcap\n\na b.pcap\n"));
    assert_eq!((status, set.as_str()), (1, "status=1\n"));
    assert!(said.starts_with("::error file=a b.pcap,line=6,"), "{said}");
    for (_, report) in reports {
        assert!(folder.path().join(report).exists(), "{report}");
    }
    assert!(std::fs::read_to_string(folder.path().join("summary.md")).unwrap().contains("1 violation"));

    std::fs::remove_file(folder.path().join("github-output")).unwrap();
    let (status, said, _) = run(folder.path(), &inputs("[cd]*.pcap"));
    assert_eq!(status, 0);
    assert!(said.contains("pass: 2 exchanges checked in 2 captures"), "{said}");

    let (status, said, _) = run(folder.path(), &inputs("nothing*.pcap"));
    assert_eq!(status, 2, "a pattern without a file is no pass");
    assert!(said.contains("nothing*.pcap: no such file"), "{said}");
}

#[test]
fn options_are_words_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("x.pcap"), watch().chunk("oops").server(LAST).capture()).unwrap();
    let with = |options: &str| run(folder.path(), &[("CAPTURES", "x.pcap"), ("OPTIONS", options)]).0;
    assert_eq!(with("--target nodes"), 3);
    assert_eq!(with("--target nodes\n--allow nothing\n"), 0);
    assert_eq!(with("--target $(touch${IFS}made) *"), 2);
    assert!(!folder.path().join("made").exists());
}

#[test]
fn every_input_reaches_the_script_as_a_value() {
    let (_, steps) = ACTION.split_once("\n  steps:\n").unwrap();
    for (place, _) in steps.match_indices("${{") {
        let line_start = steps[..place].rfind('\n').unwrap() + 1;
        let line = steps[line_start..].lines().next().unwrap().trim();
        let (name, value) = line.split_once(": ").unwrap();
        assert!(name.chars().all(|c| c.is_ascii_uppercase()) && value.starts_with("${{"), "{line}");
    }
    for (input, name) in
        [("captures", "CAPTURES"), ("options", "OPTIONS"), ("junit", "JUNIT"), ("sarif", "SARIF")]
    {
        assert!(ACTION.contains(&format!("        {name}: ${{{{ inputs.{input} }}}}\n")), "{input}");
        assert!(script().contains(&format!("${name}")), "{name}");
    }
}
