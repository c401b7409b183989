//! The three ways in which a [`Condvar`](super::Condvar) notifies, as types. Called by
//! `condvar.rs`.

/// How a notification reaches the waiters, as a type, since waiters and notifiers must agree.
/// Implemented by [`Plain`], [`Requeue`] and [`WakeOp`] only.
///
/// ```
/// use leeward::raw::{Condvar, Plain, Requeue, Scheme, WakeOp};
/// fn notify<S: Scheme>(condition: &Condvar<S>) -> u32 {
///     condition.notify_all()
/// }
/// assert_eq!(notify(&Condvar::<Plain>::new_in()), 0);
/// assert_eq!(notify(&Condvar::<Requeue>::new()), 0);
/// assert_eq!(notify(&Condvar::<WakeOp>::new_in()), 0);
/// ```
pub trait Scheme: sealed::Sealed + Send + Sync + 'static {
    /// True if waiters may be moved to the lock: they lock it as a contended one.
    #[doc(hidden)]
    const MOVES: bool;
    /// True if the wake itself unlocks the inner lock.
    #[doc(hidden)]
    const UNLOCKS: bool;
}

/// The scheme that only wakes: one wake a notification. A waiter that is woken while the lock is
/// held finds it locked and sleeps again. `FUTEX_WAKE`.
///
/// ```
/// use leeward::raw::{Condvar, Plain};
/// static CONDITION: Condvar<Plain> = Condvar::new_in();
/// assert!(!CONDITION.notify_one());
/// ```
#[derive(Debug)]
pub enum Plain {}

/// The scheme that moves waiters to the lock while it is held; its unlocks wake them one by one, so
/// that no woken thread finds the lock taken. The default: never far from the best, and twice as
/// fast as the others where all threads share a processor. `FUTEX_CMP_REQUEUE`, Linux 2.6.7.
///
/// ```
/// use leeward::raw::{Condvar, Requeue};
/// static CONDITION: Condvar = Condvar::<Requeue>::new();
/// assert!(!CONDITION.notify_one());
/// ```
#[derive(Debug)]
pub enum Requeue {}

/// The scheme whose wake also unlocks the condition variable's inner lock, and wakes a thread that
/// waits for that, in one system call. No waiter is moved. The fastest where a few waiters have
/// processors of their own. `FUTEX_WAKE_OP`, Linux 2.6.14.
///
/// ```
/// use leeward::raw::{Condvar, WakeOp};
/// static CONDITION: Condvar<WakeOp> = Condvar::new_in();
/// assert!(!CONDITION.notify_one());
/// ```
#[derive(Debug)]
pub enum WakeOp {}

impl Scheme for Plain {
    const MOVES: bool = false;
    const UNLOCKS: bool = false;
}
impl Scheme for Requeue {
    const MOVES: bool = true;
    const UNLOCKS: bool = false;
}
impl Scheme for WakeOp {
    const MOVES: bool = false;
    const UNLOCKS: bool = true;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Plain {}
    impl Sealed for super::Requeue {}
    impl Sealed for super::WakeOp {}
}
