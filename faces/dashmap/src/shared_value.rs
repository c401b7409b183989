//! What dashmap's tables have in the place of values.

/// A value that is shared. dashmap's tables are made of these; leeward's are not, and the name stands for itself.
#[derive(Clone)]
#[repr(transparent)]
pub struct SharedValue<T>(T);

impl<T> SharedValue<T> {
    /// Makes one of a value.
    pub const fn new(value: T) -> Self {
        SharedValue(value)
    }

    /// Returns the value.
    pub fn get(&self) -> &T {
        &self.0
    }

    /// Returns the value, to be changed.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.0
    }

    /// Gives the value back.
    pub fn into_inner(self) -> T {
        self.0
    }
}
