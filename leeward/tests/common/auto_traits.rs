//! Assertions that a type has an automatic trait, or does not have it. The compiler checks them;
//! nothing runs.

#![allow(unused_macros)]

/// Does not compile if `$type` implements `$trait`: there would be two candidates for the function.
macro_rules! assert_not {
    ($trait:ident: $($type:ty),* $(,)?) => {$(
        const _: fn() = || {
            trait Ambiguous<A> { fn it() {} }
            impl<T: ?Sized> Ambiguous<()> for T {}
            impl<T: ?Sized + $trait> Ambiguous<u8> for T {}
            <$type as Ambiguous<_>>::it();
        };
    )*};
}

macro_rules! assert_is {
    ($trait:ident: $($type:ty),* $(,)?) => {$(
        const _: fn() = || {
            fn needs<T: ?Sized + $trait>() {}
            needs::<$type>();
        };
    )*};
}
