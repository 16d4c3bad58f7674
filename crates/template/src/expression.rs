//! The expression language, read: `[concat(parameters('name'), '/', variables('jobs')[0].name)]`.
//!
//! A text that begins with `[` and ends with `]` is an expression, unless it begins with `[[`: then it is a text with
//! one bracket less. Whatever else is written is itself.

use crate::fault::Raised;

/// An expression and where it begins.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Expression {
    /// In characters of the whole text, counted from 1.
    pub(crate) column: usize,
    pub(crate) what: What,
}

/// The kinds of expressions.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum What {
    Text(String),
    Number(i64),
    /// A function; its namespace, if it is one of the template's own.
    Call {
        namespace: Option<String>,
        name: String,
        arguments: Vec<Expression>,
    },
    /// `of.name`
    Member {
        of: Box<Expression>,
        name: String,
    },
    /// `of[index]`
    Index {
        of: Box<Expression>,
        index: Box<Expression>,
    },
}

/// What a text of a template means.
#[derive(Debug, PartialEq)]
pub(crate) enum Meaning {
    Literal(String),
    Expression(Expression),
}

/// As in Azure, in characters.
const LONGEST: usize = 24_576;

/// How deep brackets may be nested, so that a reader's stack is never the limit.
const DEEPEST: usize = 40;

/// What a text means; or what is wrong with the expression in it.
pub(crate) fn read(text: &str) -> Result<Meaning, Raised> {
    let Some(inner) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) else {
        return Ok(Meaning::Literal(text.to_owned()));
    };
    if inner.starts_with('[') {
        return Ok(Meaning::Literal(text[1..].to_owned()));
    }
    let letters: Vec<char> = inner.chars().collect();
    if letters.len() > LONGEST {
        let problem = format!("the expression has {} characters; allowed: {LONGEST}", letters.len());
        return Err(Raised::Wrong { column: 1, problem });
    }
    let mut parser = Parser { letters, at: 0, depth: 0 };
    let expression = parser.expression()?;
    parser.skip_space();
    match parser.peek() {
        None => Ok(Meaning::Expression(expression)),
        Some(letter) => {
            Err(parser.wrong(format!("{letter:?} is not expected here; the expression ends before")))
        }
    }
}

/// A text as it must be written so that it means itself.
pub fn escape(text: &str) -> String {
    if text.starts_with('[') && text.ends_with(']') { format!("[{text}") } else { text.to_owned() }
}

struct Parser {
    letters: Vec<char>,
    at: usize,
    depth: usize,
}

impl Parser {
    fn peek(&self) -> Option<char> {
        self.letters.get(self.at).copied()
    }

    /// Of the letter that is next, in the whole text: the bracket before it counts.
    fn column(&self) -> usize {
        self.at + 2
    }

    fn wrong(&self, problem: impl Into<String>) -> Raised {
        Raised::Wrong { column: self.column(), problem: problem.into() }
    }

    fn expected(&self, what: &str) -> Raised {
        match self.peek() {
            Some(letter) => self.wrong(format!("{what} is expected here, not {letter:?}")),
            None => self.wrong(format!("the expression ends where {what} is expected")),
        }
    }

    fn skip_space(&mut self) {
        while self.peek().is_some_and(char::is_whitespace) {
            self.at += 1;
        }
    }

    fn take(&mut self, letter: char) -> bool {
        self.skip_space();
        let is_next = self.peek() == Some(letter);
        self.at += usize::from(is_next);
        is_next
    }

    fn expression(&mut self) -> Result<Expression, Raised> {
        let around = self.depth;
        self.deeper()?;
        let mut expression = self.simple()?;
        loop {
            let column = expression.column;
            let of = Box::new(expression);
            let what = if self.take('.') {
                What::Member { of, name: self.name("the name of a member")? }
            } else if self.take('[') {
                let index = Box::new(self.expression()?);
                if !self.take(']') {
                    return Err(self.expected("']'"));
                }
                What::Index { of, index }
            } else {
                self.depth = around;
                return Ok(*of);
            };
            // A chain of members is walked by a call for each, as a nest is.
            self.deeper()?;
            expression = Expression { column, what };
        }
    }

    fn deeper(&mut self) -> Result<(), Raised> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.wrong(format!("the expression is nested more than {DEEPEST} deep")));
        }
        Ok(())
    }

    fn simple(&mut self) -> Result<Expression, Raised> {
        self.skip_space();
        let column = self.column();
        let what = match self.peek() {
            Some('\'') => What::Text(self.text()?),
            Some(letter) if letter.is_ascii_digit() || letter == '-' || letter == '+' => {
                What::Number(self.number()?)
            }
            Some(letter) if is_name_start(letter) => self.call()?,
            _ => return Err(self.expected("a function, a text in single quotes or a whole number")),
        };
        Ok(Expression { column, what })
    }

    /// `'it''s'`
    fn text(&mut self) -> Result<String, Raised> {
        let start = self.column();
        self.at += 1;
        let mut text = String::new();
        loop {
            match self.peek() {
                Some('\'') if self.letters.get(self.at + 1) == Some(&'\'') => {
                    text.push('\'');
                    self.at += 2;
                }
                Some('\'') => {
                    self.at += 1;
                    return Ok(text);
                }
                Some(letter) => {
                    text.push(letter);
                    self.at += 1;
                }
                None => {
                    let problem = "the text that begins here has no closing quote".to_owned();
                    return Err(Raised::Wrong { column: start, problem });
                }
            }
        }
    }

    fn number(&mut self) -> Result<i64, Raised> {
        let column = self.column();
        let start = self.at;
        self.at += 1;
        while self.peek().is_some_and(|letter| letter.is_ascii_digit() || letter == '.') {
            self.at += 1;
        }
        let text: String = self.letters[start..self.at].iter().collect();
        text.parse().map_err(|_| {
            let problem = format!("{text} is not a whole number of 64 bits");
            Raised::Wrong { column, problem }
        })
    }

    fn name(&mut self, what: &str) -> Result<String, Raised> {
        self.skip_space();
        if !self.peek().is_some_and(is_name_start) {
            return Err(self.expected(what));
        }
        let start = self.at;
        while self.peek().is_some_and(|letter| is_name_start(letter) || letter.is_ascii_digit()) {
            self.at += 1;
        }
        Ok(self.letters[start..self.at].iter().collect())
    }

    fn call(&mut self) -> Result<What, Raised> {
        let start = self.at;
        let mut name = self.name("a function")?;
        let mut namespace = None;
        if self.take('.') {
            namespace = Some(std::mem::replace(&mut name, self.name("the name of a function")?));
        }
        if !self.take('(') {
            let full = namespace.map_or_else(String::new, |namespace| namespace + ".") + &name;
            self.at = start;
            let problem =
                format!("{full} stands alone; a function has parentheses, a text has single quotes");
            return Err(self.wrong(problem));
        }
        let mut arguments = Vec::new();
        if self.take(')') {
            return Ok(What::Call { namespace, name, arguments });
        }
        loop {
            arguments.push(self.expression()?);
            if self.take(')') {
                return Ok(What::Call { namespace, name, arguments });
            }
            if !self.take(',') {
                return Err(self.expected("',' or ')'"));
            }
        }
    }
}

fn is_name_start(letter: char) -> bool {
    letter.is_alphabetic() || letter == '_' || letter == '$'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_expression_is_itself() {
        for (text, literal) in [
            ("plain", "plain"),
            ("", ""),
            ("[", "["),
            ("[half", "[half"),
            ("half]", "half]"),
            ("[a] b", "[a] b"),
            ("[[text]", "[text]"),
            ("[[[text]", "[[text]"),
            ("[[open", "[[open"),
        ] {
            assert_eq!(read(text), Ok(Meaning::Literal(literal.to_owned())), "{text}");
        }
    }

    #[test]
    fn an_escaped_text_means_itself() {
        for text in ["", "x", "[x]", "[[x]", "[x", "[]", "[[]]", "[concat('a')]", "["] {
            assert_eq!(read(&escape(text)), Ok(Meaning::Literal(text.to_owned())), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_has_a_column() {
        for (text, column, words) in [
            ("[]", 2, "the expression ends where a function"),
            ("[name]", 2, "name stands alone"),
            ("[concat('a', b)]", 14, "b stands alone"),
            ("[concat('a' 'b')]", 13, "',' or ')' is expected here"),
            ("[concat('a']", 12, "',' or ')'"),
            ("[concat('a)]", 9, "no closing quote"),
            ("[concat('a'))]", 13, "ends before"),
            ("[parameters('a').]", 18, "the name of a member"),
            ("[parameters('a')[0]", 19, "ends where ']'"),
            ("[add(1.5, 1)]", 6, "1.5 is not a whole number"),
            ("[99999999999999999999]", 2, "not a whole number"),
            ("[\"double\"]", 2, "is expected here, not '\"'"),
            ("[ns.name]", 2, "ns.name stands alone"),
        ] {
            match read(text) {
                Err(Raised::Wrong { column: at, problem }) => {
                    assert!(at == column && problem.contains(words), "{text}: {at}: {problem}");
                }
                other => panic!("{text}: {other:?}"),
            }
        }
    }

    #[test]
    fn depth_has_a_limit() {
        let nested = |depth: usize| format!("[{}1{}]", "add(1,".repeat(depth), ")".repeat(depth));
        assert!(read(&nested(DEEPEST - 1)).is_ok());
        assert!(read(&nested(DEEPEST)).is_err());
        assert!(read(&format!("[p(){}]", ".a".repeat(DEEPEST + 1))).is_err());
        assert!(read(&format!("[p({})]", "1,".repeat(20_000))).is_err());
    }
}
