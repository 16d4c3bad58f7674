//! The grammar of filters: conditions of three words, joined by `and`, with parentheses around any of it.

use ::recurrence::{Fault, Faults};

use crate::members::quoted;

/// `name operator value`.
pub(super) struct Clause {
    pub(super) name: String,
    pub(super) operator: String,
    pub(super) value: String,
}

impl Clause {
    pub(super) fn is(&self, name: &str, operator: &str) -> bool {
        self.name.eq_ignore_ascii_case(name) && self.operator.eq_ignore_ascii_case(operator)
    }

    pub(super) fn word<T: Copy>(&self, words: &[(&str, T)], allowed: &str) -> Result<T, Faults> {
        let word = words.iter().find(|(word, _)| self.value.eq_ignore_ascii_case(word));
        word.map(|(_, value)| *value).ok_or_else(|| refused(&self.value, allowed))
    }

    pub(super) fn fault(&self, allowed: &str) -> Faults {
        refused(&format!("{} {} {}", self.name, self.operator, self.value), allowed)
    }
}

/// Fills a place that may be filled once.
pub(super) fn once<T>(place: &mut Option<T>, value: T, clause: &Clause) -> Result<(), Faults> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(clause.fault("each condition once")),
    }
}

pub(super) fn refused(value: &str, allowed: &str) -> Faults {
    Fault::new("$filter", quoted(value), allowed).into()
}

/// The clauses of a filter.
pub(super) fn clauses(filter: &str, example: &str) -> Result<Vec<Clause>, Faults> {
    parse(filter).ok_or_else(|| refused(filter, &format!("conditions such as {example}, joined by and")))
}

/// Where everything is joined by `and`, parentheses group nothing: that they match is all there is to see.
fn parse(filter: &str) -> Option<Vec<Clause>> {
    let mut tokens = tokens(filter)?.into_iter();
    let mut clauses = Vec::new();
    let mut open = 0_usize;
    loop {
        let name = match tokens.next()? {
            Token::Open => {
                open += 1;
                continue;
            }
            Token::Close => return None,
            Token::Word(name) => name,
        };
        let (Token::Word(operator), Token::Word(value)) = (tokens.next()?, tokens.next()?) else {
            return None;
        };
        clauses.push(Clause { name, operator, value });
        loop {
            match tokens.next() {
                None if open == 0 => return Some(clauses),
                Some(Token::Close) => open = open.checked_sub(1)?,
                Some(Token::Word(and)) if and.eq_ignore_ascii_case("and") => break,
                _ => return None,
            }
        }
    }
}

enum Token {
    Open,
    Close,
    Word(String),
}

/// Parentheses, and words between blanks; one in single quotes may hold anything, and a quote written twice.
/// `datetime'…'` is its text.
fn tokens(filter: &str) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut rest = filter.trim_start();
    while let Some(first) = rest.chars().next() {
        let prefix = "datetime'";
        let is_dated = rest.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix));
        let quoted = if is_dated { rest.get(prefix.len()..) } else { rest.strip_prefix('\'') };
        if let Some(mut text) = quoted {
            let mut word = String::new();
            loop {
                let (part, after) = text.split_once('\'')?;
                word.push_str(part);
                match after.strip_prefix('\'') {
                    Some(after) => {
                        word.push('\'');
                        text = after;
                    }
                    None => {
                        text = after;
                        break;
                    }
                }
            }
            if !text.is_empty() && !text.starts_with(ends_word) {
                return None;
            }
            tokens.push(Token::Word(word));
            rest = text.trim_start();
        } else if first == '(' || first == ')' {
            tokens.push(if first == '(' { Token::Open } else { Token::Close });
            rest = rest[1..].trim_start();
        } else {
            let end = rest.find(ends_word).unwrap_or(rest.len());
            tokens.push(Token::Word(rest[..end].to_owned()));
            rest = rest[end..].trim_start();
        }
    }
    Some(tokens)
}

fn ends_word(letter: char) -> bool {
    letter.is_whitespace() || letter == '(' || letter == ')'
}
