use super::*;

/// A text with `⟨` before the place that the fault is to point at, and a part of what it is to say.
#[track_caller]
fn refused(marked: &str, says: &str) {
    let (before, after) = marked.split_once('⟨').expect("a mark");
    let text = format!("{before}{after}");
    let fault = read(text.as_bytes()).expect_err(marked);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    assert_eq!((fault.line, fault.column), (line, column), "{marked:?}: {fault}\n{}", fault.pointer);
    assert!(fault.problem.contains(says), "{marked:?}: {fault}");
}

#[test]
fn what_is_not_json_is_pointed_at() {
    let comments = "JSON has no comments";
    let comma = "no comma may stand before a closing bracket";
    let double = "stand in double quotes";
    for (text, says) in [
        ("{\n  \"a\": 1, ⟨// one\n  \"b\": 2\n}", comments),
        ("{ ⟨// one\n\"a\": 1}", comments),
        ("{\"a\": 1 ⟨// one\n}", comments),
        ("{\"a\": ⟨/* one */ 1}", comments),
        ("{\"a\" ⟨/* one */ : 1}", comments),
        ("⟨/* a job */ {}", comments),
        ("⟨// a job\n{}", comments),
        ("⟨# a job\n{}", comments),
        ("{} ⟨// a job", comments),
        ("[1, ⟨# one\n2]", comments),
        ("{\"a\": 1⟨,\n}", comma),
        ("{\"a\": [1, 2⟨, ]}", comma),
        ("[1, ⟨, 2]", "a value is missing"),
        ("[⟨, 2]", "a value is missing"),
        ("{\"a\": ⟨}", "a value is missing"),
        ("{⟨, \"a\": 1}", "a member is missing"),
        ("{⟨'a': 1}", double),
        ("{\"a\": ⟨'x'}", double),
        ("{⟨a: 1}", r#"names stand in double quotes: "a""#),
        ("{⟨$top: 1}", r#""$top""#),
        ("{\"a\": ⟨day}", r#"texts stand in double quotes: "day""#),
        ("{\"a\": ⟨friday}", r#""friday""#),
        ("{⟨“a”: 1}", "straight double quotes"),
        ("{\"a\": ⟨”x”}", "straight double quotes"),
        ("{⟨1: 2}", "a name in double quotes"),
        ("{\"a\": ⟨NaN}", "NaN"),
        ("{\"a\": ⟨nan}", "NaN"),
        ("{\"a\": ⟨-Infinity}", "Infinity"),
        ("{\"a\": ⟨True}", "write true"),
        ("{\"a\": ⟨None}", "write null"),
        ("{\"a\": ⟨undefined}", "write null"),
        ("{\"a\": ⟨nul}", r#""nul""#),
        ("{ ⟨... }", "left out"),
        ("[1, ⟨…]", "left out"),
        ("[⟨05]", "may not begin with 0"),
        ("[⟨-007]", "may not begin with 0"),
        ("[⟨5.]", "numbers are written"),
        ("[⟨+5]", "numbers are written"),
        ("[⟨.5]", "numbers are written"),
        ("[⟨1e999]", "too large"),
        ("{\"a\": ⟨\"x\n}", "close it with"),
        ("{\"a\": ⟨\"x\\\" y\r\n}", "close it with"),
        ("{\"a\": \"x⟨\ty\"}", "\\t"),
        ("{\"a\": \"x⟨\u{1b}[2J\"}", "\\u001b"),
        ("{\"a\": \"x\\⟨q\"}", "invalid escape"),
        ("{\"a\": \"x⟨", "a string is not finished"),
        ("{\"a\": [1⟨ \n\n", "a list is not finished"),
        ("{\"a\": {⟨", "an object is not finished"),
        ("{\"a\":⟨", "a value is not finished"),
        ("{\"a\" ⟨1}", "a colon is missing"),
        ("{\"a\" ⟨= 1}", "not ="),
        ("{\"a\": 1\n ⟨\"b\": 2}", "a comma is missing"),
        ("[1 ⟨2]", "a comma is missing"),
        ("[1⟨; 2]", "not ;"),
        ("[0⟨x10]", "expected `,` or `]`"),
        ("{\"a\": 1⟨]", "{ is still open"),
        ("[1⟨}", "[ is still open"),
        ("{} ⟨{}", "remove what follows"),
        ("⟨frequency: day", "begins with {"),
        ("⟨<job/>", "begins with {"),
        ("⟨}", "begins with {"),
        ("{⟨\u{a0}\"a\": 1}", "kind of space"),
        ("{⟨\u{feff}\"a\": 1}", "byte order mark"),
        ("{\"a\": 1, ⟨\"a\": 2}", "already"),
        ("{\"é\": {\"a\": 1,\n⟨\"a\": 2}}", "already"),
        ("{\"a\\\"b\": 1, ⟨\"a\\\"b\": 2}", "already"),
        ("{\"ééé\": ⟨x}", r#""x""#),
    ] {
        refused(text, says);
    }
}

#[test]
fn what_is_no_text_is_said_to_be_none() {
    for (bytes, says) in [
        (&b""[..], "empty"),
        (b" \r\n\t ", "empty"),
        (b"\xef\xbb\xbf", "empty"),
        (b"\xff\xfe{\0}\0", "UTF-16"),
        (b"\xfe\xff\0{\0}", "UTF-16"),
        (b"\x7fELF\x02\x01\xff\xff", "not UTF-8"),
        (b"{\"a\": \"caf\xe9\"}", "not UTF-8"),
    ] {
        let fault = read(bytes).expect_err("not JSON");
        assert!(fault.problem.contains(says), "{bytes:?}: {fault}");
        assert_eq!(fault.pointer, "", "{bytes:?}");
    }
    let fault = read(b"{\n\"a\": \"caf\xe9\"}").expect_err("not UTF-8");
    assert_eq!((fault.line, fault.column), (2, 10));
}

#[test]
fn what_is_json_is_read_as_it_is() {
    for text in [
        "{}",
        "null",
        "[1, -1, 1.5, 18446744073709551615, true, false, null, \"a\\u00e9\\n\"]",
        "{\"a\": {\"b\": {\"a\": []}}, \"A\": 1}",
    ] {
        let own: Value = serde_json::from_str(text).expect(text);
        assert_eq!(read(text.as_bytes()), Ok(own), "{text}");
    }
    assert_eq!(read("\u{feff}{}".as_bytes()), Ok(Value::Object(Map::new())));
}

#[test]
fn depth_has_an_end() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert!(read(nested(127).as_bytes()).is_ok());
    let fault = read(nested(128).as_bytes()).expect_err("too deep");
    assert!(fault.problem.contains("127 deep"), "{fault}");
    assert!(read("[".repeat(1 << 20).as_bytes()).is_err());
}

#[test]
fn long_lines_are_cut_around_the_place() {
    let text = format!("{{\"a\": \"{}\" x, \"b\": \"{}\"}}", "l".repeat(500), "r".repeat(500));
    let fault = read(text.as_bytes()).expect_err("not JSON");
    let [shown, caret] = fault.pointer.lines().collect::<Vec<_>>()[..] else { panic!("{}", fault.pointer) };
    assert!(shown.chars().count() < 110, "{shown}");
    let under: String = shown.chars().skip(caret.chars().count() - 1).take(2).collect();
    assert_eq!(under, "x,");
}

#[test]
fn control_characters_do_not_reach_the_terminal() {
    let fault = read(b"{\"a\": 1 \x1b[31m}").expect_err("not JSON");
    assert!(!fault.pointer.contains('\x1b') && !fault.problem.contains('\x1b'), "{fault:?}");
}
