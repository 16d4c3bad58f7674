//! Values that no engine judges: each is taken as what it must be, or its fault says here what is allowed.

use model::Secret;

use super::{Fault, Given, Names, Object, Place, Reader, Value, shown_name, whole_number};

/// What a fault shows instead of a secret.
const HIDDEN: &str = "(a secret)";

impl<'a> Given<'a> {
    /// The value.
    pub(crate) fn value(&self) -> &'a Value {
        self.value
    }

    /// The value, if it is a text.
    pub(crate) fn as_str(&self) -> Option<&'a str> {
        self.value.as_str()
    }
}

impl<'a> Object<'a> {
    /// All members that are not null, whatever their names, in the order given.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&'a str, Given<'a>)> {
        self.members.iter().filter(|(_, value)| !value.is_null()).map(|(name, value)| {
            let shown = shown_name(name);
            (name.as_str(), Given { place: self.place.member(&shown, &shown), value })
        })
    }
}

impl Reader {
    /// Adds the fault of a value.
    pub(crate) fn refuse(&mut self, given: &Given<'_>, allowed: &str) {
        self.wrong(given, allowed, true);
    }

    /// Adds the fault of a value that is not to be seen; `shown` stands in its place.
    pub(crate) fn refuse_unseen(&mut self, given: &Given<'_>, shown: &str, allowed: &str) {
        let Place { canonical, written } = &given.place;
        self.add(canonical, Fault::new(written, shown, allowed), true);
    }

    /// Remembers a member that is known, but means nothing where it stands.
    pub(crate) fn ignore(&mut self, given: &Given<'_>) {
        self.ignored.push(given.place.written.clone());
    }

    /// An object that may hold secrets: where it is something else, that may be one too.
    pub(crate) fn object_of_secrets<'a>(
        &mut self,
        given: Given<'a>,
        known: &[Names],
        allowed: &str,
    ) -> Option<Object<'a>> {
        if given.value.is_string() {
            self.refuse_unseen(&given, "a text", allowed);
            return None;
        }
        self.object(given, known, allowed)
    }

    /// A member that must be there.
    pub(crate) fn required<'a>(
        &mut self,
        object: &Object<'a>,
        names: Names,
        allowed: &str,
    ) -> Option<Given<'a>> {
        let given = self.member(object, names);
        if given.is_none() {
            self.missing(object, names, allowed);
        }
        given
    }

    /// A text that must be there and not be empty.
    pub(crate) fn required_text(
        &mut self,
        object: &Object<'_>,
        names: Names,
        allowed: &str,
    ) -> Option<String> {
        let given = self.required(object, names, allowed)?;
        let text = given.as_str().filter(|text| !text.is_empty());
        if text.is_none() {
            self.refuse(&given, allowed);
        }
        text.map(str::to_owned)
    }

    /// A secret that must be there. Nothing of it is ever shown.
    pub(crate) fn required_secret(
        &mut self,
        object: &Object<'_>,
        names: Names,
        allowed: &str,
    ) -> Option<Secret> {
        let given = self.required(object, names, allowed)?;
        self.as_secret(&given, allowed)
    }

    /// The value as a secret.
    pub(crate) fn as_secret(&mut self, given: &Given<'_>, allowed: &str) -> Option<Secret> {
        if given.as_str().is_none() {
            self.refuse_unseen(given, HIDDEN, allowed);
        }
        given.as_str().map(Secret::new)
    }

    /// A text that may be there.
    pub(crate) fn optional_text(
        &mut self,
        object: &Object<'_>,
        names: Names,
        allowed: &str,
    ) -> Option<String> {
        let given = self.member(object, names)?;
        if given.as_str().is_none() {
            self.refuse(&given, allowed);
        }
        given.as_str().map(str::to_owned)
    }

    /// One of several words, in any case.
    pub(crate) fn choice<T: Copy>(
        &mut self,
        given: &Given<'_>,
        words: &[(&str, T)],
        allowed: &str,
    ) -> Option<T> {
        let word =
            given.as_str().and_then(|text| words.iter().find(|(word, _)| text.eq_ignore_ascii_case(word)));
        if word.is_none() {
            self.refuse(given, allowed);
        }
        word.map(|(_, value)| *value)
    }

    /// A whole number within bounds that are both allowed.
    pub(crate) fn whole(&mut self, given: &Given<'_>, least: i64, most: i64, allowed: &str) -> Option<i64> {
        let number = whole_number(given.value).filter(|number| (least..=most).contains(number));
        if number.is_none() {
            self.refuse(given, allowed);
        }
        number
    }

    /// An object whose members are all texts, under names that are not ours.
    pub(crate) fn texts(&mut self, given: Given<'_>, allowed: &str) -> Option<Vec<(String, String)>> {
        let object = self.open_object(given, allowed)?;
        let mut texts = Vec::new();
        for (name, given) in object.entries() {
            match given.as_str() {
                Some(text) => texts.push((name.to_owned(), text.to_owned())),
                None => self.refuse(&given, "a text"),
            }
        }
        Some(texts)
    }

    /// The tags of a resource, within the limits of Azure's resource manager.
    pub(crate) fn tags(&mut self, given: Given<'_>) -> Option<Vec<(String, String)>> {
        const MOST: usize = 50;
        const LONGEST_NAME: usize = 512;
        const LONGEST_VALUE: usize = 256;
        let fault = given.value.as_object().and_then(|tags| {
            let too_long = |(name, value): (&String, &Value)| {
                let name = name.chars().count();
                let value = value.as_str().map_or(0, |text| text.chars().count());
                if name == 0 || name > LONGEST_NAME {
                    return Some(format!("a tag whose name has {name} characters"));
                }
                (value > LONGEST_VALUE).then(|| format!("a tag whose value has {value} characters"))
            };
            if tags.len() > MOST {
                Some(format!("{} tags", tags.len()))
            } else {
                tags.iter().find_map(too_long)
            }
        });
        if let Some(shown) = fault {
            let allowed = format!(
                "at most {MOST} tags, with names of 1 to {LONGEST_NAME} and values of at most {LONGEST_VALUE} characters"
            );
            // What is too long is not repeated.
            self.refuse_unseen(&given, &shown, &allowed);
            return None;
        }
        self.texts(given, "an object of texts")
    }

    /// An object whose members have names that are not ours.
    pub(crate) fn open_object<'a>(&mut self, given: Given<'a>, allowed: &str) -> Option<Object<'a>> {
        let Value::Object(members) = given.value else {
            self.refuse(&given, allowed);
            return None;
        };
        self.written.insert(given.place.canonical.clone(), given.place.written.clone());
        Some(Object { place: given.place, members })
    }

    /// The path that the document has for a canonical one.
    pub(crate) fn written_path(&self, canonical: &str) -> String {
        self.written(canonical)
    }
}
