//! What the guards of entries have in common, by two macros: those of a whole entry (`one`, `multiple`), and
//! those of a part of a value (`mapped`).

/// Makes a guard give the entry at its field `entry`: the key, the value and both, and the value by
/// `Deref`. With `mut` before the guard's name it is exclusive, and gives the value to be changed.
///
/// The macro's caller promises that the entry lies in the table which the guard keeps locked, for writing
/// if it is exclusive, and that no guard gives the entry beside an exclusive one.
macro_rules! entry {
    (mut $guard:ident) => {
        entry! { $guard }

        impl<K, V> $guard<'_, K, V> {
            /// Returns the value, to be changed.
            #[inline(always)]
            pub fn value_mut(&mut self) -> &mut V {
                self.pair_mut().1
            }

            /// Returns the key, and the value to be changed.
            #[inline(always)]
            pub fn pair_mut(&mut self) -> (&K, &mut V) {
                // SAFETY: as in `pair`; the entry is this guard's alone, which is borrowed exclusively.
                let (key, value) = unsafe { self.entry.as_mut() };
                (key, value)
            }
        }

        impl<K, V> core::ops::DerefMut for $guard<'_, K, V> {
            #[inline(always)]
            fn deref_mut(&mut self) -> &mut V {
                self.value_mut()
            }
        }
    };
    ($guard:ident) => {
        impl<K, V> $guard<'_, K, V> {
            /// Returns the key.
            #[inline(always)]
            pub fn key(&self) -> &K {
                self.pair().0
            }

            /// Returns the value.
            #[inline(always)]
            pub fn value(&self) -> &V {
                self.pair().1
            }

            /// Returns the key and the value.
            #[inline(always)]
            pub fn pair(&self) -> (&K, &V) {
                // SAFETY: the entry lies in the table, which the guard keeps as it is, by the promise of
                // the macro's caller.
                let (key, value) = unsafe { self.entry.as_ref() };
                (key, value)
            }
        }

        impl<K, V> core::ops::Deref for $guard<'_, K, V> {
            type Target = V;

            #[inline(always)]
            fn deref(&self) -> &V {
                self.value()
            }
        }
    };
}

/// Makes a guard give the key at its field `entry`, the part of the value at its field `part` and both, and
/// the part by `Deref`. With `mut` before the guard's name it is exclusive, and gives the part to be changed.
///
/// The macro's caller promises what the one of `entry!` does; the part is one of the entry's value.
macro_rules! part {
    (mut $guard:ident) => {
        part! { $guard }

        impl<K, V, T: ?Sized> $guard<'_, K, V, T> {
            /// Returns the part of the value, to be changed.
            pub fn value_mut(&mut self) -> &mut T {
                self.pair_mut().1
            }

            /// Returns the key, and the part of the value to be changed.
            pub fn pair_mut(&mut self) -> (&K, &mut T) {
                // SAFETY: as in `key`; the key lies beside the value, of which the part is.
                let key = unsafe { &(*self.entry.as_ptr()).0 };
                // SAFETY: as in `value`; the part is this guard's alone, which is borrowed exclusively.
                (key, unsafe { self.part.as_mut() })
            }
        }

        impl<K, V, T: ?Sized> core::ops::DerefMut for $guard<'_, K, V, T> {
            fn deref_mut(&mut self) -> &mut T {
                self.value_mut()
            }
        }
    };
    ($guard:ident) => {
        impl<K, V, T: ?Sized> $guard<'_, K, V, T> {
            /// Returns the key.
            pub fn key(&self) -> &K {
                // SAFETY: the entry lies in the table, which the guard keeps as it is. The key alone is
                // borrowed, as the part may be borrowed exclusively beside it.
                unsafe { &(*self.entry.as_ptr()).0 }
            }

            /// Returns the part of the value.
            pub fn value(&self) -> &T {
                // SAFETY: the part is the value's, which the guard keeps as it is.
                unsafe { self.part.as_ref() }
            }

            /// Returns the key and the part of the value.
            pub fn pair(&self) -> (&K, &T) {
                (self.key(), self.value())
            }
        }

        impl<K, V, T: ?Sized> core::ops::Deref for $guard<'_, K, V, T> {
            type Target = T;

            fn deref(&self) -> &T {
                self.value()
            }
        }

        impl<K: fmt::Debug, V, T: ?Sized + fmt::Debug> fmt::Debug for $guard<'_, K, V, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($guard)).field("key", self.key()).field("value", &self.value()).finish()
            }
        }
    };
}

pub(super) use {entry, part};
