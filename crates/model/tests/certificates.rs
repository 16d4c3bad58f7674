//! Client certificates as OpenSSL exports them, in today's encryption and in the one that Windows used for long.

use std::path::Path;
use std::process::Command;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use model::Secret;
use model::certificate::{PfxFault, open};

/// What a command prints, which must succeed.
fn openssl(folder: &Path, arguments: &str) -> String {
    let output =
        Command::new("openssl").args(arguments.split(' ')).current_dir(folder).output().expect("run");
    assert!(output.status.success(), "openssl {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("a text")
}

fn file(folder: &Path, name: &str) -> Secret {
    Secret::new(BASE64_STANDARD.encode(std::fs::read(folder.join(name)).expect("there")))
}

/// A folder with a key, its certificate and the authority's; `None` where there is no OpenSSL.
fn folder() -> Option<tempfile::TempDir> {
    if Command::new("openssl").arg("version").output().is_err() {
        eprintln!("skipped: there is no openssl");
        return None;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    openssl(at, "req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -days 30 -subj /CN=Authority");
    openssl(
        at,
        "req -newkey rsa:2048 -nodes -keyout own.key -out own.csr -subj /O=Example/CN=caller.example.org",
    );
    openssl(at, "x509 -req -in own.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out own.pem -days 20");
    Some(folder)
}

#[test]
fn files_of_every_age_are_opened() {
    let Some(folder) = folder() else { return };
    let at = folder.path();
    let thumbprint = openssl(at, "x509 -in own.pem -noout -fingerprint -sha1");
    let thumbprint: String =
        thumbprint.trim().rsplit('=').next().expect("a fingerprint").replace(':', "").to_uppercase();
    let expiration = openssl(at, "x509 -in own.pem -noout -enddate -dateopt iso_8601");
    let expiration = expiration.trim().trim_start_matches("notAfter=").replace(' ', "T");
    let der = |pem: &str| {
        openssl(at, &format!("x509 -in {pem} -outform der -out der"));
        std::fs::read(at.join("der")).expect("there")
    };
    for (kind, password, options) in [
        ("new", "pass word ü", ""),
        ("with the authority", "secret", " -certfile ca.pem"),
        ("old", "secret", " -legacy"),
        ("3DES", "secret", " -certpbe PBE-SHA1-3DES -keypbe PBE-SHA1-3DES -macalg sha1"),
        ("without a password", "", ""),
    ] {
        // The password may hold a space, so it comes by the environment.
        let export =
            format!("pkcs12 -export -in own.pem -inkey own.key -out own.pfx -passout env:WORD{options}");
        let status = Command::new("openssl")
            .args(export.split(' '))
            .env("WORD", password)
            .current_dir(at)
            .status()
            .expect("run");
        assert!(status.success(), "{kind}");
        let pfx = file(at, "own.pfx");
        let identity = open(&pfx, &Secret::new(password)).unwrap_or_else(|fault| panic!("{kind}: {fault}"));
        assert_eq!(identity.thumbprint, thumbprint, "{kind}");
        assert_eq!(identity.expiration.to_string(), expiration, "{kind}");
        assert_eq!(identity.subject, "O=Example, CN=caller.example.org", "{kind}");
        // The authority is its own root: the called side has it, or does not trust it.
        assert_eq!(identity.chain, [der("own.pem")], "{kind}");
        assert_eq!(open(&pfx, &Secret::new("wrong")).err(), Some(PfxFault::WrongPassword), "{kind}");
    }
}

#[test]
fn what_cannot_be_used_is_told_apart() {
    let Some(folder) = folder() else { return };
    let at = folder.path();
    let password = Secret::new("x");
    let garbage = |bytes: &[u8]| Secret::new(BASE64_STANDARD.encode(bytes));
    assert_eq!(open(&Secret::new("not Base64!"), &password).err(), Some(PfxFault::NotBase64));
    for bytes in [&b""[..], b"garbage", &[0x30, 0x84, 0xff, 0xff, 0xff, 0xff], &[0x30; 5000]] {
        assert_eq!(open(&garbage(bytes), &password).err(), Some(PfxFault::NotPkcs12));
    }
    openssl(at, "pkcs12 -export -in own.pem -inkey own.key -out own.pfx -passout pass:x");
    let whole = std::fs::read(at.join("own.pfx")).expect("there");
    for length in [1, whole.len() / 2, whole.len() - 1] {
        assert!(open(&garbage(&whole[..length]), &password).is_err(), "{length} bytes of it");
    }
    openssl(at, "pkcs12 -export -nokeys -in own.pem -out nokey.pfx -passout pass:x");
    assert_eq!(open(&file(at, "nokey.pfx"), &password).err(), Some(PfxFault::NoKey));
    openssl(at, "pkcs12 -export -nocerts -inkey own.key -out nocert.pfx -passout pass:x");
    assert_eq!(open(&file(at, "nocert.pfx"), &password).err(), Some(PfxFault::NoCertificate));
}
