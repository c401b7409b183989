//! Robust lists for a process's own threads: lists of the engine, beside the one that the kernel
//! keeps for libc. The engine's robust operations call the [`RobustHost`] here.

use core::cell::Cell;

use super::table::Table;
use super::{Process, thread};
use crate::mutant::mutated;
use crate::{Address, Errno, Fault, Memory, RobustHost};

/// The heads of the threads' lists, of one host. A thread that ends without a walk of its list
/// leaves its entry, which the next thread with that number finds.
#[derive(Debug)]
pub(super) struct Heads<M: Memory> {
    /// The heads by the threads' numbers, in their order.
    heads: Table<M, (u32, Address)>,
    /// A number that no other host's has.
    id: u64,
}

/// The head of a thread for which the table of its host had no room.
#[derive(Clone, Copy)]
struct Own {
    /// The id of the [`Heads`]; 0: none.
    id: u64,
    /// The thread's number: the child of a fork has another one, and no list.
    number: u32,
    head: Address,
}

impl Own {
    const NONE: Own = Own { id: 0, number: 0, head: 0 };
}

std::thread_local! {
    /// The head that there was no room for. It has no destructor, so that a thread may set its head
    /// and walk its list at any time of its end.
    static OWN: Cell<Own> = const { Cell::new(Own::NONE) };
}

impl<M: Memory> Heads<M> {
    /// Makes an empty table, which allocates nothing yet.
    pub(super) fn new(memory: M) -> Heads<M> {
        Heads { heads: Table::new(memory), id: thread::serial() }
    }
}

impl<M: Memory + 'static> Process<M> {
    /// Returns the head that was set for a thread.
    fn head_of(&self, thread: u32) -> Option<Address> {
        let heads = self.heads.heads.lock(self);
        let found = heads.binary_search_by_key(&thread, |(number, _)| *number).map(|index| heads[index].1);
        drop(heads);
        let own = OWN.get();
        let is_own = own.id == self.heads.id && (own.number == thread || mutated!(head_fork));
        found.ok().or_else(|| is_own.then_some(own.head))
    }
}

/// Returns the id of the thread that is meant: 0 is the calling one.
fn named(thread: u32) -> u32 {
    if thread != 0 {
        return thread;
    }
    // SAFETY: no arguments.
    unsafe { libc::gettid() as u32 }
}

/// The lists are the engine's: a thread calls [`exit_robust`](crate::Engine::exit_robust) at its
/// end, since neither the kernel nor libc does. Waiters are woken by the shared key: let them wait
/// by [`Word::shared`](crate::Word::shared).
///
/// A list is trusted like any other address (see [`Process::new`]): nothing is checked that the
/// process's own memory would have to lie about. The system does not tell which addresses may be
/// read without a call for each; a host that serves others, who may lie, checks.
///
/// The first head that a thread sets allocates. If there is no memory, the thread itself remembers
/// its head: its own walk finds it, other threads are answered that it has none, and of several such
/// hosts a thread remembers the last one's.
impl<M: Memory + 'static> RobustHost for Process<M> {
    fn thread_id(&self) -> u32 {
        named(0)
    }

    fn robust_head(&self, thread: u32) -> Result<Address, Errno> {
        let thread = named(thread);
        match self.head_of(thread) {
            Some(head) => Ok(head),
            None if thread::is_there(thread) => Ok(0),
            None => Err(Errno::ESRCH),
        }
    }

    fn set_robust_head(&self, head: Address) {
        let me = named(0);
        if OWN.get().id == self.heads.id {
            OWN.set(Own::NONE);
        }
        let mut heads = if head == 0 { self.heads.heads.lock(self) } else { self.heads.heads.lock_with_room(self, 0) };
        let place = heads.binary_search_by_key(&me, |(number, _)| *number);
        match place {
            Ok(index) if head == 0 => _ = heads.remove(index),
            Ok(index) => heads[index].1 = head,
            Err(_) if head == 0 => {}
            Err(index) => {
                if !heads.insert(index, (me, head)) {
                    OWN.set(Own { id: self.heads.id, number: me, head });
                }
            }
        }
    }

    fn write(&self, address: Address, from: &[u8]) -> Result<(), Fault> {
        let to = core::ptr::with_exposed_provenance_mut::<u8>(address as usize);
        // SAFETY: the promise of the caller of `Process::new`.
        unsafe { to.copy_from_nonoverlapping(from.as_ptr(), from.len()) };
        Ok(())
    }
}
