use model::action::{
    Call, HttpAuthentication, HttpRequest, ServiceBusMessage, ServiceBusTransport, SharedAccessKey,
};
use model::{Action, CatchUp, Overlap, Timestamp};

use super::*;

fn keyring() -> Keyring {
    Keyring::new(Key::generate().unwrap(), [])
}

fn http(authentication: Option<HttpAuthentication>, on_error: Option<Action>) -> Action {
    let request = HttpRequest {
        uri: "http://example.com/".into(),
        method: "GET".into(),
        headers: None,
        body: None,
        authentication,
    };
    Action { call: Call::Http { https: false, request }, retry: None, on_error: on_error.map(Box::new) }
}

fn definition(action: Action) -> Definition {
    Definition {
        timing: recurrence::Draft { start_time: None, recurrence: None },
        accepted_at: Timestamp::UNIX_EPOCH,
        action,
        catch_up: CatchUp::default(),
        overlap: Overlap::default(),
        extensions_given: false,
        capital_occurrence: false,
    }
}

/// A password, and a key in an error action.
fn with_secrets() -> Definition {
    let message = ServiceBusMessage {
        namespace: "n".into(),
        entity: "e".into(),
        transport: ServiceBusTransport::Amqp,
        authentication: Some(SharedAccessKey { name: "k".into(), key: Secret::new("the-key") }),
        message: None,
        brokered_properties: None,
        custom_properties: None,
    };
    let below = Action { call: Call::ServiceBusTopic(message), retry: None, on_error: None };
    let basic =
        HttpAuthentication::Basic { username: "clerk".into(), password: Secret::new("hunt\u{0}wörd") };
    definition(http(Some(basic), Some(below)))
}

#[test]
fn what_is_sealed_shows_nothing_and_opens_again() {
    let (keyring, definition) = (keyring(), with_secrets());
    let sealed = keyring.seal(&definition, JobId(7)).unwrap();
    assert!(sealed.text.contains("clerk"));
    for secret in ["the-key", "hunt", "wörd", "dGhlLWtleQ"] {
        assert!(!sealed.text.contains(secret), "{}", sealed.text);
    }
    assert_eq!(sealed.key.as_ref(), Some(keyring.first().id()));
    assert_eq!(keyring.open(&sealed.text, JobId(7)).unwrap(), definition);
    assert_ne!(keyring.seal(&definition, JobId(7)).unwrap().text, sealed.text, "every nonce is new");
}

#[test]
fn a_definition_without_secrets_needs_no_key() {
    let definition = definition(http(None, None));
    let sealed = keyring().seal(&definition, JobId(7)).unwrap();
    assert_eq!(sealed.key, None);
    assert_eq!(keyring().open(&sealed.text, JobId(7)).unwrap(), definition, "any keys will do");
}

#[test]
fn what_was_moved_changed_or_never_sealed_does_not_open() {
    let keyring = keyring();
    let sealed = keyring.seal(&with_secrets(), JobId(7)).unwrap();
    let id = keyring.first().id().clone();
    assert_eq!(keyring.open(&sealed.text, JobId(8)), Err(SealFault::DoesNotOpen(id.clone())));
    let stranger = self::keyring();
    assert_eq!(stranger.open(&sealed.text, JobId(7)), Err(SealFault::UnknownKey(id.clone())));

    let value = serde_json::from_str::<serde_json::Value>(&sealed.text).unwrap();
    let password = value["action"]["call"]["Http"]["request"]["authentication"]["Basic"]["password"].as_str();
    let password = password.expect("a text");
    let (head, tail) = password.split_at(password.len() - 8);
    let changed = format!("{head}{}{}", if tail.starts_with('A') { "B" } else { "A" }, &tail[1..]);
    let cut = &password[..FORM.len() + 20];
    for (other, fault) in [
        ("plain", SealFault::NotSealed),
        ("", SealFault::NotSealed),
        ("sealed1.nobody.AAAA", SealFault::NotSealed),
        (cut, SealFault::NotSealed),
        (&changed, SealFault::DoesNotOpen(id)),
    ] {
        let text = sealed.text.replace(password, other);
        assert_eq!(keyring.open(&text, JobId(7)), Err(fault), "{other}");
    }
}

#[test]
fn a_proof_knows_its_key() {
    let (keyring, other) = (keyring(), keyring());
    let proof = keyring.proof().unwrap();
    let id = keyring.first().id();
    assert_eq!(keyring.check(id, &proof), Ok(()));
    assert!(other.check(id, &proof).is_err());
    assert!(keyring.check(other.first().id(), &proof).is_err());
}

#[test]
fn keys_are_read_as_people_write_them() {
    let (a, b) = (Key::generate().unwrap(), Key::generate().unwrap());
    let (a, b) = (a.text(), b.text());
    for text in [
        format!("{},{}", *a, *b),
        format!(" {} , {} ", *a, *b),
        format!("# of 2026\n{}\r\n\n{} # the old one\n", *a, *b),
    ] {
        let keyring = Keyring::read(&text).expect("two keys");
        assert_eq!(*keyring.first().text(), *a);
        assert_eq!(keyring.iter().count(), 2);
    }
    let short = &a[..a.len() - 1];
    for (text, fault) in [
        (String::new(), KeyFault::Empty),
        ("# nothing\n".to_owned(), KeyFault::Empty),
        (short.to_owned(), KeyFault::Malformed(1, 1)),
        (format!("{},hunter2", *a), KeyFault::Malformed(2, 2)),
        (a.replace("punctual1_", ""), KeyFault::Malformed(1, 1)),
        (format!("{},{}", *a, *a), KeyFault::Twice(Keyring::read(&a).unwrap().first().id().clone())),
    ] {
        let found = Keyring::read(&text).expect_err("refused");
        assert_eq!(found, fault);
        assert!(!found.to_string().contains(&a[10..]) && !found.to_string().contains("hunter2"));
    }
    let shown = format!("{:?}", Keyring::read(&a).unwrap());
    assert!(!shown.contains(&a[10..]), "{shown}");
}
