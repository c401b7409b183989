//! What a container has unlinked while there was no memory for a bag. Each item waits by a word in its
//! own memory, so that nothing is allocated for it, and nothing is lost.

use core::mem;
use core::ptr::{self, NonNull};

use crate::atomic::{AtomicPtr, Ordering, const_fn};

/// The bits of an item's address that its container has for marks.
const MARKS: usize = 3;

/// The first word of an item that can be put aside. Readers leave it alone.
#[repr(transparent)]
pub(crate) struct AsideLink(AtomicPtr<()>);

impl AsideLink {
    #[inline]
    pub(crate) fn new() -> AsideLink {
        AsideLink(AtomicPtr::new(ptr::null_mut()))
    }

    /// Returns the link of an item.
    ///
    /// # Safety
    /// The item's address is that of a link, but for marks, and lives for as long as `'a`.
    unsafe fn of<'a>(item: NonNull<()>) -> &'a AsideLink {
        let link = item.as_ptr().map_addr(|address| address & !MARKS).cast::<AsideLink>();
        // SAFETY: the caller's promise.
        unsafe { &*link }
    }
}

/// The items that were put aside, the latest first.
pub(in crate::rcu) struct Aside(AtomicPtr<()>);

impl Aside {
    const_fn! {
        pub(in crate::rcu) fn new() -> Aside {
            Aside(AtomicPtr::new(ptr::null_mut()))
        }
    }

    /// Puts an item aside.
    ///
    /// # Safety
    /// The item begins with an [`AsideLink`], and is the caller's to retire.
    pub(in crate::rcu) unsafe fn push(&self, item: NonNull<()>) {
        // SAFETY: the caller's promise; what is retired lives until it is taken.
        let link = unsafe { AsideLink::of(item) };
        // Relaxed, here and on failure: the item before is looked at by who takes them all.
        let mut first = self.0.load(Ordering::Relaxed);
        loop {
            // Relaxed: published by the exchange.
            link.0.store(first, Ordering::Relaxed);
            // Release: the link, and that the item was unlinked. Partner: the acquire in `take`.
            match self.0.compare_exchange_weak(first, item.as_ptr(), Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => first = now,
            }
        }
    }

    /// Returns true if nothing was put aside. It may be told too late.
    pub(in crate::rcu) fn is_empty(&self) -> bool {
        // Relaxed: a look.
        self.0.load(Ordering::Relaxed).is_null()
    }

    /// Takes all items.
    pub(in crate::rcu) fn take(&self) -> AsideChain {
        // Acquire: partner of the release in `push`. All changes of the word are exchanges, so this
        // acquires what each of them released.
        AsideChain(self.0.swap(ptr::null_mut(), Ordering::Acquire))
    }
}

/// Items that were taken together. What is in it when it is dropped is leaked: it must not be freed
/// early.
pub(in crate::rcu) struct AsideChain(*mut ());

impl AsideChain {
    pub(in crate::rcu) const fn none() -> AsideChain {
        AsideChain(ptr::null_mut())
    }

    pub(in crate::rcu) fn is_empty(&self) -> bool {
        self.0.is_null()
    }

    /// Takes an item out.
    pub(in crate::rcu) fn pop(&mut self) -> Option<NonNull<()>> {
        let item = NonNull::new(self.0)?;
        // SAFETY: put in by `Aside::push`, and not freed yet.
        let link = unsafe { AsideLink::of(item) };
        // Relaxed: acquired in `take`.
        self.0 = link.0.load(Ordering::Relaxed);
        Some(item)
    }

    /// Takes all items out.
    pub(in crate::rcu) fn take(&mut self) -> AsideChain {
        mem::replace(self, AsideChain::none())
    }
}
