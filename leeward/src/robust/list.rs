//! The calling thread's robust list, which the kernel walks when the thread exits: joined where
//! libc has registered one, else registered here.
//!
//! A thread has one list. Where libc has registered it, it is joined, in glibc's layout (checked
//! before anything is written). Where there is none, one of our own is registered, in the same
//! layout, so that others may join it later.
//!
//! Pointers in the list address an entry's `next`; `prev` is the word before it, the lock's word
//! lies 32 bytes before it, and bit 0 marks a priority-inheriting lock. All stores are relaxed: the
//! reader is the kernel, on this very thread, which sees them in program order. The compiler fences
//! keep the compiler to that order, and no more is needed.

use core::ffi::c_long;
use core::ptr::NonNull;

use super::ListError;
use crate::atomic::{AtomicPtr, Ordering, compiler_fence};
use crate::process::Errno;

/// The distance from the word that an entry's pointer addresses to its lock's word.
pub(super) const OFFSET: isize = -32;
/// Bit 0 of a pointer: the entry is a priority-inheriting lock's.
const MARK: usize = 1;
const HEAD_LENGTH: usize = size_of::<Head>() - size_of::<usize>();

/// A pointer as the kernel and glibc have it: the address of a `next`, perhaps with its mark.
type Pointer = *mut ();

/// The links of one lock.
#[repr(C)]
pub(super) struct RobustEntry {
    prev: AtomicPtr<()>,
    next: AtomicPtr<()>,
}

/// The list's head, with both its ends; the kernel's structure begins at `next`.
#[repr(C)]
pub(super) struct Head {
    ends: RobustEntry,
    offset: c_long,
    pending: AtomicPtr<()>,
}

/// The calling thread's list, by its head.
#[derive(Clone, Copy)]
pub(super) struct RobustList(NonNull<Head>);

impl RobustEntry {
    pub(super) const fn new() -> RobustEntry {
        RobustEntry { prev: AtomicPtr::new(core::ptr::null_mut()), next: AtomicPtr::new(core::ptr::null_mut()) }
    }

    fn pointer(&self) -> Pointer {
        core::ptr::from_ref(self).cast_mut().cast::<u8>().wrapping_add(size_of::<usize>()).cast()
    }

    fn at(pointer: Pointer) -> *const RobustEntry {
        pointer.map_addr(|address| address & !MARK).cast::<u8>().wrapping_sub(size_of::<usize>()).cast()
    }
}

impl RobustList {
    /// Returns the list with this head.
    ///
    /// # Safety
    /// The head is that of the calling thread's list, which was found before.
    #[inline]
    pub(super) unsafe fn at(head: *const Head) -> RobustList {
        // SAFETY: a list that was found has a head.
        RobustList(unsafe { NonNull::new_unchecked(head.cast_mut()) })
    }

    /// Returns the calling thread's list: joined, or registered now.
    #[cold]
    pub(super) fn find() -> Result<RobustList, ListError> {
        if !cfg!(target_env = "gnu") {
            return Err(ListError::Libc);
        }
        let (head, length) = registered()?;
        match NonNull::new(RobustEntry::at(head).cast_mut().cast::<Head>()) {
            _ if head.is_null() => register(),
            Some(head) if length == HEAD_LENGTH => join(RobustList(head)),
            _ => Err(ListError::Layout),
        }
    }

    pub(super) fn head(&self) -> &Head {
        // SAFETY: registered for the calling thread, and so alive as long as the thread is; checked
        // by `join`.
        unsafe { self.0.as_ref() }
    }

    /// Names the entry as pending: from here on, a death of this thread has the kernel look at its
    /// lock too.
    #[inline]
    pub(super) fn begin(self, entry: &'static RobustEntry) {
        self.head().pending.store(entry.pointer(), Ordering::Relaxed);
        // SeqCst (compiler): the word is taken, or the entry unlinked, after this.
        compiler_fence(Ordering::SeqCst);
    }

    /// Clears the pending entry.
    #[inline]
    pub(super) fn end(self) {
        // SeqCst (compiler): the entry is linked, or the word released and a waiter woken, before
        // this.
        compiler_fence(Ordering::SeqCst);
        self.head().pending.store(core::ptr::null_mut(), Ordering::Relaxed);
    }

    /// Links the entry of a lock that this thread has just taken, at the front.
    #[inline]
    pub(super) fn link(self, entry: &'static RobustEntry) {
        let ends = &self.head().ends;
        // SeqCst (compiler): the word was taken before this.
        compiler_fence(Ordering::SeqCst);
        let first = ends.next.load(Ordering::Relaxed);
        entry.next.store(first, Ordering::Relaxed);
        entry.prev.store(ends.pointer(), Ordering::Relaxed);
        // SAFETY: the list holds entries of locks that this thread holds and that stay where they
        // are meanwhile; the last one's `next` is the head, which has a `prev` too.
        let first = unsafe { &*RobustEntry::at(first) };
        first.prev.store(entry.pointer(), Ordering::Relaxed);
        // SeqCst (compiler): the walk, which goes by `next`, meets the entry whole or not at all.
        compiler_fence(Ordering::SeqCst);
        ends.next.store(entry.pointer(), Ordering::Relaxed);
    }
}

impl RobustEntry {
    /// Unlinks the entry of a lock that this thread holds.
    ///
    /// # Safety
    /// The entry is in the calling thread's list.
    #[inline]
    pub(super) unsafe fn unlink(&self) {
        let (prev, next) = (self.prev.load(Ordering::Relaxed), self.next.load(Ordering::Relaxed));
        // SAFETY: its neighbours in the list are entries of locks that this thread holds, or the
        // head.
        let before = unsafe { &*RobustEntry::at(prev) };
        // SAFETY: as above.
        let behind = unsafe { &*RobustEntry::at(next) };
        before.next.store(next, Ordering::Relaxed);
        behind.prev.store(prev, Ordering::Relaxed);
        // SeqCst (compiler): the word is released after this.
        compiler_fence(Ordering::SeqCst);
    }
}

/// Returns the head and length that the kernel has for the calling thread; the head is null if
/// there is none.
fn registered() -> Result<(Pointer, usize), ListError> {
    let (mut head, mut length): (Pointer, usize) = (core::ptr::null_mut(), 0);
    let errno = Errno::save();
    // SAFETY: 0 is the calling thread; both places are ours to write.
    let answer = unsafe { libc::syscall(libc::SYS_get_robust_list, 0, &raw mut head, &raw mut length) };
    errno.restore();
    if answer == 0 { Ok((head, length)) } else { Err(ListError::Refused) }
}

/// Checks that a list that another library registered is what we take it for, without following a
/// pointer that a list of another kind would not have.
fn join(list: RobustList) -> Result<RobustList, ListError> {
    const PAGE: usize = 4096;
    let address = list.0.as_ptr().addr();
    // A head at a page's beginning has no word before it that is known to be mapped; glibc's lies
    // in a larger structure.
    if (address + size_of::<usize>()) % PAGE == 0 || address % align_of::<Head>() != 0 {
        return Err(ListError::Layout);
    }
    let head = list.head();
    if head.offset as isize != OFFSET {
        return Err(ListError::Offset(head.offset as isize));
    }
    let ends = &head.ends;
    let (first, last) = (ends.next.load(Ordering::Relaxed), ends.prev.load(Ordering::Relaxed));
    let follows = |pointer: Pointer| !pointer.is_null() && pointer.addr() & !MARK & (align_of::<Head>() - 1) == 0;
    if !follows(first) || !follows(last) {
        return Err(ListError::Layout);
    }
    // SAFETY: the kernel would follow it too: it is the `next` of a list with this offset.
    let first = unsafe { &*RobustEntry::at(first) };
    // SAFETY: the last entry of the list, or the head.
    let last = unsafe { &*RobustEntry::at(last) };
    let points_at_head = |pointer: Pointer| RobustEntry::at(pointer).addr() == address;
    if !points_at_head(first.prev.load(Ordering::Relaxed)) || !points_at_head(last.next.load(Ordering::Relaxed)) {
        return Err(ListError::Layout);
    }
    Ok(list)
}

/// Registers a head of our own, in a page of its own that is never given back. The kernel reads the
/// head when the thread has come to its end, and the thread's stack and thread-local storage may be
/// unmapped by then.
fn register() -> Result<RobustList, ListError> {
    let errno = Errno::save();
    // SAFETY: a new mapping, which overlaps no other memory.
    let page = unsafe {
        libc::mmap(
            core::ptr::null_mut(),
            // The page's beginning is left alone: see `join`.
            size_of::<Head>() + align_of::<Head>() * 8,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if page == libc::MAP_FAILED {
        errno.restore();
        return Err(ListError::Refused);
    }
    let place = page.cast::<Head>().wrapping_add(1);
    let next = place.cast::<u8>().wrapping_add(size_of::<usize>()).cast::<()>();
    let ends = RobustEntry { prev: AtomicPtr::new(next), next: AtomicPtr::new(next) };
    let pending = AtomicPtr::new(core::ptr::null_mut());
    // SAFETY: within the page, aligned.
    unsafe { place.write(Head { ends, offset: OFFSET as c_long, pending }) };
    // SAFETY: stays forever; the thread has no other list.
    let answer = unsafe { libc::syscall(libc::SYS_set_robust_list, next, HEAD_LENGTH) };
    errno.restore();
    let list = NonNull::new(place).filter(|_| answer == 0);
    list.map(RobustList).ok_or(ListError::Refused)
}
