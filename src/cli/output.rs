//! Files that reports go to: whole or not at all.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::{Builder, TempPath};

/// Octets written at once: reports are written in records of some hundred.
const BUFFER: usize = 64 << 10;

/// A file that a report goes to. It is written beside its place, and takes it
/// when [committed](Self::commit); dropped before, nothing is left of it and
/// what was at its place stays. A device or a pipe (`/dev/null`, `/dev/fd/3`)
/// is written to as it is.
#[derive(Debug)]
pub struct OutputFile {
    out: BufWriter<File>,
    /// `None` where the octets go to their place at once.
    beside: Option<Beside>,
}

#[derive(Debug)]
struct Beside {
    temporary: TempPath,
    place: PathBuf,
    /// Of the file that is replaced.
    permissions: Option<Permissions>,
}

impl OutputFile {
    /// Begins the file at `path`. A symbolic link stays one: the file that it
    /// points to is replaced. A new file has the permissions that any has, a
    /// replaced one those that it had.
    ///
    /// # Errors
    /// The directory is missing or can't be written to, or `path` is one.
    pub fn create(path: &Path) -> io::Result<Self> {
        let before = path.metadata().ok();
        let place = match &before {
            Some(before) if before.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Some(before) if !before.is_file() => {
                let file = OpenOptions::new().write(true).open(path)?;
                return Ok(Self { out: BufWriter::with_capacity(BUFFER, file), beside: None });
            }
            Some(_) => {
                // What can't be written to isn't to be replaced either.
                OpenOptions::new().write(true).open(path)?;
                path.canonicalize()?
            }
            None => path.to_owned(),
        };
        let directory = place.parent().filter(|parent| !parent.as_os_str().is_empty());
        let mut builder = Builder::new();
        builder.prefix(".chunkscope-");
        #[cfg(unix)]
        {
            // The umask takes from it what it takes from any file; a temporary
            // file would be its owner's alone.
            use std::os::unix::fs::PermissionsExt as _;
            builder.permissions(Permissions::from_mode(0o666));
        }
        let (file, temporary) = builder.tempfile_in(directory.unwrap_or(Path::new(".")))?.into_parts();
        let permissions = before.map(|before| before.permissions());
        let beside = Some(Beside { temporary, place, permissions });
        Ok(Self { out: BufWriter::with_capacity(BUFFER, file), beside })
    }

    /// Writes what is left and puts the file at its place.
    ///
    /// # Errors
    /// What the file system answered; then what was at its place is still there.
    pub fn commit(self) -> io::Result<()> {
        let Self { mut out, beside } = self;
        out.flush()?;
        if let Some(Beside { temporary, place, permissions }) = beside {
            if let Some(permissions) = permissions {
                out.get_ref().set_permissions(permissions)?;
            }
            temporary.persist(place)?;
        }
        Ok(())
    }
}

impl Write for OutputFile {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.out.write(octets)
    }

    fn write_all(&mut self, octets: &[u8]) -> io::Result<()> {
        self.out.write_all(octets)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// What GitHub takes of a step's summary at most; more is an error there.
const SUMMARY: u64 = 1 << 20;

/// The file that GitHub Actions takes the summary of a step from. What steps
/// write is appended, so what is there stays.
#[derive(Debug)]
pub struct StepSummary {
    file: File,
    /// Octets that are there already.
    before: u64,
    text: Vec<u8>,
}

impl StepSummary {
    /// Opens the file at `path`, or begins it.
    ///
    /// # Errors
    /// What the file system answered.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).create(true).open(path)?;
        let before = file.metadata()?.len();
        Ok(Self { file, before, text: Vec::new() })
    }

    /// How many octets may still be appended.
    #[must_use]
    pub fn room(&self) -> usize {
        usize::try_from(SUMMARY.saturating_sub(self.before)).unwrap_or(0)
    }

    /// Appends what was written, on lines of its own; nothing where it wouldn't
    /// be taken.
    ///
    /// # Errors
    /// What the file system answered.
    pub fn commit(mut self) -> io::Result<()> {
        if self.before > 0 {
            self.text.insert(0, b'\n');
        }
        if self.text.len() <= self.room() { self.file.write_all(&self.text) } else { Ok(()) }
    }
}

impl Write for StepSummary {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.text.write(octets)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_whole_or_not_at_all() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("report.json");
        let mut file = OutputFile::create(&path).unwrap();
        file.write_all(b"{").unwrap();
        file.flush().unwrap();
        assert!(!path.exists());
        drop(file);
        assert_eq!(names(directory.path()), [""; 0], "a run that failed leaves nothing");

        fs::write(&path, "old").unwrap();
        let mut file = OutputFile::create(&path).unwrap();
        file.write_all(b"{}").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        file.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"{}");
        assert_eq!(names(directory.path()), ["report.json"]);
    }

    #[test]
    fn a_bare_name_lies_in_the_working_directory() {
        // Dropped before it is committed: nothing stays there.
        assert!(OutputFile::create(Path::new("report-of-a-test.json")).is_ok());
    }

    #[test]
    fn a_missing_directory_and_a_directory_are_errors() {
        let directory = tempfile::tempdir().unwrap();
        let missing = OutputFile::create(&directory.path().join("none/report.json")).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        assert_eq!(OutputFile::create(directory.path()).unwrap_err().kind(), io::ErrorKind::IsADirectory);
    }

    #[cfg(unix)]
    #[test]
    fn permissions_are_those_of_any_file_or_of_the_one_replaced() {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let directory = tempfile::tempdir().unwrap();
        let (usual, path) = (directory.path().join("usual"), directory.path().join("report"));
        fs::write(&usual, "").unwrap();
        OutputFile::create(&path).unwrap().commit().unwrap();
        assert_eq!(mode(&path), mode(&usual));
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        OutputFile::create(&path).unwrap().commit().unwrap();
        assert_eq!(mode(&path), 0o640);
    }

    #[cfg(unix)]
    #[test]
    fn links_stay_links_and_devices_stay_devices() {
        let directory = tempfile::tempdir().unwrap();
        let (real, link) = (directory.path().join("real"), directory.path().join("link"));
        fs::write(&real, "old").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let mut file = OutputFile::create(&link).unwrap();
        file.write_all(b"new").unwrap();
        file.commit().unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&real).unwrap(), b"new");

        let mut file = OutputFile::create(Path::new("/dev/null")).unwrap();
        file.write_all(b"gone").unwrap();
        file.commit().unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }
}
