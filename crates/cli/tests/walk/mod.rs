//! Every command, found by asking the binary for its help.

use std::process::Command;

/// The names of the commands below one, from its help; none for a command that does something itself.
fn below(path: &[String]) -> (String, Vec<String>) {
    let output = Command::new(env!("CARGO_BIN_EXE_punctual")).args(path).arg("--help").output().expect("run");
    assert!(output.status.success(), "{path:?} has no help");
    let help = String::from_utf8(output.stdout).expect("UTF-8");
    let commands = help.split("\nCommands:\n").nth(1).unwrap_or_default().split("\n\n").next();
    let names = commands.into_iter().flat_map(str::lines).filter_map(|line| {
        let is_command = line.starts_with("  ") && !line.starts_with("   ");
        line.split_whitespace().next().filter(|name| is_command && *name != "help").map(str::to_owned)
    });
    let names = names.collect();
    (help, names)
}

/// Every command that does something, with its help.
pub(crate) fn commands() -> Vec<(Vec<String>, String)> {
    let (mut found, mut open) = (Vec::new(), vec![Vec::new()]);
    while let Some(path) = open.pop() {
        let (help, names) = below(&path);
        if names.is_empty() {
            found.push((path, help));
            continue;
        }
        for name in names.into_iter().rev() {
            open.push([path.clone(), vec![name]].concat());
        }
    }
    found
}
