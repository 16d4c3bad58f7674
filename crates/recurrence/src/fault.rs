//! What is wrong with a draft: one [`Fault`] per mistake, all of them at once.

use std::fmt;

/// One mistake in a draft: where it stands, what stood there, and what may stand there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The path of the member, as in JSON: `recurrence.schedule.minutes[2]`.
    pub field: String,
    /// What was given, as JSON would write it; `None` when something required is missing.
    pub value: Option<String>,
    /// What is allowed there, as the end of a sentence.
    pub allowed: String,
}

impl Fault {
    /// A member that holds a value it may not hold.
    pub fn new(field: impl Into<String>, value: impl fmt::Display, allowed: impl Into<String>) -> Self {
        Self { field: field.into(), value: Some(value.to_string()), allowed: allowed.into() }
    }

    /// A required member that is not there.
    pub fn missing(field: impl Into<String>, allowed: impl Into<String>) -> Self {
        Self { field: field.into(), value: None, allowed: allowed.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Some(value) => {
                write!(f, "{}: {value} is not allowed here; allowed: {}", self.field, self.allowed)
            }
            None => write!(f, "{}: missing; allowed: {}", self.field, self.allowed),
        }
    }
}

/// All the mistakes of a draft, at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Faults(Vec<Fault>);

impl Faults {
    /// `Err` with the faults found, `Ok` when there are none.
    pub fn check(faults: Vec<Fault>) -> Result<(), Self> {
        if faults.is_empty() { Ok(()) } else { Err(Self(faults)) }
    }

    /// The faults, in the order of the draft's members.
    pub fn iter(&self) -> std::slice::Iter<'_, Fault> {
        self.0.iter()
    }

    /// The faults, to be merged with those of other rooms.
    pub fn into_vec(self) -> Vec<Fault> {
        self.0
    }
}

impl From<Fault> for Faults {
    fn from(fault: Fault) -> Self {
        Self(vec![fault])
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, fault) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{fault}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Faults {}

/// A text as JSON would show it, cut where it would fill the page.
pub(crate) fn quoted(text: impl AsRef<str>) -> String {
    const LONGEST: usize = 100;
    let text = text.as_ref();
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}
