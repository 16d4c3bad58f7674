//! Calls a second of each kind of action, beside the bare client of the same library: what our own work costs.
//!
//! Both call the same sink in this process, as many at a time, with the same bytes: the sink remembers the first call of
//! the action, and the bare client repeats it. They take turns, round by round, because the machine is never the same for
//! long; the rates and the ratio are medians of the rounds. The CPU of a call, sink included, is that of all rounds
//! together: it says more than the rate where others use the machine.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use actions::{ActionSettings, Actions, Endpoints, Namespace, Order, Runner, ServiceBusSettings};
use anyhow::{Context, bail};
use clap::ValueEnum;
use engine::SystemClock;
use model::action::{
    Call, HttpRequest, ServiceBusMessage, ServiceBusTransport, SharedAccessKey, StorageQueueMessage,
};
use model::{Clock, Secret, Uuid};
use tokio::task::JoinSet;

use super::bare::{AmqpSender, HttpClient};
use super::report::{Line, median};
use super::sinks::{self, Broker, HttpSink};
use super::usage::{Process, Usage};

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
/// As a storage queue and as Service Bus answer.
const QUEUED: &str =
    "HTTP/1.1 201 Created\r\ncontent-type: application/xml\r\ncontent-length: 20\r\n\r\n<QueueMessagesList/>";
const CREATED: &str = "HTTP/1.1 201 Created\r\ncontent-length: 0\r\n\r\n";

const BODY: &str =
    "{\"report\": \"nightly\", \"for\": [\"sales\", \"stock\"], \"language\": \"en\", \"attempts\": 3}";

/// How much is measured.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extent {
    /// Of one client in one round.
    pub(super) calls: u32,
    pub(super) concurrency: usize,
    pub(super) rounds: u32,
}

/// A kind of action, as `--only` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Kind {
    Http,
    Https,
    StorageQueue,
    ServiceBusRest,
    ServiceBusAmqp,
}

/// What the lines of a kind are called.
struct Names {
    bare: &'static str,
    action: &'static str,
    ratio: &'static str,
    bare_cpu: &'static str,
    action_cpu: &'static str,
}

macro_rules! names {
    ($kind:literal) => {
        Names {
            bare: concat!($kind, ", bare client"),
            action: concat!($kind, ", action"),
            ratio: concat!($kind, ", action of bare"),
            bare_cpu: concat!($kind, ", CPU of a bare call"),
            action_cpu: concat!($kind, ", CPU of an action"),
        }
    };
}

impl Kind {
    const fn names(self) -> Names {
        match self {
            Self::Http => names!("HTTP"),
            Self::Https => names!("HTTPS"),
            Self::StorageQueue => names!("storage queue"),
            Self::ServiceBusRest => names!("Service Bus, REST"),
            Self::ServiceBusAmqp => names!("Service Bus, AMQP"),
        }
    }

    fn call(self, sinks: &Sinks) -> Call {
        match self {
            Self::Http => http("http", &sinks.plain),
            Self::Https => http("https", &sinks.secure),
            Self::StorageQueue => storage_queue(),
            Self::ServiceBusRest => service_bus(ServiceBusTransport::NotSpecified),
            Self::ServiceBusAmqp => service_bus(ServiceBusTransport::Amqp),
        }
    }

    /// The bare client, which repeats what the action has sent.
    async fn bare(self, sinks: &Sinks) -> anyhow::Result<Bare> {
        Ok(match self {
            Self::Http => Bare::Http(Box::new(sinks.plain.client(None)?)),
            Self::Https => Bare::Http(Box::new(sinks.secure.client(Some(&sinks.root))?)),
            Self::StorageQueue => Bare::Http(Box::new(sinks.queue.client(None)?)),
            Self::ServiceBusRest => Bare::Http(Box::new(sinks.bus.client(None)?)),
            Self::ServiceBusAmqp => Bare::Amqp(AmqpSender::open(&sinks.broker).await?),
        })
    }
}

/// A bare client.
enum Bare {
    Http(Box<HttpClient>),
    Amqp(AmqpSender),
}

impl Bare {
    /// The calls of one round.
    async fn run(&self, extent: Extent) -> anyhow::Result<()> {
        match self {
            Self::Amqp(sender) => sender.send(extent.calls, extent.concurrency).await,
            Self::Http(client) => {
                let client = client.clone();
                share(extent, move |_| {
                    let client = client.clone();
                    async move { client.call().await }
                })
                .await
            }
        }
    }
}

/// Where everything is that is called.
struct Sinks {
    plain: HttpSink,
    secure: HttpSink,
    queue: HttpSink,
    bus: HttpSink,
    broker: Broker,
    /// The certificate of the secure one.
    root: String,
}

impl Sinks {
    async fn start() -> anyhow::Result<Self> {
        let (tls, root) = sinks::tls()?;
        Ok(Self {
            plain: HttpSink::start(OK, None).await?,
            secure: HttpSink::start(OK, Some(tls)).await?,
            queue: HttpSink::start(QUEUED, None).await?,
            bus: HttpSink::start(CREATED, None).await?,
            broker: Broker::start().await?,
            root,
        })
    }

    fn settings(&self) -> ActionSettings {
        let others = Namespace {
            rest: format!("http://{}", self.bus.address),
            amqp: format!("amqp://{}", self.broker.address),
            ..ServiceBusSettings::default().others
        };
        ActionSettings {
            extra_roots: self.root.clone().into_bytes(),
            storage_accounts: Endpoints {
                pattern: format!("http://{}", self.queue.address),
                named: BTreeMap::new(),
            },
            service_bus: ServiceBusSettings { others, ..ServiceBusSettings::default() },
            ..ActionSettings::default()
        }
    }
}

/// Measures the kinds that are named; all, if none is.
pub(super) async fn actions(extent: Extent, only: &[Kind]) -> anyhow::Result<Vec<Line>> {
    let sinks = Sinks::start().await?;
    let actions = Arc::new(Actions::new(sinks.settings(), Arc::new(SystemClock))?);
    let mut lines = Vec::new();
    for kind in Kind::value_variants().iter().filter(|kind| only.is_empty() || only.contains(kind)) {
        let ours = Ours::new(&actions, kind.call(&sinks)).await?;
        let bare = kind.bare(&sinks).await?;
        let mut rounds = Rounds::default();
        for round in 0..=extent.rounds {
            for bare_now in turns(round) {
                let (began, cpu) = (SystemClock.now(), Usage::of(Process::Own).cpu);
                if bare_now {
                    bare.run(extent).await?;
                } else {
                    ours.run(extent).await?;
                }
                let cpu = Usage::of(Process::Own).cpu - cpu;
                // In the first round connections are made and memory is found.
                if round > 0 {
                    rounds.note(bare_now, rate(extent, began), cpu / f64::from(extent.calls));
                }
            }
        }
        lines.extend(rounds.lines(&kind.names()));
    }
    Ok(lines)
}

/// Who goes first changes from round to round.
fn turns(round: u32) -> [bool; 2] {
    let bare_first = round.is_multiple_of(2);
    [bare_first, !bare_first]
}

fn rate(extent: Extent, began: model::Timestamp) -> f64 {
    f64::from(extent.calls) / began.duration_until(SystemClock.now()).as_secs_f64().max(1e-6)
}

/// What the rounds have given, of both clients.
#[derive(Default)]
struct Rounds {
    bare: Rates,
    action: Rates,
}

#[derive(Default)]
struct Rates {
    /// Calls a second, round by round.
    calls: Vec<f64>,
    /// Seconds of CPU of a call, round by round.
    cpu: Vec<f64>,
}

impl Rounds {
    fn note(&mut self, is_bare: bool, calls: f64, cpu: f64) {
        let rates = if is_bare { &mut self.bare } else { &mut self.action };
        rates.calls.push(calls);
        rates.cpu.push(cpu);
    }

    fn lines(&self, names: &Names) -> [Line; 5] {
        let both = self.bare.calls.iter().zip(&self.action.calls);
        let ratios = both.map(|(bare, action)| action / bare * 100.0);
        let microseconds = |cpu: &[f64]| cpu.iter().sum::<f64>() / cpu.len() as f64 * 1e6;
        [
            Line::new(names.bare, median(self.bare.calls.clone()), "1/s"),
            Line::new(names.action, median(self.action.calls.clone()), "1/s"),
            Line::new(names.ratio, median(ratios.collect()), "%"),
            Line::new(names.bare_cpu, microseconds(&self.bare.cpu), "µs"),
            Line::new(names.action_cpu, microseconds(&self.action.cpu), "µs"),
        ]
    }
}

/// An action and who carries it out.
struct Ours {
    actions: Arc<Actions>,
    call: Arc<Call>,
}

impl Ours {
    /// Makes the first call, which the sink remembers.
    async fn new(actions: &Arc<Actions>, call: Call) -> anyhow::Result<Self> {
        let ours = Self { actions: actions.clone(), call: Arc::new(call) };
        attempt(&ours.actions, &ours.call, 0).await?;
        Ok(ours)
    }

    async fn run(&self, extent: Extent) -> anyhow::Result<()> {
        let (actions, call) = (self.actions.clone(), self.call.clone());
        share(extent, move |number| {
            let (actions, call) = (actions.clone(), call.clone());
            async move { attempt(&actions, &call, number).await }
        })
        .await
    }
}

async fn attempt(actions: &Actions, call: &Call, number: u32) -> anyhow::Result<()> {
    // Who asks for an attempt names it. Each has a name of its own, as long as a random one.
    let id = Uuid::from_u128(u128::MAX / 2 + u128::from(number));
    let order = Order {
        call,
        collection: "bench",
        job: "bench",
        location: "Local",
        expected_at: SystemClock.now(),
        tag: id,
        request_id: id,
        trace: None,
    };
    let outcome = actions.run(order).await;
    if !outcome.success {
        bail!("an action failed: {}", outcome.message);
    }
    Ok(())
}

/// Makes the calls of one client and one round, so many at a time.
async fn share<F>(extent: Extent, call: impl Fn(u32) -> F + Clone + Send + 'static) -> anyhow::Result<()>
where
    F: Future<Output = anyhow::Result<()>> + Send,
{
    let begun = Arc::new(AtomicU32::new(0));
    let mut callers = JoinSet::new();
    for _ in 0..extent.concurrency {
        let (begun, call) = (begun.clone(), call.clone());
        callers.spawn(async move {
            loop {
                let number = begun.fetch_add(1, Ordering::Relaxed);
                if number >= extent.calls {
                    return anyhow::Ok(());
                }
                call(number).await?;
            }
        });
    }
    while let Some(ended) = callers.join_next().await {
        ended.context("a caller ended early")??;
    }
    Ok(())
}

fn http(scheme: &str, sink: &HttpSink) -> Call {
    let request = HttpRequest {
        uri: format!("{scheme}://{}/nightly", sink.address),
        method: "POST".into(),
        headers: Some(vec![("content-type".into(), "application/json".into())]),
        body: Some(BODY.into()),
        authentication: None,
    };
    Call::Http { https: scheme == "https", request }
}

fn storage_queue() -> Call {
    Call::StorageQueue(StorageQueueMessage {
        account: "bench".into(),
        queue: "nightly".into(),
        sas_token: Secret::new("sv=2019-02-02&sp=a&sig=c2lnbmF0dXJl"),
        message: Some(BODY.into()),
        delivery: None,
    })
}

/// Over AMQP without a key, because the broker asks for none; over REST every request is signed.
fn service_bus(transport: ServiceBusTransport) -> Call {
    let key = || SharedAccessKey { name: "sender".into(), key: Secret::new("a2V5") };
    Call::ServiceBusQueue(ServiceBusMessage {
        namespace: "bench".into(),
        entity: "nightly".into(),
        transport,
        authentication: (transport != ServiceBusTransport::Amqp).then(key),
        message: Some(BODY.into()),
        brokered_properties: None,
        custom_properties: None,
    })
}
