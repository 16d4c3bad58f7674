//! The exporter: gathers spans into batches, and sends them to a collector.
//!
//! Two tasks, so that a collector that is slow keeps nobody from gathering: one listens to the engine and to the API, the
//! other sends what is gathered. Between them there is room for a few batches.

use std::sync::Arc;
use std::time::Duration;

use actions::{Order, Runner};
use engine::{UnderWay, Word};
use model::action::{Call, HttpRequest};
use model::{Clock, Uuid};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, mpsc};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use super::otlp::{self, Span};
use super::{TraceNumbers, Traces};

/// The most spans of one request.
const BATCH: usize = 512;
/// How long spans wait for others.
const GATHERED: Duration = Duration::from_secs(1);
/// How many batches may wait to be sent.
const BATCHES: usize = 8;
/// How long to wait before each try to send a batch; after the last it is dropped.
const PAUSES: [Duration; 4] =
    [Duration::ZERO, Duration::from_millis(500), Duration::from_secs(1), Duration::from_secs(2)];
/// How long a stop waits for what is gathered to be sent.
const FAREWELL: Duration = Duration::from_secs(5);

/// Where to, and as whom.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// The collector's address for traces.
    pub(crate) endpoint: String,
    /// Headers that it wants.
    pub(crate) headers: Vec<(String, String)>,
    /// The name of this node.
    pub(crate) node: String,
}

/// See the module.
pub(crate) struct Exporter {
    stop: CancellationToken,
    sender: JoinHandle<()>,
}

impl Exporter {
    /// Begins to export.
    pub(crate) fn start(
        settings: Settings,
        traces: Arc<Traces>,
        spans: mpsc::Receiver<Span>,
        under_way: &UnderWay,
        runner: Arc<dyn Runner>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let stop = CancellationToken::new();
        let (batches, gathered) = mpsc::channel(BATCHES);
        let numbers = traces.numbers.clone();
        let gatherer = Gatherer { traces, spans, words: under_way.listen(), batches, stop: stop.clone() };
        tokio::spawn(gatherer.run());
        let sender = Sender { settings, gathered, numbers, runner, clock };
        Self { stop, sender: tokio::spawn(sender.run()) }
    }

    /// Sends what is gathered, but does not wait for ever.
    pub(crate) async fn stop(self) {
        self.stop.cancel();
        let abort = self.sender.abort_handle();
        if timeout(FAREWELL, self.sender).await.is_err() {
            abort.abort();
        }
    }
}

struct Gatherer {
    traces: Arc<Traces>,
    spans: mpsc::Receiver<Span>,
    words: broadcast::Receiver<Word>,
    batches: mpsc::Sender<Vec<Span>>,
    stop: CancellationToken,
}

impl Gatherer {
    async fn run(mut self) {
        let mut batch = Vec::new();
        let mut send_at = Instant::now() + GATHERED;
        loop {
            tokio::select! {
                // What has happened before the stop is told.
                biased;
                word = self.words.recv() => match word {
                    Ok(word) => self.take(&word, &mut batch),
                    Err(RecvError::Lagged(lost)) => self.traces.numbers.dropped.add(lost),
                    Err(RecvError::Closed) => break,
                },
                span = self.spans.recv() => match span {
                    Some(span) => batch.push(span),
                    None => break,
                },
                () = self.stop.cancelled() => break,
                () = sleep_until(send_at) => {}
            }
            if batch.len() >= BATCH || send_at <= Instant::now() {
                self.pass_on(std::mem::take(&mut batch));
                send_at = Instant::now() + GATHERED;
            }
        }
        self.pass_on(batch);
    }

    fn take(&self, word: &Word, batch: &mut Vec<Span>) {
        if let Word::Ended(begun, attempt, settlement) = word {
            batch.extend(self.traces.of_attempt(begun, attempt, *settlement));
        }
    }

    fn pass_on(&self, batch: Vec<Span>) {
        if batch.is_empty() {
            return;
        }
        let size = batch.len() as u64;
        if self.batches.try_send(batch).is_err() {
            self.traces.numbers.dropped.add(size);
        }
    }
}

struct Sender {
    settings: Settings,
    gathered: mpsc::Receiver<Vec<Span>>,
    numbers: Arc<TraceNumbers>,
    runner: Arc<dyn Runner>,
    clock: Arc<dyn Clock>,
}

impl Sender {
    async fn run(mut self) {
        let mut troubled = false;
        while let Some(batch) = self.gathered.recv().await {
            match self.send(&batch).await {
                Ok(()) => {
                    self.numbers.exported.add(batch.len() as u64);
                    troubled = false;
                }
                Err(why) => {
                    self.numbers.dropped.add(batch.len() as u64);
                    // Once is enough: a collector that is away for an hour must not fill the log.
                    if std::mem::replace(&mut troubled, true) {
                        debug!(spans = batch.len(), why, "spans were dropped");
                    } else {
                        warn!(
                            spans = batch.len(),
                            why, "the collector of traces takes nothing; spans are dropped"
                        );
                    }
                }
            }
        }
    }

    /// Sends a batch, as often as it takes or makes sense; what the collector said last otherwise.
    async fn send(&self, batch: &[Span]) -> Result<(), String> {
        let mut headers = vec![("Content-Type".to_owned(), "application/json".to_owned())];
        headers.extend(self.settings.headers.iter().cloned());
        let request = HttpRequest {
            uri: self.settings.endpoint.clone(),
            method: "POST".to_owned(),
            headers: Some(headers),
            body: Some(otlp::request(&self.settings.node, batch).to_string()),
            authentication: None,
        };
        let call = Call::Http { https: false, request };
        let mut said = String::new();
        for pause in PAUSES {
            sleep(pause).await;
            let order = Order {
                call: &call,
                collection: "punctual",
                job: "traces",
                location: "",
                expected_at: self.clock.now(),
                tag: Uuid::new_v4(),
                request_id: Uuid::new_v4(),
                trace: None,
            };
            let outcome = self.runner.run(order).await;
            if outcome.success {
                return Ok(());
            }
            said = outcome.message;
        }
        Err(said)
    }
}
