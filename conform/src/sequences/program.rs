//! A script as a program in C, which needs nothing of ours: it ends with 0 where the kernel answers as Linux
//! does, else with 1.

use core::fmt::{self, Write};

use super::model::{Expected, Foreseen, SLEEPERS};
use super::script::{
    Argument, Asked, CALLER, Death, ENTRIES, Family, Link, OWNER, Page, Script, Step, TIME, WORDS, argument, arguments,
};

const BEGIN: &str = r#"#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#define CALL(...) ({ long answered = syscall(__VA_ARGS__); answered == -1 ? -errno : answered; })
#define ASLEEP 0x51ee9
/* Ends the program unless it sees from `least` to `most`; a call has five seconds to end. */
#define LOOK(step, seen, least, most) \
	for (int i = 0; i < 50 && (seen) == ASLEEP && (least) != ASLEEP; i++) usleep(100000); \
	if ((seen) < (least) || (seen) > (most)) { printf("step %d: %s is %ld\n", step, #seen, (long)(seen)); return 1; }
"#;

/// Writes the program, for the script that a seed led to.
pub(super) fn write(to: &mut dyn Write, script: &Script, foreseen: &Foreseen, seed: u64) -> fmt::Result {
    writeln!(to, "/* Found by leeward-conform --seed {seed}. 0: the kernel answers as Linux does; 1: it does not. */")?;
    to.write_str(BEGIN)?;
    memory(to, script)?;
    let is_named =
        |step| (0..WORDS).any(|word| [Page::Own, Page::Shared].iter().any(|page| may_change(step, *page, word)));
    let steps = script.steps().iter().zip(&foreseen.steps);
    if steps.clone().any(|(step, expected)| is_named(step) || expected.words != [[0; WORDS]; 2]) {
        to.write_str("#define WORD(at) ((long)*(volatile unsigned *)(at))\n")?;
    }
    for (at, step) in script.steps().iter().enumerate() {
        match step {
            Step::Call(asked) if asked.is_wait() => sleeper(to, asked, at)?,
            Step::Death(death) => dying(to, death, at)?,
            _ => {}
        }
    }
    to.write_str("\nint main(void)\n{\n")?;
    mapped(to, script)?;
    let mut sleeps = [None; SLEEPERS];
    let mut words = [[0; WORDS]; 2];
    for (at, step) in script.steps().iter().enumerate() {
        made(to, step, at, &foreseen.steps[at])?;
        ends(to, at, &foreseen.steps[at], &mut sleeps)?;
        holds(to, step, at, &foreseen.steps[at], &words)?;
        words = foreseen.steps[at].words;
    }
    to.write_str("\treturn puts(\"agrees\"), 0;\n}\n")
}

/// Writes a call that may sleep as a thread's function, to which its array is passed.
fn sleeper(to: &mut dyn Write, asked: &Asked, at: usize) -> fmt::Result {
    let number = at + 1;
    write!(to, "static volatile long call{number} = ASLEEP;\nstatic void *step{number}(void *v{number}) {{ ")?;
    called(to, asked, at)?;
    writeln!(to, "; return v{number}; }}")
}

/// Writes a death as a thread's function, to which its robust list is passed.
fn dying(to: &mut dyn Write, death: &Death, at: usize) -> fmt::Result {
    write!(to, "static void *step{0}(void *v{0}) {{ syscall(SYS_set_robust_list, v{0}, 24L);", at + 1)?;
    for (word, bits) in death.words() {
        write!(to, " *(volatile unsigned *)({} + {}) = ", death.page.name(), 4 * word)?;
        write!(to, "syscall(SYS_gettid){};", if bits == 0 { "" } else { " | FUTEX_WAITERS" })?;
    }
    writeln!(to, " syscall(SYS_exit, 0); return v{}; }}", at + 1)
}

/// Writes the robust list of a death: the head, and the entries of the first word and of the third.
fn list(to: &mut dyn Write, death: &Death, at: usize) -> fmt::Result {
    let list = at + 1;
    let link = |to: &mut dyn Write, link| match link {
        Link::Head => write!(to, "(long)v{list}"),
        Link::Entry(word) => write!(to, "(long)v{list} + {}", Death::entry(word)),
        Link::Torn => argument(to, Argument::Place(Page::Missing, 0), at),
    };
    let [first, second, last] = death.links();
    write!(to, "\tlong v{list}[] = {{ ")?;
    link(to, first)?;
    write!(to, ", {} - (long)v{list} - {}, ", death.page.name(), Death::entry(0))?;
    match death.held[1] {
        Some(_) => link(to, Link::Entry(1))?,
        None => to.write_char('0')?,
    }
    for next in [second, last] {
        to.write_str(", ")?;
        link(to, next)?;
    }
    to.write_str(" };\n")
}

/// Writes a call, and where its answer goes.
fn called(to: &mut dyn Write, asked: &Asked, at: usize) -> fmt::Result {
    write!(to, "call{} = CALL({}, ", at + 1, number(asked))?;
    arguments(to, asked, at)?;
    to.write_char(')')
}

/// Writes what makes a step, and what its call answers if it does not sleep. A call that may sleep has a tenth of a
/// second to do so.
fn made(to: &mut dyn Write, step: &Step, at: usize, expected: &Expected) -> fmt::Result {
    let number = at + 1;
    match step {
        Step::Store(page, word, value) => {
            writeln!(to, "\t*(volatile unsigned *)({} + {}) = {value};", page.name(), 4 * word)
        }
        Step::Death(death) => {
            list(to, death, at)?;
            thread(to, at, true)
        }
        Step::Call(asked) => {
            array(to, asked, at)?;
            if asked.is_wait() {
                thread(to, at, asked.arguments[0] == Argument::Array)?;
            } else {
                to.write_str("\tlong ")?;
                called(to, asked, at)?;
                to.write_str(";\n")?;
            }
            expected.answer.map_or(Ok(()), |answer| writeln!(to, "\tLOOK({number}, call{number}, {answer}, {answer});"))
        }
    }
}

/// Writes what starts a step's thread, to which its array is passed if it has one.
fn thread(to: &mut dyn Write, at: usize, has_array: bool) -> fmt::Result {
    write!(to, "\tpthread_create(&(pthread_t){{ 0 }}, NULL, step{}, ", at + 1)?;
    if has_array {
        write!(to, "v{}", at + 1)?
    } else {
        to.write_str("NULL")?
    }
    to.write_str("), usleep(100000);\n")
}

/// Writes which calls end in a step, and which sleep on. `sleeps` has the steps of those that slept before it.
fn ends(to: &mut dyn Write, at: usize, expected: &Expected, sleeps: &mut [Option<usize>; SLEEPERS]) -> fmt::Result {
    if let Some(sleeper) = expected.becomes {
        sleeps[sleeper] = Some(at + 1);
    }
    for (end, by) in expected.ends.iter().zip(sleeps.iter_mut()) {
        if let Some((least, most)) = *end {
            writeln!(to, "\tLOOK({}, call{}, {least}, {most});", at + 1, by.take().unwrap_or_default())?;
        }
    }
    sleeps.iter().flatten().try_for_each(|by| writeln!(to, "\tLOOK({}, call{by}, ASLEEP, ASLEEP);", at + 1))
}

/// Writes what the words hold that a step changes, or might.
fn holds(to: &mut dyn Write, step: &Step, at: usize, expected: &Expected, before: &[[u32; WORDS]; 2]) -> fmt::Result {
    if matches!(step, Step::Store(..)) {
        return Ok(());
    }
    for (page, words) in [Page::Own, Page::Shared].into_iter().zip(expected.words.iter().zip(before)) {
        for (word, (is, was)) in words.0.iter().zip(words.1).enumerate() {
            if may_change(step, page, word) || is != was {
                let (page, offset) = (page.name(), 4 * word);
                let (bits, owner) =
                    if is & OWNER == CALLER { (is & !OWNER, " + syscall(SYS_gettid)") } else { (*is, "") };
                write!(to, "\tLOOK({}, WORD({page} + {offset}), ", at + 1)?;
                writeln!(to, "{bits:#x}{owner}, {bits:#x}{owner});")?;
            }
        }
    }
    Ok(())
}

/// Returns true if a step is about a word's value.
fn may_change(step: &Step, page: Page, word: usize) -> bool {
    let is_page = |named| named == page || named == Page::Alias && page == Page::Shared;
    let is_it = |argument| matches!(argument, Argument::Place(named, at) if is_page(named) && at == 4 * word as u64);
    match step {
        Step::Call(asked) => match asked.command() {
            Some(5) => is_it(asked.arguments[4]),
            Some(6..=8) => is_it(asked.arguments[0]),
            _ => false,
        },
        Step::Death(death) => is_page(death.page) && death.words().any(|(held, _)| held == word),
        Step::Store(..) => false,
    }
}

fn number(asked: &Asked) -> &'static str {
    match asked.family {
        Family::Futex => "SYS_futex",
        Family::Waitv => "449",
        Family::Wake => "454",
        Family::Wait => "455",
        Family::Requeue => "456",
    }
}

/// Writes the names of the pages and the times that the script names.
fn memory(to: &mut dyn Write, script: &Script) -> fmt::Result {
    for page in Page::ALL {
        if is_mapped(script, page) {
            writeln!(to, "static long {};", page.name())?;
        }
    }
    let is_time = |argument: &Argument| matches!(argument, Argument::Time(_));
    if script.steps().iter().any(|step| matches!(step, Step::Call(asked) if asked.arguments.iter().any(is_time))) {
        to.write_str("static const long times[][2] = {")?;
        for (at, (seconds, nanoseconds)) in TIME.into_iter().enumerate() {
            write!(to, "{} {{ {}, {nanoseconds} }}", if at == 0 { "" } else { "," }, Seconds(seconds))?;
        }
        to.write_str(" };\n")?;
    }
    Ok(())
}

/// Returns true if the program has the page: shared memory under both its names, or one.
fn is_mapped(script: &Script, page: Page) -> bool {
    script.names(page) || page == Page::Shared && script.names(Page::Alias)
}

/// Writes what maps the pages that the script names.
fn mapped(to: &mut dyn Write, script: &Script) -> fmt::Result {
    let alias = script.names(Page::Alias);
    if alias {
        to.write_str("\tint file = memfd_create(\"memory\", 0);\n\tif (ftruncate(file, 65536)) return 1;\n")?;
    }
    for (page, protection, how) in [
        (Page::Own, "PROT_READ | PROT_WRITE", "MAP_PRIVATE"),
        (Page::Shared, "PROT_READ | PROT_WRITE", "MAP_SHARED"),
        (Page::Alias, "PROT_READ | PROT_WRITE", "MAP_SHARED"),
        (Page::ReadOnly, "PROT_READ", "MAP_PRIVATE"),
        (Page::Missing, "PROT_NONE", "MAP_PRIVATE"),
    ] {
        if is_mapped(script, page) {
            let is_file = alias && how == "MAP_SHARED";
            let of = if is_file { "" } else { " | MAP_ANONYMOUS" };
            let file = if is_file { "file" } else { "-1" };
            writeln!(to, "\t{} = (long)mmap(NULL, 65536, {protection}, {how}{of}, {file}, 0);", page.name())?;
        }
    }
    Ok(())
}

/// A number of seconds as C reads it: its least number cannot be written directly.
struct Seconds(i64);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            i64::MIN => write!(f, "{} - 1", i64::MIN + 1),
            seconds => write!(f, "{seconds}"),
        }
    }
}

/// Writes the array that a step's call names: for each word value, address, and flags.
fn array(to: &mut dyn Write, asked: &Asked, at: usize) -> fmt::Result {
    if asked.arguments[0] != Argument::Array {
        return Ok(());
    }
    write!(to, "\tunsigned long v{}[] = {{", at + 1)?;
    for (entry, which) in asked.entries.iter().zip(0..ENTRIES) {
        write!(to, "{} {:#x}, ", if which == 0 { "" } else { "," }, entry.value)?;
        argument(to, entry.place, at)?;
        write!(to, ", {:#x}", u64::from(entry.flags) | u64::from(entry.reserved) << 32)?;
    }
    to.write_str(" };\n")
}
