//! The lines of the target table. Each module measures some of them; `all` runs them in the table's order.

mod asleep;
mod barrier;
mod counts;
pub mod flat;
pub mod grace;
pub mod memory;
pub mod section;

use crate::figure::{Figure, Title};
use crate::plan::Plan;
use crate::rcu::roster::{self, Contender};
use crate::rounds;
use crate::trouble::Trouble;
use crate::turns;
pub use crate::turns::{alone, conclude};

/// Every figure of the target table.
pub fn all(plan: &Plan) -> Vec<Figure> {
    let groups: [turns::Group; 7] = [
        section::figures,
        flat::figures,
        grace::figures,
        counts::figures,
        barrier::figures,
        asleep::figures,
        memory::figures,
    ];
    turns::run(plan, "rcu", &groups)
}

/// Figures that are taken together, ours (the row of that name) against the peer's, in turns.
fn against(
    plan: &Plan,
    rounds: usize,
    ours: &str,
    titles: Vec<Title>,
    measure: impl FnMut(&'static Contender) -> Result<Vec<f64>, Trouble>,
) -> Vec<Figure> {
    plan.now(&titles[0].what);
    let rows = || Ok((roster::get(ours)?, roster::get(titles[0].peer.unwrap_or(roster::MEMB))?));
    let here = |row: &&'static Contender| row.absent().is_none();
    let taken = rows().and_then(|(ours, peer)| rounds::in_turns(rounds, ours, Some(peer).filter(here), measure));
    conclude(titles, taken)
}
