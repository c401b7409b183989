//! Each public type of the library: for which values it may be sent and shared, and whether it lets
//! the lifetimes in its values shrink. A type that is not in the table fails a test (`declared.rs`).

use std::cell::Cell;
use std::collections::hash_map::RandomState;
use std::path::Path;
use std::rc::Rc;
use std::sync::MutexGuard;

use leeward::futex::Parking;
use leeward::rcu::Global;
use leeward::rcu::epoch::Owned;

use super::Compiler;

/// For which values something holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum For {
    /// For all values.
    All,
    /// For those that are `Send`.
    Send,
    /// For those that are `Sync`.
    Sync,
    /// For those that are `Send` and `Sync`.
    Both,
    /// For no values.
    None,
}

impl For {
    /// Returns whether it holds for values that are both, `Send` only, `Sync` only, and neither.
    fn of_each(self) -> [bool; 4] {
        match self {
            For::All => [true; 4],
            For::Send => [true, true, false, false],
            For::Sync => [true, false, true, false],
            For::Both => [true, false, false, false],
            For::None => [false; 4],
        }
    }
}

/// Says whether a reference to a value of the type may be taken for one whose lifetimes are shorter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lifetimes {
    /// They shrink: the type gives values out, or owns them, and takes none through `&self`.
    Shrink,
    /// They do not: a value that is put in through `&self` may be met as one that lives for longer.
    Stay,
    /// The type has none.
    Absent,
}

pub struct Row {
    pub name: &'static str,
    sent: For,
    shared: For,
    lifetimes: Lifetimes,
    /// Says whether it is `Send`, and `Sync`, for each of the four kinds of values.
    is: [(bool, bool); 4],
}

/// Asks whether a type has an automatic trait: the inherent constant, if there is one, hides the trait's.
macro_rules! has {
    ($type:ty, $trait:ident) => {{
        struct Asked<A: ?Sized>(std::marker::PhantomData<A>);
        // One of the two constants is unused.
        #[allow(dead_code)]
        trait Otherwise {
            const HAS: bool = false;
        }
        impl<A: ?Sized> Otherwise for Asked<A> {}
        #[allow(dead_code)]
        impl<A: ?Sized + $trait> Asked<A> {
            const HAS: bool = true;
        }
        <Asked<$type>>::HAS
    }};
}

macro_rules! of_values {
    ($value:ty, $type:ty) => {{
        #[allow(dead_code)]
        type T = $value;
        (has!($type, Send), has!($type, Sync))
    }};
}

macro_rules! types {
    ($($type:ty, $sent:ident, $shared:ident, $lifetimes:ident;)*) => {
        pub const TYPES: &[Row] = &[$(Row {
            name: stringify!($type),
            sent: For::$sent,
            shared: For::$shared,
            lifetimes: Lifetimes::$lifetimes,
            is: [
                of_values!(u32, $type),
                of_values!(Cell<u32>, $type),
                of_values!(MutexGuard<'static, u32>, $type),
                of_values!(Rc<u32>, $type),
            ],
        }),*];
    };
}

// The type of values `T`, when it is sent, when it is shared, and its lifetimes.
types! {
    leeward::asym::RawMutex, All, All, Absent;
    leeward::asym::RawRwLock, All, All, Absent;
    leeward::asym::Mutex<T>, Send, Send, Stay;
    leeward::asym::MutexGuard<'static, T>, None, Sync, Stay;
    leeward::asym::MappedMutexGuard<'static, T>, None, Sync, Stay;
    leeward::asym::RwLock<T>, Send, Both, Stay;
    leeward::asym::RwLockReadGuard<'static, T>, None, Sync, Stay;
    leeward::asym::RwLockWriteGuard<'static, T>, None, Sync, Stay;
    leeward::asym::RwLockUpgradableReadGuard<'static, T>, None, Sync, Stay;
    leeward::asym::MappedRwLockReadGuard<'static, T>, None, Sync, Shrink;
    leeward::asym::MappedRwLockWriteGuard<'static, T>, None, Sync, Stay;
    leeward::collect::TryReserveError, All, All, Absent;
    leeward::collect::TryPop<T>, Send, Sync, Shrink;
    leeward::collect::hash_map::HashMap<T, T>, Send, Both, Stay;
    leeward::collect::hash_map::IntoIter<T, T, RandomState, Global>, Send, Sync, Stay;
    leeward::collect::hash_map::Iter<'static, T, T>, Sync, Sync, Shrink;
    leeward::collect::hash_map::IterMut<'static, T, T>, Both, Sync, Stay;
    leeward::collect::hash_map::Keys<'static, T, T>, Sync, Sync, Shrink;
    leeward::collect::hash_map::Values<'static, T, T>, Sync, Sync, Shrink;
    leeward::collect::hash_map::Occupied<'static, T, T>, Both, Sync, Shrink;
    leeward::collect::hash_map::Builder<T, T>, All, All, Shrink;
    leeward::collect::hash_map::Pinned<'static, T, T, RandomState, Global>, None, None, Stay;
    leeward::collect::hash_map::Retired<'static, T, T, RandomState, Global>, Both, Both, Stay;
    leeward::collect::hash_map::Compute<'static, T, T, T>, Both, Sync, Shrink;
    leeward::collect::hash_map::Operation<T, T>, Send, Sync, Shrink;
    leeward::collect::hash_set::HashSet<T>, Send, Both, Stay;
    leeward::collect::hash_set::IntoIter<T, RandomState, Global>, Send, Sync, Stay;
    leeward::collect::hash_set::Pinned<'static, T, RandomState, Global>, None, None, Stay;
    leeward::collect::list::List<T>, Send, Both, Stay;
    leeward::collect::list::Locked<'static, T>, None, Both, Stay;
    leeward::collect::list::Cursor<'static, 'static, T>, None, Both, Stay;
    leeward::collect::list::Iter<'static, T>, Sync, Sync, Stay;
    leeward::collect::list::IterMut<'static, T>, Send, Sync, Stay;
    leeward::collect::list::IntoIter<T>, Send, Sync, Stay;
    leeward::collect::list::Retired<'static, T>, Both, Both, Stay;
    leeward::collect::ordered_map::OrderedMap<T, T>, Send, Both, Stay;
    leeward::collect::ordered_map::Range<'static, T, T>, None, None, Stay;
    leeward::collect::ordered_map::IntoIter<T, T>, Send, Sync, Shrink;
    leeward::collect::ordered_map::Occupied<T, T>, Send, Sync, Shrink;
    leeward::collect::ordered_map::NoMemory<T>, Send, Sync, Shrink;
    leeward::collect::ordered_map::NotInserted<T, T>, Send, Sync, Shrink;
    leeward::collect::ordered_map::Retired<'static, T, T>, Both, Both, Stay;
    leeward::collect::bounded::Bounded<T>, Send, Send, Stay;
    leeward::collect::bounded::IntoIter<T>, Send, Send, Stay;
    leeward::collect::bounded::Pop<'static, T>, Send, Both, Stay;
    leeward::collect::bounded::Push<'static, T>, Send, Both, Stay;
    leeward::collect::bounded::PushError<T>, Send, Sync, Shrink;
    leeward::collect::queue::Queue<T>, Send, Send, Stay;
    leeward::collect::queue::Consumer<'static, T>, Send, Send, Stay;
    leeward::collect::queue::IntoIter<T>, Send, Send, Stay;
    leeward::collect::stack::Stack<T>, Send, Send, Stay;
    leeward::collect::stack::Taken<'static, T>, Send, Send, Shrink;
    leeward::collect::stack::IntoIter<T>, Send, Send, Stay;
    leeward::collect::raw::Node, All, All, Absent;
    leeward::collect::raw::Queue, All, All, Absent;
    leeward::collect::raw::Stack, All, All, Absent;
    leeward::collect::shard_map::ShardMap<T, T>, Send, Both, Stay;
    leeward::collect::shard_map::ShardSet<T>, Send, Both, Stay;
    leeward::collect::shard_map::SetRef<T>, Send, Sync, Shrink;
    leeward::collect::shard_map::Ref<'static, T, T>, None, Sync, Stay;
    leeward::collect::shard_map::RefMut<'static, T, T>, None, Sync, Stay;
    leeward::collect::shard_map::MappedRef<'static, T, T, T>, None, Sync, Stay;
    leeward::collect::shard_map::MappedRefMut<'static, T, T, T>, None, Sync, Stay;
    leeward::collect::shard_map::RefMulti<'static, T, T>, None, None, Stay;
    leeward::collect::shard_map::RefMutMulti<'static, T, T>, None, None, Stay;
    leeward::collect::shard_map::Entry<'static, T, T>, None, Sync, Stay;
    leeward::collect::shard_map::VacantEntry<'static, T, T>, None, Sync, Stay;
    leeward::collect::shard_map::OccupiedEntry<'static, T, T>, None, Sync, Stay;
    leeward::collect::shard_map::Iter<'static, T, T, RandomState>, None, None, Stay;
    leeward::collect::shard_map::IterMut<'static, T, T, RandomState>, None, None, Stay;
    leeward::collect::shard_map::IntoIter<T, T, RandomState>, Send, Both, Stay;
    leeward::collect::shard_map::ReadOnlyView<T, T>, Send, Sync, Shrink;
    leeward::collect::shard_map::Shard<(T, T)>, Send, Both, Stay;
    leeward::collect::shard_map::TryResult<T>, Send, Sync, Shrink;
    leeward::fence::Counters, All, All, Absent;
    leeward::fence::Asymmetric, All, All, Absent;
    leeward::fence::Full, All, All, Absent;
    leeward::fence::Error, All, All, Absent;
    leeward::fence::Strategy, All, All, Absent;
    leeward::futex::Argument, All, All, Absent;
    leeward::futex::Changed, All, All, Absent;
    leeward::futex::Comparison, All, All, Absent;
    leeward::futex::Deadline, All, All, Absent;
    leeward::futex::Hosted<Parking>, All, All, Absent;
    leeward::futex::Operation, All, All, Absent;
    leeward::futex::OutOfRange, All, All, Absent;
    leeward::futex::Parking, All, All, Absent;
    leeward::futex::System<false>, All, All, Absent;
    leeward::futex::Timeout, All, All, Absent;
    leeward::futex::Wait, All, All, Absent;
    leeward::futex::WaitAny, All, All, Absent;
    leeward::futex::WakeOp, All, All, Absent;
    leeward::futex::WrongCount, All, All, Absent;
    leeward::hazard::Cell<T>, Both, Both, Stay;
    leeward::hazard::Changed, All, All, Absent;
    leeward::hazard::HazardPointer, All, All, Absent;
    leeward::hazard::NoMemory, All, All, Absent;
    leeward::hazard::Retired<u32>, All, All, Absent;
    leeward::pi::Error, All, All, Absent;
    leeward::pi::Mutex<T>, Send, Send, Stay;
    leeward::pi::MutexGuard<'static, T>, None, Sync, Stay;
    leeward::pi::MappedMutexGuard<'static, T>, None, Sync, Stay;
    leeward::pi::RawMutex<false>, All, All, Absent;
    leeward::raw::Barrier, All, All, Absent;
    leeward::raw::BarrierWaitResult, All, All, Absent;
    leeward::raw::Condvar, All, All, Absent;
    leeward::raw::Event, All, All, Absent;
    leeward::raw::FairMutex, All, All, Absent;
    leeward::raw::Latch, All, All, Absent;
    leeward::raw::LightMutex, All, All, Absent;
    leeward::raw::Mutex, All, All, Absent;
    leeward::raw::Once, All, All, Absent;
    leeward::raw::OnceState, All, All, Absent;
    leeward::raw::Permit<'static>, All, All, Shrink;
    leeward::raw::Plain, All, All, Absent;
    leeward::raw::Requeue, All, All, Absent;
    leeward::raw::RwLock, All, All, Absent;
    leeward::raw::Semaphore, All, All, Absent;
    leeward::raw::WakeOp, All, All, Absent;
    leeward::rcu::ArcCell<T>, Both, Both, Stay;
    leeward::rcu::ArcOption<T>, Both, Both, Stay;
    leeward::rcu::Boxed, All, All, Absent;
    leeward::rcu::Cache<'static, T>, Both, Both, Stay;
    leeward::rcu::Conflict<T, T>, Send, Sync, Shrink;
    leeward::rcu::Cookie, All, All, Absent;
    leeward::rcu::DetachedReader, All, All, Absent;
    leeward::rcu::Global, All, All, Absent;
    leeward::rcu::GracePeriod, All, All, Absent;
    leeward::rcu::Guard<'static>, None, None, Shrink;
    leeward::rcu::Head, All, All, Absent;
    leeward::rcu::Limit, All, All, Absent;
    leeward::rcu::NoMemory, All, All, Absent;
    leeward::rcu::NotQueued<T>, Send, Sync, Shrink;
    leeward::rcu::Policy, All, All, Absent;
    leeward::rcu::RcuCell<T>, Send, Both, Stay;
    leeward::rcu::RcuOption<T>, Send, Both, Stay;
    leeward::rcu::Reader, None, None, Absent;
    leeward::rcu::Reclaimed<T>, Both, Both, Shrink;
    leeward::rcu::Ref<'static, T>, None, None, Shrink;
    leeward::rcu::Retired<T>, Both, Both, Shrink;
    leeward::rcu::Stall, All, All, Absent;
    leeward::rcu::Stats, All, All, Absent;
    leeward::rcu::epoch::Atomic<T>, Both, Both, Stay;
    leeward::rcu::epoch::Collector, All, All, Absent;
    leeward::rcu::epoch::CollectorGuard<'static>, None, None, Shrink;
    leeward::rcu::epoch::CompareExchangeError<'static, T, Owned<T>>, None, None, Shrink;
    leeward::rcu::epoch::Guard, None, None, Absent;
    leeward::rcu::epoch::LocalHandle, None, None, Absent;
    leeward::rcu::epoch::Owned<T>, Send, Sync, Shrink;
    leeward::rcu::epoch::Shared<'static, T>, None, None, Shrink;
    leeward::rcu::qsbr::Reader, None, None, Absent;
    leeward::robust::ByExchange, All, All, Absent;
    leeward::robust::ByStore, All, All, Absent;
    leeward::robust::Guard<u32>, None, None, Absent;
    leeward::robust::LightMutex<u32>, All, All, Absent;
    leeward::robust::ListError, All, All, Absent;
    leeward::robust::LockError<u32>, None, None, Absent;
    leeward::robust::Mutex<u32>, All, All, Absent;
    leeward::robust::ReadGuard<u32>, None, None, Absent;
    leeward::robust::RwLock<u32>, All, All, Absent;
    leeward::robust::RwLockError<u32>, None, None, Absent;
    leeward::robust::WriteGuard<u32>, None, None, Absent;
    leeward::shared::Condvar, All, All, Absent;
    leeward::shared::MappedMutexGuard<'static, u32>, None, All, Shrink;
    leeward::shared::MappedRwLockReadGuard<'static, u32>, None, All, Shrink;
    leeward::shared::MappedRwLockWriteGuard<'static, u32>, None, All, Shrink;
    leeward::shared::Mutex<u32>, All, All, Absent;
    leeward::shared::MutexGuard<'static, u32>, None, All, Shrink;
    leeward::shared::Region<u32>, All, All, Absent;
    leeward::shared::RegionError, All, All, Absent;
    leeward::shared::RwLock<u32>, All, All, Absent;
    leeward::shared::RwLockReadGuard<'static, u32>, None, All, Shrink;
    leeward::shared::RwLockUpgradableReadGuard<'static, u32>, None, All, Shrink;
    leeward::shared::RwLockWriteGuard<'static, u32>, None, All, Shrink;
    leeward::sync::Condvar, All, All, Absent;
    leeward::sync::FairMutex<T>, Send, Send, Stay;
    leeward::sync::FairMutexGuard<'static, T>, None, Sync, Stay;
    leeward::sync::LazyLock<T>, Send, Both, Stay;
    leeward::sync::LightMutex<T>, Send, Send, Stay;
    leeward::sync::LightMutexGuard<'static, T>, None, Sync, Stay;
    leeward::sync::MappedMutexGuard<'static, T>, None, Sync, Stay;
    leeward::sync::Mutex<T>, Send, Send, Stay;
    leeward::sync::MutexGuard<'static, T>, None, Sync, Stay;
    leeward::sync::OnceLock<T>, Send, Both, Stay;
    leeward::sync::Permit<'static>, All, All, Shrink;
    leeward::sync::Poison<T>, Send, Sync, Shrink;
    leeward::sync::Poisoned, All, All, Absent;
    leeward::sync::RawThreadId, All, All, Absent;
    leeward::sync::poison::Condvar, All, All, Absent;
    leeward::sync::poison::Mutex<T>, Send, Send, Stay;
    leeward::sync::poison::MutexGuard<'static, T>, None, Sync, Stay;
    leeward::sync::poison::Once, All, All, Absent;
    leeward::sync::poison::RwLock<T>, Send, Both, Stay;
    leeward::sync::poison::RwLockReadGuard<'static, T>, None, Sync, Shrink;
    leeward::sync::poison::RwLockWriteGuard<'static, T>, None, Sync, Stay;
    leeward::sync::ReentrantMutex<T>, Send, Send, Stay;
    leeward::sync::ReentrantMutexGuard<'static, T>, None, Sync, Stay;
    leeward::sync::RwLock<T>, Send, Both, Stay;
    leeward::sync::RwLockReadGuard<'static, T>, None, Sync, Stay;
    leeward::sync::RwLockUpgradableReadGuard<'static, T>, None, Sync, Stay;
    leeward::sync::RwLockWriteGuard<'static, T>, None, Sync, Stay;
    leeward::sync::WaitTimeoutResult, All, All, Absent;
    leeward::task::Acquire<'static>, All, All, Shrink;
    leeward::task::AcquireError, All, All, Absent;
    leeward::task::AcquireOwned, All, All, Absent;
    leeward::task::Lock<'static, T>, Send, Send, Stay;
    leeward::task::LockOwned<T>, Send, Send, Stay;
    leeward::task::Mutex<T>, Send, Send, Stay;
    leeward::task::MutexGuard<'static, T>, Send, Both, Stay;
    leeward::task::Notified<'static>, All, All, Shrink;
    leeward::task::Notify, All, All, Absent;
    leeward::task::OwnedMutexGuard<T>, Send, Both, Stay;
    leeward::task::OwnedNotified, All, All, Absent;
    leeward::task::OwnedRwLockReadGuard<T>, Both, Both, Stay;
    leeward::task::OwnedRwLockWriteGuard<T>, Both, Both, Stay;
    leeward::task::OwnedSemaphorePermit, All, All, Absent;
    leeward::task::Read<'static, T>, Both, Both, Stay;
    leeward::task::ReadOwned<T>, Both, Both, Stay;
    leeward::task::RwLock<T>, Send, Both, Stay;
    leeward::task::RwLockReadGuard<'static, T>, Both, Both, Stay;
    leeward::task::RwLockWriteGuard<'static, T>, Both, Both, Stay;
    leeward::task::Semaphore, All, All, Absent;
    leeward::task::SemaphorePermit<'static>, All, All, Shrink;
    leeward::task::TryAcquireError, All, All, Absent;
    leeward::task::TryLockError, All, All, Absent;
    leeward::task::Write<'static, T>, Both, Both, Stay;
    leeward::task::WriteOwned<T>, Both, Both, Stay;
}

#[test]
fn types_are_sent_and_shared_as_their_table_says() {
    let mut wrong = Vec::new();
    for row in TYPES {
        let found = (row.is.map(|(sent, _)| sent), row.is.map(|(_, shared)| shared));
        if found != (row.sent.of_each(), row.shared.of_each()) {
            wrong.push(format!("{}: sent {:?}, shared {:?}", row.name, found.0, found.1));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Writes a program with a function a line, and returns whether the compiler finds fault with each.
fn refused(compiler: &Compiler, library: &Path, name: &str, functions: &[String]) -> Vec<bool> {
    let prelude = "use std::collections::hash_map::RandomState; use leeward::futex::Parking; \
        use leeward::rcu::Global; use leeward::rcu::epoch::Owned; fn main() {}";
    let source = format!("{prelude}\n{}\n", functions.join("\n"));
    let output = compiler.compile(library, name, &source);
    let said = String::from_utf8_lossy(&output.stderr);
    // "path:LINE:COLUMN: error..."
    let mut wrong = vec![false; functions.len()];
    for line in said.lines().filter(|line| line.contains(" error")) {
        let Some((_, place)) = line.split_once(".rs:") else { continue };
        let number: usize = place.split(':').next().unwrap().parse().unwrap();
        assert!(number > 1 && line.contains("lifetime may not live long enough"), "{line}");
        wrong[number - 2] = true;
    }
    wrong
}

/// Returns the type with a lifetime in place of `'static`, and in its values.
fn with_lifetime(row: &Row, lifetime: &str) -> String {
    let words = row.name.replace("'static", lifetime);
    let is_name = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let mut with = String::new();
    for (at, letter) in words.char_indices() {
        let bytes = words.as_bytes();
        let alone = !is_name(at.checked_sub(1).and_then(|at| bytes.get(at))) && !is_name(bytes.get(at + 1));
        if letter == 'T' && alone {
            with.push_str(&format!("&{lifetime} str"));
        } else {
            with.push(letter);
        }
    }
    with
}

#[test]
fn lifetimes_shrink_only_where_the_table_says() {
    let Some(compiler) = Compiler::find() else { return };
    let library = compiler.library();
    let (mut shrinking, mut growing) = (Vec::new(), Vec::new());
    for (number, row) in TYPES.iter().enumerate() {
        let (long, short) = (with_lifetime(row, "'static"), with_lifetime(row, "'a"));
        // A guard's own lifetime is one too.
        shrinking.push(format!("pub fn shrink_{number}<'a>(it: &'a {long}) -> &'a {short} {{ it }}"));
        growing.push(format!("pub fn grow_{number}<'a>(it: {short}, _: &'a ()) -> {long} {{ it }}"));
    }
    let mut wrong = Vec::new();
    let shrink = refused(&compiler, &library, "shrinking", &shrinking);
    let grow = refused(&compiler, &library, "growing", &growing);
    for (row, (shrink_is_refused, grow_is_refused)) in TYPES.iter().zip(shrink.into_iter().zip(grow)) {
        let found = match (shrink_is_refused, grow_is_refused) {
            (true, true) => Some(Lifetimes::Stay),
            (false, true) => Some(Lifetimes::Shrink),
            (false, false) => Some(Lifetimes::Absent),
            // One that grows alone.
            (true, false) => None,
        };
        if found != Some(row.lifetimes) {
            wrong.push(format!("{}: {found:?}", row.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
