//! Everything that the library offers, used once: what a child of a fork must be able to do.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use leeward::collect::List;
use leeward::collect::OrderedMap;
use leeward::collect::ShardMap;
use leeward::fence;
use leeward::futex::{self, Futex, Hosted, Parking, Private, Shared, Wait};
use leeward::rcu::{Domain, Global, Limit, RcuCell, Reader, qsbr};
use leeward::robust::{self, ByExchange, ByStore, Unlock};
use leeward::shared::{self, Region};
use leeward::sync::{Barrier, Condvar, Event, LazyLock, LightMutex, Mutex, Once, OnceLock, RwLock, poison};
use leeward::{asym, pi, raw};

use super::bare::with_bare_threads;
use super::small_locks::SmallLock;

leeward::rcu_domain! {
    /// The domain that operations work on.
    pub struct D;
}

leeward::rcu_domain! {
    /// A domain that only children use.
    struct Unused;
}

/// The parts of everything, in order.
const PARTS: &[(&str, fn() -> bool)] = &[
    ("a fence", fences),
    ("the domain that was in use", domain::<D>),
    ("a domain that nobody used", domain::<Unused>),
    ("the global domain", domain::<Global>),
    ("an ordered map", ordered_map),
    ("a list", list),
    ("locks", locks),
    ("a condition variable", condvar),
    ("what threads wait for", small),
    ("what is done once", once),
    ("asymmetric locks", asymmetric),
    ("the sharded map", sharded),
    ("a lock that lends priority", lending),
    ("robust locks", || robust_lock::<ByExchange>() && robust_lock::<ByStore>()),
    ("robust readers and writers", robust_rwlock),
    ("shared memory", shared_memory),
    ("futexes", || futexes::<Private>() && futexes::<Shared>()),
    ("the parking lot", futexes::<Hosted<Parking>>),
];

pub fn name(part: u32) -> &'static str {
    PARTS.get(part as usize).map_or("what the operation left", |(name, _)| name)
}

/// Registers all that is registered at its first use.
pub fn begin_to_use_it() {
    D::register().unwrap();
    Unused::register().unwrap();
    Parking::lot();
    drop(asym::RwLock::new(0).read());
}

/// Uses everything; false if something is wrong with the part that `at` says.
pub fn use_it(at: &AtomicU32) -> bool {
    PARTS.iter().zip(0..).all(|((_, work), number)| {
        at.store(number, Ordering::SeqCst);
        work()
    })
}

/// Uses everything in a child, and runs `left`, which uses the object of the interrupted operation.
pub fn use_it_in_child(at: &AtomicU32, left: fn() -> bool) -> bool {
    at.store(u32::MAX, Ordering::SeqCst);
    left() && use_it(at)
}

fn fences() -> bool {
    fence::light();
    fence::heavy();
    fence::strategy().is_some()
}

fn domain<D: Domain>() -> bool {
    static RAN: AtomicU64 = AtomicU64::new(0);
    fn count() {
        RAN.fetch_add(1, Ordering::SeqCst);
    }
    D::set_limit(Limit::default());
    let before = RAN.load(Ordering::SeqCst);
    let cell = RcuCell::<_, D>::new_in(1);
    let guard = D::read();
    let seen = cell.load(&guard);
    let retired = cell.replace(2);
    let cookie = D::start_poll();
    let is_early = D::poll_state(&cookie);
    let is_alive = *seen == 1;
    drop(guard);
    D::defer(count);
    D::barrier();
    let is_freed = *retired.synchronize() == 1 && D::poll_state(&cookie);
    let is_tried = D::try_defer(count).is_ok();
    let handles = || {
        drop(Reader::<D>::register_in().detach().attach().read());
        let mut online = qsbr::Reader::<D>::register_in();
        online.quiescent();
        online.offline(D::synchronize);
        drop(online);
        drop(cell.replace(3));
    };
    let threads = with_bare_threads(1, handles, || ());
    drop(cell);
    D::barrier();
    let ran = RAN.load(Ordering::SeqCst) - before;
    let is_empty = D::stats().callbacks_queued == 0;
    !is_early && is_alive && is_freed && is_tried && threads && ran == 2 && is_empty
}

/// Lets two threads count under a lock.
fn counts(add: impl Fn() + Sync, get: impl FnOnce() -> u32) -> bool {
    let turns = || (0..20).for_each(|_| add());
    with_bare_threads(1, turns, turns) && get() == 40
}

fn locks() -> bool {
    let (mutex, light, rwlock) = (Mutex::new(0), LightMutex::new(0), RwLock::new(0));
    counts(|| *mutex.lock() += 1, || *mutex.lock())
        && counts(|| *light.lock() += 1, || *light.lock())
        && counts(|| *rwlock.write() += 1, || *rwlock.read())
        && poisonable_locks()
        && rwlock.try_read_for(Duration::from_millis(1)).is_some()
        && mutex.try_lock_for(Duration::from_millis(1)).is_some()
}

fn poisonable_locks() -> bool {
    let (mutex, rwlock) = (poison::Mutex::new(0), poison::RwLock::new(0));
    counts(|| *mutex.lock().unwrap() += 1, || *mutex.lock().unwrap())
        && counts(|| *rwlock.write().unwrap() += 1, || *rwlock.read().unwrap())
}

fn condvar() -> bool {
    let (is_so, condvar) = (Mutex::new(false), Condvar::<raw::Requeue>::new());
    let say = || {
        *is_so.lock() = true;
        condvar.notify_all();
    };
    let is_late = condvar.wait_for(&mut is_so.lock(), Duration::from_micros(1)).timed_out();
    with_bare_threads(1, say, || condvar.wait_while(&mut is_so.lock(), |is_so| !*is_so)) && is_late
}

macro_rules! small {
    ($($name:ident: $lock:ident $row:tt)*) => {
        fn small() -> bool {
            $(let $name = <raw::$lock as SmallLock>::NEW;)*
            let barrier = Barrier::new(2);
            let other = || {
                $($name.let_go();)*
                barrier.wait();
            };
            let mine = || {
                $($name.wait();)*
                barrier.wait();
            };
            let set = Event::new();
            set.set();
            with_bare_threads(1, other, mine) && Event::wait_any(&[&set]) == Ok(0)
        }
    };
}
for_each_small_lock! { small }

fn once() -> bool {
    let (once, cell, lazy) = (Once::new(), OnceLock::new(), LazyLock::<u32>::new(|| 1));
    once.call_once(|| ());
    once.wait();
    once.is_completed() && *cell.get_or_init(|| 1) == 1 && *cell.wait() == 1 && *lazy == 1
}

fn ordered_map() -> bool {
    let map = OrderedMap::<u32, String>::new();
    (0..200).for_each(|key| drop(map.insert(key, key.to_string())));
    (0..200).step_by(2).for_each(|key| drop(map.remove(&key)));
    let guard = Global::read();
    map.len() == 100 && map.iter(&guard).all(|(key, value)| key.to_string() == *value)
}

fn list() -> bool {
    let list: List<u32> = (0..200).collect();
    list.lock().retain(|value| value % 2 == 0);
    let count = || list.lock().insert_sorted_by(7, u32::cmp);
    counts(count, || list.len() as u32 - 100) && list.iter(&Global::read()).is_sorted()
}

fn asymmetric() -> bool {
    let (mutex, rwlock) = (asym::Mutex::new(0), asym::RwLock::new(0));
    let reads = || (0..20).all(|_| *rwlock.read() <= 40);
    // Often enough in a row to be biased.
    (0..200).for_each(|_| drop(mutex.lock()));
    reads()
        && counts(|| *mutex.lock() += 1, || *mutex.lock())
        && counts(|| *rwlock.write() += 1, || *rwlock.read())
        && reads()
}

fn sharded() -> bool {
    let map = ShardMap::<u32, u32>::from_iter([(0, 0)]);
    counts(|| *map.get_mut(&0).unwrap() += 1, || *map.get(&0).unwrap())
        && (1..50).all(|key| map.insert(key, key).is_none())
        && map.iter().count() == 50
}

fn lending() -> bool {
    let mutex = pi::Mutex::new(0);
    counts(|| *mutex.lock().unwrap() += 1, || *mutex.lock().unwrap())
}

fn robust_lock<U: Unlock>() -> bool {
    let mutex: &'static robust::Mutex<[u32; 1], U> = Box::leak(Box::new(robust::Mutex::with_unlock([0])));
    let add = || mutex.lock().unwrap().with(|[count]| *count += 1);
    add();
    // One after the other: for a light lock a sleeper's fence reaches all processes, and is slow.
    with_bare_threads(1, add, || ()) && mutex.lock().unwrap().get() == [2]
}

fn robust_rwlock() -> bool {
    let lock: &'static robust::RwLock<u32, 2> = Box::leak(Box::new(robust::RwLock::with_readers(0)));
    counts(|| lock.write().unwrap().with(|count| *count += 1), || lock.read().unwrap().get())
}

fn shared_memory() -> bool {
    type Both = (shared::Mutex<u32>, shared::RwLock<u32>);
    #[repr(C)]
    struct Locks(shared::Mutex<u32>, shared::RwLock<u32>);
    // SAFETY: any bytes are locks and numbers.
    unsafe impl shared::AnyBytes for Locks {}
    const _: () = assert!(size_of::<Locks>() == size_of::<Both>());
    let Ok(region) = Region::<Locks>::create(1, |_| ()) else { return false };
    let Locks(mutex, rwlock) = &*region;
    counts(|| *mutex.lock() += 1, || *mutex.lock()) && counts(|| *rwlock.write() += 1, || *rwlock.read())
}

fn futexes<F: Futex>() -> bool {
    let word = AtomicU32::new(0);
    let say = || {
        word.store(1, Ordering::SeqCst);
        F::wake(&raw const word, 1);
    };
    let wait = || {
        while word.load(Ordering::SeqCst) == 0 {
            F::wait(&word, 0, futex::Timeout::Never);
        }
    };
    let is_late = F::wait(&word, 0, futex::Timeout::after::<F>(Duration::from_micros(1))) == Wait::TimedOut;
    with_bare_threads(1, say, wait) && is_late && F::wait(&word, 0, futex::Timeout::Never) == Wait::Changed
}
