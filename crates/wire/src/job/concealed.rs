//! Jobs, written as they were asked for but for their secrets: for whoever keeps a copy or compares two.

use model::{Definition, InPlaceOfSecret, JobState, Secret};
use serde_json::Value;

use super::write;

/// Where an action keeps its secrets.
pub(super) const SECRETS: [&[&str]; 7] = [
    &["request", "authentication", "password"],
    &["request", "authentication", "pfx"],
    &["request", "authentication", "secret"],
    &["request", "authentication", "secrets"],
    &["queueMessage", "sasToken"],
    &["serviceBusQueueMessage", "authentication", "sasKey"],
    &["serviceBusTopicMessage", "authentication", "sasKey"],
];

/// All that was asked for, as it could be asked for again. `conceal` is told the path of each secret, such as
/// `action.errorAction.queueMessage.sasToken`, and says what is written in its place.
pub fn concealed<S: InPlaceOfSecret>(
    definition: &Definition<S>,
    state: JobState,
    mut conceal: impl FnMut(&str, &Secret) -> Value,
) -> Value {
    let mut document = write::document(definition, state);
    each_action(&mut document, |path, action| {
        for names in SECRETS {
            let found = names.iter().try_fold(&mut *action, |value, name| value.get_mut(*name));
            let path = format!("{path}.{}", names.join("."));
            let mut replace = |path: &str, secret: &mut Value| {
                let value = Secret::new(secret.as_str().unwrap_or_default());
                *secret = conceal(path, &value);
            };
            match found {
                Some(Value::Array(secrets)) => {
                    for (i, secret) in secrets.iter_mut().enumerate() {
                        replace(&format!("{path}[{i}]"), secret);
                    }
                }
                Some(secret) => replace(&path, secret),
                None => {}
            }
        }
    });
    document
}

/// Takes the secrets out of a document that [`write::document`] made.
pub(super) fn remove_secrets(document: &mut Value) {
    each_action(document, |_, action| {
        for names in SECRETS {
            let Some((name, outer)) = names.split_last() else { continue };
            let holder = outer.iter().try_fold(&mut *action, |value, name| value.get_mut(*name));
            if let Some(holder) = holder.and_then(Value::as_object_mut) {
                holder.shift_remove(*name);
            }
        }
    });
}

/// The action of a document and its error actions, each with its path.
fn each_action(document: &mut Value, mut visit: impl FnMut(&str, &mut Value)) {
    let mut path = "action".to_owned();
    let mut action = document.get_mut("properties").and_then(|properties| properties.get_mut("action"));
    while let Some(at) = action {
        visit(&path, at);
        path += ".errorAction";
        action = at.get_mut("errorAction");
    }
}
