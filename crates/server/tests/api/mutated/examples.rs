//! Valid documents, to be sent as they are or to be broken.

use serde_json::{Value, json};

/// Valid jobs, with everything that a job can have.
pub(crate) fn jobs() -> Vec<Value> {
    let get = |more: Value| {
        let mut action = json!({"type": "Http", "request": {"uri": "http://example.org/", "method": "GET"}});
        for (name, value) in more.as_object().into_iter().flatten() {
            action["request"][name] = value.clone();
        }
        action
    };
    let with_error = |mut action: Value, error: Value| {
        action["retryPolicy"] = json!({"retryType": "fixed", "retryInterval": "00:01:00", "retryCount": 2});
        action["errorAction"] = error;
        action
    };
    let queue = json!({"type": "StorageQueue", "queueMessage":
        {"storageAccount": "a", "queueName": "q", "sasToken": "s", "message": "m", "delivery": "raw"}});
    let bus = |kind: &str, member: &str, entity: &str| {
        let mut action = json!({"type": kind});
        action[member] = json!({
            "namespace": "n", "transportType": "NetMessaging", "message": "m",
            "authentication": {"type": "SharedAccessKey", "sasKeyName": "k", "sasKey": "s"},
            "brokeredMessageProperties": {"contentType": "text/plain", "forcePersistence": true,
                "timeToLive": "PT1M", "scheduledEnqueueTimeUtc": "2027-03-01T00:00:00Z"},
            "customMessageProperties": {"a": "b", "A": "c"},
        });
        action[member][entity] = "e".into();
        action
    };
    let basic = json!({"authentication": {"type": "Basic", "username": "u", "password": "s"}});
    let oauth = json!({"authentication":
        {"type": "ActiveDirectoryOAuth", "tenant": "t", "audience": "a", "clientId": "c", "secret": "s"}});
    let hmac =
        json!({"authentication": {"type": "Hmac", "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}});
    let job = |properties: Value| json!({"properties": properties});
    vec![
        job(json!({
            "startTime": "2027-02-01T00:00:00Z",
            "action": get(json!({"headers": {"Content-Type": "text/plain", "x": "y"}, "body": "b"})),
            "recurrence": {"frequency": "day", "interval": 2, "count": 10, "endTime": "2027-12-31"},
            "state": "Enabled",
        })),
        job(json!({
            "action": with_error(get(basic), queue.clone()),
            "recurrence": {"frequency": "week",
                "schedule": {"weekDays": ["monday", "friday"], "hours": [1, 13], "minutes": [0, 30]}},
            "catchUp": {"policy": "all", "max": 3},
            "overlap": "queue",
        })),
        job(json!({
            "startTime": "2027-02-01",
            "action": with_error(queue, with_error(get(oauth), get(json!({})))),
            "recurrence": {"frequency": "month", "timeZone": "Europe/Berlin",
                "dst": {"gap": "shift", "fold": "first"},
                "schedule": {"monthlyOccurrences": [{"day": "friday", "Occurrence": -1}], "hours": [2]}},
        })),
        job(json!({
            "action": bus("ServiceBusQueue", "serviceBusQueueMessage", "queueName"),
            "recurrence": {"cron": "*/5 8-18 * * MON-FRI", "timeZone": "America/New_York"},
            "catchUp": "none",
            "state": "Disabled",
        })),
        job(json!({
            "startTime": "2027-06-01T12:00:00+02:00",
            "action": bus("ServiceBusTopic", "serviceBusTopicMessage", "topicPath"),
        })),
        job(json!({
            "action": get(hmac),
            "recurrence": {"frequency": "year", "schedule": {"months": [2, 12], "monthDays": [-1, 1]}},
        })),
    ]
}

/// Valid collections.
pub(crate) fn collections() -> Vec<Value> {
    vec![
        json!({"location": "westus", "tags": {"a": "b", "A": "c"}, "properties": {
            "sku": {"name": "Standard"}, "state": "Enabled",
            "quota": {"maxJobCount": 10, "maxJobOccurrence": 5, "maxRecurrence": {"frequency": "hour", "interval": 1}},
        }}),
        json!({"location": "Local"}),
        json!({"id": "i", "name": "n", "type": "t", "location": "", "tags": {},
            "properties": {"sku": {"name": "p20premium"}, "quota": {}}}),
    ]
}
