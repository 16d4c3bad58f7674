//! One link: a connection to a namespace with a session and a sender to one entity, logged in.

use std::time::Duration;

use ::http::Uri;
use fe2o3_amqp::{
    Connection, Sender, Session,
    connection::ConnectionHandle,
    link::{
        SendError,
        delivery::{DeliveryFut, Sendable},
    },
    sasl_profile::SaslProfile,
    session::SessionHandle,
    types::{
        messaging::{Data, Outcome},
        primitives::Timestamp as Milliseconds,
    },
};
use fe2o3_amqp_cbs::{client::CbsClient, token::CbsToken};
use hyper_util::rt::TokioIo;
use model::{Clock, Uuid, action::SharedAccessKey};
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::refused;
use crate::{
    egress::ChosenBy,
    fault::{Fault, Kind},
    http::connector::Connector,
    service_bus::{Failure, Login, signature},
};

/// Bytes of a frame, as Service Bus has them.
const FRAME: u32 = 64 * 1024;

/// How long the other side may be silent. It is told so, and sends empty frames when it has nothing to say.
const SILENCE: Duration = Duration::from_secs(60);

/// The type of a token that is a signature.
const SIGNATURE: &str = "servicebus.windows.net:sastoken";

/// To whom a link leads, and as whom.
#[derive(Clone)]
pub(crate) struct Destination {
    /// `amqps://host:port` or, without TLS, `amqp://…`.
    pub(crate) endpoint: Uri,
    /// The entity's name, for tokens.
    pub(crate) entity: String,
    /// The entity's address on the wire.
    pub(crate) address: String,
    pub(crate) login: Login,
    pub(crate) key: Option<SharedAccessKey>,
    pub(crate) token_lifetime: Duration,
}

/// A link that is open.
pub(crate) struct Link {
    // The order is that of their ends: the other side is told before the hold is.
    sender: Sender,
    life: DropGuard,
}

/// What a link hangs on. It ends with this, and whoever has this ends when the link's life does.
pub(crate) struct Hold {
    // The order is that of their ends: each is told before the next.
    claims: Option<Claims>,
    _session: SessionHandle<()>,
    connection: ConnectionHandle<()>,
}

/// Tells what the other side makes of a message.
pub(crate) type Delivery = DeliveryFut<Result<Outcome, SendError>>;

/// The right to send, which ends if it is not renewed.
struct Claims {
    client: CbsClient,
    renew_at: Instant,
}

impl Link {
    /// Connects, logs in and attaches.
    pub(crate) async fn open(
        connector: &Connector,
        to: &Destination,
        clock: &dyn Clock,
    ) -> Result<(Self, Hold), Failure> {
        let (stream, _) = connector.connect(&guarded(&to.endpoint)?, ChosenBy::Action).await?;
        let profile = match (&to.key, to.login) {
            (Some(key), Login::Plain) => SaslProfile::from((key.name.as_str(), key.key.expose())),
            _ => SaslProfile::Anonymous,
        };
        let mut connection = Connection::builder()
            .container_id(format!("punctual-{}", Uuid::new_v4().simple()))
            .hostname(host(&to.endpoint))
            // TLS, where it is wanted, is already there.
            .scheme("amqp")
            .max_frame_size(FRAME)
            .idle_time_out(SILENCE.as_millis() as u32)
            .sasl_profile(profile)
            .open_with_stream(TokioIo::new(stream))
            .await
            .map_err(|e| refused::open(&e))?;
        let mut session = Session::begin(&mut connection).await.map_err(|e| refused::begin(&e))?;
        let claims = match (&to.key, to.login) {
            (Some(_), Login::Cbs) => {
                let client = CbsClient::attach(&mut session).await.map_err(|e| refused::attach_cbs(&e))?;
                let mut claims = Claims { client, renew_at: Instant::now() };
                claims.renew(to, clock).await?;
                Some(claims)
            }
            _ => None,
        };
        let sender = Sender::builder()
            .name(format!("punctual-{}", Uuid::new_v4().simple()))
            .target(to.address.as_str())
            .attach(&mut session)
            .await
            .map_err(|e| refused::attach(&e))?;
        let life = CancellationToken::new().drop_guard();
        Ok((Self { sender, life }, Hold { claims, _session: session, connection }))
    }

    /// Whether it is known to have ended.
    pub(crate) fn is_over(&self) -> bool {
        self.life.token().is_cancelled()
    }

    /// Its life: whoever cancels it ends the link, and when the link ends it is cancelled.
    pub(crate) fn life(&self) -> CancellationToken {
        self.life.token().clone()
    }

    /// Hands a message over; what the other side makes of it is told by the future.
    pub(crate) async fn send(&mut self, message: &Sendable<Data>) -> Result<Delivery, SendError> {
        self.sender.send_batchable_ref(message).await
    }
}

impl Hold {
    /// Returns when the connection has ended.
    pub(crate) async fn ended(&mut self) {
        let _ = self.connection.on_close().await;
    }

    /// When the claims are to be renewed.
    pub(crate) fn renew_at(&self) -> Option<Instant> {
        self.claims.as_ref().map(|claims| claims.renew_at)
    }

    /// Renews the claims.
    pub(crate) async fn renew(&mut self, to: &Destination, clock: &dyn Clock) -> Result<(), Failure> {
        match &mut self.claims {
            Some(claims) => claims.renew(to, clock).await,
            None => Ok(()),
        }
    }
}

impl Claims {
    async fn renew(&mut self, to: &Destination, clock: &dyn Clock) -> Result<(), Failure> {
        let Some(key) = &to.key else { return Ok(()) };
        // Well before the end, and not before the clocks of both sides agree that it began.
        self.renew_at = Instant::now() + to.token_lifetime.mul_f64(0.75);
        let until = clock.now() + to.token_lifetime;
        let resource = format!("sb://{}/{}", host(&to.endpoint), to.entity);
        let token = signature::token(key, &resource, until);
        let expiry = Milliseconds::from_milliseconds(until.as_millisecond());
        let put = self.client.put_token(resource, CbsToken::new(token, SIGNATURE, Some(expiry))).await;
        put.map_err(|e| refused::token(&e))
    }
}

fn host(endpoint: &Uri) -> &str {
    endpoint.host().unwrap_or_default()
}

/// The endpoint as the connector knows it: it speaks TLS for `https` and none for `http`.
fn guarded(endpoint: &Uri) -> Result<Uri, Fault> {
    let (scheme, port) = match endpoint.scheme_str() {
        Some("amqps") => ("https", 5671),
        _ => ("http", 5672),
    };
    let port = endpoint.port_u16().unwrap_or(port);
    format!("{scheme}://{}:{port}/", host(endpoint))
        .parse()
        .map_err(|_| Fault::new(Kind::UnknownError, "the endpoint is no address"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_have_the_ports_of_amqp() {
        for (endpoint, expected) in [
            ("amqps://a.example", "https://a.example:5671/"),
            ("amqp://127.0.0.1", "http://127.0.0.1:5672/"),
            ("amqps://[::1]:1/", "https://[::1]:1/"),
        ] {
            assert_eq!(guarded(&endpoint.parse().unwrap()).unwrap().to_string(), expected);
        }
    }
}
