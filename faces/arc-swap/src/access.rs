//! Parts of a cell's value, for code that is to know no more than its part.
//!
//! ```
//! use arc_swap::ArcSwap;
//! use arc_swap::access::{Access, DynAccess};
//! struct Config { limit: u32 }
//! fn limit(config: impl Access<u32>) -> u32 { *config.load() }
//! let config = ArcSwap::from_pointee(Config { limit: 5 });
//! let part = config.map(|config: &Config| &config.limit);
//! assert_eq!(limit(&part), 5);
//! let part: &dyn DynAccess<u32> = &part;
//! assert_eq!(*part.load(), 5);
//! ```

use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::sync::Arc;
use core::marker::PhantomData;
use core::ops::Deref;

use crate::strategy::Strategy;
use crate::{ArcSwapAny, Guard, RefCnt};

/// A place that a `T` is loaded from: a cell, a part of one, or a constant.
pub trait Access<T> {
    /// What keeps the loaded value.
    type Guard: Deref<Target = T>;

    /// Loads the value.
    fn load(&self) -> Self::Guard;
}

impl<T, A: Access<T> + ?Sized, P: Deref<Target = A>> Access<T> for P {
    type Guard = A::Guard;

    fn load(&self) -> Self::Guard {
        A::load(self)
    }
}

macro_rules! of_objects {
    ($($object:ty),+) => {$(
        impl<T> Access<T> for $object {
            type Guard = DynGuard<T>;

            fn load(&self) -> Self::Guard {
                DynAccess::load(self)
            }
        }
    )+};
}
of_objects!(dyn DynAccess<T> + '_, dyn DynAccess<T> + '_ + Send, dyn DynAccess<T> + '_ + Sync + Send);

impl<T: RefCnt, S: Strategy<T>> Access<T> for ArcSwapAny<T, S> {
    type Guard = Guard<T, S>;

    fn load(&self) -> Self::Guard {
        ArcSwapAny::load(self)
    }
}

/// A guard that reads as what the pointer points to.
#[derive(Debug)]
#[doc(hidden)]
pub struct DirectDeref<T: RefCnt, S: Strategy<T>>(Guard<T, S>);

macro_rules! of_pointers {
    ($($pointer:ident),+) => {$(
        impl<T, S: Strategy<$pointer<T>>> Deref for DirectDeref<$pointer<T>, S> {
            type Target = T;

            fn deref(&self) -> &T {
                &self.0
            }
        }

        impl<T, S: Strategy<$pointer<T>>> Access<T> for ArcSwapAny<$pointer<T>, S> {
            type Guard = DirectDeref<$pointer<T>, S>;

            fn load(&self) -> Self::Guard {
                DirectDeref(ArcSwapAny::load(self))
            }
        }
    )+};
}
of_pointers!(Arc, Rc);

/// What [`DynAccess`] loads.
#[doc(hidden)]
pub struct DynGuard<T: ?Sized>(Box<dyn Deref<Target = T>>);

impl<T: ?Sized> Deref for DynGuard<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// An [`Access`] that may be an object. Each load allocates.
pub trait DynAccess<T> {
    /// Loads the value.
    fn load(&self) -> DynGuard<T>;
}

impl<T, A> DynAccess<T> for A
where
    A: Access<T>,
    A::Guard: 'static,
{
    fn load(&self) -> DynGuard<T> {
        DynGuard(Box::new(Access::load(self)))
    }
}

/// Makes an [`Access`] of a pointer to a [`DynAccess`].
pub struct AccessConvert<D>(pub D);

impl<T, D> Access<T> for AccessConvert<D>
where
    D: Deref,
    D::Target: DynAccess<T>,
{
    type Guard = DynGuard<T>;

    fn load(&self) -> Self::Guard {
        DynAccess::load(&*self.0)
    }
}

/// What a [`Map`] loads.
#[doc(hidden)]
#[derive(Copy, Clone, Debug)]
pub struct MapGuard<G, F, T, R> {
    guard: G,
    projection: F,
    part: PhantomData<fn(&T) -> &R>,
}

impl<G, F, T, R> Deref for MapGuard<G, F, T, R>
where
    G: Deref<Target = T>,
    F: Fn(&T) -> &R,
{
    type Target = R;

    fn deref(&self) -> &R {
        (self.projection)(&self.guard)
    }
}

/// A part of what another [`Access`] loads; made by [`ArcSwapAny::map`].
#[derive(Copy, Clone, Debug)]
pub struct Map<A, T, F> {
    access: A,
    projection: F,
    whole: PhantomData<fn() -> T>,
}

impl<A, T, F> Map<A, T, F> {
    /// Makes an access to the part that `projection` returns. It is called whenever the part is read.
    pub fn new<R>(access: A, projection: F) -> Self
    where
        F: Fn(&T) -> &R + Clone,
    {
        Map { access, projection, whole: PhantomData }
    }
}

impl<A, F, T, R> Access<R> for Map<A, T, F>
where
    A: Access<T>,
    F: Fn(&T) -> &R + Clone,
{
    type Guard = MapGuard<A::Guard, F, T, R>;

    fn load(&self) -> Self::Guard {
        MapGuard { guard: self.access.load(), projection: self.projection.clone(), part: PhantomData }
    }
}

/// What a [`Constant`] loads.
#[doc(hidden)]
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub struct ConstantDeref<T>(T);

impl<T> Deref for ConstantDeref<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// An [`Access`] to a value that never changes.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Hash)]
pub struct Constant<T>(pub T);

impl<T: Clone> Access<T> for Constant<T> {
    type Guard = ConstantDeref<T>;

    fn load(&self) -> Self::Guard {
        ConstantDeref(self.0.clone())
    }
}
