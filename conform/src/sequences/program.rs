//! A script as a program in C, which needs nothing of ours: it ends with 0 where the kernel answers as Linux
//! does, else with 1.

use core::fmt::{self, Write};

use super::model::{Expected, Foreseen, SLEEPERS};
use super::script::{Argument, Asked, ENTRIES, Family, Page, Script, Step, TIME, WORDS, argument, arguments};

const BEGIN: &str = r#"#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct call { long number, a[6]; volatile long answer, ended; } calls[25];

static void check(int agrees, int step, const char *what, long found)
{
	if (!agrees) printf("step %d: %s: %ld\n", step, what, found), exit(1);
}

static void *make(void *call)
{
	struct call *c = call;
	long answer = syscall(c->number, c->a[0], c->a[1], c->a[2], c->a[3], c->a[4], c->a[5]);
	c->answer = answer == -1 ? -errno : answer;
	c->ended = 1;
	return call;
}

/* Makes a call on a thread of its own, which has a tenth of a second to go to sleep. */
static void begin(int step, long number, long a, long b, long c, long d, long e, long f)
{
	pthread_t thread;
	calls[step] = (struct call){ number, { a, b, c, d, e, f }, 0, 0 };
	check(!pthread_create(&thread, NULL, make, &calls[step]), step, "no thread", 0);
	usleep(100000);
}

"#;

const ENDS: &str = r#"static void ends(int now, int step, long least, long most)
{
	for (int i = 0; i < 50 && !calls[step].ended; i++) usleep(100000);
	check(calls[step].ended, now, "it sleeps on, and ends on Linux: the call of step", step);
	check(calls[step].answer >= least && calls[step].answer <= most, now, "not Linux's answer", calls[step].answer);
}

"#;

const SLEEPS: &str = r#"static void sleeps(int now, int step)
{
	check(!calls[step].ended, now, "it has ended, and sleeps on Linux: the call of step", step);
}

"#;

/// Writes the program, for the script that a seed led to.
pub(super) fn write(to: &mut dyn Write, script: &Script, foreseen: &Foreseen, seed: u64) -> fmt::Result {
    writeln!(to, "/* Found by leeward-conform --seed {seed}. 0: the kernel answers as Linux does; 1: it does not. */")?;
    to.write_str(BEGIN)?;
    let steps = &foreseen.steps[..script.steps().len()];
    if steps.iter().any(|step| step.answer.is_some() || step.ends.iter().any(Option::is_some)) {
        to.write_str(ENDS)?;
    }
    if steps.iter().any(|step| step.becomes.is_some()) {
        to.write_str(SLEEPS)?;
    }
    to.write_str("int main(void)\n{\n")?;
    pages(to, script)?;
    let mut sleeps = [None; SLEEPERS];
    let mut words = [[0; WORDS]; 2];
    for (at, step) in script.steps().iter().enumerate() {
        made(to, step, at, &foreseen.steps[at])?;
        ends(to, at, &foreseen.steps[at], &mut sleeps)?;
        holds(to, step, at, &foreseen.steps[at], &words)?;
        words = foreseen.steps[at].words;
    }
    to.write_str("\tputs(\"agrees\");\n\treturn 0;\n}\n")
}

/// Writes what makes a step, and what its call answers if it does not sleep.
fn made(to: &mut dyn Write, step: &Step, at: usize, expected: &Expected) -> fmt::Result {
    match step {
        Step::Store(page, word, value) => {
            writeln!(to, "\t*(volatile unsigned *)({} + {}) = {value};", page.name(), 4 * word)
        }
        Step::Call(asked) => {
            array(to, asked, at)?;
            write!(to, "\tbegin({}, {}, ", at + 1, number(asked))?;
            arguments(to, asked, at)?;
            to.write_str(");\n")?;
            expected.answer.map_or(Ok(()), |answer| writeln!(to, "\tends({0}, {0}, {answer}, {answer});", at + 1))
        }
    }
}

/// Writes which calls end in a step, and which sleep on. `sleeps` has the steps of those that slept before it.
fn ends(to: &mut dyn Write, at: usize, expected: &Expected, sleeps: &mut [Option<usize>; SLEEPERS]) -> fmt::Result {
    if let Some(sleeper) = expected.becomes {
        sleeps[sleeper] = Some(at + 1);
    }
    for (end, by) in expected.ends.iter().zip(sleeps.iter_mut()) {
        if let Some((least, most)) = *end {
            writeln!(to, "\tends({}, {}, {least}, {most});", at + 1, by.take().unwrap_or_default())?;
        }
    }
    sleeps.iter().flatten().try_for_each(|by| writeln!(to, "\tsleeps({}, {by});", at + 1))
}

/// Writes what the words hold that a step's call changes, or might.
fn holds(to: &mut dyn Write, step: &Step, at: usize, expected: &Expected, before: &[[u32; WORDS]; 2]) -> fmt::Result {
    let Step::Call(asked) = step else { return Ok(()) };
    for (page, words) in [Page::Own, Page::Shared].into_iter().zip(expected.words.iter().zip(before)) {
        for (word, (is, was)) in words.0.iter().zip(words.1).enumerate() {
            let is_named = asked.command() == Some(5) && asked.arguments[4] == Argument::Place(page, 4 * word as u64);
            if is_named || is != was {
                let (page, offset) = (page.name(), 4 * word);
                write!(to, "\tcheck(*(volatile unsigned *)({page} + {offset}) == {is:#x}, {}, ", at + 1)?;
                writeln!(to, "\"the word holds\", *(volatile unsigned *)({page} + {offset}));")?;
            }
        }
    }
    Ok(())
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

/// Writes the pages and the times that the script names.
fn pages(to: &mut dyn Write, script: &Script) -> fmt::Result {
    let alias = script.names(Page::Alias);
    for (page, protection, how) in [
        (Page::Own, "PROT_READ | PROT_WRITE", "MAP_PRIVATE"),
        (Page::Shared, "PROT_READ | PROT_WRITE", "MAP_SHARED"),
        (Page::ReadOnly, "PROT_READ", "MAP_PRIVATE"),
        (Page::Missing, "PROT_NONE", "MAP_PRIVATE"),
    ] {
        if script.names(page) && !(page == Page::Shared && alias) {
            let name = page.name();
            writeln!(to, "\tlong {name} = (long)mmap(NULL, 65536, {protection}, {how} | MAP_ANONYMOUS, -1, 0);")?;
        }
    }
    if alias {
        to.write_str("\tint file = memfd_create(\"memory\", 0);\n")?;
        to.write_str("\tcheck(!ftruncate(file, 65536), 0, \"no memory\", file);\n")?;
        for name in ['s', 'q'] {
            writeln!(to, "\tlong {name} = (long)mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);")?;
        }
        // One of the two may be unused.
        to.write_str("\t(void)s, (void)q;\n")?;
    }
    let is_time = |argument: &Argument| matches!(argument, Argument::Time(_));
    if script.steps().iter().any(|step| matches!(step, Step::Call(asked) if asked.arguments.iter().any(is_time))) {
        to.write_str("\tstatic long times[][2] = {")?;
        for (at, (seconds, nanoseconds)) in TIME.into_iter().enumerate() {
            write!(to, "{} {{ {}, {nanoseconds} }}", if at == 0 { "" } else { "," }, Seconds(seconds))?;
        }
        to.write_str(" };\n\tlong t = (long)times;\n")?;
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
    write!(to, "\tunsigned long array{}[] = {{", at + 1)?;
    for (entry, which) in asked.entries.iter().zip(0..ENTRIES) {
        write!(to, "{} {:#x}, ", if which == 0 { "" } else { "," }, entry.value)?;
        argument(to, entry.place, at)?;
        write!(to, ", {:#x}", u64::from(entry.flags) | u64::from(entry.reserved) << 32)?;
    }
    writeln!(to, " }};\n\tlong v{0} = (long)array{0};", at + 1)
}
