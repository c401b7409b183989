//! Guards of the keys of a set.

/// Makes a guard of a key, of a guard of the entry.
macro_rules! of_key {
    ($(#[$doc:meta])* $guard:ident of $entry:path) => {
        $(#[$doc])*
        pub struct $guard<'a, K>($entry);

        impl<'a, K> $guard<'a, K> {
            pub(crate) fn new(entry: $entry) -> Self {
                $guard(entry)
            }

            /// Returns the key.
            pub fn key(&self) -> &K {
                self.0.key()
            }
        }

        impl<K> std::ops::Deref for $guard<'_, K> {
            type Target = K;

            fn deref(&self) -> &K {
                self.key()
            }
        }
    };
}

/// Guards of one key.
pub mod one {
    of_key! {
        /// A key of a set, whose shard is locked for reading until the drop.
        Ref of crate::mapref::one::Ref<'a, K, ()>
    }
}

/// Guards of the keys that iterators give.
pub mod multiple {
    of_key! {
        /// A key that an iterator of a set gives, whose shard is locked for reading until the drop.
        RefMulti of crate::mapref::multiple::RefMulti<'a, K, ()>
    }
}
