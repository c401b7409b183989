//! What the guards of `pi`, `shared` and `task` have in common, by one macro. (Those of `robust` give no
//! reference; those of `collect::shard_map` have a key beside the value, and macros of their own.)

/// Makes a guard a reference to what it guards: `guard! { GUARD<'_, T> [T: BOUND], self => PLACE }`, with
/// `mut` before `self` for a guard that is exclusive, and the parameters in brackets. Implements `Deref`
/// and `DerefMut`, with the attributes that are given, and shows the value where `Debug` asks.
///
/// `PLACE` is a pointer to the value or to a part of it. The caller of this macro promises that the
/// guard was made when the value's lock was taken, for writing if it is exclusive, that `PLACE` panics
/// where the guard does not have that lock any more, and that the guard's drop unlocks.
macro_rules! guard {
    ($(#[$meta:meta])* $guard:ty [$($life:lifetime,)? $t:ident: $($bound:tt)+], mut $self:ident => $place:expr) => {
        $crate::guard::guard! { $(#[$meta])* $guard [$($life,)? $t: $($bound)+], $self => $place }

        impl<$($life,)? $t: $($bound)+> core::ops::DerefMut for $guard {
            #[inline]
            $(#[$meta])*
            fn deref_mut(&mut $self) -> &mut $t {
                let place: *mut $t = $place;
                // SAFETY: as in `deref`; the lock is this guard's alone, which is borrowed exclusively.
                unsafe { &mut *place }
            }
        }
    };
    ($(#[$meta:meta])* $guard:ty [$($life:lifetime,)? $t:ident: $($bound:tt)+], $self:ident => $place:expr) => {
        impl<$($life,)? $t: $($bound)+> core::ops::Deref for $guard {
            type Target = $t;

            #[inline]
            $(#[$meta])*
            fn deref(&$self) -> &$t {
                let place: *mut $t = $place;
                // SAFETY: the guard has the value's lock until it is dropped, by the promise of the
                // macro's caller.
                unsafe { &*place }
            }
        }

        impl<$($life,)? $t: $($bound)+ + core::fmt::Debug> core::fmt::Debug for $guard {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                (**self).fmt(f)
            }
        }
    };
}
pub(crate) use guard;
