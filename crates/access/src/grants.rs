//! Grants: all the roles that somebody has, and what follows from them.

use crate::{Permission, Role, Scope};

/// The roles of whoever asks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Grants(Vec<(Role, Scope)>);

/// Whether somebody may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// They may.
    Allowed,
    /// They may not, and may know that what they asked for is there.
    Denied,
    /// They may not even know whether it is there.
    Hidden,
}

/// What somebody sees of everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sight {
    /// All of it.
    All,
    /// What is in one of these; none lies in another.
    Within(Vec<Scope>),
}

impl Grants {
    /// These roles.
    pub fn new(roles: impl IntoIterator<Item = (Role, Scope)>) -> Self {
        Self(roles.into_iter().collect())
    }

    /// The roles, one by one.
    pub fn roles(&self) -> impl Iterator<Item = (Role, &Scope)> {
        self.0.iter().map(|(role, scope)| (*role, scope))
    }

    /// Everything.
    pub fn all() -> Self {
        Self::new([(Role::Owner, Scope::Root)])
    }

    /// Whether they may do something with what is in a scope.
    pub fn decide(&self, permission: Permission, scope: &Scope) -> Decision {
        if self.0.iter().any(|(role, at)| at.contains(scope) && role.allows(permission)) {
            Decision::Allowed
        } else if self.sees(scope) {
            Decision::Denied
        } else {
            Decision::Hidden
        }
    }

    /// Whether they may do something somewhere.
    pub fn allow_somewhere(&self, permission: Permission) -> bool {
        self.0.iter().any(|(role, _)| role.allows(permission))
    }

    /// Whether they may know that a scope is there: they have a role for it, for what it is in, or for something that is
    /// in it.
    pub fn sees(&self, scope: &Scope) -> bool {
        self.0.iter().any(|(_, at)| at.contains(scope) || scope.contains(at))
    }

    /// What they see of everything.
    pub fn sight(&self) -> Sight {
        if self.0.iter().any(|(_, at)| *at == Scope::Root) {
            return Sight::All;
        }
        let mut scopes: Vec<Scope> = Vec::new();
        for (_, at) in &self.0 {
            if !scopes.iter().any(|scope| scope.contains(at)) {
                scopes.retain(|scope| !at.contains(scope));
                scopes.push(at.clone());
            }
        }
        Sight::Within(scopes)
    }
}

impl Sight {
    /// Whether what is in a scope, all of it, is seen.
    pub fn covers(&self, scope: &Scope) -> bool {
        match self {
            Self::All => true,
            Self::Within(scopes) => scopes.iter().any(|seen| seen.contains(scope)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(text: &str) -> Scope {
        text.parse().expect("a scope")
    }

    const COLLECTION: &str =
        "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/c";

    #[test]
    fn a_role_holds_below_its_scope_and_shows_what_is_above() {
        let grants = Grants::new([(Role::Contributor, scope(COLLECTION))]);
        for (permission, at, decision) in [
            (Permission::Write, COLLECTION, Decision::Allowed),
            (Permission::Administer, COLLECTION, Decision::Denied),
            (Permission::Read, "/subscriptions/s/resourceGroups/g", Decision::Denied),
            (Permission::Write, "/subscriptions/s", Decision::Denied),
            (Permission::Read, "/", Decision::Denied),
            (Permission::Read, "/subscriptions/s/resourceGroups/h", Decision::Hidden),
            (Permission::Read, "/subscriptions/t", Decision::Hidden),
        ] {
            assert_eq!(grants.decide(permission, &scope(at)), decision, "{permission:?} {at}");
        }
        assert!(grants.allow_somewhere(Permission::Write));
        assert!(!grants.allow_somewhere(Permission::Administer));
        assert_eq!(Grants::default().decide(Permission::Read, &Scope::Root), Decision::Hidden);
    }

    #[test]
    fn sight_is_told_once() {
        let [all, subscription, collection] = ["/", "/subscriptions/S", COLLECTION].map(scope);
        let of = |scopes: &[&Scope]| {
            Grants::new(scopes.iter().map(|scope| (Role::Reader, (*scope).clone()))).sight()
        };
        assert_eq!(of(&[&collection, &all]), Sight::All);
        assert_eq!(of(&[&collection, &subscription]), Sight::Within(vec![subscription.clone()]));
        assert_eq!(of(&[&subscription, &collection]), Sight::Within(vec![subscription.clone()]));
        assert_eq!(of(&[]), Sight::Within(Vec::new()));
        assert!(of(&[&subscription]).covers(&collection) && !of(&[&collection]).covers(&subscription));
    }
}
