//! Stored secrets that a request leaves out: which these are, and whether they may stay.
//!
//! A secret was given for a destination. A request that leads the call elsewhere has to give it again.

use model::{Action, same_destination};
use recurrence::Fault;
use serde_json::Value;

use super::concealed::SECRETS;
use crate::members::Reader;

/// Faults for the secrets that would go to another destination than the one that they were given for.
///
/// `whole` is the action at `path` with the stored secrets in it, `given` the same without them: a secret that only
/// `whole` has was left out of the request. `old` is the stored action, `new` the one that `whole` says.
pub(super) fn misdirected(
    reader: &Reader,
    path: &str,
    (whole, given): (&Value, &Value),
    old: &Action,
    new: &Action,
) -> Vec<Fault> {
    let (mut faults, mut path) = (Vec::new(), path.to_owned());
    let mut levels = Some((whole, given, old, new));
    while let Some((whole, given, old, new)) = levels {
        if !same_destination(&old.call, &new.call) {
            let is_kept = |names: &&&[&str]| at(whole, names).is_some() && at(given, names).is_none();
            let fault = |names: &[&str]| {
                let (to, from) = (new.call.destination(), old.call.destination());
                let allowed = format!(
                    "a secret that is given again: the stored one is for {from}, and the call now goes to {to}"
                );
                Fault::missing(reader.written_path(&format!("{path}.{}", names.join("."))), allowed)
            };
            faults.extend(SECRETS.iter().filter(is_kept).map(|names| fault(names)));
        }
        path.push_str(".errorAction");
        let inner = |value| at(value, &["errorAction"]).unwrap_or(&Value::Null);
        let both = old.on_error.as_deref().zip(new.on_error.as_deref());
        levels = both.map(|(old, new)| (inner(whole), inner(given), old, new));
    }
    faults
}

/// The member at a path of names in any case; `null` is none.
pub(super) fn at<'a>(value: &'a Value, names: &[&str]) -> Option<&'a Value> {
    names.iter().try_fold(value, |value, name| {
        let mut members = value.as_object()?.iter();
        members
            .find(|(known, value)| known.eq_ignore_ascii_case(name) && !value.is_null())
            .map(|(_, value)| value)
    })
}
