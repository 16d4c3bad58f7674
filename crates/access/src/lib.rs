//! Who may do what, and who did it?
//!
//! Everything here is a function from values to values: nothing is read, nothing is written, and the time is told. The
//! store keeps [`TokenRecord`]s, [`Assignment`]s and [`Entry`]s; the server finds out who asks, gathers their
//! [`Grants`], and does what [`Grants::decide`] says.
//!
//! ```
//! use access::{Decision, Grants, Permission, Role, Scope};
//!
//! let billing: Scope = "/subscriptions/acme/resourceGroups/billing".parse().unwrap();
//! let grants = Grants::new([(Role::Operator, billing)]);
//! let job: Scope = "/subscriptions/ACME/resourceGroups/Billing/providers/Microsoft.Scheduler/jobCollections/nightly"
//!     .parse()
//!     .unwrap();
//! assert_eq!(grants.decide(Permission::Run, &job), Decision::Allowed);
//! assert_eq!(grants.decide(Permission::Write, &job), Decision::Denied);
//! let elsewhere: Scope = "/subscriptions/other".parse().unwrap();
//! assert_eq!(grants.decide(Permission::Read, &elsewhere), Decision::Hidden);
//! ```
//!
//! `jwt` checks tokens of others; `audit` has the chain that tells whether somebody has changed what was noted.

#![forbid(unsafe_code)]

pub mod audit;
mod grants;
pub mod jwt;
mod principal;
mod role;
mod scope;
mod token;

pub use audit::{Act, Entry, Note, Verdict};
pub use grants::{Decision, Grants, Sight};
pub use principal::{Principal, PrincipalId};
pub use role::{Assignment, Permission, Role};
pub use scope::Scope;
pub use token::{Secret32, Token, TokenId, TokenRecord};
