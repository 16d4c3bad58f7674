//! The hosts of a database: which of them is asked, and for how long.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use deadpool_postgres::Connect;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::config::{Host, TargetSessionAttrs};
use tokio_postgres::{Client, Config, Error};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::session::Settings;

/// How long one of several hosts may take until it can be used: it takes the connection and greets. One that takes
/// connections and is silent must not keep us from those after it.
pub(super) const GREETING: Duration = Duration::from_secs(3);

/// A connection of its own, and what has to be driven for it to work.
pub(super) type Line = (Client, Driver);

/// What carries the messages of a connection.
type Driver = tokio_postgres::Connection<
    tokio_postgres::Socket,
    <MakeRustlsConnect as tokio_postgres::tls::MakeTlsConnect<tokio_postgres::Socket>>::Stream,
>;

/// A connection, or why there is none.
pub(super) type Connected = Result<Line, Error>;

/// The hosts of a database. One that could be used is asked first the next time.
#[derive(Clone)]
pub(super) struct Hosts {
    /// How each of them is reached.
    each: Arc<[Config]>,
    tls: MakeRustlsConnect,
    /// What every session is told first.
    settings: Arc<Settings>,
    /// The place of the one that could be used last.
    last: Arc<AtomicUsize>,
}

impl Hosts {
    /// The hosts of a configuration.
    pub(super) fn of(config: &Config, tls: MakeRustlsConnect, settings: Settings) -> Self {
        Self { each: each_host(config).into(), tls, settings: Arc::new(settings), last: Arc::default() }
    }

    /// The settings of every session.
    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Whether one can take over from another.
    pub(super) fn are_several(&self) -> bool {
        self.each.len() > 1
    }

    /// A connection to the first that can be used.
    pub(super) async fn connect_for(&self, purpose: TargetSessionAttrs) -> Connected {
        let first = self.last.load(Ordering::Relaxed);
        let mut places = (0..self.each.len()).cycle().skip(first).take(self.each.len()).peekable();
        loop {
            let place = places.next().unwrap_or_default();
            let mut config = self.each[place].clone();
            config.target_session_attrs(purpose);
            let line = self.connect_to(&config);
            let line = match places.peek() {
                // After the last there is nobody to go on to: whoever waits says for how long.
                None => line.await,
                Some(_) => match timeout(GREETING, line).await {
                    Ok(Ok(line)) => Ok(line),
                    Ok(Err(_)) | Err(_) => continue,
                },
            };
            if line.is_ok() {
                self.last.store(place, Ordering::Relaxed);
            }
            return line;
        }
    }

    /// Connects to one host, and makes the settings of the session.
    async fn connect_to(&self, config: &Config) -> Connected {
        let (client, mut driver) = config.connect(self.tls.clone()).await?;
        driving(&mut driver, client.batch_execute(&self.settings.sql())).await?;
        Ok((client, driver))
    }
}

/// Waits for an answer, and carries the messages of its connection meanwhile.
async fn driving<T>(driver: &mut Driver, answer: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let mut answer = pin!(answer);
    poll_fn(|context| {
        loop {
            if let Poll::Ready(answer) = answer.as_mut().poll(context) {
                return Poll::Ready(answer);
            }
            match driver.poll_message(context) {
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Err(error)),
                // A remark of the database.
                Poll::Ready(Some(Ok(_))) => {}
                Poll::Ready(None) | Poll::Pending => return Poll::Pending,
            }
        }
    })
    .await
}

/// For the pool.
impl Connect for Hosts {
    fn connect(
        &self,
        _: &Config,
    ) -> Pin<Box<dyn Future<Output = Result<(Client, JoinHandle<()>), Error>> + Send + '_>> {
        Box::pin(async move {
            let (client, connection) = self.connect_for(TargetSessionAttrs::ReadWrite).await?;
            let driver = tokio::spawn(async move {
                // Whoever waits for an answer is told what went wrong.
                let _ = connection.await;
            });
            Ok((client, driver))
        })
    }
}

/// The same settings for each host alone.
fn each_host(all: &Config) -> Vec<Config> {
    let ports = all.get_ports();
    // Without any it is for the connection to say so.
    let count = all.get_hosts().len().max(all.get_hostaddrs().len()).max(1);
    let one = |place: usize| {
        let mut one = Config::new();
        match all.get_hosts().get(place) {
            Some(Host::Tcp(name)) => one.host(name),
            #[cfg(unix)]
            Some(Host::Unix(path)) => one.host_path(path),
            None => &mut one,
        };
        all.get_hostaddrs().get(place).map(|address| one.hostaddr(*address));
        ports.get(place).or(ports.first()).map(|port| one.port(*port));
        all.get_user().map(|user| one.user(user));
        all.get_password().map(|password| one.password(password));
        all.get_dbname().map(|name| one.dbname(name));
        all.get_options().filter(|options| !options.is_empty()).map(|options| one.options(options));
        all.get_application_name().map(|name| one.application_name(name));
        all.get_connect_timeout().map(|timeout| one.connect_timeout(*timeout));
        all.get_tcp_user_timeout().map(|timeout| one.tcp_user_timeout(*timeout));
        all.get_keepalives_interval().map(|interval| one.keepalives_interval(interval));
        all.get_keepalives_retries().map(|retries| one.keepalives_retries(retries));
        one.keepalives(all.get_keepalives())
            .keepalives_idle(all.get_keepalives_idle())
            .ssl_mode(all.get_ssl_mode())
            .ssl_negotiation(all.get_ssl_negotiation())
            .channel_binding(all.get_channel_binding())
            .load_balance_hosts(all.get_load_balance_hosts());
        one
    };
    (0..count).map(one).collect()
}
