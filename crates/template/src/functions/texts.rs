//! Functions on texts. Positions and lengths count characters.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::Value;
use url::Url;

use super::{Answer, Arguments, unique};
use crate::evaluate::Evaluation;
use crate::fault::Raised;

/// What needs no escape in a URI: RFC 3986, section 2.3.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The longest that a text can be padded to.
const WIDEST: i64 = 10_000;

pub(super) fn call(evaluation: &mut Evaluation, name: &str, arguments: &Arguments<'_>) -> Answer {
    Some(match name {
        "tolower" => arguments.only_text().map(|text| text.to_lowercase().into()),
        "toupper" => arguments.only_text().map(|text| text.to_uppercase().into()),
        "trim" => arguments.only_text().map(|text| text.trim().into()),
        "substring" => substring(arguments),
        "replace" => replace(evaluation, arguments),
        "split" => split(arguments),
        "join" => join(arguments),
        "indexof" => position(arguments, |text, part| text.find(part)),
        "lastindexof" => position(arguments, |text, part| text.rfind(part)),
        "startswith" => is_at_end(arguments, |text, part| text.starts_with(part)),
        "endswith" => is_at_end(arguments, |text, part| text.ends_with(part)),
        "padleft" => pad_left(arguments),
        "format" => format(arguments),
        "string" => arguments.count(1, 1).and_then(|()| Ok(text_of(arguments.value(0)?).into())),
        "base64" => arguments.only_text().map(|text| STANDARD.encode(text).into()),
        "base64tostring" => decoded(arguments).map(Value::from),
        "base64tojson" => decoded(arguments).and_then(|text| json(arguments, &text)),
        "json" => arguments.only_text().and_then(|text| json(arguments, text)),
        "uri" => uri(arguments),
        "uricomponent" => {
            arguments.only_text().map(|text| utf8_percent_encode(text, ESCAPED).to_string().into())
        }
        "uricomponenttostring" => unescaped(arguments),
        "datauri" => arguments
            .only_text()
            .map(|text| format!("data:text/plain;charset=utf8;base64,{}", STANDARD.encode(text)).into()),
        "uniquestring" => joined(arguments).map(|text| unique::string(&text).into()),
        "guid" => joined(arguments).map(|text| unique::guid(&text).into()),
        _ => return None,
    })
}

/// A value as a text: numbers and texts as they are, `True` and `False` as .NET writes them, the rest as JSON.
pub(super) fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// A position or a length among so many characters.
fn within(arguments: &Arguments<'_>, place: usize, most: usize) -> Result<usize, Raised> {
    let number = arguments.number(place)?;
    usize::try_from(number).ok().filter(|number| *number <= most).ok_or_else(|| {
        let allowed = format!("{number} is out of reach; allowed: a whole number from 0 to {most}");
        arguments.raised(place, allowed)
    })
}

fn substring(arguments: &Arguments<'_>) -> Result<Value, Raised> {
    arguments.count(2, 3)?;
    let letters: Vec<char> = arguments.text(0)?.chars().collect();
    let start = within(arguments, 1, letters.len())?;
    let length = match arguments.len() {
        2 => letters.len() - start,
        _ => within(arguments, 2, letters.len() - start)?,
    };
    Ok(letters[start..start + length].iter().collect::<String>().into())
}

fn replace(evaluation: &mut Evaluation, arguments: &Arguments<'_>) -> Result<Value, Raised> {
    arguments.count(3, 3)?;
    let (text, old, new) = (arguments.text(0)?, arguments.text(1)?, arguments.text(2)?);
    if old.is_empty() {
        return Err(arguments.raised(1, "there is nothing to replace: the text to look for is empty"));
    }
    let growth = text.matches(old).count().saturating_mul(new.len());
    evaluation.spend(growth, arguments.column)?;
    Ok(text.replace(old, new).into())
}

fn split(arguments: &Arguments<'_>) -> Result<Value, Raised> {
    arguments.count(2, 2)?;
    let delimiters: Vec<&str> = match arguments.value(1)? {
        Value::String(delimiter) => vec![delimiter],
        Value::Array(list) => {
            let texts = list.iter().map(Value::as_str).collect::<Option<_>>();
            texts.ok_or_else(|| arguments.wrong(1, "a string, or an array of strings"))?
        }
        _ => return Err(arguments.wrong(1, "a string, or an array of strings")),
    };
    let delimiters: Vec<&str> = delimiters.into_iter().filter(|delimiter| !delimiter.is_empty()).collect();
    let mut parts = Vec::new();
    let mut rest = arguments.text(0)?;
    loop {
        let next = delimiters.iter().filter_map(|delimiter| Some((rest.find(delimiter)?, delimiter.len())));
        // Of two that begin at the same place the longer one counts.
        match next.min_by_key(|(at, length)| (*at, usize::MAX - length)) {
            Some((at, length)) => {
                parts.push(Value::from(&rest[..at]));
                rest = &rest[at + length..];
            }
            None => {
                parts.push(rest.into());
                return Ok(parts.into());
            }
        }
    }
}

fn join(arguments: &Arguments<'_>) -> Result<Value, Raised> {
    arguments.count(2, 2)?;
    let parts: Vec<String> = arguments.array(0)?.iter().map(text_of).collect();
    Ok(parts.join(arguments.text(1)?).into())
}

/// Where a part begins; −1 where it is not in the text. Case does not matter, as in Azure.
fn position(arguments: &Arguments<'_>, find: impl Fn(&str, &str) -> Option<usize>) -> Result<Value, Raised> {
    arguments.count(2, 2)?;
    if let Value::Array(list) = arguments.value(0)? {
        let wanted = arguments.value(1)?;
        let is_first = arguments.function.eq_ignore_ascii_case("indexOf");
        let found = if is_first {
            list.iter().position(|value| value == wanted)
        } else {
            list.iter().rposition(|value| value == wanted)
        };
        return Ok(found.map_or(Value::from(-1), Value::from));
    }
    let (text, part) = (arguments.text(0)?.to_lowercase(), arguments.text(1)?.to_lowercase());
    let found = find(&text, &part).map(|at| text[..at].chars().count());
    Ok(found.map_or(Value::from(-1), Value::from))
}

fn is_at_end(arguments: &Arguments<'_>, is: impl Fn(&str, &str) -> bool) -> Result<Value, Raised> {
    arguments.count(2, 2)?;
    Ok(is(&arguments.text(0)?.to_lowercase(), &arguments.text(1)?.to_lowercase()).into())
}

fn pad_left(arguments: &Arguments<'_>) -> Result<Value, Raised> {
    arguments.count(2, 3)?;
    let text = match arguments.value(0)? {
        value @ (Value::String(_) | Value::Number(_)) => text_of(value),
        _ => return Err(arguments.wrong(0, "a string or a whole number")),
    };
    let width = arguments.number(1)?;
    let width = usize::try_from(width).ok().filter(|_| width <= WIDEST);
    let width = width
        .ok_or_else(|| arguments.raised(1, format!("the width is a whole number from 0 to {WIDEST}")))?;
    let mut filling = if arguments.len() == 3 { arguments.text(2)? } else { " " }.chars();
    let (Some(filling), None) = (filling.next(), filling.next()) else {
        return Err(arguments.raised(2, "the text is padded with one character"));
    };
    let missing = width.saturating_sub(text.chars().count());
    Ok((filling.to_string().repeat(missing) + &text).into())
}

/// `{0}`, with `{{` and `}}` for braces; `{0,8}`, `{0:D3}`, `{0:X}` and `{0:000}` for widths of numbers.
fn format(arguments: &Arguments<'_>) -> Result<Value, Raised> {
    arguments.count(1, usize::MAX)?;
    let mut rest = arguments.text(0)?;
    let mut text = String::new();
    while let Some(at) = rest.find(['{', '}']) {
        text.push_str(&rest[..at]);
        let brace = &rest[at..=at];
        rest = &rest[at + 1..];
        if rest.starts_with(brace) {
            text.push_str(brace);
            rest = &rest[1..];
            continue;
        }
        let item = rest.split_once('}').filter(|_| brace == "{");
        let Some((item, after)) = item else {
            return Err(
                arguments.raised(0, "a brace is open or closes nothing; a brace itself is written twice")
            );
        };
        text.push_str(&placed(arguments, item)?);
        rest = after;
    }
    text.push_str(rest);
    Ok(text.into())
}

/// What stands for `0,8:D3`.
fn placed(arguments: &Arguments<'_>, item: &str) -> Result<String, Raised> {
    let wrong = |problem: String| arguments.raised(0, problem);
    let (item_place, form) = item.split_once(':').unwrap_or((item, ""));
    let (place, width) = item_place.split_once(',').unwrap_or((item_place, "0"));
    let place = place.trim().parse::<usize>().ok().and_then(|place| arguments.values.get(place + 1));
    let Some((_, value)) = place else {
        return Err(wrong(format!("{{{item}}} stands for none of the {} values", arguments.len() - 1)));
    };
    let text = formed(value, form).ok_or_else(|| {
        wrong(format!("{{{item}}} asks for a form that is not known here; allowed: none, D3, X, X2 or 000"))
    })?;
    let width: i64 =
        width.trim().parse().ok().filter(|width: &i64| width.abs() <= WIDEST).ok_or_else(|| {
            wrong(format!("{{{item}}} asks for a width; allowed: a whole number up to {WIDEST}"))
        })?;
    let fill = " ".repeat((width.unsigned_abs() as usize).saturating_sub(text.chars().count()));
    Ok(if width < 0 { text + &fill } else { fill + &text })
}

fn formed(value: &Value, form: &str) -> Option<String> {
    if form.is_empty() {
        return Some(text_of(value));
    }
    let number = value.as_i64()?;
    let sign = if number < 0 { "-" } else { "" };
    let digits = number.unsigned_abs();
    if form.bytes().all(|byte| byte == b'0') {
        let width = form.len();
        return Some(format!("{sign}{digits:0>width$}"));
    }
    let (letter, width) = form.split_at_checked(1)?;
    let width: usize = if width.is_empty() { 0 } else { width.parse().ok().filter(|width| *width <= 99)? };
    match letter {
        "D" | "d" => Some(format!("{sign}{digits:0>width$}")),
        "X" => Some(format!("{number:0>width$X}")),
        "x" => Some(format!("{number:0>width$x}")),
        _ => None,
    }
}

fn decoded(arguments: &Arguments<'_>) -> Result<String, Raised> {
    let bytes = STANDARD.decode(arguments.only_text()?).ok();
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    text.ok_or_else(|| arguments.raised(0, "the text is not Base64 of UTF-8"))
}

fn json(arguments: &Arguments<'_>, text: &str) -> Result<Value, Raised> {
    serde_json::from_str(text).map_err(|_| arguments.raised(0, "the text is not JSON"))
}

fn uri(arguments: &Arguments<'_>) -> Result<Value, Raised> {
    arguments.count(2, 2)?;
    let base = Url::parse(arguments.text(0)?)
        .map_err(|_| arguments.raised(0, "the text is not an absolute URI such as https://example.org/"))?;
    let joined = base.join(arguments.text(1)?);
    joined.map(|uri| uri.to_string().into()).map_err(|_| arguments.raised(1, "the text is not part of a URI"))
}

fn unescaped(arguments: &Arguments<'_>) -> Result<Value, Raised> {
    let text = percent_decode_str(arguments.only_text()?).decode_utf8();
    text.map(|text| Value::from(text.into_owned()))
        .map_err(|_| arguments.raised(0, "the text is not UTF-8 when its percent signs are decoded"))
}

/// What names are made from: texts, with dashes between them.
fn joined(arguments: &Arguments<'_>) -> Result<String, Raised> {
    arguments.count(1, usize::MAX)?;
    let texts: Vec<&str> =
        (0..arguments.len()).map(|place| arguments.text(place)).collect::<Result<_, _>>()?;
    Ok(texts.join("-"))
}
