//! What went wrong over AMQP, in words for the history: the error condition and its description, as the broker sent
//! them, or the fault that kept us from hearing any.

use fe2o3_amqp::{
    connection::{ConnectionStopReason, OpenError},
    link::{DetachError, LinkStateError, SendError, SenderAttachError, SessionStopReason},
    session::BeginError,
    types::{
        definitions::{AmqpError, Error as Condition, ErrorCondition, LinkError},
        messaging::Outcome,
        primitives::Symbol,
    },
};
use fe2o3_amqp_management::error::{AttachError, Error as CallError};

use crate::{
    fault::{Fault, Kind},
    service_bus::Failure,
};

/// A connection that did not come about.
pub(crate) fn open(error: &OpenError) -> Failure {
    match error {
        OpenError::SaslError { code, .. } => {
            Failure::Refused(format!("'Unauthorized' the login was refused (SASL {code:?})"))
        }
        OpenError::RemoteClosedWithError(condition) => refused(condition),
        OpenError::ProtocolHeaderMismatch(_) => {
            let cause = "the other side does not speak AMQP 1.0, or not with this login";
            Fault::new(Kind::ServerProtocolViolation, cause).into()
        }
        OpenError::Io(_) | OpenError::TransportError(_) | OpenError::RemoteClosed => {
            closed("while it was being opened")
        }
        other => Fault::new(Kind::ServerProtocolViolation, shown(&other.to_string())).into(),
    }
}

/// A session that did not come about.
pub(crate) fn begin(error: &BeginError) -> Failure {
    match error {
        BeginError::RemoteEndedWithError(condition) => refused(condition),
        BeginError::ConnectionStopped(reason) => connection(reason),
        _ => closed("while it was being opened"),
    }
}

/// A link that did not come about.
pub(crate) fn attach(error: &SenderAttachError) -> Failure {
    match error {
        SenderAttachError::RemoteClosedWithError(condition) => refused(condition),
        SenderAttachError::SessionStopped(reason) => session(reason),
        other => Fault::new(Kind::ServerProtocolViolation, shown(&other.to_string())).into(),
    }
}

/// A link to the node `$cbs` that did not come about.
pub(crate) fn attach_cbs(error: &AttachError) -> Failure {
    match error {
        AttachError::Sender(error) => attach(error),
        AttachError::Receiver(error) => {
            Failure::Refused(format!("the node $cbs cannot be used: {}", shown(&error.to_string())))
        }
    }
}

/// A token that was not taken.
pub(crate) fn token(error: &CallError) -> Failure {
    match error {
        CallError::Status(status) => {
            let told = shown(status.description.as_deref().unwrap_or("the token was not taken"));
            match status.code.0.get() {
                401 => Failure::Refused(format!("'Unauthorized' 401 {told}")),
                404 => Failure::Missing(format!("'NotFound' 404 {told}")),
                code => Failure::Refused(format!("'{code}' {told}")),
            }
        }
        CallError::Send(error) => send(error),
        CallError::NotAccepted(outcome) => {
            Failure::Refused(shown(&format!("the token was not taken: {outcome:?}")))
        }
        other => Fault::new(Kind::ServerProtocolViolation, shown(&other.to_string())).into(),
    }
}

/// A message that could not be sent, or whose fate is unknown.
pub(crate) fn send(error: &SendError) -> Failure {
    match error {
        SendError::MessageSizeExceeded(size) => {
            let cause = format!(
                "the message is {} bytes long, and the other side takes at most {}",
                size.size, size.max_size
            );
            Fault::new(Kind::MessageLengthLimitExceeded, cause).into()
        }
        SendError::Detached(
            DetachError::RemoteClosedWithError(condition) | DetachError::RemoteDetachedWithError(condition),
        )
        | SendError::LinkStateError(
            LinkStateError::RemoteClosedWithError(condition)
            | LinkStateError::RemoteDetachedWithError(condition),
        ) => refused(condition),
        SendError::Detached(DetachError::SessionStopped(reason))
        | SendError::LinkStateError(LinkStateError::SessionStopped(reason)) => session(reason),
        SendError::MessageEncodeError => {
            Fault::new(Kind::UnknownError, "the message cannot be written as AMQP").into()
        }
        _ => closed("before the message was acknowledged"),
    }
}

/// What became of a message that the other side has judged.
pub(crate) fn outcome(outcome: &Outcome) -> Result<String, Failure> {
    match outcome {
        Outcome::Accepted(_) => Ok("'Accepted'".to_owned()),
        Outcome::Rejected(rejected) => Err(match &rejected.error {
            Some(condition) => refused(condition),
            None => Failure::Refused("'Rejected' without a reason".to_owned()),
        }),
        Outcome::Released(_) => Err(Failure::Refused("'Released' the message was not taken".to_owned())),
        Outcome::Modified(_) => Err(Failure::Refused("'Modified' the message was not taken".to_owned())),
    }
}

fn session(reason: &SessionStopReason) -> Failure {
    match reason {
        SessionStopReason::EndedWithError(condition) | SessionStopReason::RemoteEndedWithError(condition) => {
            refused(condition)
        }
        SessionStopReason::ConnectionStopped(reason) => connection(reason),
        SessionStopReason::Ended | SessionStopReason::RemoteEnded => {
            closed("before the message was acknowledged")
        }
    }
}

fn connection(reason: &ConnectionStopReason) -> Failure {
    match reason {
        ConnectionStopReason::RemoteClosedWithError(condition) => refused(condition),
        _ => closed("before the message was acknowledged"),
    }
}

fn closed(when: &str) -> Failure {
    Fault::new(Kind::ConnectionClosed, format!("the connection ended {when}")).into()
}

fn refused(condition: &Condition) -> Failure {
    let name = match &condition.condition {
        ErrorCondition::AmqpError(error) => Symbol::from(error),
        ErrorCondition::ConnectionError(error) => Symbol::from(error),
        ErrorCondition::SessionError(error) => Symbol::from(error),
        ErrorCondition::LinkError(error) => Symbol::from(error),
        ErrorCondition::Custom(name) => name.clone(),
    };
    let told = condition.description.as_deref().unwrap_or_default();
    let text = shown(format!("{} {told}", name.as_str()).trim_end());
    match condition.condition {
        ErrorCondition::AmqpError(AmqpError::NotFound) => Failure::Missing(text),
        ErrorCondition::LinkError(LinkError::MessageSizeExceeded) => {
            Fault::new(Kind::MessageLengthLimitExceeded, text).into()
        }
        _ => Failure::Refused(text),
    }
}

/// In one line. It is cut when the secrets were taken out.
fn shown(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use fe2o3_amqp::types::messaging::{Accepted, Rejected};

    use super::*;

    #[test]
    fn conditions_are_told_by_name_and_description() {
        let condition = |condition: ErrorCondition, text: &str| Condition {
            condition,
            description: Some(text.to_owned()),
            info: None,
        };
        let missing = condition(AmqpError::NotFound.into(), "no such\nentity");
        let error = SenderAttachError::RemoteClosedWithError(missing.clone());
        assert_eq!(attach(&error), Failure::Missing("amqp:not-found no such entity".into()));
        let busy = condition(ErrorCondition::Custom(Symbol::from("com.microsoft:server-busy")), "slow down");
        let rejected = Outcome::Rejected(Rejected { error: Some(busy) });
        let expected = Failure::Refused("com.microsoft:server-busy slow down".into());
        assert_eq!(outcome(&rejected), Err(expected));
        assert_eq!(outcome(&Outcome::Accepted(Accepted {})), Ok("'Accepted'".into()));
        let large = condition(LinkError::MessageSizeExceeded.into(), "too large");
        let error = SendError::Detached(DetachError::RemoteClosedWithError(large));
        assert!(send(&error).to_string().contains("(amqp:link:message-size-exceeded too large)"));
    }
}
