//! Which authority gives out the tokens of a tenant, and in what words it is asked.

use std::{collections::BTreeMap, time::Duration};

use ::http::Uri;
use percent_encoding::utf8_percent_encode;

use super::{Applicant, Question};
use crate::{
    endpoints::IN_PATH,
    fault::{Fault, Kind},
    settings::SettingsError,
};

/// Where the tokens of a tenant come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authority {
    /// `https://login.microsoftonline.com`.
    pub address: String,
    /// What follows it; `{tenant}` stands for the tenant.
    pub token_path: String,
    /// The `scope` that is asked for, in which `{audience}` stands for the audience; without one the audience is asked
    /// for as `resource`.
    pub scope: Option<String>,
}

/// Where tokens come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OauthSettings {
    /// For all tenants that are not named.
    pub others: Authority,
    /// Those that are elsewhere, by name in any case.
    pub tenants: BTreeMap<String, Authority>,
    /// How long it may take to get a token, connecting included.
    pub timeout: Duration,
}

impl Default for OauthSettings {
    fn default() -> Self {
        Self {
            others: Authority {
                address: "https://login.microsoftonline.com".to_owned(),
                token_path: "/{tenant}/oauth2/token".to_owned(),
                scope: None,
            },
            tenants: BTreeMap::new(),
            // Well below the time of an attempt, so that the call itself still has some.
            timeout: Duration::from_secs(15),
        }
    }
}

impl OauthSettings {
    /// Refuses what can never become an address.
    pub(crate) fn check(&self) -> Result<(), SettingsError> {
        self.others.check("oauth")?;
        for (tenant, authority) in &self.tenants {
            authority.check(&format!("oauth.tenants.{tenant}"))?;
        }
        Ok(())
    }

    /// Where and how an applicant's token is asked for.
    pub(super) fn question<'a>(&self, who: Applicant<'a>) -> Result<Question<'a>, Fault> {
        let named = self.tenants.iter().find(|(known, _)| known.eq_ignore_ascii_case(who.tenant));
        let authority = named.map_or(&self.others, |(_, authority)| authority);
        let endpoint = authority.endpoint(who.tenant)?;
        Ok(Question { who, endpoint, wanted: authority.wanted(who.audience) })
    }
}

impl Authority {
    fn check(&self, section: &str) -> Result<(), SettingsError> {
        let refused = |name: &str, text: &str, why: String| SettingsError::Endpoint {
            setting: format!("{section}.{name}"),
            text: text.to_owned(),
            why,
        };
        if !self.token_path.starts_with('/') {
            return Err(refused("token-path", &self.token_path, "it must begin with a slash".to_owned()));
        }
        let whole = self.text("x");
        if whole.contains(['{', '}']) {
            let why = "what stands in braces can only be {tenant}, in the path".to_owned();
            return Err(refused("token-path", &self.token_path, why));
        }
        let uri: Uri = whole
            .parse()
            .map_err(|e: ::http::uri::InvalidUri| refused("authority", &self.address, e.to_string()))?;
        let is_known = matches!(uri.scheme_str(), Some("http" | "https"));
        if !is_known || uri.host().is_none_or(str::is_empty) {
            let why = "it must begin with https:// or http:// and a host".to_owned();
            return Err(refused("authority", &self.address, why));
        }
        if uri.query().is_some() || uri.authority().is_some_and(|authority| authority.as_str().contains('@'))
        {
            let why = "it must have neither a query nor a user".to_owned();
            return Err(refused("authority", &self.address, why));
        }
        if let Some(scope) = &self.scope
            && scope.replace("{audience}", "").contains(['{', '}'])
        {
            let why = "what stands in braces can only be {audience}".to_owned();
            return Err(refused("scope", scope, why));
        }
        Ok(())
    }

    /// The token endpoint of a tenant. Tenants come from jobs: one that would lead elsewhere is refused.
    fn endpoint(&self, tenant: &str) -> Result<Uri, Fault> {
        let unusable = || {
            let cause = format!("the tenant '{}' cannot be part of a path", tenant.escape_debug());
            Fault::new(Kind::UnknownError, cause)
        };
        // Dots alone would climb up the path.
        if tenant.chars().all(|letter| letter == '.') {
            return Err(unusable());
        }
        self.text(&utf8_percent_encode(tenant, IN_PATH).to_string()).parse().map_err(|_| unusable())
    }

    /// What the token is asked for: the name of the field and its value.
    fn wanted(&self, audience: &str) -> (&'static str, String) {
        match &self.scope {
            Some(scope) => ("scope", scope.replace("{audience}", audience)),
            None => ("resource", audience.to_owned()),
        }
    }

    fn text(&self, tenant: &str) -> String {
        let path = self.token_path.replace("{tenant}", tenant);
        format!("{}{path}", self.address.trim_end_matches('/'))
    }
}

#[cfg(test)]
mod tests {
    use model::Secret;

    use super::*;

    fn authority(address: &str, token_path: &str, scope: Option<&str>) -> Authority {
        let (address, token_path) = (address.to_owned(), token_path.to_owned());
        Authority { address, token_path, scope: scope.map(str::to_owned) }
    }

    #[test]
    fn a_tenant_finds_its_authority() {
        let own = authority("https://idp.example/", "/realms/{tenant}/token", Some("{audience}/.default"));
        let settings =
            OauthSettings { tenants: BTreeMap::from([("Own".to_owned(), own)]), ..OauthSettings::default() };
        settings.check().unwrap();
        let secret = Secret::new("s");
        let applicant = |tenant| Applicant { tenant, audience: "api://x", client_id: "c", secret: &secret };
        for (tenant, endpoint, wanted) in [
            ("oWN", "https://idp.example/realms/oWN/token", ("scope", "api://x/.default")),
            (
                "contoso.onmicrosoft.com",
                "https://login.microsoftonline.com/contoso.onmicrosoft.com/oauth2/token",
                ("resource", "api://x"),
            ),
            (
                "a/../b?c",
                "https://login.microsoftonline.com/a%2F..%2Fb%3Fc/oauth2/token",
                ("resource", "api://x"),
            ),
        ] {
            let question = settings.question(applicant(tenant)).unwrap();
            assert_eq!(question.endpoint.to_string(), endpoint);
            assert_eq!(question.wanted, (wanted.0, wanted.1.to_owned()));
        }
        for tenant in ["", ".", ".."] {
            let fault = settings.question(applicant(tenant)).err().unwrap().to_string();
            assert!(fault.contains("cannot be part of a path"), "{fault}");
        }
    }

    #[test]
    fn what_is_no_authority_is_refused_by_its_setting() {
        for (wrong, says) in [
            (authority("login.example", "/t", None), "oauth.authority: \"login.example\" cannot be used"),
            (authority("ftp://a", "/t", None), "must begin with https:// or http://"),
            (authority("https://u:p@a", "/t", None), "neither a query nor a user"),
            (authority("https://a", "/t?p=1", None), "neither a query nor a user"),
            (authority("https://a", "t", None), "oauth.token-path: \"t\" cannot be used"),
            (authority("https://a", "/{tenent}/t", None), "oauth.token-path: \"/{tenent}/t\""),
            (authority("https://a", "/t", Some("{resource}")), "oauth.scope: \"{resource}\""),
        ] {
            let settings = OauthSettings { others: wrong, ..OauthSettings::default() };
            let error = settings.check().unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
        let tenants = BTreeMap::from([("t".to_owned(), authority("x", "/t", None))]);
        let error = OauthSettings { tenants, ..OauthSettings::default() }.check().unwrap_err().to_string();
        assert!(error.starts_with("oauth.tenants.t.authority: "), "{error}");
    }
}
