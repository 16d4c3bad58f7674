//! Export: the collections and jobs of a subscription as a deployment template that imports back identically.
//!
//! Each secret is a parameter, named after where it stands and without a value. Jobs that have come to their end are
//! left out, with a note: importing them would start them again. The template is made collection by collection, so
//! that it costs the memory of one, and each collection is read at one moment.

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use model::{CollectionPath, Job};
use serde_json::{Map, Value, json};
use store::{Page, StoredCollection};
use template::escape;
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::yield_now;
use tokio::time::timeout;
use wire::dialect::Dialect;

use super::{App, Result};
use crate::problem::Problem;

/// The most exports at a time. More would cost memory, whether anybody takes what they send or not.
pub(super) const MOST: usize = 4;
/// How long an export waits for its place.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is exported.
#[derive(Debug, Clone)]
pub struct ExportScope {
    /// Of this subscription.
    pub subscription: String,
    /// Only of this group. Without it, each group becomes a deployment within the template.
    pub group: Option<String>,
    /// Only this collection of the group.
    pub collection: Option<String>,
}

/// An export under way: its text comes in pieces.
pub struct Export {
    app: App,
    collections: VecDeque<StoredCollection>,
    /// Whether groups are deployments of their own.
    by_group: bool,
    /// The group whose deployment is open.
    open: Option<String>,
    stage: Stage,
    /// Whether the list of resources that is open has none yet.
    is_first: bool,
    parameters: Vec<String>,
    names: HashSet<String>,
    left_out: Vec<Value>,
    _place: OwnedSemaphorePermit,
}

enum Stage {
    Head,
    Resources,
    Done,
}

const SCHEMA: &str = "https://schema.management.azure.com/schemas/2015-01-01/deploymentTemplate.json#";
const VERSION: &str = "2016-03-01";
/// Of a deployment within another, with a group of its own.
const DEPLOYMENT_VERSION: &str = "2017-05-10";

/// What stands for a secret until it becomes an expression. No header and no property has such a name.
const MARK: &str = "\u{0}parameter";

impl App {
    /// Begins an export; the resources come with [`Export::next`].
    pub async fn export(&self, scope: &ExportScope) -> Result<Export> {
        let ExportScope { subscription, group, collection } = scope;
        let place = timeout(PATIENCE, self.exports.clone().acquire_owned())
            .await
            .ok()
            .and_then(std::result::Result::ok);
        let place = place.ok_or_else(|| {
            Problem::busy(format!("{MOST} exports are under way; allowed: {MOST} at a time. Try again."))
        })?;
        let collections = match (group, collection) {
            (Some(group), Some(name)) => {
                let (subscription, group, name) = (subscription.clone(), group.clone(), name.clone());
                vec![self.collection(&CollectionPath { subscription, group, name }).await?]
            }
            _ => {
                // At once: between two pages a collection could slip through.
                let all = Page { skip: 0, top: u32::MAX };
                let found = self.collections(subscription, group.as_deref(), all).await?;
                if found.is_empty() && group.is_none() {
                    self.check_subscription(subscription).await?;
                }
                found
            }
        };
        Ok(Export {
            app: self.clone(),
            collections: collections.into(),
            by_group: group.is_none(),
            open: None,
            stage: Stage::Head,
            is_first: true,
            parameters: Vec::new(),
            names: HashSet::new(),
            left_out: Vec::new(),
            _place: place,
        })
    }
}

impl Export {
    /// The next piece of the template; `None` after the last.
    pub async fn next(&mut self) -> Result<Option<String>> {
        match self.stage {
            Stage::Head => {
                self.stage = Stage::Resources;
                Ok(Some(format!(
                    "{{\n  \"$schema\": \"{SCHEMA}\",\n  \"contentVersion\": \"1.0.0.0\",\n  \"resources\": ["
                )))
            }
            Stage::Resources => match self.collections.pop_front() {
                Some(stored) => Ok(Some(self.collection(&stored).await?)),
                None => {
                    self.stage = Stage::Done;
                    Ok(Some(self.tail()))
                }
            },
            Stage::Done => Ok(None),
        }
    }

    /// One collection with its jobs.
    async fn collection(&mut self, stored: &StoredCollection) -> Result<String> {
        let path = &stored.collection.path;
        let jobs = self.app.store.all_jobs(path).await?;
        let mut text = String::new();
        if self.by_group && !self.open.as_ref().is_some_and(|open| open.eq_ignore_ascii_case(&path.group)) {
            text += &self.close();
            text += &self.opening(&path.group);
        }
        let mut collection = wire::collection::write(&stored.collection, Dialect::default());
        let mut resource = Map::new();
        resource.insert("type".into(), wire::path::COLLECTION_TYPE.into());
        resource.insert("apiVersion".into(), VERSION.into());
        resource.insert("name".into(), path.name.as_str().into());
        for name in ["location", "tags", "properties"] {
            if let Some(value) = collection.get_mut(name) {
                resource.insert(name.into(), escaped(value.take()));
            }
        }
        text += &self.element(&resource.into());
        for stored in &jobs {
            let job = &stored.job;
            if job.state.is_final() {
                let name = format!("{}/{}", path.name, job.name);
                let why = format!("it is {}: importing it would start it again", job.state.name());
                self.left_out.push(json!({"group": path.group, "name": name, "why": why}));
                continue;
            }
            let resource = self.job(path, job);
            text += &self.element(&resource);
            // A thousand large jobs take long to write, and others have their turn between any two.
            yield_now().await;
        }
        Ok(text)
    }

    fn job(&mut self, path: &CollectionPath, job: &Job) -> Value {
        let mut document = wire::job::concealed(
            &job.definition,
            job.state,
            |place, _| json!({MARK: self.parameter(path, &job.name, place)}),
        );
        json!({
            "type": wire::path::JOB_TYPE,
            "apiVersion": VERSION,
            "name": format!("{}/{}", path.name, job.name),
            "dependsOn": [format!("{}/{}", wire::path::COLLECTION_TYPE, path.name)],
            "properties": escaped(document["properties"].take()),
        })
    }

    /// A parameter named after where a secret stands. Only letters, digits and underscores can be in its name, so two
    /// places may want the same.
    fn parameter(&mut self, path: &CollectionPath, job: &str, place: &str) -> String {
        let place = place.replace(']', "");
        let mut words = vec![path.name.as_str(), job, &place];
        if self.by_group {
            words.insert(0, &path.group);
        }
        let letter = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let wanted: String = words.join("_").chars().map(letter).collect();
        let mut name = wanted.clone();
        let mut number = 2;
        while !self.names.insert(name.to_lowercase()) {
            name = format!("{wanted}_{number}");
            number += 1;
        }
        self.parameters.push(name.clone());
        name
    }

    /// How far the resources stand to the right.
    fn indent(&self) -> usize {
        if self.by_group { 12 } else { 4 }
    }

    fn element(&mut self, resource: &Value) -> String {
        let separator = if std::mem::take(&mut self.is_first) { "" } else { "," };
        format!("{separator}\n{}", pretty(resource, self.indent()))
    }

    /// The beginning of a group's deployment.
    fn opening(&mut self, group: &str) -> String {
        let separator = if self.open.is_some() { "," } else { "" };
        self.open = Some(group.to_owned());
        self.is_first = true;
        let group = Value::from(escape(group));
        format!(
            r#"{separator}
    {{
      "type": "Microsoft.Resources/deployments",
      "apiVersion": "{DEPLOYMENT_VERSION}",
      "name": {group},
      "resourceGroup": {group},
      "properties": {{
        "mode": "Incremental",
        "template": {{
          "$schema": "{SCHEMA}",
          "contentVersion": "1.0.0.0",
          "resources": ["#
        )
    }

    /// The end of the deployment that is open.
    fn close(&self) -> String {
        match self.open {
            Some(_) => "\n          ]\n        }\n      }\n    }".to_owned(),
            None => String::new(),
        }
    }

    fn tail(&self) -> String {
        let declared = self.parameters.iter().map(|name| (name.clone(), json!({"type": "securestring"})));
        let parameters: Map<String, Value> = declared.collect();
        let mut text = format!("{}\n  ],\n  \"parameters\": ", self.close());
        text += pretty(&parameters.into(), 2).trim_start();
        if !self.left_out.is_empty() {
            text += ",\n  \"metadata\": ";
            text += pretty(&json!({"leftOut": self.left_out}), 2).trim_start();
        }
        text + "\n}\n"
    }
}

/// A value whose texts mean themselves in a template, and whose marks are parameters.
fn escaped(value: Value) -> Value {
    match value {
        Value::String(text) => escape(&text).into(),
        Value::Array(list) => list.into_iter().map(escaped).collect::<Vec<_>>().into(),
        Value::Object(members) => match members.get(MARK).and_then(Value::as_str) {
            Some(parameter) => format!("[parameters('{parameter}')]").into(),
            None => {
                members.into_iter().map(|(name, value)| (name, escaped(value))).collect::<Map<_, _>>().into()
            }
        },
        other => other,
    }
}

fn pretty(value: &Value, indent: usize) -> String {
    // No text within JSON has a line's end of its own.
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    let margin = " ".repeat(indent);
    text.lines().map(|line| format!("{margin}{line}")).collect::<Vec<_>>().join("\n")
}
