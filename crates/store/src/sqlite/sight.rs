//! What is seen: the condition that leaves out the rest.

/// The columns by which a row is in a scope.
pub(super) struct Columns {
    subscription: &'static str,
    group: Option<&'static str>,
    name: Option<&'static str>,
}

impl Columns {
    /// Of collections, and of what repeats their keys.
    pub(super) const COLLECTION: Self =
        Self { subscription: "subscription_key", group: Some("group_key"), name: Some("name_key") };
    /// Of groups. One is seen where something in it is.
    pub(super) const GROUP: Self =
        Self { subscription: "subscription_key", group: Some("name_key"), name: None };
    /// Of subscriptions, likewise.
    pub(super) const SUBSCRIPTION: Self = Self { subscription: "subscription_key", group: None, name: None };

    /// The condition; `parameter` stands for the sight, or for NULL where everything is seen.
    pub(super) fn seen(&self, parameter: &str) -> String {
        let mut sql = format!("EXISTS (SELECT 1 FROM json_each({parameter}) AS seen");
        sql.push_str(&format!(" WHERE seen.value ->> 0 = {}", self.subscription));
        for (place, column) in [(1, self.group), (2, self.name)] {
            if let Some(column) = column {
                // A scope that names none has them all.
                sql.push_str(&format!(
                    " AND coalesce(seen.value ->> {place} = {column}, seen.value ->> {place} IS NULL)"
                ));
            }
        }
        sql.push(')');
        sql
    }
}
