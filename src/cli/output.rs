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
                return Ok(Self {
                    out: BufWriter::with_capacity(BUFFER, file),
                    beside: None,
                });
            }
            Some(_) => path.canonicalize()?,
            None => path.to_owned(),
        };
        let directory = place
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty());
        let mut builder = Builder::new();
        builder.prefix(".chunkscope-");
        #[cfg(unix)]
        {
            // The umask takes from it what it takes from any file; a temporary
            // file would be its owner's alone.
            use std::os::unix::fs::PermissionsExt as _;
            builder.permissions(Permissions::from_mode(0o666));
        }
        let (file, temporary) = builder
            .tempfile_in(directory.unwrap_or(Path::new(".")))?
            .into_parts();
        let permissions = before.map(|before| before.permissions());
        let beside = Some(Beside {
            temporary,
            place,
            permissions,
        });
        Ok(Self {
            out: BufWriter::with_capacity(BUFFER, file),
            beside,
        })
    }

    /// Writes what is left and puts the file at its place.
    ///
    /// # Errors
    /// What the file system answered; then what was at its place is still there.
    pub fn commit(self) -> io::Result<()> {
        let Self { mut out, beside } = self;
        out.flush()?;
        if let Some(Beside {
            temporary,
            place,
            permissions,
        }) = beside
        {
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
