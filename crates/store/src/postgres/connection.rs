//! Connections: the address, whom to trust, and how long to wait for what.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{Manager, ManagerConfig, Pool, QueueMode, RecyclingMethod, Runtime, Timeouts};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use tokio::time::timeout;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::fault::{Fault, Outcome};
use super::hosts::{GREETING, Hosts, Line};
use super::session::Settings;
use crate::{Error, Result};

/// How long to wait for one host to take a connection: long enough for one lost packet.
const CONNECT: Duration = Duration::from_secs(2);

/// How long to wait for anything else that takes a moment before the database counts as away.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// After this a connection is given up on which the other side acknowledges nothing: about as long as a lease.
pub(super) const SILENCE: Duration = Duration::from_secs(3);

/// How often the other side is asked for a sign of life where there is nothing to send. Whoever waits for an answer that
/// got lost sends nothing, and would wait for hours.
pub(super) const PROBE: Duration = Duration::from_secs(1);

/// How many such questions may stay without answer.
pub(super) const PROBES: u32 = 3;

/// A database, as its URL names it.
#[derive(Clone)]
pub(super) struct Address {
    config: tokio_postgres::Config,
    pub(super) hosts: Hosts,
    /// For messages: without the password.
    pub(super) place: String,
}

impl Address {
    /// Reads a URL such as `postgres://user:password@host/database?sslmode=verify-full`.
    pub(super) fn parse(url: &str) -> Result<Self> {
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        let (mut mode, mut rest) = (None, Vec::new());
        let mut files = Files::default();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("sslmode", value)) => mode = Some(value),
                Some(("sslrootcert", value)) => files.root = Some(decoded(value).into()),
                Some(("sslcert", value)) => files.certificate = Some(decoded(value).into()),
                Some(("sslkey", value)) => files.key = Some(decoded(value).into()),
                _ => rest.push(pair),
            }
        }
        let url = if rest.is_empty() { base.to_owned() } else { format!("{base}?{}", rest.join("&")) };
        let mut config: tokio_postgres::Config = url.parse().map_err(|error| {
            Error::Failed(format!(
                "the URL of the database cannot be read ({error}); \
                 it looks like postgres://user:password@host:5432/database?sslmode=verify-full"
            ))
        })?;
        let place = place(&config);
        let encrypted = match mode {
            None => !is_local(&config),
            Some("disable") => false,
            // All three check the certificate and the name: encryption towards nobody in particular protects nothing.
            Some("require" | "verify-ca" | "verify-full") => true,
            Some(other) => {
                return Err(Error::Failed(format!(
                    "{place}: sslmode={other} is not known; allowed: disable, require, verify-ca, verify-full"
                )));
            }
        };
        config.ssl_mode(if encrypted { SslMode::Require } else { SslMode::Disable });
        if config.get_application_name().is_none() {
            config.application_name("punctual");
        }
        // Of several hosts, the one that can be written.
        config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        config.connect_timeout(CONNECT);
        config.tcp_user_timeout(SILENCE);
        config.keepalives_idle(PROBE).keepalives_interval(PROBE).keepalives_retries(PROBES);
        // Poolers refuse most options of a connection that begins, so it has none of ours.
        let settings = Settings::beside(config.get_options().unwrap_or_default());
        config.options(settings.left_over());
        let tls = MakeRustlsConnect::new(files.read(&place)?);
        let hosts = Hosts::of(&config, tls, settings);
        Ok(Self { config, hosts, place })
    }

    /// A pool of connections, none of which is open yet.
    pub(super) fn pool(&self, most: usize) -> Result<Pool> {
        let recycle = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = Manager::from_connect(self.config.clone(), self.hosts.clone(), recycle);
        Pool::builder(manager)
            .max_size(most)
            // The one that was used last: its server process has what it needs at hand. In turns, each of them would have to
            // map every page of the database's memory by itself.
            .queue_mode(QueueMode::Lifo)
            .runtime(Runtime::Tokio1)
            .timeouts(Timeouts {
                wait: Some(PATIENCE),
                create: Some(self.patience()),
                recycle: Some(PATIENCE),
            })
            .build()
            .map_err(|error| Error::Failed(format!("{}: {error}", self.place)))
    }

    /// How long to wait for a connection. Every host may be the last that is asked.
    pub(super) fn patience(&self) -> Duration {
        let hosts = u32::try_from(self.config.get_hosts().len()).unwrap_or(u32::MAX);
        PATIENCE.saturating_add(GREETING.saturating_mul(hosts.saturating_sub(1)))
    }

    /// Whether what is sent is encrypted.
    pub(super) fn is_encrypted(&self) -> bool {
        self.config.get_ssl_mode() == SslMode::Require
    }

    /// Whether the database is on this machine.
    pub(super) fn is_local(&self) -> bool {
        is_local(&self.config)
    }

    /// A connection outside the pool.
    pub(super) async fn line(&self) -> Outcome<Line> {
        self.line_for(TargetSessionAttrs::ReadWrite).await
    }

    /// A connection outside the pool, also to a server that cannot be written where looking is enough.
    pub(super) async fn line_for(&self, purpose: TargetSessionAttrs) -> Outcome<Line> {
        match timeout(self.patience(), self.hosts.connect_for(purpose)).await {
            Ok(line) => Ok(line?),
            Err(_) => Err(Fault::Pool("it takes connections and does not answer".to_owned())),
        }
    }
}

fn place(config: &tokio_postgres::Config) -> String {
    let ports = config.get_ports();
    // One for each host, or one for all of them.
    let port = |place: usize| match ports.get(place).or(ports.first()) {
        None | Some(5432) => String::new(),
        Some(port) => format!(":{port}"),
    };
    let hosts = config.get_hosts().iter().enumerate().map(|(place, host)| match host {
        Host::Tcp(name) => format!("{name}{}", port(place)),
        Host::Unix(path) => path.display().to_string(),
    });
    let hosts: Vec<String> = hosts.collect();
    let database = config.get_dbname().or(config.get_user()).unwrap_or_default();
    format!("postgres://{}/{database}", hosts.join(","))
}

/// Whether nobody is in between who could listen.
fn is_local(config: &tokio_postgres::Config) -> bool {
    config.get_hosts().iter().all(|host| match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
        }
    })
}

/// A value of a URL's query, with its percent signs resolved.
fn decoded(value: &str) -> String {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        let hex = tail.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()).filter(|_| byte == b'%') {
            Some(escaped) => {
                bytes.push(escaped);
                rest = &tail[2..];
            }
            None => {
                bytes.push(byte);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The files that a URL names.
#[derive(Debug, Default)]
struct Files {
    /// Whom we trust.
    root: Option<PathBuf>,
    /// Who we are, to a server that asks.
    certificate: Option<PathBuf>,
    /// The key of that.
    key: Option<PathBuf>,
}

impl Files {
    fn read(&self, place: &str) -> Result<ClientConfig> {
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| Error::Failed(format!("{place}: {error}")))?
            .with_root_certificates(self.trusted(place)?);
        let (certificate, key) = match (&self.certificate, &self.key) {
            (None, None) => return Ok(builder.with_no_client_auth()),
            (Some(certificate), Some(key)) => (certificate, key),
            _ => {
                return Err(Error::Failed(format!(
                    "{place}: sslcert and sslkey go together: a certificate, and the file of its key"
                )));
            }
        };
        let chain = certificates(certificate, "sslcert", place)?;
        let secret =
            PrivateKeyDer::from_pem_file(key).map_err(|error| wrong(place, "sslkey", key, &error))?;
        builder.with_client_auth_cert(chain, secret).map_err(|error| wrong(place, "sslkey", key, &error))
    }

    /// Whom we trust: the certificates of a file, or the machine's, or those that come with the program where the machine
    /// has none.
    fn trusted(&self, place: &str) -> Result<RootCertStore> {
        let mut roots = RootCertStore::empty();
        let Some(file) = &self.root else {
            // Certificates of the machine that cannot be read are left out: the others still serve.
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            if roots.is_empty() {
                roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
            }
            return Ok(roots);
        };
        for certificate in certificates(file, "sslrootcert", place)? {
            roots.add(certificate).map_err(|error| wrong(place, "sslrootcert", file, &error))?;
        }
        Ok(roots)
    }
}

fn certificates(file: &Path, option: &str, place: &str) -> Result<Vec<CertificateDer<'static>>> {
    let read =
        CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<std::result::Result<Vec<_>, _>>);
    match read {
        Err(error) => Err(wrong(place, option, file, &error)),
        Ok(found) if found.is_empty() => Err(wrong(place, option, file, &"there is no certificate in it")),
        Ok(found) => Ok(found),
    }
}

fn wrong(place: &str, option: &str, file: &Path, why: &dyn std::fmt::Display) -> Error {
    Error::Failed(format!("{place}: {option}={}: {why}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_told_without_the_password() {
        for (url, encrypted) in [
            ("postgres://u:secret@127.0.0.1:5433/d", false),
            ("postgres://u:secret@localhost/d?sslmode=verify-full", true),
            ("postgres://u:secret@db.example/d", true),
            ("postgres://u:secret@db.example/d?sslmode=disable&connect_timeout=3", false),
            ("postgres://u:secret@a.example,b.example/d?sslmode=require", true),
        ] {
            let address = Address::parse(url).unwrap();
            let mode = if encrypted { SslMode::Require } else { SslMode::Disable };
            assert_eq!(address.config.get_ssl_mode(), mode, "{url}");
            assert!(address.place.ends_with("/d"), "{}", address.place);
            assert!(!address.place.contains("secret"), "{}", address.place);
        }
        let place = |url: &str| Address::parse(url).unwrap().place;
        assert_eq!(place("postgres://u@a,b:5433/d"), "postgres://a,b:5433/d");
        assert_eq!(place("postgres://u@a:6000/d"), "postgres://a:6000/d");
    }

    #[test]
    fn wrong_addresses_are_refused_with_what_is_allowed() {
        let told = |url: &str| Address::parse(url).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(told("mysql://host").contains("postgres://user"), "{}", told("mysql://host"));
        let prefer = told("postgres://u@h/d?sslmode=prefer");
        assert!(prefer.contains("sslmode=prefer") && prefer.contains("verify-full"), "{prefer}");
        let root = told("postgres://u@h/d?sslmode=require&sslrootcert=%2Fnowhere%2Fca.pem");
        assert!(root.contains("/nowhere/ca.pem"), "{root}");
        let half = told("postgres://u@h/d?sslcert=client.pem");
        assert!(half.contains("sslkey"), "{half}");
    }
}
