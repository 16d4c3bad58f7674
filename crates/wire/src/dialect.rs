//! How a client wants to be spoken to.
//!
//! There is one model and one set of writers. Where clients need the same thing in other words, the words are here and
//! the writers ask for them.
//!
//! ```
//! use wire::dialect::EnumCase;
//!
//! assert_eq!(EnumCase::Azure.spell("SharedAccessKey"), "sharedAccessKey");
//! assert_eq!(EnumCase::Pascal.spell("enabled"), "Enabled");
//! ```

use crate::version::Version;

/// What an answer depends on besides what it tells of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Dialect {
    /// The api-version of the call.
    pub version: Version,
    /// How enum values are written.
    pub enum_case: EnumCase,
}

/// How enum values are written that the old service did not write as its description has them: a job's state,
/// frequencies, days, retry types, the transport and authentication of Service Bus messages, and what became of an
/// attempt. Plans, and the states of collections and the types of actions, always began with a capital letter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum EnumCase {
    /// As the service answered: `enabled`, `netMessaging`, `amqp`.
    #[default]
    Azure,
    /// As its description has them: `Enabled`, `NetMessaging`, `AMQP`. Some generated clients read nothing else.
    Pascal,
}

impl EnumCase {
    /// All of them, by the names that settings and headers have for them.
    pub const NAMES: [(&'static str, Self); 2] = [("azure", Self::Azure), ("pascal", Self::Pascal)];

    /// Reads its name, in any case.
    pub fn read(text: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(name, _)| text.trim().eq_ignore_ascii_case(name)).map(|(_, case)| *case)
    }

    /// A value, which is given in either case.
    pub fn spell(self, value: &str) -> String {
        // The capitals that a word begins with become small, all of them where it is an abbreviation; so the service's
        // serializer did it, and `netMessaging` shows it (Scenario_JobCreateUpdateDeleteServiceBusQueueJob).
        let is_abbreviation = value.chars().all(|letter| letter.is_ascii_uppercase());
        let first = value.chars().next().map_or(0, char::len_utf8);
        let (head, rest) = value.split_at(if is_abbreviation { value.len() } else { first });
        match self {
            Self::Azure => format!("{}{rest}", head.to_ascii_lowercase()),
            Self::Pascal => format!("{}{rest}", head.to_ascii_uppercase()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings() {
        for (given, azure, pascal) in [
            ("enabled", "enabled", "Enabled"),
            ("Monday", "monday", "Monday"),
            ("NetMessaging", "netMessaging", "NetMessaging"),
            ("AMQP", "amqp", "AMQP"),
            ("", "", ""),
        ] {
            assert_eq!(EnumCase::Azure.spell(given), azure);
            assert_eq!(EnumCase::Pascal.spell(given), pascal);
        }
    }

    #[test]
    fn names() {
        assert_eq!(EnumCase::read("Pascal"), Some(EnumCase::Pascal));
        assert_eq!(EnumCase::read(" azure"), Some(EnumCase::Azure));
        assert_eq!(EnumCase::read("camel"), None);
    }
}
