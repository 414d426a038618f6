//! Which commit the program is built from, for `--version`.
//!
//! Known of a release build in a clone (if git is there) and of a package that
//! cargo made. A source archive has none, and needs none. Development builds
//! don't ask: each commit would compile everything again.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The digits of a commit that are shown.
const DIGITS: usize = 12;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let root = env::var("CARGO_MANIFEST_DIR").unwrap_or_else(|_| ".".to_owned());
    let root = Path::new(&root);
    let commit = match env::var("PROFILE").as_deref() {
        Ok("release") => packaged(root).or_else(|| cloned(root)),
        _ => Some("development build".to_owned()),
    };
    let commit = commit.map(|commit| format!(" ({commit})")).unwrap_or_default();
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    println!("cargo:rustc-env=CHUNKSCOPE_VERSION={version}{commit}");
}

/// The commit that cargo noted when it made the package.
fn packaged(root: &Path) -> Option<String> {
    let note = fs::read_to_string(root.join(".cargo_vcs_info.json")).ok()?;
    let (_, rest) = note.split_once("\"sha1\"")?;
    let digits: String = rest.chars().skip_while(|c| !c.is_ascii_hexdigit()).collect();
    let digits: String = digits.chars().take_while(char::is_ascii_hexdigit).take(DIGITS).collect();
    (digits.len() == DIGITS).then_some(digits)
}

/// The commit and its day, from the clone that `root` is the top of.
fn cloned(root: &Path) -> Option<String> {
    // The sources may lie within a clone of something else.
    let top = git(root, &["rev-parse", "--show-toplevel"])?;
    if fs::canonicalize(top).ok()? != fs::canonicalize(root).ok()? {
        return None;
    }
    for path in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(root, &["rev-parse", "--git-path", path])
            && root.join(&path).exists()
        {
            println!("cargo:rerun-if-changed={path}");
        }
    }
    git(root, &["show", "--no-patch", &format!("--abbrev={DIGITS}"), "--format=%h %cs", "HEAD"])
}

fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    let done = Command::new("git").arg("-C").arg(root).args(arguments).output().ok()?;
    let said = String::from_utf8(done.stdout).ok()?;
    let said = said.trim();
    (done.status.success() && !said.is_empty()).then(|| said.to_owned())
}
