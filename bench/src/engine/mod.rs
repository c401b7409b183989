//! The table of the engine: `leeward-engine` on a process's own threads (`ParkingLot`) beside the
//! kernel's futex and parking_lot_core.

mod calls;
mod conditions;
mod crowd;
mod hand_over;
mod inheriting;
mod many;
mod many_kernel;
mod parker;
mod robust;

use crate::cli::Contests;
use crate::error::Error;
use crate::locks::{self, Contest};
use crate::versions;

/// Measures and shows the table. Returns true if everything could be measured.
pub fn compare(options: &Contests) -> Result<bool, Error> {
    let groups: [Contest; 7] = [
        calls::outcome,
        crowd::outcome,
        hand_over::outcome,
        many::outcome,
        conditions::outcome,
        robust::outcome,
        inheriting::outcome,
    ];
    let core = "parking_lot_core";
    let peers = vec![(core, versions::built(core).map(str::to_string))];
    locks::present(options, "engine", "the futex engine; threads as each line says", &groups, &peers)
}
