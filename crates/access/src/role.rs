//! Roles: what somebody may do within a scope.

use model::Timestamp;

use crate::{PrincipalId, Scope};

/// What an operation needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    /// To look.
    Read,
    /// To run jobs.
    Run,
    /// To enable and disable jobs and collections.
    Switch,
    /// To make, change and delete.
    Write,
    /// To say who may do what; and, for the server itself, everything that concerns all.
    Administer,
}

/// What somebody may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Looks.
    Reader,
    /// Looks; runs, enables and disables.
    Operator,
    /// Does all of that, and makes, changes and deletes.
    Contributor,
    /// Does everything.
    Owner,
}

impl Role {
    /// All of them, the one that may least first.
    pub const ALL: [Self; 4] = [Self::Reader, Self::Operator, Self::Contributor, Self::Owner];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reader => "Reader",
            Self::Operator => "Operator",
            Self::Contributor => "Contributor",
            Self::Owner => "Owner",
        }
    }

    /// A role by its name in any case.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name().eq_ignore_ascii_case(name))
    }

    /// Whether it may.
    pub const fn allows(self, permission: Permission) -> bool {
        match permission {
            Permission::Read => true,
            Permission::Run | Permission::Switch => !matches!(self, Self::Reader),
            Permission::Write => matches!(self, Self::Contributor | Self::Owner),
            Permission::Administer => matches!(self, Self::Owner),
        }
    }
}

/// A role that somebody has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// Who.
    pub principal: PrincipalId,
    /// What they may do.
    pub role: Role,
    /// Where.
    pub scope: Scope,
    /// Since when.
    pub created_at: Timestamp,
    /// Who said so.
    pub created_by: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_role_may_what_the_one_before_may() {
        use Permission::{Administer, Read, Run, Switch, Write};
        for (role, may) in [
            (Role::Reader, &[Read][..]),
            (Role::Operator, &[Read, Run, Switch]),
            (Role::Contributor, &[Read, Run, Switch, Write]),
            (Role::Owner, &[Read, Run, Switch, Write, Administer]),
        ] {
            for permission in [Read, Run, Switch, Write, Administer] {
                assert_eq!(role.allows(permission), may.contains(&permission), "{role:?} {permission:?}");
            }
            assert_eq!(Role::named(&role.name().to_lowercase()), Some(role));
        }
        assert_eq!(Role::named("admin"), None);
    }
}
