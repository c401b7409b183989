//! Completions and manual pages name every verb.

use std::process::Command;

fn leeward() -> Command {
    Command::new(env!("CARGO_BIN_EXE_leeward"))
}

#[test]
fn completions_of_every_shell() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = leeward().args(["completions", shell]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success());
        assert!(["doctor", "torture", "robust", "seconds"].iter().all(|word| text.contains(word)), "{shell}: {text}");
    }
    assert_eq!(leeward().args(["completions", "cmd"]).output().unwrap().status.code(), Some(2));
}

#[test]
fn a_manual_page_for_every_verb() {
    let directory = std::env::temp_dir().join(format!("leeward-man-{}", std::process::id()));
    assert!(leeward().arg("man").arg(&directory).status().unwrap().success());
    for (page, word) in [("leeward", "torture"), ("leeward-doctor", "json"), ("leeward-torture-robust", "processes")] {
        let text = std::fs::read_to_string(directory.join(format!("{page}.1"))).unwrap();
        assert!(text.starts_with(".ie") || text.contains(".TH"), "{page}: {text}");
        assert!(text.contains(word), "{page}: {text}");
    }
    std::fs::remove_dir_all(&directory).unwrap();
    let refused = leeward().args(["man", "/proc/leeward"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("could not be written"));
}
