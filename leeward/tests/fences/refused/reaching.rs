//! The signal fence reaches every thread: by a signal that is free, or by way of the processors.

use super::*;
use signals::{STRAY, install_everywhere_from};

pub fn signals_blocked() {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let _stop = Raise(&stop);
        let (blocked, has_blocked) = std::sync::mpsc::channel();
        for _ in 0..3 {
            let blocked = blocked.clone();
            let stop = &stop;
            scope.spawn(move || {
                block_signals(libc::SIG_BLOCK);
                blocked.send(()).unwrap();
                while !stop.load(Ordering::Relaxed) {
                    compute(1_000);
                }
            });
        }
        (0..3).for_each(|_| has_blocked.recv().unwrap());
        fence::force(Strategy::Signal).unwrap();
        for _ in 0..3 {
            heavy_by(|| fence::counters().visits);
        }
        assert_eq!(fence::strategy(), Some(Strategy::Signal));
    });
    suite();
}

pub fn a_reader_with_signals_blocked() {
    fence::force(Strategy::Signal).unwrap();
    struct Blocked(Automatic<D>);
    impl harness::Flavour for Blocked {
        fn new() -> Self {
            block_signals(libc::SIG_BLOCK);
            Blocked(Automatic::new())
        }
        #[inline(always)]
        fn section<R>(&mut self, before: impl FnOnce(), body: impl FnOnce() -> R) -> R {
            self.0.section(before, body)
        }
    }
    if let Some(on) = two_processors() {
        one_writer::<Blocked, D>(on, duration(0.5)).must_be_sound("signals blocked");
    }
}

pub fn the_worker_answers() {
    D::defer(|| ());
    D::barrier();
    fence::force(Strategy::Signal).unwrap();
    eventually("a fence has no thread to reach over the processors", || {
        let before = fence::counters().visits;
        fence::heavy();
        fence::counters().visits == before
    });
}

pub fn many_threads() {
    install_everywhere_from(libc::SIGRTMAX() - 3);
    fence::force(Strategy::Signal).unwrap();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let _stop = Raise(&stop);
        for _ in 0..600 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    thread::sleep(Duration::from_millis(20));
                }
            });
        }
        for _ in 0..5 {
            heavy_by(|| fence::counters().signal);
        }
    });
    assert_eq!(STRAY.load(Ordering::Relaxed), 0, "the program's own handler was called");
}

pub fn no_signal_left() {
    refuse(&[Rule::new(libc::SYS_membarrier, When::Always, Action::Errno(libc::ENOSYS))]);
    install_everywhere_from(libc::SIGRTMIN());
    assert_eq!(fence::init(), Ok(Strategy::Signal));
    heavy_by(|| fence::counters().visits);
    assert_eq!(STRAY.load(Ordering::Relaxed), 0, "the program's own handler was called");
}
