//! Linux that is wrong in one thing, and the scenarios that must tell.

use leeward_conform::linux::{Linux, apart_with};
use leeward_conform::{Answer, Errno, Syscalls, Verdict, scenarios};

/// The arguments of a call.
pub type Arguments = [usize; 6];
/// Makes a call in truth.
pub type Call<'a> = &'a dyn Fn(usize, Arguments) -> isize;

/// What is wrong.
#[derive(Clone, Copy)]
pub struct Wrong {
    /// Answers a call, by its number and arguments.
    pub answers: fn(usize, Arguments, Call<'_>) -> isize,
    /// Changes the flags of `clone`, where threads and processes are started in the caller's memory.
    pub flags: fn(usize) -> usize,
    /// Runs on each thread that a scenario starts, after its body.
    pub at_its_end: fn(),
}

impl Wrong {
    /// Linux, but for its answers.
    pub const fn answering(answers: fn(usize, Arguments, Call<'_>) -> isize) -> Wrong {
        Wrong { answers, flags: |flags| flags, at_its_end: || {} }
    }
}

/// What a thread was started with.
struct Started {
    body: extern "C" fn(usize),
    argument: usize,
    at_its_end: fn(),
}

extern "C" fn run(started: usize) {
    // SAFETY: `boxed` made it.
    let started = unsafe { &*std::ptr::with_exposed_provenance::<Started>(started) };
    (started.body)(started.argument);
    (started.at_its_end)();
}

impl Wrong {
    /// Returns what `run` is called with. It is never given back: threads that a scenario leaves may use it.
    fn boxed(&self, body: extern "C" fn(usize), argument: usize) -> usize {
        let started = Box::leak(Box::new(Started { body, argument, at_its_end: self.at_its_end }));
        (&raw const *started).expose_provenance()
    }
}

impl Syscalls for Wrong {
    unsafe fn call(&self, number: usize, arguments: Arguments) -> isize {
        // SAFETY: the caller's promise; what faults change are numbers and words of the scenario's.
        let call = |number, arguments| unsafe { Linux.call(number, arguments) };
        (self.answers)(number, arguments, &call)
    }

    unsafe fn spawn(&self, body: extern "C" fn(usize), argument: usize) -> Result<(), Errno> {
        // SAFETY: the caller's promise.
        unsafe { Linux.spawn(run, self.boxed(body, argument)) }
    }

    unsafe fn spawn_as(&self, flags: usize, words: [usize; 2], body: extern "C" fn(usize), argument: usize) -> Answer {
        // SAFETY: the caller's promise.
        unsafe { Linux.spawn_as((self.flags)(flags), words, run, self.boxed(body, argument)) }
    }
}

/// Asserts that this scenario calls the kernel wrong. What this machine cannot be asked is passed over.
pub fn tells(wrong: Wrong, name: &str) {
    let scenario = scenarios().find(|scenario| scenario.name == name).unwrap_or_else(|| panic!("no {name}"));
    match apart_with(scenario, &Linux, 60, leeward_conform::RESTS) {
        Verdict::Pass => {}
        Verdict::Wrong(text) => panic!("{name} calls this Linux wrong: {text}"),
        verdict => return println!("{name}: not asked: {verdict:?}"),
    }
    // Rests of 10 ms and of 100 ms: on a busy machine threads may not sleep sooner, and what is wrong stays so.
    let verdict = apart_with(scenario, &wrong, 2, &[10_000, 100_000]);
    assert!(matches!(verdict, Verdict::Wrong(_)), "{name}: {verdict:?}");
    println!("{name}: {verdict:?}");
}

/// Declares a test of faults: which scenarios tell of which. Each pair is a row.
macro_rules! faults {
    ($test:ident; $($name:ident: $wrong:expr => [$($scenario:literal),+];)*) => {
        #[test]
        fn $test() {
            $crate::support::each_row(&[$($((
                concat!(stringify!($name), ": ", $scenario),
                &|| $crate::support::wrong::tells($wrong, $scenario),
            )),+),*]);
        }
    };
}
