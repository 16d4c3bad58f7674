//! Every operation × every role × inside and outside its scope.

use access::{Assignment, Role};
use serde_json::{Value, json};
use store::Added;

use super::roles::{COLLECTION, GROUP, SUBSCRIPTION, guarded, job, put};
use super::world::{Reply, World};

/// A collection beside the one that most is about.
const BESIDE: &str = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Scheduler/jobCollections/d";

/// What an operation is answered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expect {
    Done,
    Denied,
    Hidden,
    /// Whoever asks is known; what they sign in with is not.
    Refused,
}

use Expect::{Denied, Done, Hidden, Refused};

struct Row {
    method: &'static str,
    path: String,
    body: Option<Value>,
    /// For the holders of a role for the collection, each role in its order; for one of another collection, of another
    /// subscription, and for an owner of the server.
    inside: [Expect; 4],
    beside: Expect,
    elsewhere: Expect,
}

/// Who may: every role from this one on.
const READERS: [Expect; 4] = [Done, Done, Done, Done];
const OPERATORS: [Expect; 4] = [Denied, Done, Done, Done];
const CONTRIBUTORS: [Expect; 4] = [Denied, Denied, Done, Done];
const OWNERS: [Expect; 4] = [Denied, Denied, Denied, Done];
const NOBODY: [Expect; 4] = [Denied; 4];

/// A rule about the collection.
fn rule() -> Value {
    json!({"when": "faulted", "subscription": "s", "resourceGroup": "g", "collection": "c", "uri": "http://hooks.test/"})
}

fn rows() -> Vec<Row> {
    let scheduler = |rest: &str| format!("{COLLECTION}{rest}?api-version=2016-03-01");
    let manager = |path: &str| format!("{path}?api-version=2020-06-01");
    let row = |method, path: String, body: Option<Value>, inside, beside, elsewhere| Row {
        method,
        path,
        body,
        inside,
        beside,
        elsewhere,
    };
    let off = || Some(json!({"properties": {"state": "disabled"}}));
    let tagged = || Some(json!({"tags": {"a": "b"}}));
    let role = || Some(json!({"principal": "user:ann", "role": "Reader", "scope": COLLECTION}));
    let trial = |with_job: bool| {
        let mut body = json!({"action": job()["properties"]["action"]});
        if with_job {
            body["job"] = format!("{COLLECTION}/jobs/j").into();
        }
        Some(body)
    };
    vec![
        // What is in the collection.
        row("GET", scheduler(""), None, READERS, Hidden, Hidden),
        row("HEAD", scheduler(""), None, READERS, Hidden, Hidden),
        row("PUT", scheduler(""), Some(json!({"location": "x"})), CONTRIBUTORS, Hidden, Hidden),
        row("PATCH", scheduler(""), tagged(), CONTRIBUTORS, Hidden, Hidden),
        row("PATCH", scheduler(""), off(), OPERATORS, Hidden, Hidden),
        row("POST", scheduler("/disable"), None, OPERATORS, Hidden, Hidden),
        row("POST", scheduler("/enable"), None, OPERATORS, Hidden, Hidden),
        row("GET", scheduler("/jobs"), None, READERS, Hidden, Hidden),
        row("POST", scheduler("/jobs"), Some(job()), CONTRIBUTORS, Hidden, Hidden),
        row("GET", scheduler("/jobs/j"), None, READERS, Hidden, Hidden),
        row("HEAD", scheduler("/jobs/j"), None, READERS, Hidden, Hidden),
        row("GET", scheduler("/jobs/j/history"), None, READERS, Hidden, Hidden),
        row("POST", scheduler("/jobs/j/run"), None, OPERATORS, Hidden, Hidden),
        row("PUT", scheduler("/jobs/j"), Some(job()), CONTRIBUTORS, Hidden, Hidden),
        row("PATCH", scheduler("/jobs/j"), Some(job()), CONTRIBUTORS, Hidden, Hidden),
        row("PATCH", scheduler("/jobs/j"), off(), OPERATORS, Hidden, Hidden),
        row("GET", format!("/api/upcoming?job={COLLECTION}/jobs/j"), None, READERS, Hidden, Hidden),
        row("GET", format!("/api/jobs?collection={COLLECTION}"), None, READERS, Hidden, Hidden),
        row("GET", "/api/export?subscription=s&group=g&collection=c".into(), None, READERS, Hidden, Hidden),
        // What only the body tells: whoever may do so nowhere is denied it, whoever may elsewhere sees nothing here. First,
        // with the secrets of a job.
        row("POST", "/api/test-call".into(), trial(true), CONTRIBUTORS, Denied, Denied),
        row("PUT", "/api/notifications/ops".into(), Some(rule()), CONTRIBUTORS, Denied, Denied),
        row("DELETE", "/api/notifications/ops".into(), None, CONTRIBUTORS, Denied, Denied),
        // What the rule tells: whoever sees all that it watches sees it.
        row("GET", "/api/notifications/ops".into(), None, READERS, Hidden, Hidden),
        row("POST", "/api/roles/assign".into(), role(), OWNERS, Denied, Denied),
        row("POST", "/api/roles/remove".into(), role(), OWNERS, Denied, Denied),
        // What the collection is in is seen by whoever sees something in it; it is changed by those who may do so there.
        row("GET", manager(GROUP), None, READERS, Done, Hidden),
        row("HEAD", manager(GROUP), None, READERS, Done, Hidden),
        row("PUT", manager(GROUP), Some(json!({"location": "x"})), NOBODY, Denied, Hidden),
        row("PATCH", manager(GROUP), tagged(), NOBODY, Denied, Hidden),
        row("DELETE", manager(GROUP), None, NOBODY, Denied, Hidden),
        row("GET", manager(&format!("{GROUP}/resources")), None, READERS, Done, Hidden),
        row("GET", scheduler("").replace("/c?", "?"), None, READERS, Done, Hidden),
        row(
            "GET",
            format!("{SUBSCRIPTION}/providers/Microsoft.Scheduler/jobCollections?api-version=2016-03-01"),
            None,
            READERS,
            Done,
            Hidden,
        ),
        row("GET", manager(SUBSCRIPTION), None, READERS, Done, Hidden),
        row("GET", manager(&format!("{SUBSCRIPTION}/locations")), None, READERS, Done, Hidden),
        row("GET", manager(&format!("{SUBSCRIPTION}/providers")), None, READERS, Done, Hidden),
        row(
            "GET",
            manager(&format!("{SUBSCRIPTION}/providers/Microsoft.Scheduler")),
            None,
            READERS,
            Done,
            Hidden,
        ),
        row(
            "POST",
            manager(&format!("{SUBSCRIPTION}/providers/Microsoft.Scheduler/register")),
            None,
            READERS,
            Done,
            Hidden,
        ),
        row("GET", manager(&format!("{SUBSCRIPTION}/resources")), None, READERS, Done, Hidden),
        row("GET", manager(&format!("{SUBSCRIPTION}/resourceGroups")), None, READERS, Done, Hidden),
        row("GET", "/api/export?subscription=s".into(), None, READERS, Done, Hidden),
        // What has only what is seen.
        row("GET", manager("/subscriptions"), None, READERS, Done, Done),
        row("GET", manager("/providers/Microsoft.Scheduler/operations"), None, READERS, Done, Done),
        row("GET", "/metadata/endpoints?api-version=1.0".into(), None, READERS, Done, Done),
        row("GET", "/api/ledger".into(), None, READERS, Done, Done),
        row("GET", "/api/overview".into(), None, READERS, Done, Done),
        row("GET", "/api/waiting".into(), None, READERS, Done, Done),
        row("GET", "/api/jobs".into(), None, READERS, Done, Done),
        row("GET", "/api/notifications".into(), None, READERS, Done, Done),
        row("GET", "/api/notices".into(), None, READERS, Done, Done),
        row("GET", "/api/audit".into(), None, READERS, Done, Done),
        row("GET", "/api/roles".into(), None, READERS, Done, Done),
        row("POST", "/api/preview".into(), Some(job()), READERS, Done, Done),
        row("GET", "/api/echo".into(), None, READERS, Done, Done),
        row("GET", "/api/openapi.json".into(), None, READERS, Done, Done),
        row("GET", "/api/session".into(), None, READERS, Done, Done),
        row("POST", "/api/session".into(), Some(json!({"token": "x"})), [Refused; 4], Refused, Refused),
        row("DELETE", "/api/session".into(), None, READERS, Done, Done),
        row("GET", "/healthz".into(), None, READERS, Done, Done),
        row("GET", "/readyz".into(), None, READERS, Done, Done),
        // What somebody may who may write somewhere; those beside and elsewhere are readers.
        row("POST", "/api/test-call".into(), trial(false), CONTRIBUTORS, Denied, Denied),
        // What concerns the whole server.
        row("GET", "/api/nodes".into(), None, NOBODY, Denied, Denied),
        row("GET", "/api/settings".into(), None, NOBODY, Denied, Denied),
        row("GET", "/metrics".into(), None, NOBODY, Denied, Denied),
        row("GET", "/api/keys".into(), None, NOBODY, Denied, Denied),
        row("POST", "/api/keys/rotate".into(), None, NOBODY, Denied, Denied),
        row("POST", "/api/backup".into(), None, NOBODY, Denied, Denied),
        row(
            "POST",
            "/api/import?subscription=s&group=g".into(),
            Some(json!({"resources": []})),
            NOBODY,
            Denied,
            Denied,
        ),
        row("GET", "/api/audit/verify".into(), None, NOBODY, Denied, Denied),
        row("GET", "/api/tokens".into(), None, NOBODY, Denied, Denied),
        row(
            "POST",
            "/api/tokens".into(),
            Some(json!({"name": "n", "role": "Reader"})),
            NOBODY,
            Denied,
            Denied,
        ),
        row("DELETE", "/api/tokens/0123456789abcdef".into(), None, NOBODY, Denied, Denied),
        // Last, since it is gone then.
        row("DELETE", scheduler("/jobs/j"), None, CONTRIBUTORS, Hidden, Hidden),
        row("DELETE", scheduler(""), None, CONTRIBUTORS, Hidden, Hidden),
    ]
}

#[track_caller]
fn check(reply: &Reply, expected: Expect, what: &str) {
    let code = reply.body["error"]["code"].as_str().unwrap_or_default();
    let found = match (reply.status, code) {
        (200..=299, _) => Done,
        (401, _) => Refused,
        (403, "AuthorizationFailed") => Denied,
        (404, "ResourceNotFound" | "ResourceGroupNotFound" | "SubscriptionNotFound") => Hidden,
        // HEAD has no body.
        (403, "") if reply.text.is_empty() => Denied,
        (404, "") if reply.text.is_empty() => Hidden,
        // There is no such token, and they may know.
        (404, "NotFound") if what.contains("DELETE /api/tokens") => Done,
        // The keys of tests come from the environment, and an embedded store has them to change all the same.
        (409, "KeysFromEnvironment") => Done,
        _ => panic!("{what}: {} {}", reply.status, reply.text),
    };
    assert_eq!(found, expected, "{what}: {} {}", reply.status, reply.text);
}

/// Puts back what a row may have changed.
async fn restore(world: &World, owner: &str, roles: &[Assignment]) {
    put(world, owner, &format!("{GROUP}?api-version=2020-06-01"), &json!({"location": "x"})).await;
    put(world, owner, &format!("{BESIDE}?api-version=2016-03-01"), &json!({"location": "x"})).await;
    let on = json!({"location": "x", "properties": {"state": "Enabled"}});
    put(world, owner, &format!("{COLLECTION}?api-version=2016-03-01"), &on).await;
    let path = format!("{COLLECTION}/jobs/j?api-version=2016-03-01");
    world.as_holder(owner, "DELETE", &path, None).await;
    put(world, owner, &path, &job()).await;
    put(world, owner, "/api/notifications/ops", &rule()).await;
    // Roles end with what they were given for.
    for role in roles {
        assert!(
            matches!(world.store.assign(role.clone()).await, Ok(Added::Done | Added::Already)),
            "{role:?}"
        );
    }
    world.guard.forget();
}

#[tokio::test]
async fn every_operation_by_every_role_inside_and_outside() {
    let (world, owner) = guarded().await;
    let beside = world.token(Role::Reader, BESIDE).await;
    let elsewhere = world.token(Role::Reader, "/subscriptions/other").await;
    let nobody = world.token(Role::Owner, "/subscriptions/other").await;
    let scopes = [COLLECTION, GROUP, SUBSCRIPTION, "/"];
    let mut holders = Vec::new();
    for scope in scopes {
        for role in Role::ALL {
            holders.push((scope, role, world.token(role, scope).await));
        }
    }
    let roles = world.store.assignments().await.expect("read");
    for row in rows() {
        let what = format!("{} {}", row.method, row.path);
        let call = async |token: &str| world.as_holder(token, row.method, &row.path, row.body.as_ref()).await;
        restore(&world, &owner, &roles).await;
        check(&call(&beside).await, row.beside, &format!("{what} beside"));
        check(&call(&elsewhere).await, row.elsewhere, &format!("{what} elsewhere"));
        // An owner of another subscription sees no more of this one; what he may do anywhere he may.
        let names_it = row.body.as_ref().is_some_and(|body| body.to_string().contains(COLLECTION));
        if row.elsewhere == Hidden || names_it {
            check(&call(&nobody).await, Hidden, &format!("{what} by an owner elsewhere"));
        }
        for (i, role) in Role::ALL.into_iter().enumerate() {
            restore(&world, &owner, &roles).await;
            let (_, _, token) =
                holders.iter().find(|(at, of, _)| *at == COLLECTION && *of == role).expect("one");
            check(&call(token).await, row.inside[i], &format!("{what} by {role:?}"));
        }
        // An owner of everything may do everything.
        restore(&world, &owner, &roles).await;
        if row.path.contains("/roles/remove") {
            world.as_holder(&owner, "POST", "/api/roles/assign", row.body.as_ref()).await.expect(201);
        }
        let expected = if row.inside == [Refused; 4] { Refused } else { Done };
        check(&call(&owner).await, expected, &format!("{what} by an owner of everything"));
        // Without a token nobody gets anywhere, but where it says so.
        let open = ["/healthz", "/readyz", "/metadata/endpoints?api-version=1.0", "/api/session"];
        let reply = world.call(row.method, &row.path, row.body.as_ref()).await;
        let is_open = open.contains(&row.path.as_str()) && row.inside != [Refused; 4];
        assert_eq!(reply.status == 401, !is_open, "{what} by nobody: {}", reply.text);
        assert_eq!(reply.header("www-authenticate").is_some(), !is_open, "{what}");
    }
    // A role for what a collection is in holds for the collection.
    for (scope, role, token) in &holders {
        restore(&world, &owner, &roles).await;
        let path = format!("{COLLECTION}/jobs/j?api-version=2016-03-01");
        let may_write = matches!(role, Role::Contributor | Role::Owner);
        let may_run = *role != Role::Reader;
        let expected = |may: bool| if may { Done } else { Denied };
        let what = format!("{role:?} of {scope}");
        check(&world.as_holder(token, "GET", &path, None).await, Done, &what);
        let run = path.replace("?", "/run?");
        check(&world.as_holder(token, "POST", &run, None).await, expected(may_run), &what);
        check(&world.as_holder(token, "PUT", &path, Some(&job())).await, expected(may_write), &what);
        let rotate = world.as_holder(token, "GET", "/api/tokens", None).await;
        check(&rotate, expected(*scope == "/" && *role == Role::Owner), &what);
        let settings = world.as_holder(token, "GET", "/api/settings", None).await;
        check(&settings, expected(*scope == "/"), &what);
    }
}

/// The table of rows has every operation that the API describes, so that a new one is not forgotten.
#[tokio::test]
async fn the_matrix_has_every_operation() {
    let world = World::new();
    let document = world.get("/api/openapi.json").await.body;
    let rows = rows();
    // The first has no end, and is looked at in `roles`; the others are the way to sign in, which is for everybody, and are
    // looked at in `referrals`.
    let apart = ["/api/events", "/api/session/oidc", "/api/session/oidc/callback"];
    let mut missing = Vec::new();
    for (template, item) in document["paths"].as_object().expect("paths") {
        for method in item.as_object().expect("an item").keys().filter(|name| *name != "parameters") {
            let is_there = rows.iter().any(|row| {
                let path = row.path.split('?').next().unwrap_or_default();
                let (parts, segments): (Vec<&str>, Vec<&str>) =
                    (template.split('/').collect(), path.split('/').collect());
                row.method.eq_ignore_ascii_case(method)
                    && parts.len() == segments.len()
                    && parts
                        .iter()
                        .zip(&segments)
                        .all(|(part, segment)| part.starts_with('{') || part == segment)
            });
            // An echo is an echo.
            let is_echo = template == "/api/echo" && method != "get";
            if !is_there && !is_echo && !apart.contains(&template.as_str()) {
                missing.push(format!("{method} {template}"));
            }
        }
    }
    assert_eq!(missing, Vec::<String>::new());
}
