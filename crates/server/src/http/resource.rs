//! Resources: what is served, and what is known of each of them.

use model::{CollectionPath, GroupPath};

/// What is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Resource {
    /// The collections of a subscription, or of one of its groups.
    Collections { subscription: String, group: Option<String> },
    /// One collection.
    Collection(CollectionPath),
    /// Switches a collection on or off.
    Switch(CollectionPath, bool),
    /// The jobs of a collection.
    Jobs(CollectionPath),
    /// One job.
    Job(CollectionPath, String),
    /// Runs a job.
    Run(CollectionPath, String),
    /// A job's history.
    History(CollectionPath, String),
    /// The resource groups of a subscription.
    Groups(String),
    /// One resource group.
    Group(GroupPath),
    /// The resources of a subscription, or of one of its groups.
    Resources { subscription: String, group: Option<String> },
    /// The subscriptions.
    Subscriptions,
    /// One subscription.
    Subscription(String),
    /// The places of a subscription.
    Locations(String),
    /// The providers of a subscription.
    Providers(String),
    /// One provider; also to register it or not.
    Provider { subscription: String, namespace: String, change: bool },
    /// What can be done with the provider's resources.
    Operations,
    /// Where everything is.
    Endpoints,
    /// What became of every occurrence.
    Ledger,
    /// All at a glance.
    Overview,
    /// All jobs, searched.
    Search,
    /// What happens now.
    Events,
    /// When a job would run.
    Preview,
    /// When a stored job runs next.
    Upcoming,
    /// Who shares the store.
    Nodes,
    /// Which calls wait, and for what.
    Waiting,
    /// Makes a call to try it out.
    TestCall,
    /// How the server is set.
    Settings,
    /// A copy of the whole store.
    Backup,
    /// The keys of secrets.
    Keys,
    /// Puts another key in their place.
    RotateKeys,
    /// Takes the resources of a template.
    Import,
    /// A template of what is here.
    Export,
    /// Which jobs are watched, and who is told of their trouble.
    Notifications,
    /// One rule of that, by its name.
    Notification(String),
    /// What was told.
    Notices,
    /// Who did what.
    Audit,
    /// Whether somebody has changed that.
    AuditVerify,
    /// The tokens.
    Tokens,
    /// One token, by its id.
    Token(String),
    /// The roles that were given.
    Roles,
    /// Gives a role.
    AssignRole,
    /// Takes a role away.
    RemoveRole,
    /// Who is signed in; also to sign in and out.
    Session,
    /// Sends a browser to the issuer to sign in.
    Refer,
    /// Where the browser comes back to.
    Referred,
    /// The description of this API.
    OpenApi,
    /// Answers with what it was asked.
    Echo,
    /// Whether the process lives.
    Health,
    /// Whether it can do its work.
    Ready,
    /// What was counted.
    Metrics,
}

/// What is our own, and no part of what Azure Scheduler had: one list, in which the compiler misses whatever is new.
macro_rules! extension {
    () => {
        Resource::Ledger
            | Resource::Overview
            | Resource::Search
            | Resource::Events
            | Resource::Preview
            | Resource::Upcoming
            | Resource::Nodes
            | Resource::Waiting
            | Resource::TestCall
            | Resource::Settings
            | Resource::Backup
            | Resource::Keys
            | Resource::RotateKeys
            | Resource::Import
            | Resource::Export
            | Resource::Notifications
            | Resource::Notification(_)
            | Resource::Notices
            | Resource::Audit
            | Resource::AuditVerify
            | Resource::Tokens
            | Resource::Token(_)
            | Resource::Roles
            | Resource::AssignRole
            | Resource::RemoveRole
            | Resource::Session
            | Resource::Refer
            | Resource::Referred
            | Resource::OpenApi
            | Resource::Echo
            | Resource::Health
            | Resource::Ready
            | Resource::Metrics
    };
}

impl Resource {
    /// The methods it answers to.
    pub(crate) fn methods(&self) -> &'static str {
        match self {
            Self::Collection(_) | Self::Job(..) | Self::Group(_) => "GET, HEAD, PUT, PATCH, DELETE",
            Self::Switch(..)
            | Self::Run(..)
            | Self::Preview
            | Self::TestCall
            | Self::Backup
            | Self::RotateKeys
            | Self::Import
            | Self::AssignRole
            | Self::RemoveRole
            | Self::Provider { change: true, .. } => "POST",
            Self::Session => "GET, POST, DELETE",
            Self::Tokens => "GET, POST",
            Self::Token(_) => "DELETE",
            Self::Notification(_) => "GET, PUT, DELETE",
            Self::Jobs(_) => "GET, POST",
            Self::Echo => "GET, POST, PUT, PATCH, DELETE",
            _ => "GET",
        }
    }

    /// The subscription that it belongs to.
    pub(crate) fn subscription(&self) -> Option<&str> {
        match self {
            Self::Collections { subscription, .. }
            | Self::Groups(subscription)
            | Self::Resources { subscription, .. }
            | Self::Subscription(subscription)
            | Self::Locations(subscription)
            | Self::Providers(subscription)
            | Self::Provider { subscription, .. } => Some(subscription),
            Self::Collection(path)
            | Self::Switch(path, _)
            | Self::Jobs(path)
            | Self::Job(path, _)
            | Self::Run(path, _)
            | Self::History(path, _) => Some(&path.subscription),
            Self::Group(path) => Some(&path.subscription),
            Self::Subscriptions | Self::Operations | Self::Endpoints | extension!() => None,
        }
    }

    /// The collection that it belongs to.
    pub(crate) fn collection(&self) -> Option<&CollectionPath> {
        match self {
            Self::Collection(path)
            | Self::Switch(path, _)
            | Self::Jobs(path)
            | Self::Job(path, _)
            | Self::Run(path, _)
            | Self::History(path, _) => Some(path),
            _ => None,
        }
    }

    /// Its kind in one word, as metrics tell it.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Collections { .. } => "collections",
            Self::Collection(_) => "collection",
            Self::Switch(..) => "switch",
            Self::Jobs(_) => "jobs",
            Self::Job(..) => "job",
            Self::Run(..) => "run",
            Self::History(..) => "history",
            Self::Groups(_) => "groups",
            Self::Group(_) => "group",
            Self::Resources { .. } => "resources",
            Self::Subscriptions | Self::Subscription(_) => "subscriptions",
            Self::Locations(_) | Self::Providers(_) | Self::Provider { .. } | Self::Operations => "providers",
            Self::Endpoints => "endpoints",
            Self::Ledger => "ledger",
            Self::Overview => "overview",
            Self::Search => "search",
            Self::Events => "events",
            Self::Preview => "preview",
            Self::Upcoming => "upcoming",
            Self::Nodes => "nodes",
            Self::Waiting => "waiting",
            Self::TestCall => "test-call",
            Self::Settings => "settings",
            Self::Backup => "backup",
            Self::Keys | Self::RotateKeys => "keys",
            Self::Import => "import",
            Self::Export => "export",
            Self::OpenApi => "openapi",
            Self::Echo => "echo",
            Self::Health => "healthz",
            Self::Ready => "readyz",
            Self::Metrics => "metrics",
            Self::Session => "session",
            Self::Refer | Self::Referred => "sign-in",
            Self::Notifications | Self::Notification(_) => "notifications",
            Self::Notices => "notices",
            Self::Audit | Self::AuditVerify => "audit",
            Self::Roles | Self::AssignRole | Self::RemoveRole => "roles",
            Self::Tokens | Self::Token(_) => "tokens",
        }
    }

    /// Whether it tells how the process is, which everybody who watches may ask.
    pub(crate) fn is_watching(&self) -> bool {
        matches!(self, Self::Health | Self::Ready | Self::Metrics)
    }

    /// Whose api-versions it takes.
    pub(crate) fn versions(&self) -> Versions {
        match self {
            extension!() => Versions::None,
            Self::Groups(_)
            | Self::Group(_)
            | Self::Resources { .. }
            | Self::Subscriptions
            | Self::Subscription(_)
            | Self::Locations(_)
            | Self::Providers(_)
            | Self::Provider { .. }
            | Self::Operations => Versions::ResourceManager,
            Self::Endpoints => Versions::Any,
            Self::Collections { .. }
            | Self::Collection(_)
            | Self::Switch(..)
            | Self::Jobs(_)
            | Self::Job(..)
            | Self::Run(..)
            | Self::History(..) => Versions::Scheduler,
        }
    }
}

/// Whose api-versions a resource takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Versions {
    /// Nobody's.
    None,
    /// Those of the scheduler.
    Scheduler,
    /// Those of the resource manager, of which there are many: any date will do.
    ResourceManager,
    /// Whatever the client thinks right: there were `1.0` and dates.
    Any,
}
