//! The stack that programs use: entries on an intrusive stack, and a lock for those that pop one.

use alloc::alloc::handle_alloc_error;
use core::alloc::Layout;
use core::marker::PhantomData;

use super::entry::StackEntry;
use super::taken::Taken;
use crate::atomic::{const_fn, fence_after_update};
use crate::collect::fork_lock::{ForkLock, HeldForkLock};
use crate::collect::raw;
use crate::collect::try_pop::TryPop;
use crate::futex::{Futex, Private, Timeout};
use crate::mutant::step;

/// A stack of values without a capacity: any thread pushes, pops the last value, or takes all values
/// at once.
///
/// `F` says where threads sleep that pop beside others.
///
/// ```
/// use leeward::collect::Stack;
///
/// static FREE: Stack<u32> = Stack::new();
/// FREE.push(1);
/// FREE.push(2);
/// assert_eq!(FREE.pop(), Some(2));
/// FREE.push(3);
/// assert_eq!(FREE.pop_all().collect::<Vec<_>>(), [3, 1]);
/// ```
///
/// # Order
/// The stack is linearizable: each call takes effect at one moment between its beginning and its
/// end. What a thread did before it pushed a value happens before the return of the call that takes
/// it.
///
/// # Cost
/// - A push: an allocation, and a compare-exchange, again if another thread was faster (lock-free).
/// - A pop: a compare-exchange for the value, a compare-exchange and an exchange for the lock, and a
///   deallocation. The lock takes the place of a section and a grace period a node.
/// - [`pop_all`](Self::pop_all): one exchange, wait-free.
///
/// # Panics
/// `push` where there is no memory ([`handle_alloc_error`](std::alloc::handle_alloc_error)). No user
/// code runs under the lock: a destructor may use the stack.
///
/// # Fork
/// The child has a copy of all values, and may use the stack, whatever the parent's other threads
/// were doing. A value that such a thread was pushing or had popped is not there.
///
/// # Signals
/// Nothing here is async-signal-safe but `is_empty`: the calls allocate and free.
pub struct Stack<T, F: Futex = Private> {
    nodes: raw::Stack<F>,
    /// One thread at a time pops one value.
    lock: ForkLock<F>,
    /// It owns values; a shared stack takes them, so it is invariant.
    owns: PhantomData<(T, fn(T) -> T)>,
}

impl<T> Stack<T> {
    const_fn! {
        /// Returns an empty stack. It allocates nothing.
        pub fn new() -> Self {
            Self::new_in()
        }
    }
}

impl<T, F: Futex> Stack<T, F> {
    const_fn! {
        /// Returns an empty stack. It allocates nothing.
        ///
        /// It is on the futexes that its type names; [`new`](Stack::new) returns one for a single process.
        pub fn new_in() -> Self {
            Stack { nodes: raw::Stack::new_in(), lock: ForkLock::new(), owns: PhantomData }
        }
    }

    /// Pushes a value.
    ///
    /// # Panics
    /// As [`handle_alloc_error`](std::alloc::handle_alloc_error), if there is no memory.
    #[inline]
    pub fn push(&self, value: T) {
        if self.try_push(value).is_err() {
            handle_alloc_error(Layout::new::<StackEntry<T>>());
        }
    }

    /// Pushes a value.
    ///
    /// # Errors
    /// The value, if there is no memory for it.
    ///
    /// ```
    /// let stack = <leeward::collect::Stack<u32>>::new();
    /// assert_eq!(stack.try_push(1), Ok(()));
    /// ```
    #[inline]
    pub fn try_push(&self, value: T) -> Result<(), T> {
        let node = StackEntry::allocate(value)?;
        // SAFETY: the node is new, and the stack frees it.
        unsafe { self.nodes.push(node) };
        Ok(())
    }

    /// Takes the value that was pushed last; `None`: there is none. It waits while another thread is
    /// in the midst of its own `pop`.
    #[inline]
    pub fn pop(&self) -> Option<T> {
        loop {
            if let Some(held) = self.lock.lock(Timeout::Never) {
                return self.pop_locked(&held);
            }
        }
    }

    /// Takes the value that was pushed last, if no other thread is in the midst of its own `pop`.
    #[inline]
    pub fn try_pop(&self) -> TryPop<T> {
        match self.lock.try_lock() {
            Some(held) => self.pop_locked(&held).map_or(TryPop::Empty, TryPop::Value),
            None if self.is_empty() => TryPop::Empty,
            None => TryPop::Busy,
        }
    }

    /// Takes a value, and gives the lock up.
    #[inline]
    fn pop_locked(&self, held: &HeldForkLock) -> Option<T> {
        // The lock first, then the top: partner of the same fence in `Taken::new`.
        // - If that one comes first, this thread does not find a node that was taken.
        // - If this one comes first, the taker finds the lock held, and frees nothing until it is not.
        step!(stack_pop_fence, fence_after_update());
        // SAFETY: this thread has the lock. What `pop_all` takes meanwhile is not freed.
        let popped = unsafe { self.nodes.pop(Timeout::Never) };
        self.lock.unlock(held);
        let node = popped.value()?;
        // SAFETY: popped above, by this thread alone.
        let value = unsafe { StackEntry::<T>::take(node) };
        // SAFETY: as above; the thread that pops next did not find the node.
        unsafe { StackEntry::<T>::free(node) };
        Some(value)
    }

    /// Takes all values at once, the last first: one exchange, which waits for no thread. Nor does
    /// the walk; dropping what is returned may wait for a thread that is in the midst of a `pop`.
    ///
    /// ```
    /// let stack: leeward::collect::Stack<u32> = (0..3).collect();
    /// assert_eq!(stack.pop_all().first_pushed_first().collect::<Vec<_>>(), [0, 1, 2]);
    /// ```
    #[inline]
    pub fn pop_all(&self) -> Taken<'_, T, F> {
        Taken::new(self.nodes.pop_all(), &self.lock)
    }

    /// Returns true if the stack is empty; out of date when it returns.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Takes the value that was pushed last, of a stack that no other thread uses.
    fn pop_owned(&mut self) -> Option<T> {
        // SAFETY: the caller has the stack alone.
        let node = unsafe { self.nodes.pop(Timeout::Never) }.value()?;
        // SAFETY: popped above.
        let value = unsafe { StackEntry::<T>::take(node) };
        // SAFETY: as above.
        unsafe { StackEntry::<T>::free(node) };
        Some(value)
    }
}

impl<T, F: Futex> Drop for Stack<T, F> {
    /// Drops the values one after the other, also those below one whose destructor panics.
    fn drop(&mut self) {
        struct Rest<'a, T, F: Futex>(&'a mut Stack<T, F>);
        impl<T, F: Futex> Drop for Rest<'_, T, F> {
            fn drop(&mut self) {
                while self.0.pop_owned().is_some() {}
            }
        }
        let rest = Rest(self);
        while let Some(value) = rest.0.pop_owned() {
            drop(value);
        }
    }
}

/// The values of a [`Stack`] that was consumed, the last that was pushed first.
///
/// ```
/// let stack: leeward::collect::Stack<u32> = (0..3).collect();
/// assert_eq!(stack.into_iter().collect::<Vec<_>>(), [2, 1, 0]);
/// ```
pub struct IntoIter<T, F: Futex = Private>(Stack<T, F>);

impl<T, F: Futex> Iterator for IntoIter<T, F> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.pop_owned()
    }
}

impl<T, F: Futex> core::iter::FusedIterator for IntoIter<T, F> {}

impl<T, F: Futex> core::fmt::Debug for IntoIter<T, F> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("IntoIter").field("is_empty", &self.0.is_empty()).finish_non_exhaustive()
    }
}

impl<T, F: Futex> IntoIterator for Stack<T, F> {
    type Item = T;
    type IntoIter = IntoIter<T, F>;

    fn into_iter(self) -> IntoIter<T, F> {
        IntoIter(self)
    }
}

impl<T, F: Futex> Default for Stack<T, F> {
    fn default() -> Self {
        Self::new_in()
    }
}

impl<T, F: Futex> Extend<T> for Stack<T, F> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        values.into_iter().for_each(|value| self.push(value));
    }
}

/// Makes a stack on futexes of this process; one on others is made empty and extended.
impl<T> FromIterator<T> for Stack<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let stack = Self::new();
        values.into_iter().for_each(|value| stack.push(value));
        stack
    }
}

impl<T, const N: usize> From<[T; N]> for Stack<T> {
    fn from(values: [T; N]) -> Self {
        values.into_iter().collect()
    }
}

impl<T, F: Futex> core::fmt::Debug for Stack<T, F> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Stack").field("is_empty", &self.is_empty()).finish_non_exhaustive()
    }
}

// SAFETY: values are moved in and out, by one thread each; no reference to a value is given.
unsafe impl<T: Send, F: Futex> Send for Stack<T, F> {}

// SAFETY: as above.
unsafe impl<T: Send, F: Futex> Sync for Stack<T, F> {}
