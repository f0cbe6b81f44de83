//! The completions and the man pages of the command.

use opendp_core::{Error, Result};

use crate::{Command, budget, command, program};

/// Return whether a subcommand only prints a text. The text describes constructors, the program, a
/// budget, or a table for its curator, or is the result of a dry run of a study. Such a command
/// changes nothing and spends nothing.
pub(crate) fn is_page(command: &Command) -> bool {
    use Command::{Budget, Completions, Describe, Inspect, List, Man, Suggest};
    use budget::Command::{Export, History, Show};
    match command {
        Budget { command } => matches!(command, Show { .. } | History { .. } | Export { .. }),
        List { .. } | Describe { .. } | Suggest(_) | Inspect(_) => true,
        Completions { .. } | Man { .. } => true,
        Command::Ask(study) => study.dry_run,
        _ => false,
    }
}
/// Write the script that completes the command in a shell.
pub(crate) fn completions(shell: clap_complete::Shell) -> Result<String> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command(), program(), &mut script);
    text(script)
}
/// Write the man page of the command, or of one of its commands.
pub(crate) fn manual(path: &[String]) -> Result<String> {
    let mut page = command();
    page.build();
    for name in path {
        let found = page.find_subcommand(name).cloned();
        page = found.ok_or_else(|| {
            let names: Vec<&str> =
                page.get_subcommands().map(|command| command.get_name()).collect();
            let reason = match &names[..] {
                [] => format!("`{}` has no commands: leave this word out", page.get_name()),
                names => {
                    format!("there is no such command; the commands are {}", names.join(", "))
                }
            };
            Error::argument(name, reason)
        })?;
    }
    let title = [&[program()], path].concat().join("-");
    let mut written = Vec::new();
    clap_mangen::Man::new(page.display_name(title.clone()))
        .title(title)
        .render(&mut written)
        .map_err(|error| Error::FailedFunction(format!("man page: {error}")))?;
    text(written)
}
fn text(bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|error| Error::FailedFunction(error.to_string()))
}
