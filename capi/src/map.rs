//! Hash maps: the functions of `<leeward/map.h>`, which documents them, and what `urcu/table.c` makes
//! liburcu's hash table of.

use alloc::alloc::{Layout, alloc, dealloc};
use core::ffi::{c_int, c_ulong, c_void};
use core::ptr::{self, NonNull};

use leeward::collect::raw::map::{Added, Cursor, Map, MapNode, OutOfMemory, Reclaim, Sizes};
use leeward::rcu::c::{Head, RawDomain};

use crate::report::{given, report};

/// A function of C that compares a node's key.
type Equal = unsafe extern "C-unwind" fn(NonNull<MapNode>, *const c_void) -> c_int;

/// The map does not change its size by itself.
const FIXED: u32 = 1;
/// The map does not shrink by itself.
const KEEPS: u32 = 2;

/// The sizes of a map, `struct lee_map_options`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Options {
    initial: usize,
    least: usize,
    most: usize,
    flags: u32,
    reserved: u32,
}

// The layouts that the headers have.
const _: () =
    assert!(size_of::<Options>() == 3 * size_of::<usize>() + 8 && size_of::<Cursor>() == 2 * size_of::<usize>());
const _: () = assert!(size_of::<Reclaim>() == 4 * size_of::<usize>() && size_of::<c_ulong>() == size_of::<usize>());

/// Calls `act`, and has errno as it was: an allocation that fails sets it.
fn with_errno_kept<R>(act: impl FnOnce() -> R) -> R {
    // SAFETY: has no precondition; the location is valid for the calling thread.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let before = unsafe { errno.read() };
    let result = act();
    // SAFETY: as above.
    unsafe { errno.write(before) };
    result
}

/// Returns the comparison of nodes with a key.
///
/// # Safety
/// The function may be called with the key and with nodes of the map.
unsafe fn comparison(equal: Equal, key: *const c_void) -> impl FnMut(NonNull<MapNode>) -> bool {
    // SAFETY: the caller's promise.
    move |node| unsafe { equal(node, key) != 0 }
}

/// Makes a map over an RCU that is given as functions. Null: there is no memory.
///
/// # Safety
/// The functions are those of an RCU.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lee_1_map_new(options: &Options, rcu: &Reclaim, context: *mut ()) -> *mut Map {
    let sizes = Sizes {
        initial: options.initial,
        least: options.least,
        most: options.most,
        grows: options.flags & FIXED == 0,
        shrinks: options.flags & (FIXED | KEEPS) == 0,
    };
    with_errno_kept(|| {
        // SAFETY: the caller's promise.
        let Ok(mut map) = (unsafe { Map::new(sizes, *rcu) }) else { return ptr::null_mut() };
        map.context = context;
        // SAFETY: the layout is not empty.
        let memory = unsafe { alloc(Layout::new::<Map>()) }.cast::<Map>();
        if !memory.is_null() {
            // SAFETY: allocated above.
            unsafe { memory.write(map) };
        }
        memory
    })
}

/// Opens a section of the domain that a map is over.
unsafe extern "C" fn read_lock(domain: *const ()) {
    // SAFETY: made of such a reference, in `lee_map_new_with`.
    crate::rcu::lee_domain_read_lock(Some(unsafe { &*domain.cast() }));
}

/// Closes such a section.
unsafe extern "C" fn read_unlock(domain: *const ()) {
    // SAFETY: as above.
    crate::rcu::lee_domain_read_unlock(Some(unsafe { &*domain.cast() }));
}

/// Calls a function after a grace period of the domain.
unsafe extern "C" fn defer(domain: *const (), head: NonNull<Head>, call: unsafe extern "C-unwind" fn(NonNull<Head>)) {
    // SAFETY: as above.
    let domain: &'static RawDomain = unsafe { &*domain.cast() };
    // SAFETY: the map's promise: the head is the domain's until the call.
    unsafe { domain.defer(head, call) };
}

/// Makes a map over a domain. Null for options that this version does not know: they would be
/// promises that it does not keep.
#[unsafe(no_mangle)]
pub extern "C" fn lee_map_new_with(domain: Option<&'static RawDomain>, options: Option<&Options>) -> *mut Map {
    given!("lee_map_new_with", domain: "domain", options: "structure");
    if options.flags & !(FIXED | KEEPS) != 0 || options.reserved != 0 {
        let Options { flags, reserved, .. } = *options;
        report(format_args!("lee_map_new_with called with unknown options: flags {flags:#x}, reserved {reserved:#x}"));
        return ptr::null_mut();
    }
    let rcu = Reclaim { domain: ptr::from_ref(domain).cast(), read_lock, read_unlock, defer };
    // SAFETY: a domain's functions.
    unsafe { lee_1_map_new(options, &rcu, ptr::null_mut()) }
}

/// Frees a map without nodes.
///
/// # Safety
/// No other thread uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lee_map_free(map: Option<NonNull<Map>>) -> c_int {
    let Some(map) = map else { return 0 };
    // SAFETY: alive, by the caller's promise.
    let this = unsafe { map.as_ref() };
    // SAFETY: no other thread uses it.
    if unsafe { !this.is_empty() } {
        return libc::EBUSY;
    }
    // SAFETY: made by `lee_1_map_new`, and no thread uses it.
    unsafe { map.drop_in_place() };
    // SAFETY: allocated with this layout.
    unsafe { dealloc(map.as_ptr().cast(), Layout::new::<Map>()) };
    0
}

/// Returns what the map was made with.
#[unsafe(no_mangle)]
pub extern "C" fn lee_1_map_context(map: &Map) -> *mut () {
    map.context
}

/// Returns the first node of a key, or null.
///
/// # Safety
/// Inside a section.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn lee_map_find(
    map: Option<&Map>,
    hash: c_ulong,
    equal: Option<Equal>,
    key: *const c_void,
) -> *mut MapNode {
    given!("lee_map_find", map: "map", equal: "comparison");
    // SAFETY: the caller's promise, here and below.
    let equal = unsafe { comparison(equal, key) };
    // SAFETY: as above.
    unsafe { map.find(hash as usize, equal) }.node
}

/// Goes to the first node of a key.
///
/// # Safety
/// Inside a section.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn lee_map_find_all(
    map: Option<&Map>,
    hash: c_ulong,
    equal: Option<Equal>,
    key: *const c_void,
    cursor: Option<&mut Cursor>,
) -> *mut MapNode {
    given!("lee_map_find_all", map: "map", equal: "comparison", cursor: "cursor");
    // SAFETY: the caller's promise, here and below.
    let equal = unsafe { comparison(equal, key) };
    // SAFETY: as above.
    *cursor = unsafe { map.find(hash as usize, equal) };
    cursor.node
}

/// Goes to the next node of a key.
///
/// # Safety
/// Inside a section, of which the cursor is.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn lee_map_next_equal(
    map: Option<&Map>,
    equal: Option<Equal>,
    key: *const c_void,
    cursor: Option<&mut Cursor>,
) -> *mut MapNode {
    given!("lee_map_next_equal", map: "map", equal: "comparison", cursor: "cursor");
    // SAFETY: the caller's promise, here and below.
    let equal = unsafe { comparison(equal, key) };
    // SAFETY: as above.
    *cursor = unsafe { map.next_equal(*cursor, equal) };
    cursor.node
}

/// Goes to the first node.
///
/// # Safety
/// Inside a section.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lee_map_first(map: Option<&Map>, cursor: Option<&mut Cursor>) -> *mut MapNode {
    given!("lee_map_first", map: "map", cursor: "cursor");
    // SAFETY: the caller's promise.
    *cursor = unsafe { map.first() };
    cursor.node
}

/// Goes to the next node.
///
/// # Safety
/// Inside a section, of which the cursor is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lee_map_next(map: Option<&Map>, cursor: Option<&mut Cursor>) -> *mut MapNode {
    given!("lee_map_next", map: "map", cursor: "cursor");
    // SAFETY: the caller's promise.
    *cursor = unsafe { map.next(*cursor) };
    cursor.node
}

/// Adds a node.
///
/// # Safety
/// Inside a section; the node is in no map, and no thread has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lee_map_add(map: Option<&Map>, hash: c_ulong, node: Option<NonNull<MapNode>>) -> c_int {
    given!("lee_map_add", map: "map", node: "node");
    // SAFETY: the caller's promise.
    match with_errno_kept(|| unsafe { map.add(hash as usize, node) }) {
        Added::Yes => 0,
        Added::There(_) => is_there("lee_map_add", node),
        Added::OutOfMemory => libc::ENOMEM,
    }
}

/// Returns the error of a call that was to put a node into the map which has it, and reports that.
#[cold]
fn is_there(function: &str, node: NonNull<MapNode>) -> c_int {
    report(format_args!("{function} called with the node {node:p}, which the map has already"));
    libc::EINVAL
}

/// Adds a node, unless there is one of its key.
///
/// # Safety
/// As for `lee_map_add`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn lee_map_add_unique(
    map: Option<&Map>,
    hash: c_ulong,
    equal: Option<Equal>,
    key: *const c_void,
    node: Option<NonNull<MapNode>>,
    found: Option<&mut *mut MapNode>,
) -> c_int {
    given!("lee_map_add_unique", map: "map", equal: "comparison", node: "node", found: "place for a node");
    // SAFETY: the caller's promise, here and below.
    let equal = unsafe { comparison(equal, key) };
    // SAFETY: as above.
    let added = with_errno_kept(|| unsafe { map.add_unique(hash as usize, node, equal) });
    *found = ptr::null_mut();
    match added {
        Added::Yes => 0,
        Added::There(there) => {
            *found = there.as_ptr();
            libc::EEXIST
        }
        Added::OutOfMemory => libc::ENOMEM,
    }
}

/// Adds a node in the place of the one of its key.
///
/// # Safety
/// As for `lee_map_add`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn lee_map_set(
    map: Option<&Map>,
    hash: c_ulong,
    equal: Option<Equal>,
    key: *const c_void,
    node: Option<NonNull<MapNode>>,
    replaced: Option<&mut *mut MapNode>,
) -> c_int {
    given!("lee_map_set", map: "map", equal: "comparison", node: "node", replaced: "place for a node");
    // SAFETY: the caller's promise, here and below.
    let equal = unsafe { comparison(equal, key) };
    // SAFETY: as above.
    let added = with_errno_kept(|| unsafe { map.add_replace(hash as usize, node, equal) });
    *replaced = ptr::null_mut();
    match added {
        Added::Yes => {}
        Added::There(old) if old == node => return is_there("lee_map_set", node),
        Added::There(old) => *replaced = old.as_ptr(),
        Added::OutOfMemory => return libc::ENOMEM,
    }
    0
}

/// Puts a node into the place of another.
///
/// # Safety
/// As for `lee_map_add`; the other was found in this section.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lee_map_replace(
    map: Option<&Map>,
    old: Option<NonNull<MapNode>>,
    node: Option<NonNull<MapNode>>,
) -> c_int {
    given!("lee_map_replace", map: "map", node: "node");
    if old == Some(node) {
        return is_there("lee_map_replace", node);
    }
    // SAFETY: the caller's promise.
    let is_replaced = old.is_some_and(|old| with_errno_kept(|| unsafe { map.replace(old, node) }));
    if is_replaced { 0 } else { libc::ENOENT }
}

/// Removes a node.
///
/// # Safety
/// Inside a section, in which it was found.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lee_map_remove(map: Option<&Map>, node: Option<NonNull<MapNode>>) -> c_int {
    given!("lee_map_remove", map: "map");
    // SAFETY: the caller's promise.
    let is_removed = node.is_some_and(|node| with_errno_kept(|| unsafe { map.remove(node) }));
    if is_removed { 0 } else { libc::ENOENT }
}

/// Returns the number of nodes.
#[unsafe(no_mangle)]
pub extern "C" fn lee_map_count(map: Option<&Map>) -> usize {
    given!("lee_map_count", map: "map");
    map.len()
}

/// Counts the nodes one by one.
///
/// # Safety
/// Inside a section.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lee_1_map_walk(map: &Map) -> usize {
    // SAFETY: the caller's promise.
    unsafe { map.count() }
}

/// Returns true if a node was added with this hash.
#[unsafe(no_mangle)]
pub extern "C" fn lee_1_map_has_hash(node: &MapNode, hash: c_ulong) -> bool {
    node.given_hash() == hash as usize
}

/// Makes the map one for so many nodes.
#[unsafe(no_mangle)]
pub extern "C" fn lee_map_resize(map: Option<&Map>, nodes: usize) -> c_int {
    given!("lee_map_resize", map: "map");
    with_errno_kept(|| map.resize(nodes)).map_or_else(|OutOfMemory| libc::ENOMEM, |()| 0)
}

/// Returns true if a node was removed.
#[unsafe(no_mangle)]
pub extern "C" fn lee_map_node_is_removed(node: Option<&MapNode>) -> bool {
    given!("lee_map_node_is_removed", node: "node");
    node.is_removed()
}

/// Makes a node that is in no map look as one that was removed.
#[unsafe(no_mangle)]
pub extern "C" fn lee_map_node_init_removed(node: Option<&MapNode>) {
    given!("lee_map_node_init_removed", node: "node");
    node.set_removed();
}
