//! Redaction: takes secrets out of texts that others wrote, such as the answer of a target that repeats what it was sent.
//!
//! This is the one place that knows in which forms a secret may come back: as it is; escaped for URLs, JSON, HTML or a
//! script, or twice; with the NULs of UTF-16; and as Base64 of either alphabet, alone or as a part of something longer, with
//! or without padding and line breaks. It protects against programs that repeat what they received. A target that wants
//! to show its own password can always do that, in another form.
//!
//! ```
//! use model::Redaction;
//!
//! let mut redaction = Redaction::default();
//! redaction.add_login("bob", "pass/word");
//! assert_eq!(redaction.apply("no bob:pass/word here"), "no (hidden) here");
//! assert_eq!(redaction.apply(r#"{"sent":"pass\/word"}"#), r#"{"sent":"(hidden)"}"#);
//! assert_eq!(redaction.apply("Basic Ym9iOnBhc3Mvd29yZA=="), "Basic (hidden)");
//! ```

use std::{borrow::Cow, collections::VecDeque, fmt, ops::Range};

use base64::{Engine as _, prelude::BASE64_STANDARD_NO_PAD};

/// What stands instead of a secret.
pub const HIDDEN: &str = "(hidden)";

/// Bytes from which on a text is taken for a secret: a shorter one is part of many words.
const LEAST: usize = 4;

/// Bytes of a long secret that are enough to know it by.
const ENOUGH: usize = 256;

/// Ways to read a text that are followed at a time. Ordinary texts have one or two.
const MOST_WAYS: usize = 64;

/// Steps of reading a text. One that was made to need more is not shown from there on.
const MOST_STEPS: usize = 300_000;

/// The secrets that are taken out. It cannot be printed.
#[derive(Clone, Default)]
pub struct Redaction {
    needles: Vec<Needle>,
    /// Whether signatures of shared access are taken out, by the name of their parameter.
    signatures: bool,
}

impl fmt::Debug for Redaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Redaction(…)")
    }
}

/// One form of a secret.
#[derive(Clone)]
struct Needle {
    bytes: Vec<u8>,
    /// How many bytes of its beginning are no secret.
    known: usize,
    /// Whether it is Base64, in the standard alphabet.
    is_base64: bool,
    /// Whether the letter before it has a part of the secret,
    before: bool,
    /// and the one after it.
    after: bool,
}

impl Redaction {
    /// Adds a secret.
    pub fn add(&mut self, secret: &str) {
        self.add_after(0, secret);
    }

    fn add_after(&mut self, known: usize, secret: &str) {
        if secret.len() < LEAST || self.needles.iter().any(|needle| needle.bytes == secret.as_bytes()) {
            return;
        }
        self.needles.push(Needle {
            bytes: secret.into(),
            known,
            is_base64: false,
            before: false,
            after: false,
        });
        // Within something longer a secret begins at one of three places of a group.
        for skipped in 0..3 {
            let mut plain = vec![0; skipped];
            plain.extend_from_slice(secret.as_bytes());
            let coded = BASE64_STANDARD_NO_PAD.encode(&plain);
            let start = [0, 2, 3][skipped];
            let after = plain.len() % 3 != 0;
            let bytes = coded.as_bytes()[start..coded.len() - usize::from(after)].to_vec();
            if bytes.len() >= LEAST {
                let known = known * 4 / 3;
                self.needles.push(Needle { bytes, known, is_base64: true, before: skipped > 0, after });
            }
        }
    }

    /// Adds a password together with its user: in Basic authentication they are one text.
    pub fn add_login(&mut self, user: &str, password: &str) {
        if !password.is_empty() {
            self.add_after(user.len() + 1, &format!("{user}:{password}"));
            self.add(password);
        }
    }

    /// Adds the value of a header such as `Authorization`, and what follows its first word.
    pub fn add_header(&mut self, value: &str) {
        let value = value.trim();
        self.add(value.split_once(' ').map_or(value, |(_, credential)| credential.trim_start()));
        if let Some(basic) = value.get(..6).filter(|scheme| scheme.eq_ignore_ascii_case("basic "))
            && let Ok(login) =
                BASE64_STANDARD_NO_PAD.decode(value[basic.len()..].trim().trim_end_matches('='))
            && let Ok(login) = String::from_utf8(login)
            && let Some((user, password)) = login.split_once(':')
        {
            self.add_login(user, password);
        }
    }

    /// Adds every value of a parameter `sig`, which is the signature of a shared access token.
    pub fn add_signatures(&mut self) {
        self.signatures = true;
    }

    /// Whether there is nothing to take out.
    pub fn is_empty(&self) -> bool {
        self.needles.is_empty() && !self.signatures
    }

    /// Returns a text without the secrets.
    pub fn apply<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.apply_up_to(text, usize::MAX)
    }

    /// Returns the first `most` characters of a text without the secrets. One that begins among them and ends after them
    /// is known by the whole text.
    pub fn apply_up_to<'t>(&self, text: &'t str, most: usize) -> Cow<'t, str> {
        // A byte is at most one character.
        let end = if text.len() <= most {
            text.len()
        } else {
            text.char_indices().nth(most).map_or(text.len(), |(at, _)| at)
        };
        let (mut shown, mut copied, mut at, mut steps) = (String::new(), 0, 0, 0);
        while at < end && !self.is_empty() {
            if steps > MOST_STEPS {
                shown.push_str(&text[copied..floor(text, at)]);
                shown.push_str(HIDDEN);
                return Cow::Owned(shown);
            }
            match self.find_at(text.as_bytes(), at, copied, &mut steps) {
                None => at += 1,
                Some(found) => {
                    shown.push_str(&text[copied..floor(text, found.start)]);
                    shown.push_str(HIDDEN);
                    // What an escape left of a letter of several bytes goes along.
                    at = (found.end..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
                    copied = at;
                }
            }
        }
        if copied == 0 {
            return Cow::Borrowed(&text[..end]);
        }
        shown.push_str(&text[copied.min(end)..end]);
        Cow::Owned(shown)
    }

    /// The longest secret that begins at a place, with what belongs to it.
    fn find_at(&self, text: &[u8], at: usize, from: usize, steps: &mut usize) -> Option<Range<usize>> {
        let found = self.needles.iter().filter_map(|needle| needle.find_at(text, at, from, steps));
        let signature = self.signatures.then(|| signature_at(text, at)).flatten();
        found.chain(signature).max_by_key(Range::len)
    }
}

impl Needle {
    fn find_at(&self, text: &[u8], at: usize, from: usize, steps: &mut usize) -> Option<Range<usize>> {
        // Most places are no beginning of anything.
        let may_begin = match (*text.get(at)?, self.bytes[0]) {
            (found, first) if found == first => true,
            (b'%' | b'\\' | b'&' | b'=', _) | (b'+', b' ') => true,
            (b'-' | b' ', b'+') | (b'_', b'/') => self.is_base64,
            _ => false,
        };
        if !may_begin {
            return None;
        }
        let (matched, mut end) = self.follow(text, at, steps);
        let whole = self.bytes.len().min(ENOUGH);
        if matched < whole {
            // A program may repeat a secret up to the middle of it, or of an escape.
            let rest = &text[end..];
            let is_cut =
                rest.is_empty() || (rest.len() < 12 && matches!(rest[0], b'%' | b'\\' | b'&' | b'='));
            if !is_cut || matched < (self.known + LEAST).max(whole / 2) {
                return None;
            }
            end = text.len();
        }
        let mut range = at..end;
        if self.is_base64 {
            if self.before && at > from && is_base64(text[at - 1]) {
                range.start -= 1;
            }
            if self.after && text.get(end).is_some_and(|byte| is_base64(*byte)) {
                range.end += 1;
            }
            while let Some(length) = ["=", "%3D", "%3d", r"\u003d", r"\u003D"]
                .iter()
                .find(|sign| text[range.end..].starts_with(sign.as_bytes()))
                .map(|sign| sign.len())
            {
                range.end += length;
            }
        }
        Some(range)
    }

    /// How far the text at a place is this needle: bytes of the needle, and where the text of them ends.
    fn follow(&self, text: &[u8], at: usize, steps: &mut usize) -> (usize, usize) {
        let mut best = (0, at);
        let mut ways = VecDeque::from([best]);
        while let Some((matched, at)) = ways.pop_front() {
            *steps += 1;
            best = best.max((matched, at));
            let (text, needle) = (&text[at..], &self.bytes[matched..]);
            if text.is_empty() || needle.is_empty() {
                continue;
            }
            let mut add = |(read, taken): (usize, usize)| {
                let way = (matched + taken, at + read);
                if ways.len() < MOST_WAYS && !ways.contains(&way) {
                    ways.push_back(way);
                }
            };
            if self.is_base64 {
                read_base64(text, needle, matched > 0, &mut add);
            } else {
                read(text, needle, matched > 0, &mut add);
            }
        }
        best
    }
}

/// The ways to read the beginning of a text as that of a secret: each is how many bytes of both.
fn read(text: &[u8], needle: &[u8], is_within: bool, add: &mut impl FnMut((usize, usize))) {
    if text[0] == needle[0] {
        add((1, 1));
    }
    if text[0] == b'+' && needle[0] == b' ' {
        add((1, 1));
    }
    // UTF-16, read as bytes.
    if text[0] == 0 && is_within {
        add((1, 0));
    }
    if !matches!(text[0], b'%' | b'\\' | b'&' | b'=') {
        return;
    }
    let letter = first_letter(needle);
    for lead in ["%", "%25", "=", r"\x", r"\\x"] {
        if let Some(code) = after(text, lead).and_then(|digits| number(digits.get(..2)?, 16)) {
            let length = lead.len() + 2;
            if code == u32::from(needle[0]) {
                add((length, 1));
            }
            // Latin-1.
            if code > 0x7f && letter.is_some_and(|letter| u32::from(letter) == code) {
                add((length, letter.map_or(1, char::len_utf8)));
            }
        }
    }
    for lead in [r"\", r"\\", r"\\\"] {
        let Some(rest) = after(text, lead) else { continue };
        if let Some(escaped) = rest.first().and_then(|sign| unescaped(*sign))
            && escaped == needle[0]
        {
            add((lead.len() + 1, 1));
        }
    }
    let Some(letter) = letter else { return };
    for lead in [r"\u", r"\\u", "%u", "%5Cu", "%5cu"] {
        if let Some((found, digits)) = after(text, lead).and_then(utf16)
            && found == letter
        {
            add((lead.len() + digits, letter.len_utf8()));
        }
    }
    for lead in ["&", "&amp;", "%26", r"\u0026"] {
        let Some(rest) = after(text, lead) else { continue };
        let Some(length) = rest.iter().take(12).position(|byte| *byte == b';') else { continue };
        if entity(&rest[..length]) == Some(letter) {
            add((lead.len() + length + 1, letter.len_utf8()));
        }
    }
}

/// The same for Base64, which has two alphabets and may be broken into lines.
fn read_base64(text: &[u8], needle: &[u8], is_within: bool, add: &mut impl FnMut((usize, usize))) {
    match needle[0] {
        b'+' => {
            read(text, b"-", is_within, add);
            // What was decoded as a form.
            if text[0] == b' ' {
                add((1, 1));
            }
        }
        b'/' => read(text, b"_", is_within, add),
        _ => {}
    }
    if is_within {
        for end in ["\r", "\n", r"\r", r"\n", "%0D", "%0A", "%0d", "%0a"] {
            if text.starts_with(end.as_bytes()) {
                add((end.len(), 0));
            }
        }
    }
    read(text, needle, is_within, add);
}

/// The beginning of the letter that a byte belongs to.
fn floor(text: &str, at: usize) -> usize {
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

fn after<'t>(text: &'t [u8], lead: &str) -> Option<&'t [u8]> {
    text.strip_prefix(lead.as_bytes())
}

fn number(digits: &[u8], radix: u32) -> Option<u32> {
    let digits = std::str::from_utf8(digits).ok().filter(|digits| !digits.starts_with('+'))?;
    u32::from_str_radix(digits, radix).ok()
}

fn first_letter(bytes: &[u8]) -> Option<char> {
    let start = &bytes[..bytes.len().min(4)];
    let valid = match std::str::from_utf8(start) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&start[..error.valid_up_to()]).ok()?,
    };
    valid.chars().next()
}

/// What a sign after a backslash stands for.
fn unescaped(sign: u8) -> Option<u8> {
    Some(match sign {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => 8,
        b'f' => 12,
        b'0' => 0,
        other if other.is_ascii_punctuation() => other,
        _ => return None,
    })
}

/// The letter of four hexadecimal digits, or of two such escapes, and how many bytes it takes.
fn utf16(text: &[u8]) -> Option<(char, usize)> {
    let first = number(text.get(..4)?, 16)?;
    if let Some(letter) = char::from_u32(first) {
        return Some((letter, 4));
    }
    let rest = &text[4..];
    let lead = rest.iter().take(4).position(|byte| *byte == b'u')? + 1;
    let second = number(rest.get(lead..lead + 4)?, 16)?;
    let pair = [u16::try_from(first).ok()?, u16::try_from(second).ok()?];
    let letter = char::decode_utf16(pair).next()?.ok()?;
    Some((letter, 4 + lead + 4))
}

/// The letter of a reference of HTML, without its `&` and `;`.
fn entity(name: &[u8]) -> Option<char> {
    match name {
        b"amp" => Some('&'),
        b"lt" => Some('<'),
        b"gt" => Some('>'),
        b"quot" => Some('"'),
        b"apos" => Some('\''),
        b"sol" => Some('/'),
        b"plus" => Some('+'),
        b"equals" => Some('='),
        b"colon" => Some(':'),
        [b'#', b'x' | b'X', digits @ ..] => number(digits, 16).and_then(char::from_u32),
        [b'#', digits @ ..] => number(digits, 10).and_then(char::from_u32),
        _ => None,
    }
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_')
}

/// The value of a parameter `sig` whose `=` is at a place.
fn signature_at(text: &[u8], at: usize) -> Option<Range<usize>> {
    let lead = ["=", "%3D", "%3d", "%253D", "%253d", r"\u003d", r"\u003D", "&#61;", "&#x3D;", "&#x3d;"]
        .iter()
        .find(|lead| text[at..].starts_with(lead.as_bytes()))?;
    let name = text[..at].get(at.checked_sub(3)?..)?;
    if !name.eq_ignore_ascii_case(b"sig") {
        return None;
    }
    let start = at + lead.len();
    let value = text[start..].iter().take_while(|byte| {
        !matches!(byte, b'&' | b' ' | b'"' | b'\'' | b'<' | b'>' | b',' | b';' | b')' | b'\r' | b'\n' | b'\t')
    });
    let length = value.count();
    (length >= LEAST).then_some(start..start + length)
}

#[cfg(test)]
mod tests;
