//! The operations of RCU: readers, grace periods, deferred callbacks, cells; and the end of a
//! thread that has read.

use std::time::Duration;

use leeward::rcu::{self, Domain, Guard, Limit, Policy, RcuCell, RcuOption, Reader, qsbr};

use super::super::case::Beside;
use super::super::everything::D;
use super::Operation;

operations! {
    "rcu";
    read: || drop(D::read());
    refresh: || D::read().refresh();
    register: || D::register().unwrap();
    handle: || drop(Reader::<D>::register_in().read());
    detached_handle: || drop(Reader::<D>::register_in().detach().attach());
    quiescent: || qsbr::Reader::<D>::register_in().quiescent();
    offline: || qsbr::Reader::<D>::register_in().offline(|| ());
    synchronize_online: || qsbr::Reader::<D>::register_in().synchronize();
    synchronize: D::synchronize;
    synchronize_behind_a_reader: D::synchronize => beside(reads_until_it_sleeps);
    poll: poll;
    defer: || D::defer(|| ());
    defer_much: || (0..20).for_each(|_| D::defer(|| ()));
    try_defer: || drop(D::try_defer(|| ()));
    defer_beyond_the_limit: || beyond(Policy::Wait(Duration::from_millis(5))) => beside(reads_until_it_sleeps);
    defer_without_bound: || beyond(Policy::WaitForever) => beside(reads_until_it_sleeps);
    defer_and_help: || beyond(Policy::Expedite(Duration::from_secs(1))) => beside(reads_until_it_sleeps);
    barrier: || {
        D::defer(|| ());
        D::barrier();
    };
    barrier_of_nothing: D::barrier;
    barrier_behind_a_reader: || {
        D::defer(|| ());
        D::barrier();
    } => beside(reads_until_it_sleeps);
    adopted: || {
        D::set_child_adopts(true);
        D::defer(|| ());
        D::barrier();
        D::set_child_adopts(false);
    };
    set_limit: || D::set_limit(Limit::default());
    limit: || {
        let _ = D::limit();
    };
    set_stall_limit: || D::set_stall_limit(Some(Duration::from_secs(1)), None);
    stats: || {
        let _ = D::stats();
    };
    cell_replaced: || drop(RcuCell::<_, D>::new_in(1).replace(2));
    cell_updated: || drop(RcuCell::<_, D>::new_in(1).update(|value| value + 1));
    cell_synchronized: || drop(RcuCell::<_, D>::new_in(1).replace(2).synchronize());
    cell_tried: || drop(RcuCell::<_, D>::new_in(1).replace(2).try_defer());
    cell_back: || {
        let mut retired = RcuCell::<_, D>::new_in(1).replace(2);
        while let Err(again) = retired.try_into_box() {
            retired = again;
            nap();
        }
    };
    option_taken: || drop(RcuOption::<_, D>::some_in(1).take());
    global: || {
        drop(rcu::read());
        rcu::synchronize();
        rcu::defer(|| ());
        rcu::barrier();
        rcu::poll_state(&rcu::start_poll());
        let _ = rcu::stats();
    };
    end_of_a_reader: || drop(D::read()) => until_the_thread_ends();
    end_of_an_owner: || {
        thread_local! { static OWNED: Reader<D> = Reader::register_in(); }
        OWNED.with(|reader| drop(reader.read()));
    } => until_the_thread_ends();
}

fn nap() {
    // SAFETY: has no precondition.
    unsafe { libc::usleep(50) };
}

fn reads_until_it_sleeps(beside: &Beside<'_>) {
    let guard: Guard<'_, D> = D::read();
    beside.until_it_sleeps();
    drop(guard);
}

fn poll() {
    let cookie = D::start_poll();
    while !D::poll_state(&cookie) {
        nap();
    }
}

fn beyond(policy: Policy) {
    D::set_limit(Limit { callbacks: 1, policy, ..Limit::default() });
    D::defer(|| ());
    D::defer(|| ());
    D::set_limit(Limit::default());
}

/// Tries the operations that issue heavy fences.
#[test]
fn with_signals() {
    crate::with_signals("rcu", &["read", "synchronize_behind_a_reader", "defer_and_help", "adopted"]);
}
