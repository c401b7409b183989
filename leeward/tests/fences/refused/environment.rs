//! What `LEEWARD_FENCE` may hold, and that it is what the process was started with.

use super::*;

/// Tries what `LEEWARD_FENCE` may hold.
pub fn named() {
    let asked = std::env::var_os("LEEWARD_FENCE");
    let expected = match asked.as_deref().map(|name| name.to_str()) {
        None | Some(Some("" | "auto")) => Ok(Strategy::MembarrierPrivate),
        Some(name) => name.and_then(Strategy::from_name).ok_or(Error::UnknownName),
    };
    let refused = matches!(expected, Ok(strategy) if fence::force(strategy).is_err());
    if refused {
        println!("skipped: {expected:?} is refused here");
        return;
    }
    assert_eq!(fence::init(), expected);
    assert_eq!(fence::init(), expected, "the same answer again");
    if let Err(error) = expected {
        // The automatic choice is in use, and the error says which name might have been meant.
        assert_eq!(fence::strategy(), Some(Strategy::MembarrierPrivate));
        assert!(Strategy::ALL.iter().all(|known| error.to_string().contains(known.name())), "{error}");
    }
    rcu_suite::<D>();
}

#[test]
fn names() {
    use std::os::unix::ffi::OsStrExt;
    let known = Strategy::ALL.iter().map(|strategy| strategy.name());
    for name in known.chain(["", "auto", "bogus", "Signal", "symmetric", "membarrier "]) {
        run("named", |command| {
            command.env("LEEWARD_FENCE", name);
        });
    }
    run("named", |command| {
        command.env("LEEWARD_FENCE", std::ffi::OsStr::from_bytes(b"\xff\xfe"));
    });
    // Among long variables, whose names begin as its own name does.
    run("named", |command| {
        let similar = ["LEEWARD", "LEEWARD_FENC", "LEEWARD_FENCES", "XLEEWARD_FENCE", "LEEWARD_FENCE_"];
        similar.iter().for_each(|name| _ = command.env(name, "membarrier-global"));
        command.env("A", "LEEWARD_FENCE=membarrier-global".repeat(3_000)).env("LEEWARD_FENCE", "signal");
    });
    run("named", |command| {
        command.env("LEEWARD_FENCE", "signal".repeat(100));
    });
    run("named", |_| ());
}

pub fn named_too_late() {
    // SAFETY: no other thread reads the environment now.
    unsafe { std::env::set_var("LEEWARD_FENCE", "signal") };
    assert_eq!(fence::init(), Ok(Strategy::MembarrierPrivate));
}

/// The first heavy fence of a program that does not ask for errors, and further ones.
pub fn unasked() {
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(fence::heavy);
        }
    });
    assert_eq!(fence::strategy(), Some(Strategy::MembarrierPrivate));
    rcu_suite::<D>();
}

/// A collector asks whether fences are possible before it needs one, and relies on the answer: its
/// readers fence by themselves only where none is.
pub fn unasked_collector() {
    let collector = leeward::rcu::epoch::Collector::new();
    heavy_by(|| {
        collector.synchronize();
        fence::counters().membarrier_private
    });
}

/// Hazard pointers ask, too.
pub fn unasked_hazard() {
    leeward::hazard::reclaim();
    assert_eq!(fence::strategy(), Some(Strategy::MembarrierPrivate));
}

/// Where no caller is told by an error, standard error has one line.
#[test]
fn a_name_that_is_none_is_reported_once() {
    let lines = |case: &str, name: &str| {
        let complained = run(case, |command| _ = command.env("LEEWARD_FENCE", name));
        complained.lines().filter(|line| line.starts_with("leeward: LEEWARD_FENCE names no")).count()
    };
    for case in ["unasked", "unasked_collector", "unasked_hazard"] {
        assert_eq!(lines(case, "nonsense"), 1, "{case}");
        assert_eq!(lines(case, "auto"), 0, "{case}");
    }
    assert_eq!(lines("named", "nonsense"), 0, "`init` returned it");
}
