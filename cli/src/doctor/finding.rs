//! A finding: one line of the doctor's report.

use serde_json::{Value, json};

use super::advice::Advice;

pub struct Finding {
    /// The key in the JSON report, `group.name`.
    pub id: String,
    /// What was examined.
    pub what: String,
    /// What was found, as text.
    pub found: String,
    /// What was found, for programs.
    pub value: Value,
    /// What it means for the user.
    pub means: String,
    /// What to do, if there is something to do.
    pub advice: Option<Advice>,
}

impl Finding {
    /// Returns a finding without advice.
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

    /// Returns a finding of something that is there or is not.
    pub fn yes_or_no(id: &str, what: &str, is_there: bool, means: impl Into<String>) -> Finding {
        Finding::new(id, what, if is_there { "yes" } else { "no" }, is_there, means)
    }

    /// Adds the advice if it is `needed`.
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
