//! Tests of completions and man pages.

use crate::Desk;

#[test]
fn a_completion_for_each_shell_knows_the_commands() {
    let desk = Desk::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = desk.says(&["completions", shell]);
        for part in ["opendp", "solve", "settle-clock", "allow-infinite-loss"] {
            assert!(script.contains(part), "{shell}: {part}");
        }
    }
    desk.fails(&["completions", "sh"], 2);
}
#[test]
fn a_completion_is_a_script_that_its_shell_reads() {
    let desk = Desk::new();
    desk.file("opendp.bash", desk.says(&["completions", "bash"]));
    let check = "source ./opendp.bash && complete -p opendp";
    let mut bash = std::process::Command::new("bash");
    match bash.current_dir(desk.0.path()).args(["-c", check]).output() {
        Ok(output) => assert!(output.status.success(), "{output:?}"),
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::NotFound),
    }
}
#[test]
fn the_help_of_run_and_of_its_option_data_say_how_spaces_are_read() {
    let help = Desk::new().says(&["run", "--help"]);
    let words: Vec<&str> = help.split_whitespace().collect();
    let says = "Cells are read without the spaces around them. So a category that begins or ends \
                with a space always counts 0.";
    let text = words.join(" ");
    let parts: Vec<&str> = text.split(" Options: ").collect();
    assert!(parts.len() == 2 && parts.iter().all(|part| part.contains(says)), "{help}");
}
#[test]
fn there_is_a_man_page_of_the_command_and_of_each_of_its_commands() {
    let desk = Desk::new();
    let page = desk.says(&["man"]);
    assert!(page.starts_with(".ie") || page.contains(".TH opendp 1"), "{page}");
    assert!(page.contains("solve") && page.contains("EXIT") | page.contains("exit code"), "{page}");
    let run = desk.says(&["man", "run"]);
    assert!(run.contains(".TH opendp-run 1") && run.contains("allow\\-infinite\\-loss"), "{run}");
    assert!(desk.says(&["man", "budget", "create"]).contains(".TH opendp-budget-create 1"));
    let error = desk.fails(&["man", "frobnicate"], 1);
    assert!(error.contains("there is no such command; the commands are list, describe"), "{error}");
    let error = desk.fails(&["man", "run", "budget"], 1);
    assert!(error.contains("`budget`") && error.contains("`run` has no commands"), "{error}");
}
