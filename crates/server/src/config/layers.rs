//! The layers: the default file, a file, environment variables, flags.

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use model::Secret;
use toml::{Table, Value};

use super::{Config, DEFAULT, ranges};

/// What the command line says.
#[derive(Debug, Clone, Default)]
pub struct Flags {
    /// `--config`.
    pub config: Option<PathBuf>,
    /// `--listen`.
    pub listen: Option<String>,
    /// `--data`.
    pub data: Option<PathBuf>,
    /// `--database`.
    pub database: Option<String>,
    /// `--metrics-listen`.
    pub metrics_listen: Option<String>,
}

/// A setting that is wrong: which, where it was set, and what is allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFault(String);

impl ConfigFault {
    /// A problem with a setting.
    pub(super) fn new(setting: &str, problem: impl fmt::Display) -> Self {
        Self(format!("{setting}: {problem}"))
    }
}

impl fmt::Display for ConfigFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConfigFault {}

/// The prefix of all our environment variables.
const PREFIX: &str = "PUNCTUAL_";

/// Names the file of settings, as `--config` does.
const CONFIG_VARIABLE: &str = "PUNCTUAL_CONFIG";

/// Holds the keys of secrets. No setting of a file, since those are shown around and quoted in messages.
pub const KEY_VARIABLE: &str = "PUNCTUAL_SECRETS_KEY";

/// Variables that are no settings of the server: the keys, and what tells the other commands where it is and who calls, and
/// a secret of a job; and what tells tests where a database is.
const NO_SETTINGS: [&str; 7] = [
    CONFIG_VARIABLE,
    KEY_VARIABLE,
    "PUNCTUAL_SERVER",
    "PUNCTUAL_CONTEXT",
    "PUNCTUAL_SECRET",
    "PUNCTUAL_TOKEN",
    "PUNCTUAL_TEST_POSTGRES",
];

/// Sections whose keys the operator names; their values are judged when they are read.
const OPEN: [&str; 3] = ["storage-queue.accounts", "service-bus.namespaces", "oauth.tenants"];

/// The configuration in force, with the environment of this process.
///
/// # Errors
///
/// When a setting is wrong.
pub fn load_here(flags: &Flags) -> Result<Config, ConfigFault> {
    load(flags, environment()?.into_iter())
}

/// The variables of the environment that are ours. What others hold may be no text.
fn environment() -> Result<Vec<(String, String)>, ConfigFault> {
    let ours = std::env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(PREFIX.as_bytes()));
    let text = |(name, value): (OsString, OsString)| match (name.into_string(), value.into_string()) {
        (Ok(name), Ok(value)) => Ok((name, value)),
        (Ok(name), Err(_)) => Err(fault(&name, "its value is not UTF-8")),
        (Err(name), _) => Err(fault(&name.to_string_lossy(), "there is no such setting")),
    };
    ours.map(text).collect()
}

/// The configuration in force. `variables` are the environment's.
pub fn load(flags: &Flags, variables: impl Iterator<Item = (String, String)>) -> Result<Config, ConfigFault> {
    let mut settings: Table = DEFAULT.parse().map_err(|error| fault("config.default.toml", error))?;
    let known = leaves(&settings);
    let variables: Vec<(String, String)> = variables.filter(|(name, _)| name.starts_with(PREFIX)).collect();

    let from_variable =
        variables.iter().find(|(name, _)| name == CONFIG_VARIABLE).map(|(_, path)| PathBuf::from(path));
    if let Some(path) = flags.config.clone().or(from_variable) {
        let file = read_file(&path)?;
        merge(&mut settings, file, "", &path.display().to_string())?;
    }
    for (name, text) in &variables {
        if NO_SETTINGS.contains(&name.as_str()) {
            continue;
        }
        let Some((path, default)) = known.iter().find(|(path, _)| variable_of(path) == *name) else {
            return Err(fault(
                name,
                format!(
                    "there is no such setting{}",
                    nearest(name, known.iter().map(|(path, _)| variable_of(path)))
                ),
            ));
        };
        set(&mut settings, path, typed(name, text, default)?);
    }
    if let Some(listen) = &flags.listen {
        set(&mut settings, "listen", Value::String(listen.clone()));
    }
    if let Some(data) = &flags.data {
        let text = data
            .to_str()
            .ok_or_else(|| fault("--data", format!("the path {} is not UTF-8", data.display())))?;
        set(&mut settings, "data", Value::String(text.to_owned()));
    }
    if let Some(database) = &flags.database {
        set(&mut settings, "database", Value::String(database.clone()));
    }
    if let Some(listen) = &flags.metrics_listen {
        set(&mut settings, "metrics.listen", Value::String(listen.clone()));
    }
    ranges::check(&settings)?;
    let mut config = typed_config(settings)?;
    let key = variables.into_iter().find(|(name, _)| name == KEY_VARIABLE);
    config.secrets.key = key.map(|(_, keys)| Secret::new(keys));
    Ok(config)
}

fn typed_config(settings: Table) -> Result<Config, ConfigFault> {
    serde_path_to_error::deserialize(Value::Table(settings)).map_err(|error| {
        let path = error.path().to_string();
        fault(&path, error.into_inner().message())
    })
}

/// The most bytes of a file of settings: a device or a log that was named by mistake is not read to its end.
const LARGEST_FILE: u64 = 1 << 20;

fn read_file(path: &Path) -> Result<Table, ConfigFault> {
    let mut text = String::new();
    File::open(path)
        .and_then(|file| file.take(LARGEST_FILE + 1).read_to_string(&mut text))
        .map_err(|error| fault(&path.display().to_string(), error))?;
    if text.len() as u64 > LARGEST_FILE {
        return Err(fault(&path.display().to_string(), "more than 1 MiB: this is no file of settings"));
    }
    text.parse().map_err(|error: toml::de::Error| fault(&path.display().to_string(), error))
}

/// Lays one table over another in which every key must be, unless the section is open.
fn merge(under: &mut Table, over: Table, prefix: &str, place: &str) -> Result<(), ConfigFault> {
    for (key, value) in over {
        let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        match (under.get_mut(&key), value) {
            (None, value) if OPEN.contains(&prefix) => {
                under.insert(key, value);
            }
            (None, _) => {
                let hint = nearest(&key, under.keys().cloned());
                return Err(fault(&path, format!("there is no such setting{hint} (set in {place})")));
            }
            (Some(Value::Table(under)), Value::Table(over)) => merge(under, over, &path, place)?,
            (Some(Value::Table(_)), _) => {
                return Err(fault(&path, format!("this is a section, not a setting (set in {place})")));
            }
            // 1 is as good as 1.0.
            (Some(Value::Float(slot)), Value::Integer(whole)) => *slot = whole as f64,
            (Some(slot), value) => {
                if slot.type_str() != value.type_str() {
                    let (wanted, given) = (slot.type_str(), value.type_str());
                    return Err(fault(
                        &path,
                        format!("a value of type {given} where {wanted} is expected (set in {place})"),
                    ));
                }
                *slot = value;
            }
        }
    }
    Ok(())
}

/// A variable's text as the type that the default has.
fn typed(name: &str, text: &str, default: &Value) -> Result<Value, ConfigFault> {
    match default {
        Value::Integer(_) => text
            .trim()
            .parse()
            .map(Value::Integer)
            .map_err(|_| fault(name, format!("\"{text}\" is not a whole number"))),
        Value::Boolean(_) => text
            .trim()
            .parse()
            .map(Value::Boolean)
            .map_err(|_| fault(name, format!("\"{text}\" is neither true nor false"))),
        Value::Float(_) => text
            .trim()
            .parse()
            .map(Value::Float)
            .map_err(|_| fault(name, format!("\"{text}\" is not a number"))),
        // No entry of any list has a comma in it.
        Value::Array(_) => {
            let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
            Ok(Value::Array(entries.map(|entry| Value::String(entry.to_owned())).collect()))
        }
        _ => Ok(Value::String(text.to_owned())),
    }
}

/// All settings of a table with their paths: `engine.calls-per-target`.
fn leaves(table: &Table) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    for (key, value) in table {
        match value {
            Value::Table(inner) => {
                found.extend(leaves(inner).into_iter().map(|(path, value)| (format!("{key}.{path}"), value)));
            }
            _ => found.push((key.clone(), value.clone())),
        }
    }
    found
}

fn set(table: &mut Table, path: &str, value: Value) {
    match path.split_once('.') {
        Some((section, rest)) => {
            if let Some(Value::Table(inner)) = table.get_mut(section) {
                set(inner, rest, value);
            }
        }
        None => {
            table.insert(path.to_owned(), value);
        }
    }
}

/// The environment variable of a setting.
fn variable_of(path: &str) -> String {
    format!("{PREFIX}{}", path.replace(['.', '-'], "_").to_uppercase())
}

/// "; did you mean …?", where something is near.
fn nearest(name: &str, candidates: impl Iterator<Item = String>) -> String {
    let best = candidates.map(|candidate| (distance(name, &candidate), candidate)).min();
    match best {
        Some((distance, candidate)) if distance <= 3 => format!("; did you mean {candidate}?"),
        _ => String::new(),
    }
}

/// How many letters must be changed, added or left out.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, to) in b.chars().enumerate() {
            let change = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row.last().copied().unwrap_or_default()
}

fn fault(place: &str, problem: impl fmt::Display) -> ConfigFault {
    ConfigFault::new(place, problem)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use wire::dialect::EnumCase;

    fn with(variables: &[(&str, &str)]) -> Result<Config, ConfigFault> {
        load(&Flags::default(), variables.iter().map(|(name, value)| (name.to_string(), value.to_string())))
    }

    fn with_file(text: &str) -> Result<Config, ConfigFault> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("punctual.toml");
        std::fs::write(&path, text).expect("written");
        load(&Flags { config: Some(path), ..Flags::default() }, std::iter::empty())
    }

    #[test]
    fn the_default_file_is_what_the_code_takes_for_granted() {
        let config = with(&[]).expect("valid");
        assert_eq!(config.limits.job, 16 << 10);
        assert_eq!(config.plans(), model::Plans::default());
        assert_eq!(config.admission(), model::admission::Limits::default());
        assert_eq!(config.budget(), crate::rates::Budget::default());
        assert_eq!(EnumCase::from(config.api.enum_case), EnumCase::default());
        assert_eq!(config.patience(), model::transition::Patience::default());
        let actions = actions::ActionSettings::default();
        let configured = config.actions().expect("no file to read");
        assert_eq!(configured.service_bus, actions.service_bus);
        assert_eq!(configured.storage_accounts, actions.storage_accounts);
        assert_eq!(configured.oauth, actions.oauth);
        assert_eq!(configured.egress, actions.egress);
        let limits = |actions: &actions::ActionSettings| {
            let times = [actions.timeout, actions.resolve_timeout, actions.connect_timeout];
            let more = [actions.tls_timeout, actions.answer_timeout];
            (times, more, actions.max_response_headers, actions.max_response_header_lines)
        };
        assert_eq!(limits(&configured), limits(&actions));
        assert_eq!(format!("{:?}", config.engine()), format!("{:?}", engine::Settings::default()));
    }

    #[test]
    fn later_layers_win() {
        let config = with_file("listen = \"127.0.0.1:1\"\n[engine]\ncalls-per-target = 3\n").expect("valid");
        assert_eq!((config.listen.port(), config.engine.calls_per_target), (1, 3));
        let config = with(&[("PUNCTUAL_ENGINE_CALLS_PER_TARGET", "7"), ("PUNCTUAL_HTTP_TIMEOUT", "5s")])
            .expect("valid");
        assert_eq!((config.engine.calls_per_target, config.http.timeout), (7, Duration::from_secs(5)));
        assert!(with(&[("PUNCTUAL_SERVER", "http://127.0.0.1:1")]).is_ok(), "it is for the other commands");
        let flags = Flags { listen: Some("127.0.0.1:9".into()), ..Flags::default() };
        let variables = [("PUNCTUAL_LISTEN".to_owned(), "127.0.0.1:8".to_owned())];
        assert_eq!(load(&flags, variables.into_iter()).expect("valid").listen.port(), 9);
    }

    #[test]
    fn keys_of_secrets_come_from_the_environment_and_are_not_shown() {
        let config = with(&[(KEY_VARIABLE, "hunter2")]).expect("it is judged when it is used");
        assert_eq!(config.secrets.key.as_ref().map(Secret::expose), Some("hunter2"));
        assert!(!format!("{config:?}").contains("hunter2"));
        let fault = with_file("[secrets]\nkey = \"hunter2\"\n").expect_err("no setting").to_string();
        assert!(fault.contains("secrets.key") && !fault.contains("hunter2"), "{fault}");
        let config = with(&[("PUNCTUAL_SECRETS_KEY_FILE", "/etc/keys")]).expect("valid");
        assert_eq!(config.secrets.key_file, PathBuf::from("/etc/keys"));
    }

    #[test]
    fn accounts_are_named_by_the_operator() {
        let config =
            with_file("[storage-queue.accounts]\nDev-1 = \"http://127.0.0.1:1/d\"\n").expect("valid");
        let actions = config.actions().expect("no file to read");
        assert_eq!(actions.storage_accounts.named["Dev-1"], "http://127.0.0.1:1/d");
        assert_eq!(
            actions.storage_accounts.pattern,
            actions::ActionSettings::default().storage_accounts.pattern
        );
    }

    #[test]
    fn namespaces_say_what_is_different_about_them() {
        let config = with_file(
            "[service-bus]\nqueue-address = \"q/{entity}\"\n\
             [service-bus.namespaces.Rabbit]\namqp = \"amqp://127.0.0.1:5672\"\nlogin = \"plain\"\n",
        );
        let bus = config.expect("valid").actions().expect("no file to read").service_bus;
        let expected = actions::Namespace {
            amqp: "amqp://127.0.0.1:5672".to_owned(),
            login: actions::Login::Plain,
            queue_address: "q/{entity}".to_owned(),
            ..actions::ServiceBusSettings::default().others
        };
        assert_eq!(bus.namespaces["Rabbit"], expected);
    }

    #[test]
    fn tenants_say_what_is_different_about_them() {
        let config = with_file(
            "[oauth]\nscope = \"{audience}/.default\"\n\
             [oauth.tenants.\"a.example\"]\nauthority = \"https://id.example\"\nscope = \"\"\n\
             [oauth.tenants.b]\ntoken-path = \"/{tenant}/t\"\n",
        );
        let oauth = config.expect("valid").actions().expect("no file to read").oauth;
        let default = actions::OauthSettings::default().others;
        let a = actions::Authority { address: "https://id.example".to_owned(), ..default.clone() };
        assert_eq!(oauth.tenants["a.example"], a);
        let scope = Some("{audience}/.default".to_owned());
        let b = actions::Authority { token_path: "/{tenant}/t".to_owned(), scope, ..default };
        assert_eq!(oauth.tenants["b"], b);
    }

    #[test]
    fn a_file_of_certificates_that_cannot_be_read_is_named() {
        let config = with(&[("PUNCTUAL_TLS_CA_FILE", "/nowhere/ca.pem")]).expect("valid");
        let fault = config.actions().expect_err("it is not there").to_string();
        assert!(fault.starts_with("tls.ca-file: /nowhere/ca.pem: "), "{fault}");
    }

    #[test]
    fn egress_lists_come_from_files_and_variables() {
        let config = with_file("[egress]\ndeny = [\"private\", \"*.example.com:25\"]\n").expect("valid");
        assert_eq!(config.egress.deny, ["private", "*.example.com:25"]);
        let config = with(&[("PUNCTUAL_EGRESS_DENY", "private, 10.0.0.0/8,"), ("PUNCTUAL_EGRESS_LIFT", "")])
            .expect("valid");
        assert_eq!(config.actions().expect("no file to read").egress.deny, ["private", "10.0.0.0/8"]);
        assert_eq!(
            toml::to_string(&config.egress).expect("shown"),
            "allow = []\ndeny = [\"private\", \"10.0.0.0/8\"]\nlift = []\n"
        );
    }

    const RULE: &str =
        "[[notifications]]\nname = \"ops\"\nwhen = \"late\"\nafter = \"1m\"\nuri = \"http://h.test/\"\n";

    #[test]
    fn rules_are_read() {
        let config = with_file(RULE).expect("valid");
        let [rule] = &config.notifications[..] else { panic!("one rule") };
        assert_eq!(
            (&*rule.name, rule.trouble),
            ("ops", crate::notices::Trouble::Late(Duration::from_secs(60)))
        );
        assert!(!format!("{rule:?}").contains("h.test"), "an address may hold a key");
        let fault =
            with_file(&format!("{RULE}headers = {{ X = \"a\\r\\nb\" }}\n")).expect_err("a bad header");
        assert!(fault.to_string().contains("notifications: rule 1: headers.X"), "{fault}");
        let fault = with_file(&RULE.replace("h.test", "h test")).expect_err("no address");
        assert!(fault.to_string().contains("notifications: rule 1: uri"), "{fault}");
    }

    #[test]
    fn a_folder_is_the_one_that_was_named() {
        use std::os::unix::ffi::OsStrExt as _;
        let data = Some(PathBuf::from(std::ffi::OsStr::from_bytes(b"data-\xff")));
        let fault = load(&Flags { data, ..Flags::default() }, std::iter::empty()).expect_err("no text");
        assert!(fault.to_string().starts_with("--data: the path data-"), "{fault}");
    }

    #[test]
    fn faults_name_the_setting() {
        for (fault, parts) in [
            (with(&[("PUNCTUAL_LISTEM", "x")]), &["PUNCTUAL_LISTEM", "did you mean PUNCTUAL_LISTEN?"][..]),
            (with(&[("PUNCTUAL_ENGINE_BATCH", "many")]), &["PUNCTUAL_ENGINE_BATCH", "whole number"]),
            (with(&[("PUNCTUAL_HTTP_TIMEOUT", "soon")]), &["http.timeout", "not a duration"]),
            (with(&[("PUNCTUAL_LISTEN", "here")]), &["listen"]),
            (with_file("[engine]\ncall = 3\n"), &["engine.call", "did you mean calls?", "punctual.toml"]),
            (with_file("[engine]\ncalls = \"3\"\n"), &["engine.calls", "integer"]),
            (with_file("[egress]\ndeny = \"private\"\n"), &["egress.deny", "string", "array"]),
            (with_file("[egress]\ndeny = [1]\n"), &["egress.deny", "string"]),
            (with_file("engine = 3\n"), &["engine", "section"]),
            (with_file("listen = \n"), &["punctual.toml", "line 1"]),
            (
                with_file("[storage-queue]\naccount = {}\n"),
                &["storage-queue.account", "did you mean accounts?"],
            ),
            (
                with_file("[service-bus.namespaces.a]\namqq = \"amqp://b\"\n"),
                &["service-bus.namespaces.a", "amqq", "queue-address"],
            ),
            (with_file("[service-bus]\nlogin = \"magic\"\n"), &["service-bus.login", "magic", "plain"]),
            (with_file("[oauth.tenants.a]\nscop = \"x\"\n"), &["oauth.tenants.a", "scop", "token-path"]),
            (with_file("[oauth]\ntenants = 5\n"), &["oauth.tenants", "section"]),
            (with_file("[storage-queue.accounts]\na = 5\n"), &["storage-queue.accounts.a", "string"]),
            (with_file("[log]\nformat = \"xml\"\n"), &["log.format", "text"]),
            (with_file("[engine]\nbatch = -1\n"), &["engine.batch"]),
            (with(&[("PUNCTUAL_METRICS_LISTEN", "9042")]), &["metrics.listen", "9042", "127.0.0.1:9042"]),
            (with(&[("PUNCTUAL_METRICS_ENABLED", "on")]), &["PUNCTUAL_METRICS_ENABLED", "true nor false"]),
            (with(&[("PUNCTUAL_TRACES_ENDPOINT", "localhost")]), &["traces.endpoint", "localhost", "4318"]),
            (with(&[("PUNCTUAL_TRACES_SAMPLE_RATIO", "all")]), &["PUNCTUAL_TRACES_SAMPLE_RATIO", "number"]),
            (with_file("[traces]\nsample-ratio = 2\n"), &["traces.sample-ratio", "from 0 to 1"]),
            (with(&[("PUNCTUAL_TRACES_HEADERS", "=x")]), &["traces.headers", "name=value"]),
            (
                with_file(&RULE.replace("\"late\"", "\"sometimes\"")),
                &["notifications", "sometimes", "no-success-for"],
            ),
            (
                with_file(&RULE.replace("after = \"1m\"\n", "")),
                &["notifications", "rule 1", "after", "missing"],
            ),
            (with_file(&RULE.replace("1m", "soon")), &["notifications", "after", "soon", "such as"]),
            (
                with_file(&RULE.replace("late", "no-success-for")),
                &["notifications", "resource-group: missing", "collection"],
            ),
            (with_file(&RULE.replace("late", "faulted")), &["notifications", "after", "means nothing"]),
            (with_file(&RULE.replace("http:", "ftp:")), &["notifications", "uri", "https://"]),
            (with_file(&RULE.replace("ops", "o p s")), &["notifications", "name", "o p s", "letters"]),
            (with_file(&format!("{RULE}{RULE}")), &["notifications", "rule 2", "ops"]),
            (with_file(&RULE.replace("uri", "url")), &["notifications", "url"]),
            (with(&[("PUNCTUAL_API_ENUM_CASE", "camel")]), &["api.enum-case", "azure", "pascal"]),
            (with(&[("PUNCTUAL_API_WRITES", "0")]), &["api.writes", "nonzero"]),
        ] {
            let text = fault.expect_err(&format!("{parts:?}")).to_string();
            for part in parts {
                assert!(text.contains(part), "{text} lacks {part}");
            }
        }
    }
}
