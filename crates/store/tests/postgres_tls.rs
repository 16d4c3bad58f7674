//! Encrypted connections to a real server: the right one is trusted, any other is refused with what helps.
//!
//! It changes the server's certificate as it goes, so it needs the server that `scripts/with-postgres` starts: no other
//! test connects with TLS. All of it is one test: there is one server.

mod postgres;

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use model::transition::Patience;
use model::{Plans, Timestamp};
use postgres::{Postgres, Stopped};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd};
use store::conformance::keyring;
use store::{PostgresSettings, PostgresStore, Store as _};

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority(name: &str) -> Authority {
    let mut params = CertificateParams::new([]).expect("parameters");
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("signed")
}

fn named(name: &str) -> CertificateParams {
    CertificateParams::new([name.to_owned()]).expect("parameters")
}

/// The server: its folder, into which certificates go, and the way to tell it.
struct Server {
    data: PathBuf,
    postgres: Postgres,
}

impl Server {
    /// Writes a file that the server may read.
    fn write(&self, name: &str, text: &str) {
        let (path, owner) = (self.data.join(name), fs::metadata(&self.data).expect("its folder"));
        fs::write(&path, text).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("its mode");
        // It may be ours already.
        let _ = chown(&path, Some(owner.uid()), Some(owner.gid()));
    }

    /// Settings for connections that begin from now on.
    async fn set(&self, settings: &[(&str, &str)]) {
        for (name, value) in settings {
            self.postgres.execute(&format!("ALTER SYSTEM SET {name} = '{value}'")).await;
        }
        self.postgres.execute("SELECT pg_reload_conf()").await;
        // The server's own process reads them in its time; a connection that was made afterwards has them.
        for (name, value) in settings {
            let sql =
                format!("SELECT count(*) FROM pg_settings WHERE name = '{name}' AND setting = '{value}'");
            while self.postgres.query(&sql).await == 0 {
                tokio::task::yield_now().await;
            }
        }
    }

    /// Shows a certificate from now on.
    async fn show(&self, name: &str, params: CertificateParams, by: &Authority) {
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, by).expect("signed");
        self.write(&format!("{name}.crt"), &certificate.pem());
        self.write(&format!("{name}.key"), &key.serialize_pem());
        let (certificate, key) = (format!("{name}.crt"), format!("{name}.key"));
        self.set(&[("ssl_cert_file", &certificate), ("ssl_key_file", &key), ("ssl", "on")]).await;
    }

    /// The URL of the schema, by a name, as a user, with options.
    fn url(&self, user: &str, options: &str) -> String {
        let url = self.postgres.url().replace("127.0.0.1", "localhost");
        let (_, rest) = url.split_once('@').expect("a user");
        format!("postgres://{user}@{rest}&application_name=tls{options}")
    }

    async fn open(&self, url: String) -> store::Result<PostgresStore> {
        let settings = PostgresSettings {
            url,
            node: "tls".to_owned(),
            version: "test".to_owned(),
            connections: 2,
            plans: Plans::default(),
            patience: Patience::default(),
            keyring: keyring(),
            held_at: None,
        };
        let now: Timestamp = "2027-01-01T00:00:00Z".parse().expect("a time");
        PostgresStore::open(settings, Arc::new(Stopped(now))).await
    }

    /// What somebody is told who cannot connect.
    async fn refusal(&self, url: String) -> String {
        self.open(url).await.err().expect("refused").to_string()
    }
}

fn file(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    fs::write(&path, text).expect("written");
    path.display().to_string()
}

#[tokio::test]
async fn the_right_server_is_trusted_and_no_other() {
    let Some(postgres) = Postgres::fresh().await else { return };
    let Ok(data) = std::env::var("TEST_POSTGRES_DATA") else {
        eprintln!("left out: TEST_POSTGRES_DATA names no folder of the server; see scripts/with-postgres");
        return;
    };
    let server = Server { data: data.into(), postgres };
    let folder = tempfile::tempdir().expect("a folder");
    let ours = authority("ours");
    let trusted = file(folder.path(), "ca.pem", &ours.pem());
    let verified = format!("&sslmode=verify-full&sslrootcert={trusted}");

    let told = server.refusal(server.url("punctual", &verified)).await;
    assert!(told.contains("does not support TLS") && told.contains("sslmode=disable"), "{told}");

    server.show("good", named("localhost"), &ours).await;
    let connections = |encrypted: &str| {
        format!(
            "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
             WHERE {encrypted} AND application_name = 'tls'"
        )
    };
    for mode in ["verify-full", "verify-ca", "require"] {
        let store =
            server.open(server.url("punctual", &verified.replace("verify-full", mode))).await.expect(mode);
        store.check().await.expect("it is used");
        // The pool's, and soon the heartbeat's.
        while server.postgres.query(&connections("ssl")).await < 2 {
            tokio::task::yield_now().await;
        }
        assert_eq!(server.postgres.query(&connections("NOT ssl")).await, 0);
        store.leave().await.expect("left");
    }
    let store = server.open(server.url("punctual", "&sslmode=disable")).await.expect("without");
    store.leave().await.expect("left");

    // The machine's own list does not know who signed it; neither does another file.
    let told = server.refusal(server.url("punctual", "&sslmode=verify-full")).await;
    assert!(told.contains("sslrootcert=FILE"), "{told}");
    // One that was made anew has the same name and another key.
    for (other, why) in [("theirs", "UnknownIssuer"), ("ours", "BadSignature")] {
        let other = file(folder.path(), "other.pem", &authority(other).pem());
        let told =
            server.refusal(server.url("punctual", &format!("&sslmode=require&sslrootcert={other}"))).await;
        assert!(told.contains("sslrootcert=FILE") && told.contains(why), "{told}");
    }
    let nothing = file(folder.path(), "nothing.pem", "no certificate");
    let told =
        server.refusal(server.url("punctual", &format!("&sslmode=require&sslrootcert={nothing}"))).await;
    assert!(told.contains("no certificate in it"), "{told}");

    server.show("other", named("db.example"), &ours).await;
    let told = server.refusal(server.url("punctual", &verified)).await;
    assert!(told.contains("another name"), "{told}");

    let mut old = named("localhost");
    (old.not_before, old.not_after) = (date_time_ymd(2019, 1, 1), date_time_ymd(2020, 1, 1));
    server.show("old", old, &ours).await;
    let told = server.refusal(server.url("punctual", &verified)).await;
    assert!(told.contains("expired"), "{told}");

    clients(&server, folder.path(), &ours, &verified).await;
    server.set(&[("ssl", "off")]).await;
}

/// A server that wants to see a certificate of ours.
async fn clients(server: &Server, folder: &Path, ours: &Authority, verified: &str) {
    server.write("clients.crt", &ours.pem());
    server.set(&[("ssl_ca_file", "clients.crt")]).await;
    server.show("good", named("localhost"), ours).await;
    let role = format!("clerk_{}", std::process::id());
    server.postgres.execute(&format!("CREATE ROLE {role} LOGIN SUPERUSER")).await;
    let rules = fs::read_to_string(server.data.join("pg_hba.conf")).expect("its rules");
    server.write("pg_hba.conf", &format!("hostssl all {role} all cert\n{rules}"));
    server.postgres.execute("SELECT pg_reload_conf()").await;
    let told = loop {
        // Until the rules are read anyone is let in.
        match server.open(server.url(&role, verified)).await {
            Ok(store) => store.leave().await.expect("left"),
            Err(error) => break error.to_string(),
        }
    };
    assert!(told.contains("sslcert=FILE") && told.contains("sslkey=FILE"), "{told}");

    let key = KeyPair::generate().expect("a key");
    let mut params = CertificateParams::new([]).expect("parameters");
    params.distinguished_name.push(DnType::CommonName, role.as_str());
    let certificate = params.signed_by(&key, ours).expect("signed");
    let (certificate, key) =
        (file(folder, "client.pem", &certificate.pem()), file(folder, "client.key", &key.serialize_pem()));
    let shown = format!("{verified}&sslcert={certificate}&sslkey={key}");
    let store = server.open(server.url(&role, &shown)).await.expect("it is known");
    store.leave().await.expect("left");
    drop(store);
    let told =
        server.refusal(server.url(&role, &format!("{verified}&sslcert={certificate}&sslkey=/nowhere"))).await;
    assert!(told.contains("sslkey=/nowhere"), "{told}");
    server.write("pg_hba.conf", &rules);
    server.postgres.execute("SELECT pg_reload_conf()").await;
}
