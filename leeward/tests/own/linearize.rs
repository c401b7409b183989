//! The checker of histories: what it must accept, and what it must not.

#![allow(missing_docs)]

#[path = "../common/linearize.rs"]
mod linearize;

use std::time::Duration;

use linearize::*;

/// A register of one number.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
struct Register(u32);

#[derive(Clone, Debug)]
enum Call {
    Write(u32, u32),
    Read(u32),
}

impl Spec for Register {
    type Call = Call;
    type Answer = u32;

    fn accepts(&mut self, call: &Call, answer: &u32) -> bool {
        match call {
            Call::Write(_, value) => {
                self.0 = *value;
                true
            }
            Call::Read(_) => self.0 == *answer,
        }
    }
}

fn event(call: Call, answer: u32, began: u64, ended: u64) -> Event<Call, u32> {
    Event { thread: 0, call, answer, began, ended }
}

const LONG: Duration = Duration::from_secs(10);

#[test]
fn a_history_without_calls() {
    assert_eq!(check::<Register>(&[], LONG), Verdict::Linearizable);
}

/// A read beside a write may see it or not.
#[test]
fn calls_at_the_same_time_in_either_order() {
    for answer in [0, 1] {
        let history = [event(Call::Write(0, 1), 0, 0, 3), event(Call::Read(0), answer, 1, 2)];
        assert_eq!(check::<Register>(&history, LONG), Verdict::Linearizable);
    }
}

/// A read after a write must see it.
#[test]
fn a_stale_read_is_a_violation() {
    let history = [event(Call::Write(0, 1), 0, 0, 1), event(Call::Read(0), 0, 2, 3)];
    assert!(matches!(check::<Register>(&history, LONG), Verdict::Violated(_)));
}

/// Two reads beside a write: the later one may not see what was before.
#[test]
fn a_value_does_not_go_back() {
    let history = |first, second| {
        [event(Call::Write(0, 1), 0, 0, 9), event(Call::Read(0), first, 1, 2), event(Call::Read(0), second, 3, 4)]
    };
    assert_eq!(check::<Register>(&history(0, 1), LONG), Verdict::Linearizable);
    assert!(matches!(check::<Register>(&history(1, 0), LONG), Verdict::Violated(_)));
}

/// Of each key alone the history is right; of one register it is not.
#[test]
fn keys_alone() {
    let history = [
        event(Call::Write(1, 7), 0, 0, 1),
        event(Call::Write(2, 8), 0, 2, 3),
        event(Call::Read(1), 7, 4, 5),
        event(Call::Read(2), 8, 6, 7),
    ];
    let key = |call: &Call| match call {
        Call::Write(key, _) | Call::Read(key) => *key,
    };
    assert_eq!(check_by_key::<Register, _>(&history, key, LONG), Verdict::Linearizable);
    assert!(matches!(check::<Register>(&history, LONG), Verdict::Violated(_)));
    let stale = [event(Call::Write(1, 7), 0, 0, 1), event(Call::Read(1), 6, 2, 3)];
    assert!(matches!(check_by_key::<Register, _>(&stale, key, LONG), Verdict::Violated(_)));
}

/// Many writes at the same time, and reads that no order explains: more orders than there is time.
#[test]
fn what_takes_too_long_is_not_decided() {
    let mut history: Vec<_> = (1..40).map(|value| event(Call::Write(0, value), 0, value.into(), 1000)).collect();
    history.extend((1..40).map(|value| event(Call::Read(0), value, 100 + u64::from(value), 1000)));
    history.push(event(Call::Read(0), 99, 200, 1000));
    assert_eq!(check::<Register>(&history, Duration::from_millis(5)), Verdict::NotDecided);
}

/// What a recorder writes down is in the order of the calls.
#[test]
fn a_recorded_history() {
    let recorder = Recorder::default();
    let mut log = recorder.log(0);
    log.call(Call::Write(0, 5), || 0);
    assert_eq!(log.call(Call::Read(0), || 5), 5);
    assert_eq!(check::<Register>(&log.events, LONG), Verdict::Linearizable);
    let mut tally = Tally::default();
    tally.add(check::<Register>(&log.events, LONG));
    tally.assert_decided(1);
}
