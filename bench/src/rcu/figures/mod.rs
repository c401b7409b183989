//! The lines of the target table. Each module measures some of them, and `all` runs them in the
//! table's order.

mod asleep;
mod barrier;
mod counts;
pub mod flat;
pub mod grace;
mod hazard;
pub mod memory;
mod retire;
pub mod section;
mod tails;

use crate::error::Error;
use crate::figure::{Figure, Title};
use crate::groups;
pub use crate::groups::{alone, conclude};
use crate::interleave::interleave;
use crate::plan::Plan;
use crate::rcu::roster::{self, Contender};

/// Measures every figure of the target table.
pub fn all(plan: &Plan) -> Vec<Figure> {
    let groups: [groups::Group; 10] = [
        section::figures,
        flat::figures,
        grace::figures,
        counts::figures,
        barrier::figures,
        asleep::figures,
        memory::figures,
        retire::figures,
        tails::figures,
        hazard::figures,
    ];
    groups::run(plan, "rcu", &groups)
}

/// Measures figures that are taken together: ours (the row of that name) against the peer's,
/// interleaved.
fn against(
    plan: &Plan,
    rounds: usize,
    ours: &str,
    titles: Vec<Title>,
    measure: impl FnMut(&'static Contender) -> Result<Vec<f64>, Error>,
) -> Vec<Figure> {
    plan.now(&titles[0].what);
    let rows = || Ok((roster::get(ours)?, roster::get(titles[0].peer.unwrap_or(roster::MEMB))?));
    let here = |row: &&'static Contender| row.absent().is_none();
    let taken = rows().and_then(|(ours, peer)| interleave(rounds, ours, Some(peer).filter(here), measure));
    conclude(titles, taken)
}
