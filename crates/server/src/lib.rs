//! Who may ask, and how?
//!
//! The API of Azure Scheduler over HTTP, the extensions under `/api/`, the portal, the configuration, and the life of the process.
//! The rules of the product are in [`model`], the shapes of its JSON in [`wire`]; here they meet: [`app`] has the
//! use-cases (load, decide, store), [`http`] finds the use-case of a request, [`serve()`] starts and stops it all.

#![forbid(unsafe_code)]

pub mod app;
pub mod config;
mod demo;
pub mod guard;
pub mod http;
pub mod keys;
pub mod live;
mod logging;
pub mod metrics;
pub mod notices;
mod openapi;
mod portal;
pub mod problem;
pub mod rates;
mod serve;
mod shares;
mod signals;
mod stores;
mod supervisor;
pub mod traces;
mod transport;

pub use logging::Logging;
pub use serve::{Options, make_token, serve};
pub use stores::{make_folder, open_to_others};
pub use transport::listen;

/// The version of the product.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
