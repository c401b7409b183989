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
    let mut count = 0;
    for page in std::fs::read_dir(&directory).unwrap() {
        let page = page.unwrap().path();
        let text = std::fs::read_to_string(&page).unwrap();
        // Of each: its examples, of which there is one, and other pages.
        for (section, word) in [("EXIT STATUS", "wrong"), ("EXAMPLES", "leeward "), ("SEE ALSO", "membarrier")] {
            let (_, rest) = text
                .split_once(&format!(".SH \"{section}\""))
                .or(text.split_once(&format!(".SH {section}")))
                .unwrap_or_else(|| panic!("{page:?} lacks {section}: {text}"));
            let body = rest.split(".SH ").next().unwrap();
            assert!(body.contains(word) && body.lines().count() > 2, "{page:?}, {section}: {body}");
        }
        let name = page.file_stem().unwrap().to_str().unwrap();
        let is_read = name == "leeward" || name.starts_with("leeward-doctor") || name.starts_with("leeward-torture");
        let has = text.contains("ENVIRONMENT") && text.contains("LEEWARD_FENCE");
        assert_eq!(has, is_read, "what the environment says to {name}: {text}");
        count += 1;
    }
    assert_eq!(count, 10, "one page for the command, and one for each verb and torture");
    std::fs::remove_dir_all(&directory).unwrap();
    let refused = leeward().args(["man", "/proc/leeward"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("could not be written"));
}
