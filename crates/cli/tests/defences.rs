//! Holds the table of attacks in `docs/security.md`: every test that it names exists.

use std::{fs, path::Path};

/// Names that the third column of the table has, in backquotes.
fn named(page: &str) -> Vec<&str> {
    let (_, section) = page.split_once("\n## Attacks and defences\n").expect("the page has the section");
    let section = section.split("\n## ").next().unwrap_or(section);
    let rows: Vec<&str> = section.lines().filter(|line| line.starts_with('|')).skip(2).collect();
    rows.iter()
        .flat_map(|row| {
            let cells: Vec<&str> = row.trim_matches('|').split('|').collect();
            let [_, _, tests] = cells[..] else { panic!("a row has three cells: {row}") };
            let tests: Vec<&str> = tests.split('`').skip(1).step_by(2).collect();
            assert!(!tests.is_empty(), "a row names a test: {row}");
            tests
        })
        .collect()
}

/// What is wrong with a name; nothing if the test exists.
fn fault(root: &Path, name: &str) -> Option<String> {
    let (file, function) =
        name.split_once("::").map_or((name, None), |(file, function)| (file, Some(function)));
    let paths = [root.join("crates").join(file), root.join(file)];
    let Some(path) = paths.iter().find(|path| path.is_file()) else {
        return Some(format!("{name}: there is no file crates/{file}"));
    };
    let function = function?;
    let text = fs::read_to_string(path).unwrap_or_default();
    let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
    let Some(at) = lines.iter().position(|line| line.contains(&format!("fn {function}("))) else {
        return Some(format!("{name}: the file has no such function"));
    };
    // What every store must do is called by the tests of each store.
    let is_shared = file.starts_with("store/src/conformance/");
    let mut above = lines[..at].iter().rev().take_while(|line| !line.is_empty() && !line.ends_with('}'));
    let is_test =
        is_shared || above.any(|line| line.starts_with("#[test]") || line.starts_with("#[tokio::test"));
    (!is_test).then(|| format!("{name}: the function is no test"))
}

#[test]
fn every_test_that_the_table_of_attacks_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = fs::read_to_string(root.join("docs/security.md")).unwrap();
    let names = named(&page);
    assert!(names.len() > 20, "{names:?}");
    let faults: Vec<String> = names.iter().filter_map(|name| fault(&root, name)).collect();
    assert!(faults.is_empty(), "docs/security.md:\n{}", faults.join("\n"));
}

#[test]
fn a_test_that_is_gone_is_found() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let told = |name| fault(&root, name).is_some();
    assert!(!told("cli/tests/defences.rs") && !told("cli/tests/defences.rs::a_test_that_is_gone_is_found"));
    assert!(
        told("cli/tests/gone.rs")
            && told("cli/tests/defences.rs::gone")
            && told("cli/tests/defences.rs::fault")
    );
}
