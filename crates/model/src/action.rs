//! Actions: what a job does when it is due, and how often it tries.
//!
//! They are generic in what stands where a secret belongs: a [`Secret`] wherever nothing else is said, and for a store
//! its sealed form (see [`Definition::try_map`](crate::Definition::try_map)).

use std::time::Duration;

use recurrence::Timestamp;
use serde::{Deserialize, Serialize};

use crate::Secret;

/// What is called, how often a failed call is repeated, and what is called when nothing helped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Action<S = Secret> {
    /// What is called.
    pub call: Call<S>,
    /// `None` where the job did not say: the plan's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetryPolicy>,
    /// Called when the retries are used up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_error: Option<Box<Action<S>>>,
}

impl Action {
    /// How deep error actions may be nested below the action.
    pub const DEEPEST: usize = 3;
}

impl<S> Action<S> {
    /// The action at a depth: 0 is the action itself, 1 its error action, and so on.
    pub fn at_depth(&self, depth: u8) -> Option<&Self> {
        match depth {
            0 => Some(self),
            _ => self.on_error.as_ref()?.at_depth(depth - 1),
        }
    }

    /// The retry policy at a depth: an error action without one of its own inherits.
    pub fn retry_at_depth(&self, depth: u8) -> Option<&RetryPolicy> {
        (0..=depth).rev().find_map(|depth| self.at_depth(depth)?.retry.as_ref())
    }
}

/// One kind of call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Call<S = Secret> {
    /// An HTTP request. The old service knew `Http` and `Https` as types; either takes either scheme.
    Http {
        /// Whether the type was written `Https`.
        https: bool,
        /// The request.
        request: HttpRequest<S>,
    },
    /// A message for an Azure storage queue.
    StorageQueue(StorageQueueMessage<S>),
    /// A message for a Service Bus queue.
    ServiceBusQueue(ServiceBusMessage<S>),
    /// A message for a Service Bus topic.
    ServiceBusTopic(ServiceBusMessage<S>),
}

/// An HTTP request, as it was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpRequest<S = Secret> {
    /// Byte for byte as given.
    pub uri: String,
    /// As given: `get` stays `get` in answers.
    pub method: String,
    /// In the order given; `Some(vec![])` was given as an empty object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headers: Option<Vec<(String, String)>>,
    /// The body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// Who calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authentication: Option<HttpAuthentication<S>>,
}

/// How an HTTP request says who calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum HttpAuthentication<S = Secret> {
    /// User name and password.
    Basic {
        /// The user.
        username: String,
        /// The password.
        password: S,
    },
    /// A client certificate.
    ClientCertificate {
        /// Base64 of a PKCS #12 file.
        pfx: S,
        /// What opens it.
        password: S,
        /// Upper-case hex.
        thumbprint: String,
        /// When it expires.
        expiration: Timestamp,
        /// `CN=…`.
        subject: String,
    },
    /// An OAuth client of a directory.
    ActiveDirectoryOAuth {
        /// The directory.
        tenant: String,
        /// For whom the token is.
        audience: String,
        /// Who asks.
        client_id: String,
        /// The client's secret.
        secret: S,
    },
    /// A signature of what is sent, as Standard Webhooks has it.
    Hmac {
        /// What it is signed with; several while the called side changes from one to another.
        secrets: Vec<S>,
    },
}

/// A message for a storage queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StorageQueueMessage<S = Secret> {
    /// The account.
    pub account: String,
    /// The queue.
    pub queue: String,
    /// What lets us in.
    pub sas_token: S,
    /// The message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// `None` where nothing was said: in the envelope.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<QueueDelivery>,
}

/// In what form a message lies in a storage queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum QueueDelivery {
    /// In the XML envelope of the old service, which tells of the job and the occurrence; base64.
    Envelope,
    /// The message as it is.
    Raw,
    /// The message alone; base64, which many readers of queues expect.
    Base64,
}

impl QueueDelivery {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Envelope, Self::Raw, Self::Base64];

    /// As in the API.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Envelope => "envelope",
            Self::Raw => "raw",
            Self::Base64 => "base64",
        }
    }
}

/// A message for a Service Bus queue or topic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceBusMessage<S = Secret> {
    /// The namespace.
    pub namespace: String,
    /// The queue's name, or the topic's path.
    pub entity: String,
    /// How it travels.
    pub transport: ServiceBusTransport,
    /// Who sends; `None` where nothing was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authentication: Option<SharedAccessKey<S>>,
    /// The message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Properties the broker knows, name and JSON text of the value, in the order given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub brokered_properties: Option<Vec<(String, String)>>,
    /// The sender's own properties.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_properties: Option<Vec<(String, String)>>,
}

/// How a Service Bus message travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ServiceBusTransport {
    /// Nothing was said.
    NotSpecified,
    /// The REST endpoint.
    NetMessaging,
    /// AMQP 1.0.
    Amqp,
}

/// A shared access key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedAccessKey<S = Secret> {
    /// Its name.
    pub name: String,
    /// The key.
    pub key: S,
}

/// How often a failed call is repeated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum RetryPolicy {
    /// Not at all.
    None,
    /// At equal distances; what is `None` was not given and means the default.
    Fixed {
        /// The distance.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        interval: Option<RetryInterval>,
        /// How often at the most.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        count: Option<u32>,
    },
}

/// A retry interval, with the way it was written: no client reads both, so each gets its own back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryInterval {
    /// Seconds.
    pub seconds: u64,
    /// How it was written.
    pub form: IntervalForm,
}

/// How a retry interval is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum IntervalForm {
    /// `00:01:00`, `1.00:00:00`.
    TimeSpan,
    /// `PT1M`.
    Iso,
}

/// A retry policy with nothing left open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retries {
    /// How often at the most.
    pub count: u32,
    /// The distance.
    pub interval: Duration,
}

impl Retries {
    /// What a job gets that does not say.
    pub const DEFAULT_COUNT: u32 = 4;

    /// The policy in force, given what was asked and the interval that the plan gives to those who do not ask.
    pub fn of(policy: Option<&RetryPolicy>, default_interval: Duration) -> Self {
        match policy {
            Some(RetryPolicy::None) => Self { count: 0, interval: default_interval },
            Some(RetryPolicy::Fixed { interval, count }) => Self {
                count: count.unwrap_or(Self::DEFAULT_COUNT),
                interval: interval.map_or(default_interval, |interval| Duration::from_secs(interval.seconds)),
            },
            None => Self { count: Self::DEFAULT_COUNT, interval: default_interval },
        }
    }
}
