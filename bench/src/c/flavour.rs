//! The flavours of RCU, which both faces have.

/// A flavour, by liburcu's name, which leeward's domain has too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flavour {
    /// Readers execute no fence, and register.
    Memb,
    /// Readers execute no fence, and register by themselves.
    Bp,
    /// Readers execute full fences, and register.
    Mb,
    /// Readers announce quiescent states, and register.
    Qsbr,
}

impl Flavour {
    pub const ALL: [Flavour; 4] = [Flavour::Memb, Flavour::Bp, Flavour::Mb, Flavour::Qsbr];
    /// The flavours whose readers open sections.
    pub const WITH_SECTIONS: [Flavour; 3] = [Flavour::Memb, Flavour::Bp, Flavour::Mb];

    pub fn name(self) -> &'static str {
        match self {
            Flavour::Memb => "memb",
            Flavour::Bp => "bp",
            Flavour::Mb => "mb",
            Flavour::Qsbr => "qsbr",
        }
    }

    /// Returns liburcu's library of the flavour, as which it stands in the table.
    pub fn peer(self) -> &'static str {
        match self {
            Flavour::Memb => "liburcu-memb",
            Flavour::Bp => "liburcu-bp",
            Flavour::Mb => "liburcu-mb",
            Flavour::Qsbr => "liburcu-qsbr",
        }
    }
}
