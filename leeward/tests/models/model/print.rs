//! A schedule as text, a column a thread, and the line of the table of results.

use super::explore::{Report, Verdict};
use super::lang::{At, Op, Src};
use super::layout;
use super::machine::{Act, Machine, Outcome, Step};
use super::memory::Model;
use super::perform::Effect;
use super::state::{Entry, State};

const WIDTH: usize = 34;

/// Returns the schedule as text, by replaying it. An access that is performed late is marked with
/// how many earlier ones of its thread are still pending.
pub fn schedule(machine: &Machine, steps: &[Step]) -> String {
    let mut state = machine.start();
    let mut text = String::new();
    for (t, program) in machine.programs.iter().enumerate() {
        let title = format!("{t}: {}", program.name);
        text.push_str(&format!("{title:WIDTH$}"));
    }
    text.push('\n');
    for &step in steps {
        let t = usize::from(step.thread);
        let what = describe(machine, &state, step);
        let before = state.clone();
        let outcome = machine.apply(&mut state, step);
        text.push_str(&column(t, &what));
        notes(machine, &before, &state, &mut text);
        if let Outcome::Violated(what) = outcome {
            text.push_str(&column(t, &format!("*** {what}")));
        }
    }
    text += &standing(machine, &state);
    text
}

/// Returns a line in the column of a thread.
fn column(t: usize, what: &str) -> String {
    format!("{:indent$}{what}\n", "", indent = t * WIDTH)
}

/// Writes what a step did to threads beside its own: heavy fences that became complete, sleepers
/// that were woken.
fn notes(machine: &Machine, before: &State, after: &State, text: &mut String) {
    for t in 0..machine.threads() {
        let (old, new) = (&before.threads[t], &after.threads[t]);
        if old.heavy != 0 && new.heavy != old.heavy {
            let reached = (0..machine.threads()).filter(|o| (old.heavy & !new.heavy) >> o & 1 == 1);
            let reached: Vec<String> = reached.map(|o| o.to_string()).collect();
            text.push_str(&column(t, &format!("  heavy: fenced {}", reached.join(", "))));
        }
        if old.heavy == 0 && new.heavy != 0 {
            text.push_str(&column(t, "  heavy begins"));
        }
        if old.asleep != 0 && new.asleep == 0 {
            text.push_str(&column(t, "  (returns from the futex)"));
        }
    }
}

/// Returns where every thread stands at the end.
fn standing(machine: &Machine, state: &State) -> String {
    let mut text = String::new();
    for t in 0..machine.threads() {
        let thread = &state.threads[t];
        let pending = thread.entries().iter().map(|e| access(machine, t, e));
        let pending: Vec<String> = pending.collect();
        let how = match (thread.asleep, machine.finished(state, t)) {
            (_, true) => "finished".to_string(),
            (0, _) => format!("at {:?}, pending [{}]", machine.op(t, thread.pc), pending.join("; ")),
            (word, _) => format!("asleep on {}", layout::name(word - 1)),
        };
        text.push_str(&column(0, &format!("  {t}: {how}")));
    }
    text
}

fn describe(machine: &Machine, state: &State, step: Step) -> String {
    let t = usize::from(step.thread);
    match step.act {
        Act::Guess(taken) => format!("(guesses: {})", if taken { "taken" } else { "not taken" }),
        Act::Fetch => format!("(fetches {})", instruction(machine.op(t, state.threads[t].pc))),
        Act::Signal => "SIGNAL".to_string(),
        Act::Return => "(futex returns: EINTR)".to_string(),
        Act::Reach(other) => format!("heavy: fences {other}"),
        Act::Perform { at, .. } => {
            let entry = &state.threads[t].window[usize::from(at)];
            let early = if at == 0 { String::new() } else { format!(" (passes {at})") };
            let result = match machine.effect(state, t, usize::from(at)) {
                Some(Effect::Read(n)) => format!(" -> {n}"),
                Some(Effect::Modify(old, new, _)) => format!(" {old} -> {new}"),
                Some(Effect::Sleep) => " sleeps".to_string(),
                _ => String::new(),
            };
            format!("{}{result}{early}", access(machine, t, entry))
        }
    }
}

fn instruction(op: Op) -> String {
    let text = format!("{op:?}");
    text.split([' ', '{']).next().unwrap_or_default().to_lowercase()
}

fn access(machine: &Machine, t: usize, entry: &Entry) -> String {
    let op = machine.op(t, entry.pc);
    let word = machine.word(t, entry).map_or_else(|| place(op), layout::name);
    match op {
        Op::Load { order, .. } => format!("load{order} {word}"),
        Op::Store { order, .. } => format!("store{order} {word} = {}", entry.val.show()),
        Op::Swap { order, .. } => format!("swap{order} {word} = {}", entry.val.show()),
        Op::Add { order, .. } => format!("add{order} {word}"),
        Op::Cas { order, .. } => format!("cas{order} {word}"),
        Op::Lock { .. } => format!("lock {word}"),
        Op::Wait { .. } => format!("futex_wait {word} {}", entry.val.show()),
        Op::Wake { .. } => format!("futex_wake {word}"),
        _ => instruction(op),
    }
}

fn place(op: Op) -> String {
    match op {
        Op::Load { at, .. } | Op::Store { at, .. } | Op::Swap { at, .. } => row(at),
        _ => "?".to_string(),
    }
}

fn row(at: At) -> String {
    let index = at.index.map(|r| format!("{:?}", Src::Reg(r)));
    format!("{}+{}", layout::name(at.base), index.unwrap_or_default())
}

/// Prints one line of the table: configuration, model, states, time, verdict.
pub fn line(name: &str, model: Model, report: &Report) {
    let verdict = match report.verdict {
        Verdict::Holds => "holds".to_string(),
        Verdict::Violated(what) => format!("VIOLATED: {what} ({} steps)", report.schedule.len()),
        Verdict::Stuck => format!("STUCK ({} steps)", report.schedule.len()),
        Verdict::Endless => "ENDLESS".to_string(),
    };
    println!("{name:<64} {model:<5?} {:>9} {:>7.2}s  {verdict}", report.states, report.took.as_secs_f64());
}
