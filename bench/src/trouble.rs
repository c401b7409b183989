//! Why something could not be measured, in a sentence.

use std::fmt;

#[derive(Debug, Clone)]
pub struct Trouble(String);

impl Trouble {
    pub fn new(sentence: impl Into<String>) -> Trouble {
        Trouble(sentence.into())
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Trouble {}

impl From<std::io::Error> for Trouble {
    fn from(error: std::io::Error) -> Trouble {
        Trouble(error.to_string())
    }
}
