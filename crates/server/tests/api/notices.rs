//! Notices of jobs in trouble: one when it begins, one when it is over, whatever happens in between.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use actions::scripted::{Scripted, Step};
use model::action::Call;
use serde_json::{Value, json};
use server::notices::{Notification, Notifier, Scope, Trouble, collection as notices};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::door::{Door, job, with};

/// What was told and accepted, and what is going on.
#[derive(Default)]
struct Scene {
    told: Mutex<Vec<Value>>,
    /// Whether jobs fail.
    jobs_fail: AtomicBool,
    /// Whether the webhook does.
    webhook_fails: AtomicBool,
}

impl Scene {
    /// The webhook, and the target of jobs.
    fn runner(self: &Arc<Self>) -> Scripted {
        let scene = self.clone();
        Scripted::new(move |order, _| {
            if order.collection != notices().name {
                let fails = scene.jobs_fail.load(Ordering::SeqCst);
                return if fails { Step::failure("not today") } else { Step::success() };
            }
            if scene.webhook_fails.load(Ordering::SeqCst) {
                return Step::failure("away");
            }
            let Call::Http { request, .. } = order.call else { panic!("a notice is an HTTP call") };
            let body = serde_json::from_str(request.body.as_deref().unwrap_or_default()).expect("JSON");
            scene.told.lock().expect("not poisoned").push(body);
            Step::success()
        })
    }

    fn told(&self) -> Vec<(String, String)> {
        let text = |told: &Value, name: &str| told[name].as_str().expect(name).to_owned();
        let told = self.told.lock().expect("not poisoned");
        told.iter().map(|told| (text(told, "state"), text(told, "jobName"))).collect()
    }

    async fn until_told(&self, count: usize) {
        let all = async {
            while self.told().len() < count {
                sleep(Duration::from_millis(100)).await;
            }
        };
        let in_time = timeout(Duration::from_secs(3600), all).await;
        assert!(in_time.is_ok(), "{count} notices are expected, these came: {:?}", self.told());
    }
}

fn rule(trouble: Trouble, scope: Scope) -> Notification {
    let headers = BTreeMap::from([("X-Team".to_owned(), "ops".to_owned())]);
    Notification { name: "ops".into(), trouble, scope, uri: "http://hooks.test/".into(), headers }
}

fn watched(rule: Notification) -> Door {
    let mut door = Door::open(&[]);
    door.config.notifications = vec![rule];
    door.app.config = Arc::new(door.config.clone());
    door
}

fn start(door: &Door) -> (JoinHandle<()>, CancellationToken) {
    let stop = CancellationToken::new();
    (Notifier::start(door.app.clone(), stop.clone()), stop)
}

async fn end((notifier, stop): (JoinHandle<()>, CancellationToken)) {
    stop.cancel();
    notifier.await.expect("it ended well");
}

/// Every minute, one try.
fn minutely() -> Value {
    with(&[
        ("/startTime", json!("2027-01-31T12:00:10Z")),
        ("/recurrence", json!({"frequency": "minute", "interval": 1})),
        ("/action/retryPolicy", json!({"retryType": "None"})),
    ])
}

fn pair(state: &str, name: &str) -> (String, String) {
    (state.to_owned(), name.to_owned())
}

#[tokio::test(start_paused = true)]
async fn trouble_is_told_once_and_so_is_its_end() {
    let door = watched(rule(Trouble::Faulted, Scope { collection: Some("C".into()), ..Scope::default() }));
    let scene = Arc::new(Scene::default());
    let engine = door.start(Arc::new(scene.runner()));
    let notifier = start(&door);
    for name in ["c", "elsewhere"] {
        door.collection(name, "Standard").await;
        door.accepts("PUT", &job(name, "j"), &minutely()).await;
    }
    sleep(Duration::from_secs(150)).await;
    assert_eq!(scene.told(), [], "nothing is wrong");

    scene.jobs_fail.store(true, Ordering::SeqCst);
    scene.webhook_fails.store(true, Ordering::SeqCst);
    sleep(Duration::from_secs(100)).await;
    scene.webhook_fails.store(false, Ordering::SeqCst);
    scene.until_told(1).await;
    let told = scene.told.lock().expect("not poisoned")[0].clone();
    assert_eq!(
        [&told["notification"], &told["when"], &told["state"], &told["jobCollection"], &told["message"]],
        ["ops", "faulted", "raised", "c", "not today"],
        "{told}"
    );
    sleep(Duration::from_secs(300)).await;
    assert_eq!(scene.told(), [pair("raised", "j")], "it fails every minute, and is told once");

    // Somebody who starts anew finds in the store what was told.
    end(notifier).await;
    let notifier = start(&door);
    sleep(Duration::from_secs(120)).await;
    assert_eq!(scene.told(), [pair("raised", "j")]);

    scene.jobs_fail.store(false, Ordering::SeqCst);
    scene.until_told(2).await;
    sleep(Duration::from_secs(300)).await;
    assert_eq!(scene.told(), [pair("raised", "j"), pair("recovered", "j")]);

    // The next trouble is another one, and so is its end.
    scene.jobs_fail.store(true, Ordering::SeqCst);
    scene.until_told(3).await;
    scene.jobs_fail.store(false, Ordering::SeqCst);
    scene.until_told(4).await;
    let all = ["raised", "recovered", "raised", "recovered"].map(|state| pair(state, "j"));
    assert_eq!(scene.told(), all);
    end(notifier).await;
    assert!(engine.stop().await);
}

/// A rule whose notices cannot be written keeps no other from being told.
#[tokio::test(start_paused = true)]
async fn a_rule_that_cannot_be_used_silences_no_other() {
    let mut door = Door::open(&[("PUNCTUAL_LIMITS_URI", "40")]);
    let good = rule(Trouble::Faulted, Scope::default());
    let uri = format!("http://hooks.test/{}", "x".repeat(40));
    let too_long = Notification { name: "a-first".into(), uri, ..good.clone() };
    door.config.notifications = vec![too_long, good];
    door.app.config = Arc::new(door.config.clone());
    let scene = Arc::new(Scene::default());
    scene.jobs_fail.store(true, Ordering::SeqCst);
    let engine = door.start(Arc::new(scene.runner()));
    let notifier = start(&door);
    door.collection("c", "Standard").await;
    for name in ["j", "k"] {
        door.accepts("PUT", &job("c", name), &minutely()).await;
    }
    scene.until_told(2).await;
    let mut told = scene.told();
    told.sort();
    assert_eq!(told, [pair("raised", "j"), pair("raised", "k")]);
    end(notifier).await;
    assert!(engine.stop().await);
}

/// What nobody heard is found out all the same.
#[tokio::test(start_paused = true)]
async fn what_happened_while_nobody_watched_is_told_after_the_start() {
    let door = watched(rule(Trouble::Faulted, Scope::default()));
    let scene = Arc::new(Scene::default());
    scene.jobs_fail.store(true, Ordering::SeqCst);
    let engine = door.start(Arc::new(scene.runner()));
    door.collection("c", "Standard").await;
    door.accepts("PUT", &job("c", "j"), &minutely()).await;
    sleep(Duration::from_secs(100)).await;
    let notifier = start(&door);
    scene.until_told(1).await;
    assert_eq!(scene.told(), [pair("raised", "j")]);
    // A job that is gone is in no trouble.
    assert_eq!(door.call("DELETE", &job("c", "j"), None).await.status, 200);
    scene.until_told(2).await;
    assert_eq!(scene.told()[1], pair("recovered", "j"));
    end(notifier).await;
    assert!(engine.stop().await);
}

#[tokio::test(start_paused = true)]
async fn a_job_that_does_not_succeed_is_told_when_time_is_up() {
    let scope = Scope {
        subscription: Some("s".into()),
        group: Some("g".into()),
        collection: Some("c".into()),
        job: None,
    };
    let door = watched(rule(Trouble::NoSuccessFor(Duration::from_secs(600)), scope));
    let scene = Arc::new(Scene::default());
    let engine = door.start(Arc::new(scene.runner()));
    let notifier = start(&door);
    door.collection("c", "Standard").await;
    door.accepts("PUT", &job("c", "j"), &minutely()).await;
    sleep(Duration::from_secs(700)).await;
    assert_eq!(scene.told(), [], "it succeeds all the time");
    scene.jobs_fail.store(true, Ordering::SeqCst);
    sleep(Duration::from_secs(500)).await;
    assert_eq!(scene.told(), [], "it may have succeeded ten minutes ago");
    scene.until_told(1).await;
    scene.jobs_fail.store(false, Ordering::SeqCst);
    scene.until_told(2).await;
    assert_eq!(scene.told(), [pair("raised", "j"), pair("recovered", "j")]);
    end(notifier).await;
    assert!(engine.stop().await);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_late_is_told() {
    let mut door = watched(rule(Trouble::Late(Duration::from_secs(20)), Scope::default()));
    // One call at a time, so that a slow one holds up the other.
    door.config.engine.calls = 1;
    let slow = Arc::new(AtomicBool::new(true));
    let (told, is_slow) = (Arc::new(Mutex::new(Vec::new())), slow.clone());
    let heard = told.clone();
    let runner = Scripted::new(move |order, _| {
        if order.collection == notices().name {
            let state = order.job.split('-').next().unwrap_or_default();
            heard.lock().expect("not poisoned").push(state.to_owned());
            return Step::success();
        }
        let takes = if is_slow.load(Ordering::SeqCst) { 25 } else { 0 };
        Step::success().after(Duration::from_secs(takes))
    });
    let engine = door.start(Arc::new(runner));
    let notifier = start(&door);
    door.collection("c", "Standard").await;
    for name in ["a", "b"] {
        door.accepts("PUT", &job("c", name), &minutely()).await;
    }
    let until_told = async |state: &str| {
        let all = async {
            while !told.lock().expect("not poisoned").iter().any(|told| told == state) {
                sleep(Duration::from_millis(100)).await;
            }
        };
        assert!(timeout(Duration::from_secs(3600), all).await.is_ok(), "{told:?}");
    };
    until_told("raised").await;
    assert!(!told.lock().expect("not poisoned").contains(&"recovered".to_owned()), "{told:?}");
    slow.store(false, Ordering::SeqCst);
    until_told("recovered").await;
    end(notifier).await;
    assert!(engine.stop().await);
}
