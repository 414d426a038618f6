//! The program: exit statuses, and nothing else.

use std::io;
use std::process::ExitCode;

use chunkscope::cli::{self, Environment};

fn main() -> ExitCode {
    let settings = match cli::settings(std::env::args_os(), &Environment::current()) {
        Ok(settings) => settings,
        Err(usage) => {
            // A closed pipe is no reason to complain.
            let _ = usage.print();
            return ExitCode::from(u8::try_from(usage.exit_code()).unwrap_or(2));
        }
    };
    ExitCode::from(cli::run(&settings, io::stdout().lock(), &mut io::stderr()) as u8)
}
