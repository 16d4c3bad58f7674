//! What to say about a text that the parser refused, and where to point.
//!
//! The parser says where it stopped and what it wanted; what stands there says what its author meant.

/// What [`super::Builder`] says of a name that an object has already.
pub(super) const TWICE: &str = "this object has this name already; each name may be there once";

/// What to write and where to point, for a parser that stopped at a byte with a message.
pub(super) fn problem(text: &str, at: usize, message: &str) -> (usize, String) {
    if let Some(unfinished) = message.strip_prefix("EOF while parsing ") {
        return (text.trim_end().len(), format!("the text ends too early: {unfinished} is not finished"));
    }
    match message {
        TWICE => return (string_start(text, at), TWICE.to_owned()),
        "trailing comma" => {
            let comma = text[..at].rfind(',').unwrap_or(at);
            return (comma, "no comma may stand before a closing bracket: remove it".to_owned());
        }
        "recursion limit exceeded" => {
            return (at, "objects and lists may not be nested more than 127 deep".to_owned());
        }
        "number out of range" => return (word_start(text, at), "this number is too large".to_owned()),
        _ => {}
    }
    if message.starts_with("control character") {
        return in_string(text, at);
    }
    // Within a word the parser stops at the first letter it did not expect.
    let within_word = matches!(message, "expected ident" | "invalid number");
    let start = if within_word { word_start(text, at) } else { at };
    let problem = by_text(text, start).or_else(|| by_expectation(text, start, at, message));
    (start, problem.unwrap_or_else(|| message.to_owned()))
}

/// What can be told from the text alone.
fn by_text(text: &str, at: usize) -> Option<String> {
    let rest = &text[at..];
    let said = match rest.chars().next()? {
        '#' => "JSON has no comments: remove it",
        '/' if rest.starts_with("//") || rest.starts_with("/*") => "JSON has no comments: remove it",
        '\'' | '`' => r#"names and texts stand in double quotes: ""#,
        '“' | '”' | '„' | '‘' | '’' | '«' | '»' => {
            r#"names and texts stand in straight double quotes: ""#
        }
        '…' => "something was left out here: fill it in or remove the dots",
        '.' if rest.starts_with("...") => "something was left out here: fill it in or remove the dots",
        '\u{feff}' => "an invisible byte order mark stands here: remove it",
        c if c.is_whitespace() || c == '\u{200b}' => {
            "an unusual kind of space stands here: write a plain one"
        }
        _ => match word(rest).to_ascii_lowercase().as_str() {
            "nan" | "infinity" | "-infinity" => "JSON has neither NaN nor Infinity",
            "true" => "write true, in small letters",
            "false" => "write false, in small letters",
            "null" | "none" | "nil" | "undefined" => "write null, or leave the member out",
            _ => return None,
        },
    };
    Some(said.to_owned())
}

/// What can be told from what the parser wanted; `at` is where it stopped, `start` where the word there begins.
fn by_expectation(text: &str, start: usize, at: usize, message: &str) -> Option<String> {
    let rest = &text[start..];
    let first = rest.chars().next()?;
    let is_word = first.is_alphabetic() || first == '_' || first == '$';
    if text[..start].trim().is_empty() && message != "invalid number" {
        return Some("a JSON document begins with {".to_owned());
    }
    let said = match (message, first) {
        ("trailing characters", _) => "the document has ended before this: remove what follows".to_owned(),
        ("key must be a string", ',') => "a member is missing before this comma".to_owned(),
        ("key must be a string", _) if is_word => {
            format!(r#"names stand in double quotes: "{}""#, word(rest))
        }
        ("key must be a string", _) => "a name in double quotes is expected here".to_owned(),
        ("expected value" | "expected ident", _) if is_word => {
            format!(r#"texts stand in double quotes: "{}""#, word(rest))
        }
        ("expected value", ',' | '}' | ']') => "a value is missing before this".to_owned(),
        ("expected value", '+' | '.') => "numbers are written like 5, -5 or 0.5".to_owned(),
        ("expected value", _) => "a value is expected here".to_owned(),
        ("invalid number", _)
            if text[..at].ends_with('0') && text[at..].starts_with(|c: char| c.is_ascii_digit()) =>
        {
            "a number may not begin with 0".to_owned()
        }
        ("invalid number", _) => "numbers are written like 5, -5 or 0.5".to_owned(),
        ("expected `:`", '=') => "write : between name and value, not =".to_owned(),
        ("expected `:`", _) => "a colon is missing before this".to_owned(),
        ("expected `,` or `}`", ']') => "this closes a list, but { is still open".to_owned(),
        ("expected `,` or `]`", '}') => "this closes an object, but [ is still open".to_owned(),
        ("expected `,` or `}`" | "expected `,` or `]`", ';') => "write a comma, not ;".to_owned(),
        ("expected `,` or `}`" | "expected `,` or `]`", _)
            if matches!(first, '"' | '{' | '[') || text[..start].ends_with(char::is_whitespace) =>
        {
            "a comma is missing before this".to_owned()
        }
        _ => return None,
    };
    Some(said)
}

/// A control character within a string; mostly the end of a line, which the string should not have reached.
fn in_string(text: &str, at: usize) -> (usize, String) {
    match text[at..].chars().next() {
        Some('\n' | '\r') => {
            (string_start(text, at), "this text does not end on its line: close it with \"".to_owned())
        }
        Some('\t') => (at, "a tab within a text is written \\t".to_owned()),
        Some(c) => (at, format!("this character is written \\u{:04x} within a text", u32::from(c))),
        None => (at, "a control character may not stand within a text".to_owned()),
    }
}

/// Where the string begins that ends at a byte.
fn string_start(text: &str, at: usize) -> usize {
    let before = &text[..at];
    let unescaped = |quote: &usize| {
        let escapes = before[..*quote].bytes().rev().take_while(|byte| *byte == b'\\').count();
        escapes % 2 == 0
    };
    before.rmatch_indices('"').map(|(quote, _)| quote).find(unescaped).unwrap_or(at)
}

fn in_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$' | '-' | '.' | '+')
}

fn word_start(text: &str, at: usize) -> usize {
    text[..at].trim_end_matches(in_word).len()
}

/// The word a text begins with, cut where it is long.
fn word(text: &str) -> &str {
    const LONGEST: usize = 40;
    let end = text.char_indices().take(LONGEST).find(|(_, c)| !in_word(*c)).map(|(end, _)| end);
    let longest = || text.char_indices().nth(LONGEST).map_or(text.len(), |(end, _)| end);
    &text[..end.unwrap_or_else(longest)]
}
