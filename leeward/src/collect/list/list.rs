//! The list itself: what it consists of, how it is made, what readers call, and how it ends.

use core::marker::PhantomData;
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::ptr::NonNull;

use super::iter::{Iter, IterMut};
use super::links::Links;
use super::lock::OwnerLock;
use super::node::{ListNode, NodeChain};
use crate::atomic::{Ordering, const_fn};
use crate::collect::backend::{Limbo, panics};
use crate::mutant::step;
use crate::rcu::{Domain, Global, Protects};

/// A linked list that readers walk under RCU, without a lock, a fence or an allocation, while
/// writers insert and remove anywhere in it.
///
/// A reader passes a guard of the list's domain, and gets references that live as long as the guard.
/// Writers take `&self`, too: single steps ([`push_back`](Self::push_back),
/// [`pop_front`](Self::pop_front)), or the whole list ([`lock`](Self::lock)), with a
/// [`Cursor`](super::Cursor) for any place in it. What a writer takes out comes back as
/// [`Retired`](super::Retired): readers may still use it, so its owner waits for a grace period,
/// defers, or looks at it meanwhile.
///
/// ```
/// use leeward::collect::List;
/// use leeward::rcu;
///
/// static RULES: List<(u32, &str)> = List::new();
/// RULES.push_back((10, "accept"));
/// RULES.push_back((30, "drop"));
///
/// // A writer, on any thread: a new rule in its place, in the order of the numbers.
/// let mut rules = RULES.lock();
/// rules.insert_sorted_by((20, "log"), |one, other| one.0.cmp(&other.0));
/// drop(rules);
///
/// // A reader, on any other, at the same time.
/// let guard = rcu::read();
/// let (_, verdict) = RULES.find(|rule| rule.0 >= 15, &guard).unwrap();
/// assert!(RULES.pop_front().is_some());
/// assert_eq!((*verdict, RULES.iter(&guard).count()), ("log", 2));
/// ```
///
/// # What a walk sees
/// A value that is in the list throughout a walk is seen exactly once, and values are seen in their
/// order. One that is inserted or removed meanwhile is seen or not; of one that is replaced, the old
/// one or the new one is seen. A walk goes forwards only ([`guide::list`](crate::guide::list) says
/// why).
///
/// # The writers' lock
/// There is one lock a list. Closures and comparisons of writers run while their caller has it by a
/// [`Locked`](super::Locked), which is in plain sight; destructors of what was removed never do. A
/// thread that locks a list which it has locked panics with a sentence;
/// [`try_lock`](Self::try_lock) returns `None`.
///
/// # Memory ordering
/// What a writer did before it inserted a value happens before a reader's use of it. A single step of
/// a writer takes effect at one moment; a walk is not one moment.
///
/// # Panics in closures and destructors
/// A closure of a writer that panics leaves the list as it is at that moment, unlocked. Destructors
/// of what was removed run on the threads that write, later; a panic there is caught, and counted
/// ([`Stats::callback_panics`](crate::rcu::Stats::callback_panics)). Where the list itself is dropped, such
/// a panic is caught, and all other values are dropped.
///
/// # Cost
/// | call | common path | rare path |
/// |---|---|---|
/// | a step of a walk | one load (acquire) | |
/// | `push`, `insert` | an allocation; a compare-exchange and an exchange for the lock | a sleep |
/// | `pop`, `remove` | the lock, and a place in a list of what is to be freed | freeing some dozens |
/// | [`clear`](Self::clear), [`append`](Self::append) | the lock, and a few stores | |
///
/// A node is its value and two pointers. A list that something was removed from keeps about 1 KiB
/// beside for each thread that removed.
///
/// # Memory
/// What was removed is freed by later writers, some dozens at a time, and with the list; or by
/// [`reclaim`](Self::reclaim). A guard that is held for long holds all of it back.
///
/// # Fork
/// The child of a fork may use the list, whatever other threads were doing to it. A thread that
/// forks while it has the list locked has it locked in the child; a lock that another thread had is
/// taken over by the child's first writer, which then walks the list once to mend the links back.
/// What other threads were about to free is leaked there. (Children of `vfork`, `_Fork` and the raw
/// `clone` call may read.)
///
/// # Async-signal-safety
/// A signal handler may read, where it may [read](crate::rcu#signals) at all. It must not write, nor
/// drop a [`Retired`](super::Retired).
///
/// # Sources
/// The order of a writer's stores is that of the lists of Paul E. McKenney and John D. Slingwine,
/// "Read-copy update" (1998). [`guide::list`](crate::guide::list) says why it is right.
pub struct List<T, D: Domain = Global> {
    pub(super) links: Links<T>,
    pub(super) lock: OwnerLock,
    pub(super) limbo: Limbo,
    /// It owns values. (It is invariant by its pointers.)
    owns: PhantomData<(T, fn() -> D)>,
}

// SAFETY: sending the list sends its values, and those in its limbo.
unsafe impl<T: Send, D: Domain> Send for List<T, D> {}
// SAFETY: readers of many threads share the values (`Sync`); a writer on any thread takes them out
// and frees them (`Send`). What is not atomic is changed under the lock.
unsafe impl<T: Send + Sync, D: Domain> Sync for List<T, D> {}

impl<T> List<T> {
    const_fn! {
        /// Makes an empty list, which is read in sections of [`Global`]. Allocates nothing.
        pub fn new() -> Self {
            Self::new_in()
        }
    }
}

impl<T, D: Domain> List<T, D> {
    const_fn! {
        /// Makes an empty list of the domain `D`. Allocates nothing.
        ///
        /// ```
        /// use leeward::collect::List;
        /// use leeward::rcu::Domain;
        /// leeward::rcu_domain! { struct Filters; }
        /// static CHAIN: List<String, Filters> = List::new_in();
        /// CHAIN.push_front("loopback".into());
        /// assert_eq!(CHAIN.first(&Filters::read()).unwrap(), "loopback");
        /// ```
        pub fn new_in() -> Self {
            List { links: Links::new(), lock: OwnerLock::new(), limbo: Limbo::new(), owns: PhantomData }
        }
    }

    /// Returns the number of values: exactly, while no writer is at work.
    pub fn len(&self) -> usize {
        self.links.len()
    }

    /// Returns true if the list has no value.
    pub fn is_empty(&self) -> bool {
        // Relaxed: nothing behind the pointer is read.
        self.links.first.load(Ordering::Relaxed).is_null()
    }

    /// Returns the values in order, for as long as the guard is borrowed. [`List`] says what a walk
    /// sees beside writers.
    ///
    /// ```
    /// use leeward::{collect::List, rcu};
    /// let list = List::from([1, 2, 3]);
    /// assert!(list.iter(&rcu::read()).eq(&[1, 2, 3]));
    /// ```
    ///
    /// # Cost
    /// Wait-free: one load a value. Writes nothing.
    #[inline]
    pub fn iter<'g>(&'g self, guard: &'g impl Protects<D>) -> Iter<'g, T> {
        let _ = guard;
        // SAFETY: the guard's section is open for as long as `'g`.
        unsafe { Iter::new(&self.links.first) }
    }

    /// Returns the first value.
    #[inline]
    pub fn first<'g>(&'g self, guard: &'g impl Protects<D>) -> Option<&'g T> {
        self.iter(guard).next()
    }

    /// Returns the first value for which `predicate` returns true. No lock is held meanwhile.
    #[inline]
    pub fn find<'g>(&'g self, mut predicate: impl FnMut(&T) -> bool, guard: &'g impl Protects<D>) -> Option<&'g T> {
        self.iter(guard).find(|value| predicate(value))
    }

    /// Returns true if a value is in the list.
    pub fn contains(&self, value: &T, guard: &impl Protects<D>) -> bool
    where
        T: PartialEq,
    {
        self.iter(guard).any(|there| there == value)
    }

    /// Returns the values in order, of a list that the caller has alone, to be changed in place.
    ///
    /// ```
    /// let mut list = leeward::collect::List::from([1, 2, 3]);
    /// list.iter_mut().for_each(|value| *value *= 2);
    /// assert!(list.into_iter().eq([2, 4, 6]));
    /// ```
    pub fn iter_mut(&mut self) -> IterMut<'_, T> {
        // SAFETY: the list is borrowed for as long as the iterator.
        unsafe { IterMut::new(&self.links.first) }
    }

    /// Frees what this thread has taken out, and what others have that is queued, as far as no
    /// reader can hold it. Never waits for a reader: what one may still have stays until a
    /// later call, or a later writer.
    ///
    /// # Cost
    /// A [heavy fence](crate::fence::heavy), and a load for each reader.
    pub fn reclaim(&self) {
        // SAFETY: everything in the limbo was retired by this list.
        unsafe { self.limbo.reclaim::<D>(free::<T>) };
    }

    /// Leaves a node to the limbo.
    ///
    /// # Safety
    /// It was this list's, no section that begins from now on finds it, and it is retired once.
    pub(super) unsafe fn retire(&self, node: NonNull<ListNode<T>>) {
        // SAFETY: the caller's promise; `free` is for all that lists of this type retire.
        step!(list_retire, unsafe { self.limbo.retire::<D>(node.cast(), free::<T>) });
    }

    /// Mends what a thread which a fork did not copy has left half changed.
    fn settle(&mut self) {
        if self.lock.is_abandoned() {
            // SAFETY: the caller has the list alone.
            unsafe { self.links.repair() };
        }
    }

    /// Takes all nodes out of a list that the caller has alone.
    pub(super) fn take_chain(&mut self) -> Option<NodeChain<T>> {
        self.settle();
        self.links.take_chain()
    }
}

/// Frees what a limbo has.
fn free<T>(item: NonNull<()>) {
    // SAFETY: retired by `List::retire`, by a list of this type; no reader has it, and this is called
    // once for each.
    unsafe { ListNode::<T>::free(item.cast()) };
}

impl<T, D: Domain> UnwindSafe for List<T, D> where T: UnwindSafe + RefUnwindSafe {}
/// A panic never finds the links half changed: no user code runs meanwhile.
impl<T, D: Domain> RefUnwindSafe for List<T, D> where T: RefUnwindSafe {}

impl<T, D: Domain> Drop for List<T, D> {
    /// Drops the values, and what writers have taken out: no reader has the list. One whose
    /// destructor panics keeps none of the others; the panic is caught.
    fn drop(&mut self) {
        drop(self.take_chain());
        // SAFETY: the caller has the list alone.
        let mut waste = unsafe { self.links.take_waste() };
        // A lock that was forgotten has kept these.
        while let Some(node) = NonNull::new(waste) {
            // SAFETY: kept, so it was not retired.
            waste = unsafe { node.as_ref() }.previous.get();
            panics(|| free::<T>(node.cast()));
        }
        let caught = |item| {
            panics(|| free::<T>(item));
        };
        // SAFETY: references that readers got borrowed the list.
        unsafe { self.limbo.drain::<D>(caught) };
    }
}
