//! What reports look like: the table, JSON, TAP, and texts that are cut.

use std::fmt::Write;

use leeward_conform::report::{explain, json, table, tap};
use leeward_conform::{Scenario, Text, Verdict, scenarios};

fn scenario(name: &str) -> &'static Scenario {
    scenarios().find(|scenario| scenario.name == name).unwrap()
}

fn text(what: &str) -> Text<240> {
    Text::of(format_args!("{what}"))
}

#[test]
fn the_table_counts_by_operation_and_says_what_was_wrong() {
    let results = [
        (scenario("wait.value_differs"), Verdict::Pass),
        (scenario("wait.counts"), Verdict::Wrong(text("FUTEX_WAKE of 1 answered 0; Linux answers 1"))),
        (scenario("wait.one_is_woken"), Verdict::Absent(text("FUTEX_WAIT"))),
        (scenario("wait.who_timed_out_eats_no_wake"), Verdict::Unfit(text("no thread: EAGAIN"))),
    ];
    let mut to = String::new();
    table(&mut to, results.iter().map(|(scenario, verdict)| (*scenario, verdict))).unwrap();
    let mut lines = to.lines();
    let mut words = || lines.next().unwrap().split_whitespace().collect::<Vec<_>>();
    assert_eq!(words(), ["operation", "pass", "wrong", "absent", "unfit"]);
    assert_eq!(words(), ["wait", "1", "1", "1", "1"]);
    assert_eq!(words(), ["all", "1", "1", "1", "1"]);
    assert!(to.contains("wait.counts: wrong. FUTEX_WAKE of 1 answered 0; Linux answers 1."), "{to}");
    assert!(to.contains(scenario("wait.counts").harm), "{to}");
    assert!(to.contains("wait.who_timed_out_eats_no_wake: not asked. no thread: EAGAIN."), "{to}");
    assert!(!to.contains("wait.value_differs") && !to.contains("wait.one_is_woken"), "{to}");
}

#[test]
fn the_table_says_where_eperm_may_come_from() {
    let of = |verdict: Verdict| {
        let mut to = String::new();
        table(&mut to, [(scenario("wait.counts"), &verdict)].into_iter()).unwrap();
        to.contains("filter of system calls")
    };
    assert!(of(Verdict::Wrong(text("futex_waitv answered EPERM; Linux answers 0"))));
    assert!(of(Verdict::Unfit(text("a child cannot be traced: EPERM"))));
    assert!(!of(Verdict::Wrong(text("FUTEX_UNLOCK_PI answered 0; Linux answers EPERM"))));
    assert!(!of(Verdict::Pass));
}

#[test]
fn json_is_one_object_a_line() {
    let awkward = "a \"quote\", a \\, a tab\t, a bell\u{7}, a line\nand an ä";
    for (verdict, word) in [
        (Verdict::Pass, "pass"),
        (Verdict::Absent(text(awkward)), "absent"),
        (Verdict::Wrong(text(awkward)), "wrong"),
        (Verdict::Unfit(text(awkward)), "unfit"),
    ] {
        for scenario in scenarios() {
            let mut to = String::new();
            json(&mut to, (scenario, &verdict)).unwrap();
            assert_eq!((to.matches('\n').count(), to.ends_with('\n')), (1, true), "{to}");
            let read: serde_json::Value = serde_json::from_str(&to).unwrap();
            assert_eq!(read["name"], scenario.name);
            assert_eq!(read["verdict"], word);
            assert_eq!(read["since"], scenario.since);
            if word == "pass" {
                assert_eq!(read.as_object().unwrap().len(), 3);
            } else {
                assert_eq!((&read["text"], &read["harm"]), (&awkward.into(), &scenario.harm.into()));
            }
        }
    }
}

#[test]
fn tap_skips_what_is_not_known_and_fails_what_is_wrong() {
    let scenario = scenario("wait.counts");
    let line = |verdict| {
        let mut to = String::new();
        tap(&mut to, 7, (scenario, &verdict)).unwrap();
        to
    };
    assert_eq!(line(Verdict::Pass), "ok 7 - wait.counts\n");
    assert_eq!(line(Verdict::Absent(text("X"))), "ok 7 - wait.counts # SKIP absent: X\n");
    assert_eq!(line(Verdict::Unfit(text("X"))), "ok 7 - wait.counts # SKIP not asked: X\n");
    assert_eq!(line(Verdict::Wrong(text("X"))), format!("not ok 7 - wait.counts\n# X\n# {}\n", scenario.harm));
}

#[test]
fn each_scenario_can_be_explained() {
    for scenario in scenarios() {
        let mut to = String::new();
        explain(&mut to, scenario).unwrap();
        assert!(to.starts_with(scenario.name) && to.contains(scenario.since) && to.contains(scenario.harm), "{to}");
        assert!(scenario.setup.iter().all(|line| to.contains(line.trim())), "{to}");
        assert_eq!(to.contains("Seen in: "), scenario.seen.is_some(), "{to}");
    }
}

#[test]
fn a_text_that_is_too_long_is_cut_at_a_letter() {
    assert_eq!(Text::<4>::of(format_args!("abcdef")).as_str(), "abcd");
    assert_eq!(Text::<4>::of(format_args!("abcä")).as_str(), "abc");
    assert_eq!(Text::<4>::of(format_args!("abä")).as_str(), "abä");
    assert_eq!(Text::<4>::of(format_args!("€€")).as_str(), "€");
    assert_eq!(Text::<2>::of(format_args!("€")).as_str(), "");
    assert_eq!(Text::<0>::of(format_args!("a")).as_str(), "");
    assert_eq!(Text::<4>::default().as_str(), "");
    // What comes after the cut is not written, even where it would fit.
    let mut cut = Text::<4>::new();
    cut.write_str("ab€").unwrap();
    cut.write_str("c").unwrap();
    assert_eq!(cut.to_string(), "ab");
}
