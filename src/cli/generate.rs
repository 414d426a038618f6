//! What is shipped beside the program, made from the same definitions as its
//! command line: completions for shells, and the man page.

use std::io;

use clap::{Command, ValueEnum};
use clap_complete::Shell;
use clap_mangen::Man;

/// What `--generate` writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Generated {
    /// Completions for bash
    CompleteBash,
    /// Completions for zsh
    CompleteZsh,
    /// Completions for fish
    CompleteFish,
    /// Completions for PowerShell
    CompletePowershell,
    /// The man page
    Man,
}

impl Generated {
    /// Its text, for this command line.
    ///
    /// # Errors
    /// Never, in fact: it is written to memory.
    pub fn text(self, mut command: Command) -> io::Result<String> {
        let mut out = Vec::new();
        let shell = match self {
            Self::CompleteBash => Shell::Bash,
            Self::CompleteZsh => Shell::Zsh,
            Self::CompleteFish => Shell::Fish,
            Self::CompletePowershell => Shell::PowerShell,
            Self::Man => {
                man(command, &mut out)?;
                return Ok(String::from_utf8_lossy(&out).into_owned());
            }
        };
        clap_complete::generate(shell, &mut command, "chunkscope", &mut out);
        Ok(String::from_utf8_lossy(&out).into_owned())
    }
}

/// The man page: what clap knows, then the examples and statuses of the help as
/// sections of their own.
fn man(command: Command, out: &mut Vec<u8>) -> io::Result<()> {
    let help = command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
    let command = command.display_name("chunkscope").after_long_help("").after_help("");
    let man = Man::new(command).section("1").manual("User Commands");
    man.render_title(out)?;
    man.render_name_section(out)?;
    man.render_synopsis_section(out)?;
    man.render_description_section(out)?;
    man.render_options_section(out)?;
    let mut within = false;
    for line in help.lines() {
        if let Some(heading) = line.strip_suffix(':').filter(|line| !line.starts_with(' ')) {
            end_literal(&mut within, out);
            out.extend(format!(".SH {}\n.nf\n", heading.to_uppercase()).into_bytes());
            within = true;
        } else {
            out.extend(literal(line.strip_prefix("  ").unwrap_or(line)).into_bytes());
        }
    }
    end_literal(&mut within, out);
    out.extend(b".SH SEE ALSO\n.BR tcpdump (1),\n.BR tshark (1),\n.BR curl (1)\n");
    Ok(())
}

fn end_literal(within: &mut bool, out: &mut Vec<u8>) {
    if std::mem::take(within) {
        out.extend(b".fi\n");
    }
}

/// A line that roff prints as it is.
fn literal(line: &str) -> String {
    let line = line.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq");
    // A dot at the beginning would be a request.
    let guard = if line.starts_with('.') { "\\&" } else { "" };
    format!("{guard}{line}\n")
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::args::Args;

    fn text(generated: Generated) -> String {
        generated.text(Args::command()).unwrap()
    }

    #[test]
    fn every_long_option_is_in_all_of_them() {
        let command = Args::command();
        let options: Vec<_> = command
            .get_arguments()
            .filter(|arg| !arg.is_hide_set())
            .filter_map(|arg| arg.get_long())
            .collect();
        assert!(options.len() > 15, "{options:?}");
        for generated in Generated::value_variants() {
            let text = text(*generated);
            for option in &options {
                let there = text.contains(&format!("--{option}"))
                    || text.contains(&format!("\\-\\-{}", option.replace('-', "\\-")))
                    || text.contains(&format!("-l {option}"));
                assert!(there, "--{option} in {generated:?}");
            }
        }
    }

    #[test]
    fn the_man_page_has_examples_and_statuses_line_by_line() {
        let page = text(Generated::Man);
        for heading in ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES", "EXIT STATUS", "SEE ALSO"] {
            assert!(
                page.contains(&format!("\n.SH {heading}\n"))
                    || page.contains(&format!("\n.SH \"{heading}\"\n")),
                "{heading}: {page}"
            );
        }
        assert!(page.contains("\n  chunkscope \\-f walkthrough \\-\\-stream 0 watch.pcap\n"), "{page}");
        assert_eq!(literal(".a\\b-'c'"), "\\&.a\\eb\\-\\(aqc\\(aq\n");
    }
}
