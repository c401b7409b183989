//! One line of the doctor's report.

use serde_json::{Value, json};

use super::advice::Advice;

pub struct Finding {
    /// `group.name`; the key in the JSON report.
    pub id: String,
    /// What was looked at.
    pub what: String,
    /// What was found, for people.
    pub found: String,
    /// The same, for programs.
    pub value: Value,
    /// What it means for the user.
    pub means: String,
    /// What to do, where there is something to do.
    pub advice: Option<Advice>,
}

impl Finding {
    /// A finding that needs no advice.
    pub fn new(
        id: &str,
        what: &str,
        found: impl Into<String>,
        value: impl Into<Value>,
        means: impl Into<String>,
    ) -> Finding {
        Finding {
            id: id.into(),
            what: what.into(),
            found: found.into(),
            value: value.into(),
            means: means.into(),
            advice: None,
        }
    }

    /// Something that is there or is not.
    pub fn yes_or_no(id: &str, what: &str, is_there: bool, means: impl Into<String>) -> Finding {
        Finding::new(id, what, if is_there { "yes" } else { "no" }, is_there, means)
    }

    /// The same with advice if `needed`.
    pub fn advise(mut self, needed: bool, advice: Advice) -> Finding {
        self.advice = needed.then_some(advice).or(self.advice);
        self
    }

    pub fn group(&self) -> &str {
        self.id.split('.').next().unwrap_or(&self.id)
    }

    pub fn to_json(&self) -> Value {
        json!({
            "what": self.what,
            "found": self.found,
            "value": self.value,
            "means": self.means,
            "advice": self.advice.map(Advice::id),
        })
    }
}
