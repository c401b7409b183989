//! The loads, stores and atomic accesses of an instruction set that has a name for each: what an
//! instruction does is read from its name. `module` decodes them, `evaluate` executes them.

use wasmparser::Operator;

/// What an access does to the word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Load,
    Store,
    Change(Change),
    CompareExchange,
}

/// How a read-modify-write instruction changes the word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Add,
    Sub,
    And,
    Or,
    Xor,
    Exchange,
}

impl Change {
    pub fn apply(self, old: u64, operand: u64) -> u64 {
        match self {
            Change::Add => old.wrapping_add(operand),
            Change::Sub => old.wrapping_sub(operand),
            Change::And => old & operand,
            Change::Or => old | operand,
            Change::Xor => old ^ operand,
            Change::Exchange => operand,
        }
    }
}

/// An access: loads are without a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    pub action: Action,
    pub bytes: u64,
    pub offset: u64,
    pub atomic: bool,
}

impl Access {
    /// Returns what an instruction accesses; none if it is no access, or one that is not served.
    pub fn new(operator: &Operator<'_>) -> Option<Access> {
        // As in `I64AtomicRmw32AddU { memarg: MemArg { .., offset: 0, .. } }`.
        let text = format!("{operator:?}");
        let (name, arguments) = text.split_once(" { memarg: ")?;
        let offset = arguments.split_once("offset: ")?.1.split([',', ' ']).next()?.parse().ok()?;
        let (own, name) =
            if let Some(name) = name.strip_prefix("I32") { (4, name) } else { (8, name.strip_prefix("I64")?) };
        let (atomic, name) = name.strip_prefix("Atomic").map_or((false, name), |name| (true, name));
        let of = |prefix| name.strip_prefix(prefix);
        let (kind, rest) = of("Load")
            .map(|rest| ("Load", rest))
            .or_else(|| Some(("Store", of("Store")?)))
            .or_else(|| Some(("Rmw", of("Rmw")?)))?;
        let digits = rest.find(|at: char| !at.is_ascii_digit()).unwrap_or(rest.len());
        let bytes = rest[..digits].parse::<u64>().map_or(own, |bits| bits / 8);
        let action = match (kind, rest[digits..].strip_suffix('U').unwrap_or(&rest[digits..])) {
            ("Load", "") => Action::Load,
            ("Store", "") => Action::Store,
            ("Rmw", "Add") => Action::Change(Change::Add),
            ("Rmw", "Sub") => Action::Change(Change::Sub),
            ("Rmw", "And") => Action::Change(Change::And),
            ("Rmw", "Or") => Action::Change(Change::Or),
            ("Rmw", "Xor") => Action::Change(Change::Xor),
            ("Rmw", "Xchg") => Action::Change(Change::Exchange),
            ("Rmw", "Cmpxchg") => Action::CompareExchange,
            _ => return None,
        };
        Some(Access { action, bytes, offset, atomic })
    }
}
