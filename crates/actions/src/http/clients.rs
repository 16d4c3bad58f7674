//! Clients: who we are decides over which connections a request may go.
//!
//! A connection that was opened with a certificate speaks for its owner, so every certificate has connections of its
//! own, and requests without one have theirs.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use model::Secret;
use model::certificate;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::sync::OnceCell;

use super::connector::Connector;
use super::dialer::Dialer;
use super::pool::Pool;
use crate::fault::{Fault, Kind};
use crate::settings::{ActionSettings, SettingsError};
use crate::tls;

/// How many certificates have their connections kept; opening a file again costs some milliseconds.
const KEPT: usize = 256;

/// See the module.
pub(super) struct Clients {
    nobody: Pool,
    /// By thumbprint, the last used first. Who comes while a file is being opened waits for it.
    known: Mutex<VecDeque<(String, Arc<OnceCell<Pool>>)>>,
    dialer: Arc<Dialer>,
    settings: Arc<ActionSettings>,
}

impl Clients {
    pub(super) fn new(settings: Arc<ActionSettings>, dialer: Arc<Dialer>) -> Result<Self, SettingsError> {
        let tls = tls::client_config(&settings.extra_roots)?;
        let connector = Connector::new(Arc::clone(&dialer), tls, settings.tls_timeout);
        let nobody = Pool::new(connector, Arc::clone(&settings));
        Ok(Self { nobody, known: Mutex::default(), dialer, settings })
    }

    /// For requests without a certificate.
    pub(super) fn nobody(&self) -> &Pool {
        &self.nobody
    }

    /// For requests in the name of a certificate's owner.
    pub(super) async fn owner(
        &self,
        thumbprint: &str,
        pfx: &Secret,
        password: &Secret,
    ) -> Result<Pool, Fault> {
        let place = self.place(thumbprint);
        let made = place.get_or_try_init(|| async {
            let (pfx, password) = (pfx.clone(), password.clone());
            let (dialer, settings) = (Arc::clone(&self.dialer), Arc::clone(&self.settings));
            // Opening the file is made slow on purpose, by whoever made it.
            let opened = tokio::task::spawn_blocking(move || open(&pfx, &password, dialer, settings)).await;
            opened.unwrap_or_else(|_| Err("it cannot be opened".to_owned()))
        });
        let unusable = |cause| {
            let cause = format!("the client certificate {thumbprint} cannot be used: {cause}");
            Fault::new(Kind::SecureChannelFailure, cause)
        };
        made.await.cloned().map_err(unusable)
    }

    fn place(&self, thumbprint: &str) -> Arc<OnceCell<Pool>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known.iter().position(|(name, _)| name == thumbprint).and_then(|at| known.remove(at));
        let (name, place) = found.unwrap_or_else(|| (thumbprint.to_owned(), Arc::default()));
        known.truncate(KEPT - 1);
        known.push_front((name, Arc::clone(&place)));
        place
    }
}

fn open(
    pfx: &Secret,
    password: &Secret,
    dialer: Arc<Dialer>,
    settings: Arc<ActionSettings>,
) -> Result<Pool, String> {
    let identity = certificate::open(pfx, password).map_err(|fault| fault.to_string())?;
    let chain = identity.chain.into_iter().map(CertificateDer::from).collect();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(identity.key));
    let config =
        tls::client_config_of(&settings.extra_roots, chain, key).map_err(|error| error.to_string())?;
    Ok(Pool::new(Connector::new(dialer, config, settings.tls_timeout), settings))
}
