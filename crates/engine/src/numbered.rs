//! Values by number. The number of one that is gone is given to the next, so there are no more than there were values at one
//! time, and none has to be looked for by its name.

/// See the module.
#[derive(Debug)]
pub(crate) struct Numbered<V> {
    values: Vec<Option<V>>,
    free: Vec<usize>,
}

impl<V> Default for Numbered<V> {
    fn default() -> Self {
        Self { values: Vec::new(), free: Vec::new() }
    }
}

impl<V> Numbered<V> {
    /// Keeps a value; its number.
    pub(crate) fn add(&mut self, value: V) -> usize {
        if let Some(number) = self.free.pop() {
            self.values[number] = Some(value);
            return number;
        }
        self.values.push(Some(value));
        self.values.len() - 1
    }

    /// Takes a value out.
    pub(crate) fn remove(&mut self, number: usize) -> Option<V> {
        let value = self.values.get_mut(number)?.take()?;
        self.free.push(number);
        Some(value)
    }

    pub(crate) fn get(&self, number: usize) -> Option<&V> {
        self.values.get(number)?.as_ref()
    }

    pub(crate) fn get_mut(&mut self, number: usize) -> Option<&mut V> {
        self.values.get_mut(number)?.as_mut()
    }

    pub(crate) fn each(&mut self, change: impl FnMut(&mut V)) {
        self.values.iter_mut().flatten().for_each(change);
    }

    /// All numbers are below this.
    pub(crate) fn end(&self) -> usize {
        self.values.len()
    }

    pub(crate) fn count(&self) -> usize {
        self.values.len() - self.free.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &V> {
        self.values.iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_what_is_gone_is_given_to_the_next() {
        let mut values = Numbered::default();
        let [a, b] = ["a", "b"].map(|value| values.add(value));
        assert_eq!((values.remove(a), values.remove(a)), (Some("a"), None));
        assert_eq!((values.count(), values.end()), (1, 2));
        assert_eq!(values.add("c"), a);
        assert_eq!(values.iter().copied().collect::<Vec<_>>(), ["c", "b"]);
        assert_eq!(values.get_mut(b), Some(&mut "b"));
        assert_eq!(values.get_mut(7), None);
    }
}
