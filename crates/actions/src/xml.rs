//! The little XML that queues speak: texts are written so that any reader gets them back, and the error documents of
//! Azure's services are looked into.

/// The first character of a text that no XML document can hold, escaped or not.
pub(crate) fn unspeakable(text: &str) -> Option<char> {
    text.chars().find(|letter| {
        !matches!(letter, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
    })
}

/// Appends a text to a document. A carriage return is written by number: readers turn a bare one into a line feed.
pub(crate) fn escape_into(document: &mut String, text: &str) {
    // What needs no escape is copied in one go. All that does is ASCII, so no letter is cut.
    let mut copied = 0;
    for (at, byte) in text.bytes().enumerate() {
        let escape = match byte {
            b'&' => "&amp;",
            b'<' => "&lt;",
            b'>' => "&gt;",
            b'\r' => "&#xD;",
            _ => continue,
        };
        document.push_str(&text[copied..at]);
        document.push_str(escape);
        copied = at + 1;
    }
    document.push_str(&text[copied..]);
}

/// The text of the first element of a name, in a document that has it without attributes.
pub(crate) fn text_of(document: &str, element: &str) -> Option<String> {
    let (open, close) = (format!("<{element}>"), format!("</{element}>"));
    let start = document.find(&open)? + open.len();
    let end = start + document[start..].find(&close)?;
    // The ampersand comes last, so that `&amp;lt;` stays `&lt;`.
    let escapes = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    let text =
        escapes.iter().fold(document[start..end].to_owned(), |text, (from, to)| text.replace(from, to));
    Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_escaped() {
        let mut document = String::new();
        escape_into(&mut document, "a<b> & \"c\"\r\né😀");
        assert_eq!(document, "a&lt;b&gt; &amp; \"c\"&#xD;\né😀");
        assert_eq!(unspeakable("a\tb\r\n \u{fffd}😀"), None);
        for letter in ['\0', '\u{1}', '\u{b}', '\u{1f}', '\u{fffe}', '\u{ffff}'] {
            assert_eq!(unspeakable(&format!("a{letter}b")), Some(letter));
        }
    }

    #[test]
    fn error_documents_are_looked_into() {
        let document = "<?xml version=\"1.0\"?><Error><Code>QueueNotFound</Code><Message>It &lt;is&gt; gone.\nRequestId:1\r\n\
                        Time:2 &amp;lt;</Message></Error>";
        assert_eq!(text_of(document, "Code").unwrap(), "QueueNotFound");
        assert_eq!(text_of(document, "Message").unwrap(), "It <is> gone. RequestId:1 Time:2 &lt;");
        assert_eq!(text_of(document, "Detail"), None);
        assert_eq!(text_of("</Code><Code>open", "Code"), None);
    }
}
