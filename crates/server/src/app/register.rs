//! What can be done with tokens and roles.

use access::{Act, Assignment, Permission, PrincipalId, Role, Scope, Token, TokenId, TokenRecord};
use model::Timestamp;
use serde_json::json;
use store::Added;

use super::{App, Result};
use crate::problem::Problem;

/// A token that is to be made.
#[derive(Debug, Clone)]
pub struct NewToken {
    /// As people know it.
    pub name: String,
    /// From when on it is refused.
    pub expires_at: Timestamp,
    /// What it may do, and where.
    pub roles: Vec<(Role, Scope)>,
}

impl App {
    /// Makes a token. Its text is told here, and never again.
    pub async fn create_token(&self, new: NewToken) -> Result<(Token, TokenRecord)> {
        let token = Token::random().map_err(|error| {
            tracing::error!(%error, "the machine gives no random numbers");
            Problem::busy("The machine gives no random numbers; no token was made. Try again.")
        })?;
        let now = self.clock.now();
        let created_by = self.caller.principal.id.to_string();
        let record = TokenRecord {
            id: token.id.clone(),
            hash: token.secret.hash(),
            name: new.name,
            created_at: now,
            created_by: created_by.clone(),
            expires_at: new.expires_at,
            used_at: None,
            revoked_at: None,
        };
        let principal = PrincipalId::token(&token.id);
        let roles: Vec<Assignment> = new
            .roles
            .into_iter()
            .map(|(role, scope)| Assignment {
                principal: principal.clone(),
                role,
                scope,
                created_at: now,
                created_by: created_by.clone(),
            })
            .collect();
        let told: Vec<_> = roles
            .iter()
            .map(|given| json!({"role": given.role.name(), "scope": given.scope.to_string()}))
            .collect();
        let detail = json!({"name": record.name, "expiresAt": wire::date_time::write(record.expires_at), "roles": told});
        let noting = self.noting(Act::CreateToken, &format!("/api/tokens/{}", record.id), &detail);
        match noting.add_token(record.clone(), roles).await? {
            Added::Done => {
                self.guard.forget();
                Ok((token, record))
            }
            Added::Full(there) => Err(full(there)),
            Added::NoScope(scope) => Err(no_scope(&scope)),
            // A new token is given its roles by its own record.
            Added::NoToken | Added::Already => {
                Err(Problem::busy("The id of the new token is taken; no token was made. Try again."))
            }
        }
    }

    /// Revokes a token.
    pub async fn revoke_token(&self, id: &TokenId) -> Result<()> {
        let name = self.store.token(id).await?.map(|record| record.name);
        let noting = self.noting(Act::RevokeToken, &format!("/api/tokens/{id}"), &json!({"name": name}));
        let revoked = noting.revoke_token(id, self.clock.now()).await?;
        self.guard.forget();
        if revoked { Ok(()) } else { Err(Problem::no_token(id.as_str())) }
    }

    /// Gives a role; whether it is new.
    pub async fn assign_role(&self, principal: PrincipalId, role: Role, scope: Scope) -> Result<bool> {
        self.require(Permission::Administer, &scope, Act::AssignRole)?;
        let assignment = self.assignment(principal.clone(), role, scope);
        let noting = self.noting(Act::AssignRole, &assignment.scope.to_string(), &told(&assignment));
        let added = noting.assign(assignment).await?;
        self.guard.forget();
        match added {
            Added::Done => Ok(true),
            Added::Already => Ok(false),
            Added::Full(there) => Err(full(there)),
            Added::NoScope(scope) => Err(no_scope(&scope)),
            Added::NoToken => Err(Problem::bad_request(format!(
                "There is no token '{principal}' that could have a role: it was never made, or was revoked. Known tokens: \
                 punctual token list."
            ))),
        }
    }

    /// Takes a role away.
    pub async fn remove_role(&self, principal: PrincipalId, role: Role, scope: Scope) -> Result<()> {
        self.require(Permission::Administer, &scope, Act::RemoveRole)?;
        let assignment = self.assignment(principal, role, scope);
        let noting = self.noting(Act::RemoveRole, &assignment.scope.to_string(), &told(&assignment));
        let removed = noting.unassign(assignment).await?;
        self.guard.forget();
        if removed { Ok(()) } else { Err(Problem::no_role()) }
    }

    fn assignment(&self, principal: PrincipalId, role: Role, scope: Scope) -> Assignment {
        let created_by = self.caller.principal.id.to_string();
        Assignment { principal, role, scope, created_at: self.clock.now(), created_by }
    }
}

fn told(assignment: &Assignment) -> serde_json::Value {
    json!({"principal": assignment.principal.as_str(), "role": assignment.role.name()})
}

fn no_scope(scope: &Scope) -> Problem {
    Problem::bad_request(format!(
        "There is no '{scope}' in which a role could hold. Make it first, or give the role for the subscription: a \
         subscription begins with its first resource group, and can have roles before."
    ))
}

fn full(there: u32) -> Problem {
    Problem::conflict(format!(
        "There are {there} already, and more are not kept. Remove some that are not needed."
    ))
}
