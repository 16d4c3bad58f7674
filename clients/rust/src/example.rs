use std::error::Error;
use std::sync::Arc;

use azure_core::auth::{AccessToken, TokenCredential};
use azure_core::{TransportOptions, Url};
use azure_mgmt_scheduler::package_2016_03::{Client, models};
use reqwest::header::{HeaderMap, HeaderValue};

#[derive(Debug)]
pub struct AnyToken;

#[async_trait::async_trait]
impl TokenCredential for AnyToken {
    async fn get_token(&self, _scopes: &[&str]) -> azure_core::Result<AccessToken> {
        Ok(AccessToken::new("any", time::OffsetDateTime::UNIX_EPOCH))
    }

    async fn clear_cache(&self) -> azure_core::Result<()> {
        Ok(())
    }
}

pub fn connect(url: &str) -> Result<Client, Box<dyn Error>> {
    // This crate reads `Enabled` and not `enabled`.
    let pascal = [("x-punctual-enum-case".parse()?, HeaderValue::from_static("pascal"))];
    let http = reqwest::Client::builder().default_headers(HeaderMap::from_iter(pascal)).build()?;
    Ok(Client::builder(Arc::new(AnyToken))
        .endpoint(Url::parse(url)?)
        .transport(TransportOptions::new(Arc::new(http)))
        .build()?)
}

pub async fn first_job(
    client: &Client,
    subscription: &str,
    target: &str,
) -> azure_core::Result<models::JobDefinition> {
    let collection =
        models::JobCollectionDefinition { location: Some("westus".into()), ..Default::default() };
    client.job_collections_client().create_or_update(subscription, "group", "first", collection).await?;
    let action = models::JobAction {
        type_: Some(models::job_action::Type::Http),
        request: Some(models::HttpRequest {
            method: Some("GET".into()),
            uri: Some(target.into()),
            ..Default::default()
        }),
        ..Default::default()
    };
    let properties = models::JobProperties { action: Some(action), ..Default::default() };
    let job = models::JobDefinition { properties: Some(properties), ..Default::default() };
    client.jobs_client().create_or_update(subscription, "group", "first", "hello", job).await
}
