//! The entrants of the RCU tables: each row's name, what its writes do, how to set it up, and what
//! to install where it is absent.

use std::sync::OnceLock;

use leeward::fence::{self, Strategy};
use leeward::rcu::Global;

use crate::error::Error;
use crate::rcu::foreign::{Foreign, kovan, liburcu};
use crate::rcu::loops::Running;
use crate::rcu::peers::{arc_swap, crossbeam, haphazard, hazarc, ours, rwlock, sdd, seize};
use crate::rcu::scheme::Scheme;
use crate::rcu::stage::Stage;
use crate::rcu::table::Table;
use crate::versions::{self, Versions};

/// What a write does with the old node before it counts as done.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Write {
    /// Waits for a grace period, then frees.
    Waits,
    /// Hands the old node to a collector and goes on, which does not compare with `Waits`.
    Retires,
    /// Excludes every reader meanwhile, then frees.
    Locks,
}

impl Write {
    pub fn word(self) -> &'static str {
        match self {
            Write::Waits => "waits",
            Write::Retires => "retires",
            Write::Locks => "locks",
        }
    }
}

/// The way to set up a row.
enum Open {
    Ours(Strategy, fn() -> Box<dyn Stage>),
    Rust(fn() -> Box<dyn Stage>),
    Table(Option<&'static Table>, &'static str),
}

/// An entrant, which is one row.
pub struct Contender {
    pub name: &'static str,
    pub ours: bool,
    pub write: Write,
    open: Open,
}

impl Contender {
    /// Returns the reason why the row is absent on this machine, if it is.
    pub fn absent(&self) -> Option<&'static str> {
        match &self.open {
            Open::Table(None, why) => Some(why),
            _ => None,
        }
    }

    /// Opens a fresh cell. If it is ours, the row's strategy is in force from then on.
    pub fn open(&self) -> Result<Box<dyn Stage>, Error> {
        match &self.open {
            Open::Ours(strategy, make) => {
                fence::force(*strategy).map_err(|error| Error::new(error.to_string()))?;
                Ok(make())
            }
            Open::Rust(make) => Ok(make()),
            Open::Table(Some(table), _) => Ok(Box::new(Foreign::open(table))),
            Open::Table(None, why) => Err(Error::new(format!("{} is absent: {why}", self.name))),
        }
    }
}

fn stage<S: Scheme>() -> Box<dyn Stage> {
    Box::new(Running::<S>::open())
}

const LIBURCU: &str =
    "install liburcu-dev (Debian, Ubuntu), liburcu-devel (Fedora) or userspace-rcu (Arch) and a C compiler";
const FLAVOUR: &str = "the liburcu that is installed has no such flavour";
const KOVAN: &str = "it needs Rust 1.90 or newer, and on x86-64 a processor with cmpxchg16b";

/// Returns what to install, or what is needed, where a peer is absent.
pub fn how_to_get(peer: &str) -> &'static str {
    match peer {
        "liburcu" => LIBURCU,
        "kovan" => KOVAN,
        _ => "bench/README.md says what it needs",
    }
}

/// Returns every row, in the table's order.
pub fn all() -> &'static [Contender] {
    static ALL: OnceLock<Vec<Contender>> = OnceLock::new();
    ALL.get_or_init(|| ours().into_iter().chain(peers()).collect())
}

/// Returns the row of that name.
pub fn get(name: &str) -> Result<&'static Contender, Error> {
    all().iter().find(|row| row.name == name).ok_or_else(|| Error::new(format!("there is no row `{name}`")))
}

/// The row of `rcu::read()` with the default strategy: "ours" in most figures.
pub const AUTOMATIC: &str = "leeward automatic";
/// The row of a `Reader` handle with the default strategy.
pub const HANDLE: &str = "leeward membarrier expedited";
/// The row of hazard pointers.
pub const HAZARD: &str = "leeward hazard";
/// The peer of most figures.
pub const MEMB: &str = "liburcu-memb";

fn ours() -> [Contender; 7] {
    let entrant = |name, write, strategy, make| Contender { name, ours: true, write, open: Open::Ours(strategy, make) };
    let row = |name, strategy, make| entrant(name, Write::Waits, strategy, make);
    [
        row(AUTOMATIC, Strategy::MembarrierPrivate, stage::<ours::Automatic>),
        row(HANDLE, Strategy::MembarrierPrivate, stage::<ours::Handle<Global>>),
        row("leeward membarrier global", Strategy::MembarrierGlobal, stage::<ours::Handle<Global>>),
        row("leeward signal", Strategy::Signal, stage::<ours::Handle<Global>>),
        row("leeward mb", Strategy::MembarrierPrivate, stage::<ours::Handle<ours::Fenced>>),
        row("leeward qsbr", Strategy::MembarrierPrivate, stage::<ours::Qsbr>),
        entrant(HAZARD, Write::Retires, Strategy::MembarrierPrivate, stage::<ours::Hazards>),
    ]
}

fn peers() -> [Contender; 14] {
    let urcu = |name, table| Contender {
        name,
        ours: false,
        write: Write::Waits,
        open: Open::Table(table, if liburcu::memb().is_some() { FLAVOUR } else { LIBURCU }),
    };
    let rust = |name, write, make| Contender { name, ours: false, write, open: Open::Rust(make) };
    [
        urcu(MEMB, liburcu::memb()),
        urcu("liburcu-bp", liburcu::bp()),
        urcu("liburcu-signal", liburcu::signal()),
        urcu("liburcu-mb", liburcu::mb()),
        urcu("liburcu-qsbr", liburcu::qsbr()),
        rust("crossbeam-epoch", Write::Retires, stage::<crossbeam::Epochs>),
        rust("seize", Write::Retires, stage::<seize::Seize>),
        rust("haphazard", Write::Retires, stage::<haphazard::Hazards>),
        rust("arc-swap", Write::Retires, stage::<arc_swap::Arcs>),
        rust("hazarc", Write::Retires, stage::<hazarc::Arcs>),
        rust("sdd", Write::Retires, stage::<sdd::Sdd>),
        Contender { name: "kovan", ours: false, write: Write::Retires, open: Open::Table(kovan::table(), KOVAN) },
        rust("std RwLock", Write::Locks, stage::<rwlock::Std>),
        rust("parking_lot RwLock", Write::Locks, stage::<rwlock::ParkingLot>),
    ]
}

/// Returns every peer with its version; the version of an absent peer is `None`.
pub fn versions() -> Versions {
    let here = |name| name != "kovan" || kovan::table().is_some();
    let names = [
        "liburcu",
        "kovan",
        "std",
        "arc-swap",
        "crossbeam-epoch",
        "haphazard",
        "hazarc",
        "parking_lot",
        "sdd",
        "seize",
    ];
    names.into_iter().map(|name| (name, versions::built(name).filter(|_| here(name)).map(str::to_string))).collect()
}
