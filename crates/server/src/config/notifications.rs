//! Rules of notices, as they stand in the file.

use model::Timestamp;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use crate::notices::{Draft, Notification};

/// All rules.
pub(super) fn read<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<Notification>, D::Error> {
    let drafts = Vec::<Draft>::deserialize(input)?;
    let mut rules: Vec<Notification> = Vec::with_capacity(drafts.len());
    for (number, draft) in drafts.into_iter().enumerate() {
        let of_rule = |fault: String| D::Error::custom(format!("rule {}: {fault}", number + 1));
        // Members have other names in the file than in the API.
        let rule = draft
            .read()
            .map_err(|faults| of_rule(faults.to_string().replace("resourceGroup", "resource-group")))?;
        if rules.iter().any(|other| other.name.eq_ignore_ascii_case(&rule.name)) {
            return Err(of_rule(format!("another has the name \"{}\"", rule.name)));
        }
        // A webhook that cannot be called would be found out when somebody has to be told.
        let job = json!({"properties": {"action": rule.action(&Value::Null)}});
        if let Err(faults) = wire::job::read(&job, Timestamp::UNIX_EPOCH) {
            return Err(of_rule(faults.to_string().replace("properties.action.request.", "")));
        }
        rules.push(rule);
    }
    Ok(rules)
}
