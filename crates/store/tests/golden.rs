//! The stored forms are pinned: what `golden/` has is what lies on disks. Renaming a type, a field or a variant of the
//! model, or putting a list into another order, fails here before it makes a store unreadable.
//!
//! A file of `golden/forms` is never changed. A form that is new gets a case here and a file of its own:
//! `PUNCTUAL_WRITE_GOLDEN=1 cargo nextest run -p store --test golden` writes those that are missing. A form that changes
//! gets a second case, and both must be read.

use std::path::PathBuf;

use access::audit::Link;
use access::{Act, Note, Role, Scope, Secret32, Token, Verdict};
use model::action::{
    Call, HttpAuthentication, HttpRequest, IntervalForm, QueueDelivery, RetryInterval, RetryPolicy,
    ServiceBusMessage, ServiceBusTransport, SharedAccessKey, StorageQueueMessage,
};
use model::{
    Action, CatchUp, Collection, CollectionPath, CollectionState, Definition, Group, GroupPath, JobId,
    MaxRecurrence, Overlap, Plan, Quota, Timestamp,
};
use recurrence::{Draft, DstDraft, Frequency, MonthlyOccurrenceDraft, RecurrenceDraft, ScheduleDraft};
use serde::Serialize;
use serde::de::DeserializeOwned;
use store::conformance::keyring;
use store::seal::{Sealed, closed};
use store::{Key, Keyring};

/// Compares a text with the file of its name; where there is none, writes it if that is asked for.
fn pinned(name: &str, text: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("golden/forms").join(name);
    match std::fs::read_to_string(&path) {
        Ok(known) => assert_eq!(text, known.trim_end(), "{name} is stored in another form than before"),
        Err(_) if std::env::var_os("PUNCTUAL_WRITE_GOLDEN").is_some() => {
            std::fs::write(&path, format!("{text}\n")).expect("written");
        }
        Err(error) => panic!("{}: {error}; see the beginning of this test", path.display()),
    }
}

/// A value is written as its file says, and what the file says is read as that value.
fn both_ways<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(name: &str, value: &T) {
    let text = serde_json::to_string(value).expect("it has a form");
    pinned(name, &text);
    let read: T = serde_json::from_str(&text).expect("it is read");
    assert_eq!(read, *value, "{name}");
}

fn sealed(text: &str) -> Sealed {
    Sealed::from_column(format!("sealed1.0123456789abcdef.{text}"))
}

fn at(text: &str) -> Timestamp {
    text.parse().expect("a time")
}

fn http(authentication: Option<HttpAuthentication<Sealed>>) -> Call<Sealed> {
    let request = HttpRequest {
        uri: "https://example.org/a?b=c".into(),
        method: "POST".into(),
        headers: Some(vec![("Content-Type".into(), "text/plain".into())]),
        body: Some("a body".into()),
        authentication,
    };
    Call::Http { https: true, request }
}

fn bus(transport: ServiceBusTransport, key: Option<SharedAccessKey<Sealed>>) -> ServiceBusMessage<Sealed> {
    ServiceBusMessage {
        namespace: "namespace".into(),
        entity: "entity".into(),
        transport,
        authentication: key,
        message: Some("a message".into()),
        brokered_properties: Some(vec![("Label".into(), "\"label\"".into())]),
        custom_properties: Some(vec![("Own".into(), "property".into())]),
    }
}

fn queue(delivery: Option<QueueDelivery>) -> Call<Sealed> {
    Call::StorageQueue(StorageQueueMessage {
        account: "account".into(),
        queue: "queue".into(),
        sas_token: sealed("token"),
        message: Some("a message".into()),
        delivery,
    })
}

/// Every kind of call, in each of its forms.
fn calls() -> Vec<(&'static str, Call<Sealed>)> {
    let plain = HttpRequest {
        uri: "http://example.org/".into(),
        method: "GET".into(),
        headers: None,
        body: None,
        authentication: None,
    };
    let certificate = HttpAuthentication::ClientCertificate {
        pfx: sealed("pfx"),
        password: sealed("password"),
        thumbprint: "ABCDEF".into(),
        expiration: at("2030-01-01T00:00:00Z"),
        subject: "CN=clerk".into(),
    };
    let oauth = HttpAuthentication::ActiveDirectoryOAuth {
        tenant: "tenant".into(),
        audience: "audience".into(),
        client_id: "client".into(),
        secret: sealed("secret"),
    };
    let basic = HttpAuthentication::Basic { username: "clerk".into(), password: sealed("password") };
    let hmac = HttpAuthentication::Hmac { secrets: vec![sealed("one"), sealed("two")] };
    let key = SharedAccessKey { name: "key".into(), key: sealed("key") };
    vec![
        ("http", Call::Http { https: false, request: plain }),
        ("https", http(None)),
        ("http-basic", http(Some(basic))),
        ("http-certificate", http(Some(certificate))),
        ("http-oauth", http(Some(oauth))),
        ("http-hmac", http(Some(hmac))),
        ("queue", queue(None)),
        ("queue-envelope", queue(Some(QueueDelivery::Envelope))),
        ("queue-raw", queue(Some(QueueDelivery::Raw))),
        ("queue-base64", queue(Some(QueueDelivery::Base64))),
        ("bus-queue", Call::ServiceBusQueue(bus(ServiceBusTransport::NotSpecified, None))),
        ("bus-queue-amqp", Call::ServiceBusQueue(bus(ServiceBusTransport::Amqp, Some(key.clone())))),
        ("bus-topic-net", Call::ServiceBusTopic(bus(ServiceBusTransport::NetMessaging, Some(key)))),
    ]
}

fn definition(call: Call<Sealed>) -> Definition<Sealed> {
    Definition {
        timing: Draft { start_time: Some("2027-01-01T00:00:00Z".into()), recurrence: None },
        accepted_at: at("2027-01-01T00:00:00.1234567Z"),
        action: Action { call, retry: None, on_error: None },
        catch_up: CatchUp::Last,
        overlap: Overlap::Allow,
        extensions_given: false,
        capital_occurrence: false,
    }
}

fn simple() -> Definition<Sealed> {
    definition(calls().remove(0).1)
}

#[test]
fn definitions_of_every_call() {
    for (name, call) in calls() {
        both_ways(&format!("definition-{name}.json"), &definition(call));
    }
}

#[test]
fn definitions_with_every_policy() {
    let interval = |form| Some(RetryInterval { seconds: 90, form });
    let retries = [
        ("none", RetryPolicy::None),
        ("fixed", RetryPolicy::Fixed { interval: None, count: None }),
        ("fixed-iso", RetryPolicy::Fixed { interval: interval(IntervalForm::Iso), count: Some(3) }),
        ("fixed-span", RetryPolicy::Fixed { interval: interval(IntervalForm::TimeSpan), count: Some(3) }),
    ];
    for (name, retry) in retries {
        let mut definition = simple();
        definition.action.retry = Some(retry);
        both_ways(&format!("definition-retry-{name}.json"), &definition);
    }
    for (name, catch_up) in
        [("none", CatchUp::None), ("last", CatchUp::Last), ("all", CatchUp::All { max: 10 })]
    {
        let definition = Definition { catch_up, extensions_given: true, ..simple() };
        both_ways(&format!("definition-catch-up-{name}.json"), &definition);
    }
    for (name, overlap) in [("allow", Overlap::Allow), ("skip", Overlap::Skip), ("queue", Overlap::Queue)] {
        let definition = Definition { overlap, capital_occurrence: true, ..simple() };
        both_ways(&format!("definition-overlap-{name}.json"), &definition);
    }
    let mut nested = simple();
    let inner = Action { on_error: Some(Box::new(simple().action)), ..definition(queue(None)).action };
    nested.action.on_error = Some(Box::new(inner));
    both_ways("definition-error-actions.json", &nested);
}

#[test]
fn definitions_with_every_recurrence() {
    let month = MonthlyOccurrenceDraft { day: Some("Friday".into()), occurrence: Some(-1) };
    let schedule = ScheduleDraft {
        minutes: Some(vec![0, 30]),
        hours: Some(vec![9]),
        week_days: Some(vec!["monday".into()]),
        month_days: Some(vec![1, -1]),
        monthly_occurrences: Some(vec![month]),
        months: Some(vec![12]),
    };
    let everything = RecurrenceDraft {
        frequency: Some("Month".into()),
        interval: Some(2),
        count: Some(10),
        end_time: Some("2028-01-01".into()),
        schedule: Some(schedule),
        time_zone: Some("Europe/Berlin".into()),
        dst: Some(DstDraft { gap: Some("shift".into()), fold: Some("first".into()) }),
        ..RecurrenceDraft::default()
    };
    let cron = RecurrenceDraft { cron: Some("*/5 8-18 * * MON-FRI".into()), ..RecurrenceDraft::default() };
    let bare = RecurrenceDraft { frequency: Some("minute".into()), ..RecurrenceDraft::default() };
    for (name, recurrence) in [("everything", everything), ("cron", cron), ("bare", bare)] {
        let mut definition = simple();
        definition.timing.recurrence = Some(recurrence);
        both_ways(&format!("definition-recurrence-{name}.json"), &definition);
    }
    let now = Draft::default();
    both_ways("definition-at-once.json", &Definition { timing: now, ..simple() });
}

/// What earlier versions left out is still read.
#[test]
fn definitions_without_what_came_later() {
    let text = r#"{"timing":{},"accepted_at":"2027-01-01T00:00:00Z","action":{"call":{"Http":{"https":false,"request":{"uri":"http://example.org/","method":"GET"}}}}}"#;
    let read = closed(text).expect("it is read");
    assert_eq!((read.catch_up, read.overlap), (CatchUp::Last, Overlap::Allow));
    assert!(!read.extensions_given && !read.capital_occurrence);
    assert_eq!(read.timing, Draft::default());
}

#[test]
fn collections_and_groups() {
    let path = CollectionPath { subscription: "Sub".into(), group: "Group".into(), name: "Team".into() };
    let bare = Collection {
        path: path.clone(),
        location: "West Europe".into(),
        tags: None,
        plan: Plan::Standard,
        state: CollectionState::Enabled,
        quota: None,
        resumed_at: None,
    };
    both_ways("collection-bare.json", &bare);
    for plan in Plan::ALL {
        both_ways(&format!("collection-{}.json", plan.name()), &Collection { plan, ..bare.clone() });
    }
    for (name, state) in [("disabled", CollectionState::Disabled), ("suspended", CollectionState::Suspended)]
    {
        both_ways(&format!("collection-{name}.json"), &Collection { state, ..bare.clone() });
    }
    let frequencies = [
        Frequency::Minute,
        Frequency::Hour,
        Frequency::Day,
        Frequency::Week,
        Frequency::Month,
        Frequency::Year,
    ];
    for frequency in frequencies {
        let quota = Quota {
            max_job_count: Some(5),
            max_job_occurrence: Some(7),
            max_recurrence: Some(MaxRecurrence { frequency, interval: 2 }),
        };
        let full = Collection {
            tags: Some(vec![("env".into(), "prod".into())]),
            quota: Some(quota),
            resumed_at: Some(at("2027-01-01T00:00:00.5Z")),
            ..bare.clone()
        };
        both_ways(&format!("collection-quota-{}.json", frequency.name()), &full);
    }
    let path = GroupPath { subscription: "Sub".into(), name: "Group".into() };
    let tags = Some(vec![("env".into(), "prod".into())]);
    both_ways("group.json", &Group { path, location: "West Europe".into(), tags });
}

/// The key of the tests, `A` 43 times.
#[test]
fn keys_and_what_they_seal() {
    let keyring = keyring();
    pinned("key.txt", &format!("{}\n{}", keyring.text().trim_end(), keyring.first().id()));
    let other = Keyring::read(&format!(
        "# two keys\npunctual1_{}, {}",
        "B".repeat(42) + "A",
        keyring.text().trim_end()
    ));
    let ids: Vec<String> = other.expect("two keys").iter().map(|key: &Key| key.id().to_string()).collect();
    pinned("keys.txt", &ids.join("\n"));
    // Sealed with another nonce each time, so that what was sealed once is kept.
    let password = |definition: &Definition| match &definition.action.call {
        Call::Http { request, .. } => match &request.authentication {
            Some(HttpAuthentication::Basic { password, .. }) => password.expose().to_owned(),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("golden/forms/sealed.json");
    if std::env::var_os("PUNCTUAL_WRITE_GOLDEN").is_some() && !path.exists() {
        let basic =
            HttpAuthentication::Basic { username: "clerk".into(), password: model::Secret::new("hunter2") };
        let call = http(None);
        let Call::Http { https, request } = call else { return };
        let HttpRequest { uri, method, headers, body, .. } = request;
        let request = HttpRequest { uri, method, headers, body, authentication: Some(basic) };
        let mut plain = simple()
            .try_map(&mut |_: Sealed| Ok::<_, std::convert::Infallible>(model::Secret::new("")))
            .expect("infallible");
        plain.action.call = Call::Http { https, request };
        let text = keyring.seal(&plain, JobId(7)).expect("sealed").text;
        std::fs::write(&path, text + "\n").expect("written");
    }
    let text = std::fs::read_to_string(&path).expect("the file is there");
    let opened = keyring.open(text.trim_end(), JobId(7)).expect("it opens");
    assert_eq!(password(&opened), "hunter2");
    assert!(keyring.open(text.trim_end(), JobId(8)).is_err(), "it is bound to its job");
}

/// The names that rows have, and the input of the hashes.
#[test]
fn the_register_and_the_audit() {
    let names = |names: Vec<&str>| names.join("\n");
    pinned("roles.txt", &names(Role::ALL.map(Role::name).to_vec()));
    pinned("acts.txt", &names(Act::NAMES.map(|(name, _)| name).to_vec()));
    pinned("verdicts.txt", &names(Verdict::NAMES.map(|(name, _)| name).to_vec()));
    pinned("plans.txt", &names(Plan::ALL.map(Plan::name).to_vec()));
    let path = CollectionPath { subscription: "Sub".into(), group: "Group".into(), name: "Team".into() };
    let scopes = [
        Scope::Root,
        Scope::Subscription("Sub".into()),
        Scope::Group(GroupPath { subscription: "Sub".into(), name: "Group".into() }),
        Scope::Collection(path),
    ];
    let keys = scopes.map(|scope| format!("{:?}", scope.keys()));
    pinned("scopes.txt", &keys.join("\n"));
    let mut link = Link::START;
    let mut hashes = Vec::new();
    for (serial, (_, act)) in Act::NAMES.into_iter().enumerate() {
        let note = Note {
            at: at("2027-01-01T00:00:00.1234567Z"),
            who: "token:0123456789abcdef".into(),
            name: "a name".into(),
            from: "127.0.0.1".into(),
            act,
            target: "/subscriptions/Sub".into(),
            verdict: Verdict::NAMES[serial % 3].1,
            detail: r#"{"created":true}"#.into(),
        };
        link = link.follow(3, &note);
        hashes.push(link.hash.to_string());
    }
    pinned("audit-hashes.txt", &hashes.join("\n"));
    let token = Token {
        id: "0123456789abcdef".parse().expect("an id"),
        secret: Secret32::read(&"0123456789abcdef".repeat(4)).expect("a secret"),
    };
    let hash: String = token.secret.hash().iter().map(|byte| format!("{byte:02x}")).collect();
    pinned("token.txt", &format!("{}\n{hash}", token.reveal()));
}
