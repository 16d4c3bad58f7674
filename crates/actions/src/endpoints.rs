//! Endpoints: where storage accounts and namespaces are.
//!
//! A pattern serves for all of them, and the operator can say otherwise for some by name: an emulator, another cloud, a
//! broker of one's own. Names come from jobs; one that does not fit into a host name never reaches a pattern.

use std::collections::BTreeMap;

use ::http::Uri;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC};

use crate::{
    fault::{Fault, Kind},
    settings::SettingsError,
};

/// What is written by number in a path and in a signature: everything but the characters that never mean anything.
pub(crate) const IN_PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Where accounts, or namespaces, are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoints {
    /// For all that are not named. What stands in braces is replaced by the name.
    pub pattern: String,
    /// Those that are elsewhere, by name in any case; braces mean the same here.
    pub named: BTreeMap<String, String>,
}

impl Endpoints {
    /// The pattern of a public service.
    pub(crate) fn public(pattern: &str) -> Self {
        Self { pattern: pattern.to_owned(), named: BTreeMap::new() }
    }

    /// Refuses what can never become an address. `setting` is the name of the pattern, `members` that of the others.
    pub(crate) fn check(&self, setting: &str, members: &str, schemes: &[&str]) -> Result<(), SettingsError> {
        let named = self.named.iter().map(|(name, text)| (members.replace('*', name), text));
        for (setting, text) in named.chain([(setting.to_owned(), &self.pattern)]) {
            let refused =
                |why: String| SettingsError::Endpoint { setting: setting.clone(), text: text.clone(), why };
            let uri: Uri =
                insert(text, "x").parse().map_err(|e: ::http::uri::InvalidUri| refused(e.to_string()))?;
            if !uri.scheme_str().is_some_and(|scheme| schemes.contains(&scheme)) {
                return Err(refused(format!("it must begin with {}://", schemes.join(":// or "))));
            }
            if uri.query().is_some()
                || uri.authority().is_some_and(|authority| authority.as_str().contains('@'))
            {
                return Err(refused("it must have neither a query nor a user".to_owned()));
            }
        }
        Ok(())
    }

    /// The endpoint of a name, without a slash at its end.
    pub(crate) fn of(&self, name: &str) -> Result<String, Fault> {
        let named = self.named.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        let endpoint = named.map_or(&self.pattern, |(_, endpoint)| endpoint);
        if endpoint.contains('{') && !is_label(name) {
            let cause = format!(
                "'{}' cannot be part of a host name: letters, digits and hyphens are allowed, at most 63",
                name.escape_debug()
            );
            return Err(Fault::new(Kind::UnknownError, cause));
        }
        let endpoint = insert(endpoint, name);
        Ok(endpoint.trim_end_matches('/').to_owned())
    }
}

/// Puts a name where the pattern has braces.
fn insert(pattern: &str, name: &str) -> String {
    match (pattern.find('{'), pattern.find('}')) {
        (Some(open), Some(close)) if open < close => {
            format!("{}{name}{}", &pattern[..open], &pattern[close + 1..])
        }
        _ => pattern.to_owned(),
    }
}

/// Whether a name can stand between two dots of a host name.
fn is_label(name: &str) -> bool {
    (1..=63).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoints(pattern: &str, named: &[(&str, &str)]) -> Endpoints {
        let named = named.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        Endpoints { pattern: pattern.to_owned(), named }
    }

    #[test]
    fn the_pattern_serves_for_all_that_are_not_named() {
        let endpoints =
            endpoints("https://{account}.example/q/", &[("Emulated", "http://127.0.0.1:1/emulated/")]);
        for (name, expected) in [
            ("abc", "https://abc.example/q"),
            ("EMULATED", "http://127.0.0.1:1/emulated"),
            ("a-1", "https://a-1.example/q"),
        ] {
            assert_eq!(endpoints.of(name).unwrap(), expected);
        }
        for name in ["", "a.b", "evil.example/?", "a@b", "a b", "é", &"a".repeat(64)] {
            let fault = endpoints.of(name).unwrap_err().to_string();
            assert!(fault.contains("cannot be part of a host name"), "{fault}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused_by_its_setting() {
        let check = |endpoints: Endpoints| endpoints.check("s.endpoint", "s.accounts.*", &["http", "https"]);
        assert!(check(endpoints("https://{account}.example", &[("a", "http://[::1]:1/a")])).is_ok());
        for (wrong, says) in [
            (endpoints("{account}", &[]), "s.endpoint: \"{account}\" cannot be used: it must begin with"),
            (endpoints("ftp://{account}", &[]), "it must begin with http:// or https://"),
            (endpoints("https://a", &[("b", "https://b/?x=1")]), "s.accounts.b: \"https://b/?x=1\""),
            (endpoints("https://a", &[("b", "https://u:p@b/")]), "neither a query nor a user"),
            (endpoints("https://a b", &[]), "s.endpoint"),
        ] {
            let error = check(wrong).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
