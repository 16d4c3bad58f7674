//! How connections are taken.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use serde::Deserialize;

use super::{ConfigFault, duration};
use crate::transport::{Bounds, Certificates};

/// The fewest bytes of a head that can be allowed: what is read at a time.
const SMALLEST_HEAD: usize = 8192;

/// How connections are taken.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Serving {
    /// The certificate, with those that it needs; empty for no TLS.
    pub certificate_file: PathBuf,
    /// Its key.
    pub key_file: PathBuf,
    /// The most connections.
    pub connections: NonZeroU32,
    /// The longest that the head of a request may take.
    #[serde(deserialize_with = "duration::read")]
    pub header_timeout: Duration,
    /// The longest that its body may take.
    #[serde(deserialize_with = "duration::read")]
    pub body_timeout: Duration,
    /// The longest without a request.
    #[serde(deserialize_with = "duration::read")]
    pub idle_timeout: Duration,
    /// The longest that an answer may wait to be taken.
    #[serde(deserialize_with = "duration::read")]
    pub answer_timeout: Duration,
    /// The most bytes of a head.
    pub max_headers: usize,
    /// The most lines of it.
    pub max_header_lines: usize,
}

impl Serving {
    /// What connections may do, where there can be so many.
    pub(crate) fn bounds(&self, connections: usize) -> Result<Bounds, ConfigFault> {
        let times = [
            ("server.header-timeout", self.header_timeout),
            ("server.body-timeout", self.body_timeout),
            ("server.idle-timeout", self.idle_timeout),
            ("server.answer-timeout", self.answer_timeout),
        ];
        if let Some((name, _)) = times.iter().find(|(_, time)| time.is_zero()) {
            return Err(ConfigFault::new(name, "there would be no time at all; allowed: 1ms and more"));
        }
        if self.max_headers < SMALLEST_HEAD {
            let problem = format!("{} is too few; allowed: {SMALLEST_HEAD} and more", self.max_headers);
            return Err(ConfigFault::new("server.max-headers", problem));
        }
        if !(1..=10_000).contains(&self.max_header_lines) {
            let problem = format!("{} is not allowed; allowed: 1 to 10000", self.max_header_lines);
            return Err(ConfigFault::new("server.max-header-lines", problem));
        }
        Ok(Bounds {
            connections: connections.min(self.connections.get() as usize),
            head: self.header_timeout,
            idle: self.idle_timeout,
            stall: self.answer_timeout,
            head_bytes: self.max_headers,
            head_lines: self.max_header_lines,
        })
    }

    /// The certificates, where TLS is spoken.
    pub(crate) fn certificates(&self) -> anyhow::Result<Option<Arc<Certificates>>> {
        let is_set = |path: &PathBuf| !path.as_os_str().is_empty();
        let missing =
            |name: &str, other: &str| ConfigFault::new(name, format!("it is missing, but {other} is set"));
        match (is_set(&self.certificate_file), is_set(&self.key_file)) {
            (false, false) => Ok(None),
            (true, false) => Err(missing("server.key-file", "server.certificate-file").into()),
            (false, true) => Err(missing("server.certificate-file", "server.key-file").into()),
            (true, true) => Certificates::read(self.certificate_file.clone(), self.key_file.clone())
                .map(Some)
                .context("TLS"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn with(change: impl FnOnce(&mut Serving)) -> Serving {
        let mut serving = Config::default().server;
        change(&mut serving);
        serving
    }

    #[test]
    fn what_is_wrong_is_named() {
        let bounds = with(|_| ()).bounds(100).expect("the default");
        assert_eq!((bounds.connections, bounds.head_bytes), (100, 32768));
        assert_eq!(with(|_| ()).bounds(usize::MAX).expect("the default").connections, 5000);
        for (serving, name) in [
            (with(|serving| serving.max_headers = 8191), "server.max-headers"),
            (with(|serving| serving.max_header_lines = 0), "server.max-header-lines"),
            (with(|serving| serving.idle_timeout = Duration::ZERO), "server.idle-timeout"),
        ] {
            let fault = serving.bounds(100).expect_err(name).to_string();
            assert!(fault.starts_with(&format!("{name}: ")) && fault.contains("allowed: "), "{fault}");
        }
        let some = || PathBuf::from("/nowhere/file.pem");
        for (serving, name) in [
            (with(|serving| serving.certificate_file = some()), "server.key-file"),
            (with(|serving| serving.key_file = some()), "server.certificate-file"),
            (
                with(|serving| (serving.certificate_file, serving.key_file) = (some(), some())),
                "/nowhere/file.pem",
            ),
        ] {
            let fault = format!("{:#}", serving.certificates().expect_err(name));
            assert!(fault.contains(name), "{fault}");
        }
    }
}
