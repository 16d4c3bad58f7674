use std::fmt::Write as _;

use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE, BASE64_URL_SAFE_NO_PAD};
use proptest::prelude::*;

use super::*;

const USER: &str = "bob";

fn redaction(secret: &str) -> Redaction {
    let mut redaction = Redaction::default();
    redaction.add_login(USER, secret);
    redaction
}

fn url(text: &str, upper: bool, is_plain: impl Fn(u8) -> bool) -> String {
    let mut coded = String::new();
    for byte in text.bytes() {
        _ = match byte {
            b if is_plain(b) => write!(coded, "{}", char::from(b)),
            b if upper => write!(coded, "%{b:02X}"),
            b => write!(coded, "%{b:02x}"),
        };
    }
    coded
}

fn form(text: &str) -> String {
    url(text, true, |byte| byte.is_ascii_alphanumeric() || byte == b' ').replace(' ', "+")
}

fn json(text: &str) -> String {
    let quoted = serde_json::to_string(text).unwrap();
    quoted[1..quoted.len() - 1].to_owned()
}

/// As PHP and old versions of .NET write it.
fn json_with_slashes(text: &str) -> String {
    json(text).replace('/', r"\/")
}

fn json_by_number(text: &str, upper: bool) -> String {
    let units = text.encode_utf16();
    units.map(|unit| if upper { format!("\\u{unit:04X}") } else { format!("\\u{unit:04x}") }).collect()
}

fn html(text: &str) -> String {
    let named = |letter| match letter {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '"' => "&quot;".to_owned(),
        '\'' => "&#39;".to_owned(),
        '/' => "&#x2F;".to_owned(),
        other => other.to_string(),
    };
    text.chars().map(named).collect()
}

fn html_by_number(text: &str) -> String {
    text.chars().map(|letter| format!("&#{};", u32::from(letter))).collect()
}

fn in_lines(text: &str) -> String {
    let lines: Vec<_> = text.as_bytes().chunks(7).map(|line| String::from_utf8_lossy(line)).collect();
    lines.join("\r\n")
}

fn utf16(text: &str) -> String {
    text.chars().map(|letter| format!("{letter}\0")).collect()
}

/// Everything that a program may make of a secret that it shows.
fn forms(secret: &str) -> Vec<String> {
    let unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let mut forms = vec![
        secret.to_owned(),
        url(secret, true, unreserved),
        url(secret, false, unreserved),
        url(secret, true, |_| false),
        url(&url(secret, true, unreserved), true, unreserved),
        form(secret),
        json(secret),
        json_with_slashes(secret),
        json(&json_with_slashes(secret)),
        json_by_number(secret, true),
        json_by_number(secret, false),
        html(secret),
        html_by_number(secret),
        utf16(secret),
    ];
    let login = format!("{USER}:{secret}");
    let within = [
        secret.to_owned(),
        login.clone(),
        format!("a{secret}"),
        format!("ab{secret}c"),
        format!("abc{login}d"),
    ];
    for plain in within {
        for coded in [
            BASE64_STANDARD.encode(&plain),
            BASE64_STANDARD_NO_PAD.encode(&plain),
            BASE64_URL_SAFE.encode(&plain),
            BASE64_URL_SAFE_NO_PAD.encode(&plain),
        ] {
            forms.extend([form(&coded), json_with_slashes(&coded), in_lines(&coded), coded]);
        }
    }
    forms
}

/// What a text holds of the secret, at most, when its Base64 was taken out: letters that others share with it.
const BESIDE: usize = 12;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_form_of_a_secret_is_shown(
        secret in prop_oneof![r#"[ -~]{4,40}"#, r#"[a-zA-Z0-9+/=&%\\<>"' ]{4,20}"#, r"\PC{4,12}"],
        before in prop::sample::select(vec!["", " ", "\"", ">", "é", "x=", "%", "\\"]),
        after in prop::sample::select(vec!["", " ", "\"", "<", "é", "\r\n"]),
    ) {
        let redaction = redaction(&secret);
        for form in forms(&secret) {
            let text = format!("{before}{form}{after}");
            let shown = redaction.apply(&text);
            prop_assert!(shown.contains(HIDDEN), "{text:?}: {shown:?}");
            let room = before.len() + after.len() + HIDDEN.len() + BESIDE;
            prop_assert!(shown.len() <= room, "{text:?}: {shown:?}");
        }
    }

    #[test]
    fn a_limit_in_the_middle_of_a_secret_shows_nothing_of_it(secret in r#"[a-z/%& ]{4,20}"#, most in 0..60_usize) {
        let redaction = redaction(&secret);
        let filler = "é".repeat(20);
        for form in forms(&secret).into_iter().take(8) {
            let shown = redaction.apply_up_to(&format!("{filler}{form}☃"), most).into_owned();
            let expected = match most {
                0..=20 => "é".repeat(most),
                _ if most > 20 + form.chars().count() => format!("{filler}{HIDDEN}☃"),
                _ => format!("{filler}{HIDDEN}"),
            };
            prop_assert_eq!(shown, expected);
        }
    }

    #[test]
    fn other_texts_stay_as_they_are(secret in "[A-Z0-9]{6,30}", text in r#"[a-z%&;=+\\ ☃é]{0,200}"#) {
        prop_assert_eq!(redaction(&secret).apply(&text), text.as_str());
    }
}

#[test]
fn a_secret_that_ends_in_the_middle_is_known_by_its_first_half() {
    let mut redaction = Redaction::default();
    redaction.add_header("Bearer abcdefghij");
    for (given, shown) in [
        ("you are abcdefghij and abcdefghij", "you are (hidden) and (hidden)"),
        ("you are abcdefghi", "you are (hidden)"),
        ("you are abcde", "you are (hidden)"),
        ("you are %61%62%63%64%65%6", "you are (hidden)"),
        ("you are abcd", "you are abcd"),
        ("you are abcdefgh, or not", "you are abcdefgh, or not"),
        ("you are nobody", "you are nobody"),
    ] {
        assert_eq!(redaction.apply(given), shown);
    }
}

#[test]
fn what_is_too_short_is_no_secret_but_a_login_is() {
    assert_eq!(redaction("ab").apply("ab bob:ab Ym9iOmFi bob:"), "ab (hidden) (hidden) bob:");
    assert_eq!(redaction("").apply("bob: Ym9iOg=="), "bob: Ym9iOg==");
    assert!(redaction("").is_empty());
}

#[test]
fn headers_are_secrets_without_their_first_word() {
    let mut redaction = Redaction::default();
    redaction.add_header("Basic Ym9iOnBhc3N3b3Jk");
    redaction.add_header("key-of-an-api");
    assert_eq!(
        redaction.apply("Basic Ym9iOnBhc3N3b3Jk password key-of-an-api"),
        "Basic (hidden) (hidden) (hidden)"
    );
}

#[test]
fn signatures_are_known_by_their_name() {
    let mut redaction = Redaction::default();
    redaction.add_signatures();
    for (given, shown) in [
        ("?sv=1&sig=abc%2Fdef%3D&se=9", "?sv=1&sig=(hidden)&se=9"),
        ("SIG%3Dabcdef for", "SIG%3D(hidden) for"),
        (r#"{"sr":"sig\u003dabcdef"}"#, r#"{"sr":"sig\u003d(hidden)"}"#),
        ("signature of=abcdef, sig=no", "signature of=abcdef, sig=no"),
    ] {
        assert_eq!(redaction.apply(given), shown);
    }
}

/// Texts that can be read in many ways must not take long.
#[test]
fn hostile_texts_end() {
    for (secret, text) in [
        (r"\".repeat(100) + "x", r"\".repeat(20_000)),
        ("%25".repeat(100) + "x", "%25".repeat(10_000)),
        (" ".repeat(100), "+%".repeat(10_000)),
        ("a".repeat(5_000) + "x", ("a".repeat(4_999) + "b").repeat(6)),
    ] {
        _ = redaction(&secret).apply(&text);
    }
}

#[test]
fn nothing_of_it_can_be_printed() {
    assert_eq!(format!("{:?}", redaction("password")), "Redaction(…)");
}
