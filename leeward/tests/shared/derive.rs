//! `#[derive(AnyBytes)]`: every shape of struct that it takes. What it must not take is in `tests/ui`.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]
#![forbid(unsafe_code)]

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::sync::atomic::AtomicU32;

use leeward::robust::Mutex;
use leeward::shared::{self, AnyBytes};

fn is_any_bytes<T: AnyBytes>() {}

/// A struct with everything that may stand around a field.
#[derive(AnyBytes, Clone, Copy, Debug, PartialEq)]
#[repr(C)]
#[doc(alias = "account")]
pub struct Account {
    /// What the account holds.
    pub balance: i64,
    #[allow(dead_code)]
    pub(crate) version: u64,
    pub(crate) r#type: [u8; 3],
    unit: (),
}

mod inner {
    use super::{AnyBytes, is_any_bytes};

    #[derive(AnyBytes)]
    #[repr(C)]
    pub(super) struct Private {
        pub(super) one: u8,
        pub(self) other: super::Account,
    }

    #[test]
    fn of_a_module() {
        is_any_bytes::<Private>();
        assert_eq!(size_of::<Private>(), size_of::<super::Account>() + 8);
    }
}

#[derive(AnyBytes)]
#[repr(transparent)]
struct Meters(pub f64);

#[derive(AnyBytes)]
#[repr(C)]
struct Tuple(u8, pub u16, pub(crate) [u32; 2], #[allow(dead_code)] pub (), pub AtomicU32);

#[derive(AnyBytes)]
#[repr(C)]
struct Unit;

#[derive(AnyBytes)]
#[repr(C)]
struct Empty {}

#[derive(AnyBytes)]
#[repr(C, align(64))]
struct Aligned {
    line: u8,
}

#[derive(AnyBytes)]
#[repr(align(32))]
#[repr(C)]
struct TwoAttributes(u8);

#[derive(AnyBytes)]
#[repr(C, packed)]
struct Packed {
    one: u8,
    other: u64,
}

#[derive(AnyBytes)]
#[repr(C)]
struct Ring<T, const N: usize> {
    first: u32,
    items: [T; N],
}

#[derive(AnyBytes)]
#[repr(C)]
struct Bounded<T: Copy + Default + Into<Option<T>> = u8, const N: usize = 4, const SIGNED: i32 = -1>
where
    Vec<Vec<T>>: Sized,
    [u8; N]: Sized,
{
    values: [[T; 2]; N],
    raw: MaybeUninit<T>,
    of: PhantomData<fn(T) -> Vec<Vec<T>>>,
}

#[derive(AnyBytes)]
#[repr(C)]
struct Where<T, F>(T, PhantomData<F>)
where
    F: Fn(T) -> u8 + Send + 'static,
    T: Into<u64>;

#[derive(AnyBytes)]
#[repr(C)]
struct Locked {
    lock: shared::Mutex<[u64; 2]>,
    ready: shared::Event,
}

/// Structs that a macro declares, whose parts come to the derive in groups.
macro_rules! declare {
    ($vis:vis $name:ident { $($field_vis:vis $field:ident: $type:ty),* }
     ($($tuple_vis:vis $tuple:ty),*) $other:ident) => {
        #[derive(AnyBytes)]
        #[repr(C)]
        $vis struct $name { $($field_vis $field: $type),* }
        #[derive(AnyBytes)]
        #[repr(C)]
        $vis struct $other($($tuple_vis $tuple),*);
    };
}
declare! {
    pub Declared { one: u8, pub other: [u16; 4], pub(crate) third: Ring<u8, 3> }
    (u8, pub [u16; 4], Ring<u8, 3>) Other
}

#[test]
fn every_shape() {
    is_any_bytes::<Account>();
    is_any_bytes::<Meters>();
    is_any_bytes::<Tuple>();
    is_any_bytes::<Unit>();
    is_any_bytes::<Empty>();
    is_any_bytes::<Aligned>();
    is_any_bytes::<TwoAttributes>();
    is_any_bytes::<Packed>();
    is_any_bytes::<Ring<Ring<u8, 3>, 4>>();
    is_any_bytes::<Bounded>();
    is_any_bytes::<Bounded<u64, 1, 7>>();
    is_any_bytes::<Where<u8, fn(u8) -> u8>>();
    is_any_bytes::<Locked>();
    is_any_bytes::<Declared>();
    is_any_bytes::<Other>();
    assert_eq!((size_of::<Packed>(), align_of::<Aligned>(), align_of::<TwoAttributes>()), (9, 64, 32));
}

/// A generic struct is `AnyBytes` only where its fields are, and is a struct like any other elsewhere.
#[test]
fn a_struct_of_other_fields_may_be_made() {
    let ring = Ring { first: 0, items: [true, false] };
    assert!(ring.items[ring.first as usize]);
}

#[test]
fn behind_a_robust_lock() {
    static ACCOUNT: Mutex<Account> = Mutex::new(Account { balance: 7, version: 1, r#type: [0; 3], unit: () });
    let mut account = ACCOUNT.lock().unwrap();
    account.with(|account| account.balance -= 2);
    assert_eq!(account.get(), Account { balance: 5, version: 1, r#type: [0; 3], unit: () });
}

/// A length that another type has.
trait HasLength {
    const LENGTH: usize;
}

impl HasLength for u8 {
    const LENGTH: usize = 3;
}

/// A struct whose fields' types say `Self`: as an argument, in an array, and in the path of a constant.
#[derive(AnyBytes)]
#[repr(C)]
struct Node {
    next: PhantomData<Self>,
    neighbours: [PhantomData<fn(Self) -> *const Self>; 2],
    payload: [u8; Self::PAYLOAD],
    other: [u8; <Self>::PAYLOAD + 1],
}

impl Node {
    const PAYLOAD: usize = 4;
}

#[derive(AnyBytes)]
#[repr(C)]
struct GenericNode<'a, T: 'static, const N: usize>(PhantomData<&'a Self>, T, [PhantomData<Self>; N])
where
    PhantomData<Self>: Copy;

/// An item within a field has a `Self` of its own.
#[derive(AnyBytes)]
#[repr(C)]
struct Nested {
    bytes: [u8; {
        struct Inner;
        impl Inner {
            const SIZE: usize = size_of::<Self>() + 2;
        }
        Inner::SIZE
    }],
    own: PhantomData<Self>,
}

macro_rules! linked {
    ($name:ident { $($field:ident: $type:ty),* }) => {
        #[derive(AnyBytes)]
        #[repr(C)]
        struct $name { $($field: $type,)* own: PhantomData<Self> }
    };
}
linked!(Linked { link: PhantomData<Self>, length: [u8; <u8 as HasLength>::LENGTH] });

#[test]
fn self_in_a_field() {
    is_any_bytes::<Node>();
    is_any_bytes::<GenericNode<'static, u32, 2>>();
    is_any_bytes::<Nested>();
    is_any_bytes::<Linked>();
    assert_eq!((size_of::<Node>(), size_of::<GenericNode<'_, u32, 2>>(), size_of::<Nested>()), (9, 4, 2));
    assert_eq!(size_of::<Linked>(), 3);
}
