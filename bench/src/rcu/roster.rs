//! Who is compared: each row's name, how its writes are to be read, how to set it up, and what to
//! install where it is absent.

use std::sync::OnceLock;

use leeward::fence::{self, Strategy};
use leeward::rcu::Global;

use crate::error::Error;
use crate::rcu::foreign::{Foreign, kovan, liburcu};
use crate::rcu::loops::Running;
use crate::rcu::peers::{arc_swap, crossbeam, haphazard, ours, rwlock, sdd, seize};
use crate::rcu::scheme::Scheme;
use crate::rcu::stage::Stage;
use crate::rcu::table::Table;
use crate::versions::{self, Versions};

/// What a write of the table does with the old node before it counts as done.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Write {
    /// Waits for a grace period, then frees.
    Waits,
    /// Hands it to a collector and goes on: not like for like with the above.
    Retires,
    /// Shuts every reader out meanwhile, then frees.
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

/// How a row is set up.
enum Open {
    Ours(Strategy, fn() -> Box<dyn Stage>),
    Rust(fn() -> Box<dyn Stage>),
    Table(Option<&'static Table>, &'static str),
}

/// One row.
pub struct Contender {
    pub name: &'static str,
    pub ours: bool,
    pub write: Write,
    open: Open,
}

impl Contender {
    /// Why this row is absent on this machine, if it is.
    pub fn absent(&self) -> Option<&'static str> {
        match &self.open {
            Open::Table(None, why) => Some(why),
            _ => None,
        }
    }

    /// A fresh cell. Where it is ours, the row's strategy is in force from here on.
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

/// Every row, in the table's order.
pub fn all() -> &'static [Contender] {
    static ALL: OnceLock<Vec<Contender>> = OnceLock::new();
    ALL.get_or_init(|| ours().into_iter().chain(peers()).collect())
}

/// The row of that name.
pub fn get(name: &str) -> Result<&'static Contender, Error> {
    all().iter().find(|row| row.name == name).ok_or_else(|| Error::new(format!("there is no row `{name}`")))
}

/// `rcu::read()` under the strategy that is picked by default: "ours" in most figures.
pub const AUTOMATIC: &str = "leeward automatic";
/// A `Reader` handle under the same strategy.
pub const HANDLE: &str = "leeward membarrier expedited";
/// The peer of most figures.
pub const MEMB: &str = "liburcu-memb";

fn ours() -> [Contender; 6] {
    let row =
        |name, strategy, make| Contender { name, ours: true, write: Write::Waits, open: Open::Ours(strategy, make) };
    [
        row(AUTOMATIC, Strategy::MembarrierPrivate, stage::<ours::Automatic>),
        row(HANDLE, Strategy::MembarrierPrivate, stage::<ours::Handle<Global>>),
        row("leeward membarrier global", Strategy::MembarrierGlobal, stage::<ours::Handle<Global>>),
        row("leeward signal", Strategy::Signal, stage::<ours::Handle<Global>>),
        row("leeward mb", Strategy::MembarrierPrivate, stage::<ours::Handle<ours::Fenced>>),
        row("leeward qsbr", Strategy::MembarrierPrivate, stage::<ours::Qsbr>),
    ]
}

fn peers() -> [Contender; 13] {
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
        rust("sdd", Write::Retires, stage::<sdd::Sdd>),
        Contender { name: "kovan", ours: false, write: Write::Retires, open: Open::Table(kovan::table(), KOVAN) },
        rust("std RwLock", Write::Locks, stage::<rwlock::Std>),
        rust("parking_lot RwLock", Write::Locks, stage::<rwlock::ParkingLot>),
    ]
}

/// Every peer and its version here; `None` where it is absent.
pub fn versions() -> Versions {
    let here = |name| name != "kovan" || kovan::table().is_some();
    let names = ["liburcu", "kovan", "std", "arc-swap", "crossbeam-epoch", "haphazard", "parking_lot", "sdd", "seize"];
    names.into_iter().map(|name| (name, versions::built(name).filter(|_| here(name)).map(str::to_string))).collect()
}
