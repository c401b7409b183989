//! A writer that sleeps is woken, however the section ends.

use super::*;

/// Returns how long a grace period sleeps before it rechecks by itself.
fn patience_of_a_stall() -> Duration {
    patience() / 2
}

static STALLS: AtomicU64 = AtomicU64::new(0);

fn stalled(_: &Stall) {
    STALLS.fetch_add(1, Ordering::Relaxed);
}

fn reader_leaves<G: 'static, D: Domain>(enter: impl FnOnce() -> G + Send + 'static) {
    let inside = Inside::with(enter);
    let waiting = asleep::<D>();
    thread::sleep(Duration::from_millis(1));
    let left = Instant::now();
    inside.leave();
    waiting.join().unwrap();
    // It was woken, and did not wait until then.
    assert!(
        left.elapsed() < patience_of_a_stall() * 9 / 10,
        "a sleeping grace period was not woken: it took {:?}",
        left.elapsed()
    );
}

#[test]
fn by_every_way_of_leaving() {
    domain!();
    let _dog = Watchdog::new("by_every_way_of_leaving");
    D::set_stall_limit(Some(patience_of_a_stall()), Some(stalled));
    reader_leaves::<_, D>(|| D::read());
    reader_leaves::<_, D>(|| Box::leak(Box::new(Reader::<D>::register_in())).read());
    reader_leaves::<_, D>(|| {
        let reader = Reader::<D>::register_in();
        std::mem::forget(reader.read());
        reader
    });
    reader_leaves::<_, D>(|| qsbr::Reader::<D>::register_in());
    struct Quiescent(qsbr::Reader<D>);
    impl Drop for Quiescent {
        fn drop(&mut self) {
            let before = D::stats().grace_periods;
            self.0.quiescent();
            eventually("the grace period ends by a quiescent state", || D::stats().grace_periods > before);
        }
    }
    reader_leaves::<_, D>(|| Quiescent(qsbr::Reader::register_in()));
    struct Offline(qsbr::Reader<D>);
    impl Drop for Offline {
        fn drop(&mut self) {
            self.0.offline(|| thread::sleep(GLANCE));
        }
    }
    reader_leaves::<_, D>(|| Offline(qsbr::Reader::register_in()));
    struct Refreshed(Guard<'static, D>);
    impl Drop for Refreshed {
        fn drop(&mut self) {
            self.0.refresh();
        }
    }
    reader_leaves::<_, D>(|| Refreshed(D::read()));
    assert_eq!(STALLS.load(Ordering::Relaxed), 0);
}
