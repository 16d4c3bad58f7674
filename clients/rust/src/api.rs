//! The operations of the client, once for each of its api-versions.
//!
//! The crate has a module for each version, with types of its own that look the same. Here they meet: an [`Api`] takes and
//! gives JSON, and between the two there is always the version's own type.

use std::sync::Arc;

use async_trait::async_trait;
use azure_core::{TransportOptions, Url};
use futures::TryStreamExt;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::example::AnyToken;

/// What the client gives, or its error.
pub type Answer<T = Value> = Result<T, Refusal>;

/// Why a call came to nothing.
#[derive(Debug)]
pub enum Refusal {
    /// The client's typed error, for an answer that tells of no success.
    Status { status: u16, code: String, message: String },
    /// Anything else, such as an answer that the client cannot read.
    Other(String),
}

impl From<azure_core::Error> for Refusal {
    fn from(error: azure_core::Error) -> Self {
        match error.as_http_error() {
            Some(http) => Self::Status {
                status: http.status().into(),
                code: http.error_code().unwrap_or_default().to_owned(),
                message: http.error_message().unwrap_or_default().to_owned(),
            },
            None => Self::Other(format!("{error:?}")),
        }
    }
}

impl From<serde_json::Error> for Refusal {
    fn from(error: serde_json::Error) -> Self {
        Self::Other(error.to_string())
    }
}

impl From<Refusal> for String {
    fn from(refusal: Refusal) -> Self {
        format!("{refusal:?}")
    }
}

/// What a list is asked for.
#[derive(Default, Clone)]
pub struct Asked {
    pub top: Option<i64>,
    pub skip: Option<i64>,
    pub filter: Option<String>,
}

/// What is done with a collection, or with a job, and gives nothing back.
#[derive(Debug, Clone, Copy)]
pub enum Deed {
    Delete,
    Enable,
    Disable,
    Run,
}

#[async_trait]
pub trait Api {
    /// What becomes of a body in the client's type.
    fn collection_model(&self, body: &Value) -> Answer;
    fn job_model(&self, body: &Value) -> Answer;

    async fn collections(&self, group: Option<&str>) -> Answer<Vec<Value>>;
    async fn collection(&self, name: &str) -> Answer;
    async fn put_collection(&self, name: &str, body: &Value) -> Answer;
    async fn patch_collection(&self, name: &str, body: &Value) -> Answer;
    async fn do_collection(&self, name: &str, deed: Deed) -> Answer<()>;

    async fn jobs(&self, collection: &str, asked: Asked) -> Answer<Vec<Value>>;
    async fn history(&self, collection: &str, job: &str, asked: Asked) -> Answer<Vec<Value>>;
    async fn job(&self, collection: &str, name: &str) -> Answer;
    async fn job_etag(&self, collection: &str, name: &str) -> Answer<String>;
    async fn put_job(&self, collection: &str, name: &str, body: &Value) -> Answer;
    async fn patch_job(&self, collection: &str, name: &str, body: &Value) -> Answer;
    async fn do_job(&self, collection: &str, name: &str, deed: Deed) -> Answer<()>;
}

/// Where a client calls, and what goes with every call.
#[derive(Clone)]
pub struct Place {
    pub url: String,
    pub subscription: String,
    pub group: String,
    pub headers: Vec<(&'static str, String)>,
}

impl Place {
    fn transport(&self) -> TransportOptions {
        let headers: HeaderMap = self
            .headers
            .iter()
            .map(|(name, value)| {
                (HeaderName::from_static(name), HeaderValue::from_str(value).expect("a header"))
            })
            .collect();
        let http = reqwest::Client::builder().default_headers(headers).build().expect("a client");
        TransportOptions::new(Arc::new(http))
    }
}

/// JSON as a type of the client.
fn typed<T: DeserializeOwned>(body: &Value) -> Answer<T> {
    Ok(T::deserialize(body)?)
}

/// A type of the client as JSON.
fn json(model: impl Serialize) -> Answer {
    Ok(serde_json::to_value(model)?)
}

fn json_each(models: Vec<impl Serialize>) -> Answer<Vec<Value>> {
    models.into_iter().map(json).collect()
}

macro_rules! version {
    ($module:ident) => {
        mod $module {
            use azure_mgmt_scheduler::$module::Client;
            use azure_mgmt_scheduler::$module::models::{JobCollectionDefinition, JobDefinition};

            use super::*;

            pub(super) struct Version {
                client: Client,
                subscription: String,
                group: String,
            }

            impl Version {
                pub(super) fn new(place: &Place) -> Self {
                    let client = Client::builder(Arc::new(AnyToken))
                        .endpoint(Url::parse(&place.url).expect("a URL"))
                        .transport(place.transport())
                        .build()
                        .expect("a client");
                    Self { client, subscription: place.subscription.clone(), group: place.group.clone() }
                }

                /// Whose every operation is about: the subscription and the group.
                fn place(&self) -> (&str, &str) {
                    (&self.subscription, &self.group)
                }
            }

            #[async_trait]
            impl Api for Version {
                fn collection_model(&self, body: &Value) -> Answer {
                    json(typed::<JobCollectionDefinition>(body)?)
                }

                fn job_model(&self, body: &Value) -> Answer {
                    json(typed::<JobDefinition>(body)?)
                }

                async fn collections(&self, group: Option<&str>) -> Answer<Vec<Value>> {
                    let client = self.client.job_collections_client();
                    let pages = match group {
                        Some(group) => client.list_by_resource_group(&self.subscription, group).into_stream(),
                        None => client.list_by_subscription(&self.subscription).into_stream(),
                    };
                    let pages: Vec<_> = pages.try_collect().await?;
                    json_each(pages.into_iter().flat_map(|page| page.value).collect())
                }

                async fn collection(&self, name: &str) -> Answer {
                    let (subscription, group) = self.place();
                    json(self.client.job_collections_client().get(subscription, group, name).await?)
                }

                async fn put_collection(&self, name: &str, body: &Value) -> Answer {
                    let (subscription, group) = self.place();
                    let client = self.client.job_collections_client();
                    json(
                        client
                            .create_or_update(
                                subscription,
                                group,
                                name,
                                typed::<JobCollectionDefinition>(body)?,
                            )
                            .await?,
                    )
                }

                async fn patch_collection(&self, name: &str, body: &Value) -> Answer {
                    let (subscription, group) = self.place();
                    let client = self.client.job_collections_client();
                    json(
                        client
                            .patch(subscription, group, name, typed::<JobCollectionDefinition>(body)?)
                            .await?,
                    )
                }

                async fn do_collection(&self, name: &str, deed: Deed) -> Answer<()> {
                    let (subscription, group) = self.place();
                    let client = self.client.job_collections_client();
                    match deed {
                        Deed::Delete => drop(client.delete(subscription, group, name).send().await?),
                        Deed::Enable => drop(client.enable(subscription, group, name).send().await?),
                        Deed::Disable => drop(client.disable(subscription, group, name).send().await?),
                        Deed::Run => return Err(Refusal::Other("a collection does not run".into())),
                    }
                    Ok(())
                }

                async fn jobs(&self, collection: &str, asked: Asked) -> Answer<Vec<Value>> {
                    let (subscription, group) = self.place();
                    let mut list = self.client.jobs_client().list(subscription, group, collection);
                    if let Some(top) = asked.top {
                        list = list.top(top);
                    }
                    if let Some(skip) = asked.skip {
                        list = list.skip(skip);
                    }
                    if let Some(filter) = asked.filter {
                        list = list.filter(filter);
                    }
                    let pages: Vec<_> = list.into_stream().try_collect().await?;
                    json_each(pages.into_iter().flat_map(|page| page.value).collect())
                }

                async fn history(&self, collection: &str, job: &str, asked: Asked) -> Answer<Vec<Value>> {
                    let (subscription, group) = self.place();
                    let mut list =
                        self.client.jobs_client().list_job_history(subscription, group, collection, job);
                    if let Some(top) = asked.top {
                        list = list.top(top);
                    }
                    if let Some(skip) = asked.skip {
                        list = list.skip(skip);
                    }
                    if let Some(filter) = asked.filter {
                        list = list.filter(filter);
                    }
                    let pages: Vec<_> = list.into_stream().try_collect().await?;
                    json_each(pages.into_iter().flat_map(|page| page.value).collect())
                }

                async fn job(&self, collection: &str, name: &str) -> Answer {
                    let (subscription, group) = self.place();
                    json(self.client.jobs_client().get(subscription, group, collection, name).await?)
                }

                async fn job_etag(&self, collection: &str, name: &str) -> Answer<String> {
                    let (subscription, group) = self.place();
                    let answer =
                        self.client.jobs_client().get(subscription, group, collection, name).send().await?;
                    Ok(answer.as_raw_response().headers().get_str(&azure_core::headers::ETAG)?.to_owned())
                }

                async fn put_job(&self, collection: &str, name: &str, body: &Value) -> Answer {
                    let (subscription, group) = self.place();
                    let (client, job) = (self.client.jobs_client(), typed::<JobDefinition>(body)?);
                    json(client.create_or_update(subscription, group, collection, name, job).await?)
                }

                async fn patch_job(&self, collection: &str, name: &str, body: &Value) -> Answer {
                    let (subscription, group) = self.place();
                    let (client, job) = (self.client.jobs_client(), typed::<JobDefinition>(body)?);
                    json(client.patch(subscription, group, collection, name, job).await?)
                }

                async fn do_job(&self, collection: &str, name: &str, deed: Deed) -> Answer<()> {
                    let (subscription, group) = self.place();
                    let client = self.client.jobs_client();
                    match deed {
                        Deed::Delete => {
                            drop(client.delete(subscription, group, collection, name).send().await?)
                        }
                        Deed::Run => drop(client.run(subscription, group, collection, name).send().await?),
                        Deed::Enable | Deed::Disable => {
                            return Err(Refusal::Other("a job has no such switch".into()));
                        }
                    }
                    Ok(())
                }
            }
        }
    };
}

version!(package_2016_03);
version!(package_2016_01);
version!(package_2014_08_preview);

/// The version of that name.
pub fn version(name: &str, place: &Place) -> Box<dyn Api> {
    match name {
        "2016-03" => Box::new(package_2016_03::Version::new(place)),
        "2016-01" => Box::new(package_2016_01::Version::new(place)),
        "2014-08" => Box::new(package_2014_08_preview::Version::new(place)),
        _ => panic!("{name} is no version of this client; there are 2016-03, 2016-01 and 2014-08"),
    }
}
