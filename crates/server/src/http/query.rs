//! Query parameters, in every spelling that clients use: `$top`, `%24top`, `a+b`, `a%20b`.

use model::Timestamp;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::problem::Problem;

/// What is escaped in links that we write.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'$').remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The parameters of a URL.
#[derive(Debug, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    /// Reads what stands behind the question mark.
    pub(crate) fn read(text: &str) -> Result<Self, Problem> {
        let decode = |part: &str| {
            let spaced = part.replace('+', " ");
            percent_decode_str(&spaced).decode_utf8().map(Into::into).map_err(|_| {
                Problem::bad_request("The query is not UTF-8 when its percent signs are decoded.")
            })
        };
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        pairs
            .map(|pair| {
                let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                Ok((decode(name)?, decode(value)?))
            })
            .collect::<Result<_, Problem>>()
            .map(Self)
    }

    /// A parameter, by its name in any case.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(given, _)| given.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// Refuses parameters that mean nothing here: a misspelt one would be a question that was not asked.
    pub(crate) fn only(&self, known: &[&str]) -> Result<(), Problem> {
        let is_known = |name: &str| {
            // Clients of the old service send it with everything.
            name.eq_ignore_ascii_case("api-version")
                || known.iter().any(|known| known.eq_ignore_ascii_case(name))
        };
        match self.0.iter().find(|(name, _)| !is_known(name)) {
            None => self.once(),
            Some((name, _)) if known.is_empty() => Err(Problem::bad_request(format!(
                "The parameter '{name}' means nothing here; allowed: none."
            ))),
            Some((name, _)) => Err(Problem::bad_request(format!(
                "The parameter '{name}' means nothing here; allowed: {}.",
                known.join(", ")
            ))),
        }
    }

    /// Refuses a parameter that is given twice: only one of the values would count.
    fn once(&self) -> Result<(), Problem> {
        let twice = |(at, (name, _)): &(usize, &(String, String))| {
            self.0[..*at].iter().any(|(before, _)| before.eq_ignore_ascii_case(name))
        };
        match self.0.iter().enumerate().find(twice) {
            None => Ok(()),
            Some((_, (name, _))) => {
                Err(Problem::bad_request(format!("The parameter '{name}' is given twice; allowed: once.")))
            }
        }
    }

    /// A parameter that is a date-time.
    pub(crate) fn time(&self, name: &str) -> Result<Option<Timestamp>, Problem> {
        let Some(text) = self.get(name) else { return Ok(None) };
        match recurrence::read_date_time(text) {
            Some(at) => Ok(Some(at)),
            None => Err(Problem::refused_parameter(name, text, recurrence::DATE_TIME_FORMS)),
        }
    }

    /// A parameter that is true or false, and false where it is left out.
    pub(crate) fn flag(&self, name: &str) -> Result<bool, Problem> {
        match self.get(name) {
            None => Ok(false),
            Some(text) => text.to_ascii_lowercase().parse().map_err(|_| {
                Problem::bad_request(format!("{name}: '{text}' is not allowed here; allowed: true or false."))
            }),
        }
    }

    /// A parameter that is a number within bounds.
    pub(crate) fn number(&self, name: &str, low: u64, high: u64) -> Result<Option<u64>, Problem> {
        let Some(text) = self.get(name) else { return Ok(None) };
        match text.trim().parse() {
            Ok(number) if (low..=high).contains(&number) => Ok(Some(number)),
            _ => {
                let allowed = format!("a whole number from {low} to {high}");
                Err(Problem::refused_parameter(name, text, &allowed))
            }
        }
    }

    /// The parameters, for a link to another page: `change` replaces or adds one.
    pub(crate) fn with(&self, change: &str, value: &str) -> String {
        let encode = |text: &str| utf8_percent_encode(text, ESCAPED).to_string();
        let others = self.0.iter().filter(|(name, _)| !name.eq_ignore_ascii_case(change));
        let pairs = others.map(|(name, value)| (name.as_str(), value.as_str())).chain([(change, value)]);
        pairs.map(|(name, value)| format!("{}={}", encode(name), encode(value))).collect::<Vec<_>>().join("&")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings() {
        for text in [
            "$top=5&$filter=state%20eq%20Enabled",
            "%24top=5&%24filter=state+eq+Enabled",
            "&$TOP=5&&$Filter=state eq Enabled",
        ] {
            let query = Query::read(text).expect("valid");
            assert_eq!(query.number("$top", 1, 100).expect("valid"), Some(5), "{text}");
            assert_eq!(query.get("$filter"), Some("state eq Enabled"), "{text}");
            assert_eq!(query.get("$skip"), None);
        }
        assert!(Query::read("a=%FF").is_err());
        for text in ["$top=0", "$top=101", "$top=x", "$top=", "$top=-1", "$top=1.5"] {
            assert!(Query::read(text).expect("valid").number("$top", 1, 100).is_err(), "{text}");
        }
    }

    #[test]
    fn links_keep_the_other_parameters() {
        let query = Query::read("api-version=2016-03-01&$skip=5&$filter=state+eq+Enabled").expect("valid");
        assert_eq!(query.with("$skip", "10"), "api-version=2016-03-01&$filter=state%20eq%20Enabled&$skip=10");
    }
}
