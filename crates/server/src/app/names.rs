//! Names: what things may be called. They stand in URLs and in ids, so whoever reads an id must find the thing again.

use super::Result;
use crate::problem::Problem;

/// The most characters of the name of a subscription; Azure's are GUIDs.
const LONGEST_SUBSCRIPTION: usize = 100;

/// The most characters of the name of a resource group, as in Azure.
const LONGEST_GROUP: usize = 90;

/// The name of a job or a collection.
pub(super) fn check(what: &str, name: &str, longest: usize) -> Result<()> {
    if is_plain(name) && name.len() <= longest {
        return Ok(());
    }
    let allowed =
        format!("1 to {longest} letters, digits, '-', '_' and '.', beginning with a letter or digit");
    Err(refused(what, name, &allowed))
}

/// The name of a subscription.
pub(super) fn check_subscription(name: &str) -> Result<()> {
    check("subscription", name, LONGEST_SUBSCRIPTION)
}

/// The name of a resource group.
pub(super) fn check_group(name: &str) -> Result<()> {
    let letters = name.chars().all(|letter| letter.is_alphanumeric() || "-_.()".contains(letter));
    if letters && !name.ends_with('.') && (1..=LONGEST_GROUP).contains(&name.chars().count()) {
        return Ok(());
    }
    let allowed =
        format!("1 to {LONGEST_GROUP} letters, digits, '-', '_', '.', '(' and ')', not ending with '.'");
    Err(refused("resource group", name, &allowed))
}

fn is_plain(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|first| first.is_ascii_alphanumeric())
        && letters.all(|letter| letter.is_ascii_alphanumeric() || "-_.".contains(letter))
}

fn refused(what: &str, name: &str, allowed: &str) -> Problem {
    const SHOWN: usize = 120;
    let shown: String = name.chars().take(SHOWN).collect();
    Problem::bad_request(format!("The name of the {what} is '{shown}'; allowed: {allowed}."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let longest = "x".repeat(100);
        for name in ["a", "9", "My-job_1.2", &longest] {
            assert!(check("job", name, 100).is_ok(), "{name}");
        }
        let too_long = "x".repeat(101);
        for name in ["", "-a", ".a", "_a", "a b", "a/b", "ä", "a?", &too_long] {
            assert!(check("job", name, 100).is_err(), "{name}");
        }
    }

    #[test]
    fn places() {
        let longest = "ä".repeat(90);
        for group in ["g", "(Über)_my-group.1", "_", &longest] {
            assert!(check_group(group).is_ok(), "{group}");
        }
        let too_long = "g".repeat(91);
        for group in ["", "a/b", "a b", "g.", "a%2Fb", "a?b", "a\nb", &too_long] {
            assert!(check_group(group).is_err(), "{group}");
        }
        for subscription in ["", "a/b", "-", "a b"] {
            assert!(check_subscription(subscription).is_err(), "{subscription}");
        }
    }
}
