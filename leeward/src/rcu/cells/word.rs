//! The one word by which a cell names its value, sized or not.
//!
//! | a pointer to the value is | the word points to |
//! |---|---|
//! | thin: one word | the value, in the memory of its box |
//! | fat: two words | a block: a fat pointer to the value, then the value |
//!
//! A type is one or the other when it is compiled (`is_thin`), so no branch is left. A reader of a
//! block takes the fat pointer out of it, and finds the value in the same allocation.

use alloc::alloc::{alloc, dealloc, handle_alloc_error};
use alloc::boxed::Box;
use core::alloc::Layout;
use core::mem::{self, ManuallyDrop};
use core::ptr::{self, NonNull};

/// Returns true if a pointer to `T` is one word. Another is two: an address and what belongs to it,
/// a length or a table of methods.
const fn is_thin<T: ?Sized>() -> bool {
    let words = size_of::<*mut T>() / size_of::<*mut ()>();
    assert!(size_of::<*mut T>() == words * size_of::<*mut ()>() && (words == 1 || words == 2));
    words == 1
}

/// Puts a value behind a word, which is not null.
///
/// A value without a size of its own moves out of its box into a block. Where there is no memory for
/// the block, the box is not touched: if `handle_alloc_error` unwinds, it drops the value.
pub(in crate::rcu) fn publish<T: ?Sized>(value: Box<T>) -> *mut () {
    if const { is_thin::<T>() } {
        return Box::into_raw(value).cast();
    }
    let (layout, offset) = block_of(&*value);
    // SAFETY: the layout is not empty: it has the fat pointer.
    let Some(block) = NonNull::new(unsafe { alloc(layout) }) else { handle_alloc_error(layout) };
    // SAFETY: the offset is in the block.
    let place = unsafe { block.add(offset) };
    // SAFETY: the block is new and has room for the value at the offset.
    let value = unsafe { relocate(value, place) };
    // SAFETY: the block begins with a place for it.
    unsafe { block.cast().write(value) };
    block.as_ptr().cast()
}

/// Moves a value out of its box, which is freed, to `place`, and returns the pointer to it there.
///
/// # Safety
/// `place` is fit to be written with so many bytes of such an alignment.
unsafe fn relocate<T: ?Sized>(value: Box<T>, place: NonNull<u8>) -> NonNull<T> {
    let size = size_of_val(&*value);
    let moved = at(NonNull::from(&*value), place);
    // From here on nothing panics: the value is in two places, and one of them must not drop it.
    let value = Box::into_raw(value);
    // SAFETY: the value's bytes, which lie elsewhere than the memory at `place`.
    unsafe { ptr::copy_nonoverlapping(value.cast::<u8>(), place.as_ptr(), size) };
    // SAFETY: from the box above, whose value has moved: only the memory is freed.
    drop(unsafe { Box::from_raw(value as *mut ManuallyDrop<T>) });
    moved
}

/// Returns the value behind a word; `None` behind null.
///
/// # Safety
/// `word` is null or came from [`publish`] of a `T`, which is alive, and what `publish` did happens
/// before the call.
#[inline(always)]
pub(in crate::rcu) unsafe fn value_of<T: ?Sized>(word: *mut ()) -> Option<NonNull<T>> {
    // SAFETY: the caller's promise.
    NonNull::new(word).map(|word| unsafe { value_behind(word) })
}

/// Returns the value behind a word that is not null.
///
/// # Safety
/// As for [`value_of`].
#[inline(always)]
pub(in crate::rcu) unsafe fn value_behind<T: ?Sized>(word: NonNull<()>) -> NonNull<T> {
    if const { is_thin::<T>() } {
        // SAFETY: both are pointers of one word, and so are the same but for their type.
        return unsafe { mem::transmute_copy::<NonNull<()>, NonNull<T>>(&word) };
    }
    // SAFETY: the block begins with the pointer, by the caller's promise, and nothing changes it.
    unsafe { word.cast::<NonNull<T>>().read() }
}

/// Returns the word of a value; null for `None`. Where the value is behind none, the word is for
/// comparing only, and is not that of a value at another address.
#[inline(always)]
pub(in crate::rcu) fn word_of<T: ?Sized>(value: Option<&T>) -> *mut () {
    let Some(value) = value else { return ptr::null_mut() };
    let address = ptr::from_ref(value).cast_mut().cast::<()>();
    if const { is_thin::<T>() } { address } else { address.wrapping_byte_sub(offset_of(align_of_val(value))) }
}

/// Drops a value and frees the memory behind its word, also if the drop panics.
///
/// # Safety
/// [`value_of`] returned `value`. It is the caller's alone, who gives it up.
pub(in crate::rcu) unsafe fn free<T: ?Sized>(value: NonNull<T>) {
    if const { is_thin::<T>() } {
        // SAFETY: `publish` made it of a box, and it is the caller's alone.
        return drop(unsafe { Box::from_raw(value.as_ptr()) });
    }
    // SAFETY: the caller's promise.
    drop(unsafe { Taken::new(value) });
}

/// Returns a value in a box of its own. What has no size of its own moves into a new allocation;
/// where there is no memory for it and `handle_alloc_error` unwinds, it is dropped.
///
/// # Safety
/// As for [`free`].
pub(in crate::rcu) unsafe fn into_box<T: ?Sized>(value: NonNull<T>) -> Box<T> {
    if const { is_thin::<T>() } {
        // SAFETY: `publish` made it of a box, and it is the caller's alone.
        return unsafe { Box::from_raw(value.as_ptr()) };
    }
    // SAFETY: the caller's promise.
    let taken = unsafe { Taken::new(value) };
    // SAFETY: it is alive.
    let layout = Layout::for_value(unsafe { value.as_ref() });
    let place = allocate(layout);
    let moved = at(value, place);
    // From here on nothing panics: as in `relocate`.
    // SAFETY: the value's bytes, and new memory for as many.
    unsafe { ptr::copy_nonoverlapping(value.cast::<u8>().as_ptr(), place.as_ptr(), layout.size()) };
    drop(taken.into_block());
    // SAFETY: the value has moved there, into memory that a box of it would have.
    unsafe { Box::from_raw(moved.as_ptr()) }
}

/// Returns memory such as a box's: none, but aligned, where the layout has no size.
fn allocate(layout: Layout) -> NonNull<u8> {
    if layout.size() == 0 {
        // SAFETY: an alignment is not 0.
        return unsafe { NonNull::new_unchecked(ptr::without_provenance_mut(layout.align())) };
    }
    // SAFETY: the layout is not empty.
    NonNull::new(unsafe { alloc(layout) }).unwrap_or_else(|| handle_alloc_error(layout))
}

/// A value in a block, its owner's alone. The drop drops the value and frees the block.
struct Taken<T: ?Sized> {
    value: NonNull<T>,
    block: Block,
}

/// The memory of a block, without a value. The drop frees it.
struct Block {
    start: NonNull<u8>,
    layout: Layout,
}

impl<T: ?Sized> Taken<T> {
    /// Takes a value over.
    ///
    /// # Safety
    /// As for [`free`].
    unsafe fn new(value: NonNull<T>) -> Taken<T> {
        // SAFETY: it is alive, by the caller's promise.
        let reference = unsafe { value.as_ref() };
        let (layout, offset) = block_of(reference);
        // SAFETY: the value lies so far behind the start of its block, for all of which its pointer
        // serves (`at`).
        let start = unsafe { value.cast::<u8>().sub(offset) };
        Taken { value, block: Block { start, layout } }
    }

    /// Forgets the value, which has moved away.
    fn into_block(self) -> Block {
        let this = ManuallyDrop::new(self);
        Block { start: this.block.start, layout: this.block.layout }
    }
}

impl<T: ?Sized> Drop for Taken<T> {
    fn drop(&mut self) {
        // SAFETY: alive, the owner's alone, and not used afterwards. `block` is dropped next, after
        // a panic too.
        unsafe { self.value.drop_in_place() };
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: allocated by `publish`, with this layout.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}

/// Returns the layout of the block of a value, and where in it the value lies.
fn block_of<T: ?Sized>(value: &T) -> (Layout, usize) {
    match Layout::new::<NonNull<T>>().extend(Layout::for_value(value)) {
        Ok(block) => block,
        Err(_) => panic!("leeward: a value of {} bytes leaves no room for a pointer", size_of_val(value)),
    }
}

/// Returns where in its block a value of this alignment lies: as `block_of` does.
fn offset_of(align: usize) -> usize {
    size_of::<[*mut (); 2]>().next_multiple_of(align)
}

/// Returns a fat pointer as `pointer`, but to `place`: that address, with the right to use that
/// memory, and the other word (the length, or the table of methods) of `pointer`.
///
/// Stable Rust has no function for it: those that keep the other word (`wrapping_byte_add`) keep the
/// right to use the old memory as well. So one of the pointer's two words is replaced. Which of them
/// is the address is not told by the language, and is not presumed here either: it is the word that
/// another address changes. Where that is not one word alone, the function panics; compiled, the
/// comparison is decided.
fn at<T: ?Sized>(pointer: NonNull<T>, place: NonNull<u8>) -> NonNull<T> {
    let mut pointer = pointer.as_ptr();
    let (one, other) = (words(pointer), words(pointer.wrapping_byte_add(1)));
    let index = match (one[0] == other[0], one[1] == other[1]) {
        (false, true) => 0,
        (true, false) => 1,
        _ => panic!("leeward: a fat pointer has no address of its own"),
    };
    assert!(one[index] == pointer.cast(), "leeward: a fat pointer's address is not as its thin pointer's");
    // SAFETY: the pointer consists of two words, and the index is one of them.
    let address = unsafe { (&raw mut pointer).cast::<*mut ()>().add(index) };
    // SAFETY: it lies in a variable of this function, and any address may be in it.
    unsafe { address.write(place.as_ptr().cast()) };
    // SAFETY: the address is now that of `place`, which is not null.
    unsafe { NonNull::new_unchecked(pointer) }
}

/// Returns the two words of a fat pointer.
fn words<T: ?Sized>(pointer: *mut T) -> [*mut (); 2] {
    // SAFETY: the pointer consists of so many bytes (`transmute_copy` panics otherwise), and a pointer
    // without type may be of any.
    unsafe { mem::transmute_copy(&pointer) }
}
