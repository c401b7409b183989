//! Text of limited length in place: there is no allocator.

use core::fmt::{self, Write};

/// Some text; what does not fit is cut off.
#[derive(Clone, Copy)]
pub struct Text<const N: usize> {
    len: usize,
    /// Something did not fit: what comes later is left out, too.
    is_cut: bool,
    bytes: [u8; N],
}

impl<const N: usize> Text<N> {
    /// Returns text without a letter.
    pub const fn new() -> Self {
        Text { len: 0, is_cut: false, bytes: [0; N] }
    }

    /// Returns what the arguments write.
    pub fn of(arguments: fmt::Arguments<'_>) -> Self {
        let mut text = Text::new();
        // Writing never fails.
        let _ = text.write_fmt(arguments);
        text
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        // Only whole letters are ever written.
        core::str::from_utf8(&self.bytes[..self.len]).unwrap_or_default()
    }
}

impl<const N: usize> Default for Text<N> {
    fn default() -> Self {
        Text::new()
    }
}

impl<const N: usize> Write for Text<N> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.is_cut {
            return Ok(());
        }
        let mut fits = text.len().min(N - self.len);
        while !text.is_char_boundary(fits) {
            fits -= 1;
        }
        self.bytes[self.len..self.len + fits].copy_from_slice(&text.as_bytes()[..fits]);
        self.len += fits;
        self.is_cut = fits < text.len();
        Ok(())
    }
}

impl<const N: usize> fmt::Display for Text<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl<const N: usize> fmt::Debug for Text<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}
