//! `set_robust_list` and `get_robust_list`, and deaths: whose locks are marked, and when.

use core::sync::atomic::Ordering;

use crate::errno::Errno;
use crate::futex_pi::NO_THREAD;
use crate::processes::SIGKILL;
use crate::robust_list::{HEAD, has_list};
use crate::scenario::scenarios;
use crate::world::{World, wrong};

scenarios! { "robust";
    /// A thread sets a list with its size, and asks which one it has.
    /// Linux answers 0 to both, the address that was set, and the size of three pointers.
    #[since("2.6.17")]
    #[harm("A C library starts no thread, or believes that its robust mutexes are robust when they are not.")]
    fn own_list_is_told(world) {
        let list = world.new_list()?;
        world.same("set_robust_list", world.set_robust_list(list.head(), HEAD), Ok(0))?;
        let (answered, head, size) = world.get_robust_list(0);
        world.set_robust_list(0, HEAD).ok();
        world.same("get_robust_list of the caller", answered, Ok(0))?;
        if (head, size) == (list.head(), HEAD) {
            return Ok(());
        }
        wrong(format_args!("get_robust_list says {head:#x}, {size}; on Linux {:#x}, {HEAD}", list.head()))
    }

    /// A list is set with each size but that of three pointers: 0, less by one, more by one, twice.
    /// Linux answers EINVAL, and the list set before stays.
    #[since("2.6.17")]
    #[harm("A program that was built for another layout believes that its list is used.")]
    fn another_size(world) {
        let list = world.new_list()?;
        world.same("set_robust_list", world.set_robust_list(list.head(), HEAD), Ok(0))?;
        for size in [0, HEAD - 1, HEAD + 1, 2 * HEAD, usize::MAX] {
            let answered = world.set_robust_list(list.entry(0), size);
            world.same(format_args!("set_robust_list of size {size}"), answered, Err(Errno::INVAL))?;
        }
        let (answered, head, _) = world.get_robust_list(0);
        world.set_robust_list(0, HEAD).ok();
        world.same("get_robust_list of the caller", answered, Ok(0))?;
        if head == list.head() { Ok(()) } else { wrong(format_args!("a refused set_robust_list changes the list")) }
    }

    /// A list is set whose address is not mapped, and another one after it.
    /// Linux answers 0: it does not look at a list before the thread dies.
    #[since("2.6.17")]
    #[harm("A thread that sets the list before it writes its head cannot start.")]
    fn the_address_is_not_looked_at(world) {
        for head in [0, 8, 3, usize::MAX - 7] {
            world.same("set_robust_list", world.set_robust_list(head, HEAD), Ok(0))?;
        }
        world.same("set_robust_list of 0", world.set_robust_list(0, HEAD), Ok(0))
    }

    /// A thread and a child process set a list; another thread asks for theirs by number.
    /// Linux answers 0 and their lists.
    #[needs(Fork)]
    #[since("2.6.17")]
    #[harm("A debugger or a checkpoint tool cannot save the list of a thread.")]
    fn anothers_list_is_told(world) {
        let list = world.new_list()?;
        let (thread, number) = world.thread_with_list()?;
        let of_thread = world.get_robust_list(number as usize);
        world.dies(thread);
        world.forget_list_owner();
        let (child, number) = world.child_with_list()?;
        let of_child = world.get_robust_list(number as usize);
        world.end_list_owner();
        world.ends_well(child, "the child")?;
        for (who, (answered, head, size)) in [("a thread", of_thread), ("a child", of_child)] {
            world.same(format_args!("get_robust_list of {who}"), answered, Ok(0))?;
            if (head, size) != (list.head(), HEAD) {
                let linux = list.head();
                return wrong(format_args!("{who} is said to have list {head:#x}, {size}; on Linux {linux:#x}, {HEAD}"));
            }
        }
        Ok(())
    }

    /// Asks for the list of a thread that there is not.
    /// Linux answers ESRCH.
    #[since("2.6.17")]
    #[harm("A debugger takes the caller's list for another thread's.")]
    fn list_of_no_thread(world) {
        world.same("get_robust_list of no thread", world.get_robust_list(NO_THREAD as usize).0, Err(Errno::SRCH))
    }

    /// A thread sets a list, starts a thread, and forks a child; each asks for its own list.
    /// Linux answers that both have none: address 0.
    #[needs(Fork)]
    #[since("2.6.17")]
    #[harm("The death of a child or a thread marks the locks of its parent, whose list it has.")]
    fn a_list_is_not_inherited(world) {
        let list = world.new_list()?;
        let asks = |world: &World<'_>| {
            let (answered, head, _) = world.get_robust_list(0);
            answered.and(if head == 0 { Ok(0) } else { Ok(1) })
        };
        let asks_in_child = |world: &World<'_>| match world.get_robust_list(0).1 {
            0 => Ok(0),
            _ => Err(Errno::BUSY),
        };
        world.same("set_robust_list", world.set_robust_list(list.head(), HEAD), Ok(0))?;
        let thread = world.start(asks)?;
        world.step(&"waits for a thread and a child that call get_robust_list");
        let of_thread = world.end_of(thread);
        let child = world.child(asks_in_child)?;
        let status = world.status_of(child)?;
        world.set_robust_list(0, HEAD).ok();
        world.same("get_robust_list of a new thread: the number of its lists", of_thread, Ok(0))?;
        match status {
            0 => Ok(()),
            _ => wrong(format_args!("a child of fork has the list of its parent; on Linux none")),
        }
    }

    /// A thread ends with a lock in its list.
    /// Linux marks the lock: its word has the owner-died bit, and names no thread.
    #[since("2.6.17")]
    #[harm("The lock of a thread that died stays locked for ever.")]
    fn thread_ends(world) {
        let list = world.new_list()?;
        let (dying, owner) = world.thread_with_list()?;
        list.link(1, owner);
        world.dies(dying);
        list.is_marked(world, 0, "its lock")
    }

    /// A child process ends with a lock in its list, in memory that is shared with its parent.
    /// Linux marks the lock.
    #[needs(Fork)]
    #[since("2.6.17")]
    #[harm("The lock of a process that ended stays locked for ever.")]
    fn process_ends(world) {
        let list = world.new_list()?;
        let (child, owner) = world.child_with_list()?;
        list.link(1, owner);
        world.step(&"waits for the end of the child");
        world.end_list_owner();
        world.ends_well(child, "the child")?;
        list.is_marked(world, 0, "its lock")
    }

    /// A child process with a lock in its list is killed by SIGKILL.
    /// Linux marks the lock.
    #[needs(Fork)]
    #[since("2.6.17")]
    #[harm("A process that the system kills for want of memory keeps its locks: all others hang.")]
    fn process_is_killed(world) {
        let list = world.new_list()?;
        let (child, owner) = world.child_with_list()?;
        list.link(1, owner);
        world.step(&"waits for the end of a child that was sent SIGKILL");
        world.kill(child, SIGKILL);
        let _ = world.status_of(child)?;
        list.is_marked(world, 0, "its lock")
    }

    /// A child process has a second thread, which has a lock in its list; the first calls exit_group.
    /// Linux marks the lock: each thread's list is walked, not only that of the thread that exits.
    #[needs(Fork)]
    #[since("2.6.17")]
    #[harm("A process that ends by exit leaves the locks of all but one of its threads locked.")]
    fn process_ends_with_threads(world) {
        let list = world.new_list()?;
        let child = world.child(|world| {
            world.start(has_list).map_err(|_| Errno::NOMEM)?;
            let list = world.list();
            let owner = world.owner_of_list().map_err(|_| Errno::NOSYS)?;
            list.link(1, owner);
            Ok(0)
        })?;
        world.step(&"waits for the end of a child that has two threads");
        world.ends_well(child, "a child with two threads")?;
        list.is_marked(world, 0, "the lock of its second thread")
    }

    /// A child process with a lock in its list executes another program.
    /// Linux marks the lock before the new program runs.
    #[needs(Fork)]
    #[since("2.6.17")]
    #[harm("A process that executes another program keeps its locks: all others hang.")]
    fn process_executes(world) {
        let list = world.new_list()?;
        let child = world.child(|world| {
            let list = world.list();
            list.link(1, world.own_number().map_err(|_| Errno::NOSYS)?);
            world.set_robust_list(list.head(), HEAD)?;
            world.execute_nothing()
        })?;
        world.step(&"waits for the end of a child that executes another program");
        world.has_done(child, "execute another program")?;
        list.is_marked(world, 0, "its lock")
    }

    /// A child process has a second thread with a lock in its list; the first executes another program.
    /// Linux ends the second thread, and marks its lock.
    #[needs(Fork)]
    #[since("2.6.17")]
    #[harm("A process that executes another program keeps the locks of its other threads: all others hang.")]
    fn process_executes_with_threads(world) {
        let list = world.new_list()?;
        let child = world.child(|world| {
            world.start(has_list).map_err(|_| Errno::NOMEM)?;
            let list = world.list();
            let owner = world.owner_of_list().map_err(|_| Errno::NOSYS)?;
            list.link(1, owner);
            world.execute_nothing()
        })?;
        world.step(&"waits for the end of a child with two threads that executes another program");
        world.has_done(child, "execute another program")?;
        list.is_marked(world, 0, "the lock of its second thread")
    }

    /// A thread with a lock in its list calls execve of a file that there is not.
    /// Linux answers ENOENT, and leaves the lock alone; when the thread ends, it is marked.
    #[needs(Fork)]
    #[since("2.6.17")]
    #[harm("A shell that searches for a program loses the locks that it holds.")]
    fn execve_fails(world) {
        let list = world.new_list()?;
        let child = world.child(|world| {
            let list = world.list();
            let owner = world.own_number().map_err(|_| Errno::NOSYS)?;
            list.link(1, owner);
            world.set_robust_list(list.head(), HEAD)?;
            let executed = world.execute_missing();
            list.set_lock(1, list.lock(0).load(Ordering::SeqCst));
            if executed == Err(Errno::NOSYS) { executed } else { Ok(0) }
        })?;
        world.step(&"waits for the end of a child that calls execve of a missing file");
        world.has_done(child, "call execve")?;
        list.holds(world, 1, "a copy of its lock that is made after execve has failed", child.0 as u32)?;
        list.is_marked(world, 0, "its lock when it has ended")
    }

    /// A thread sets a list, and then address 0 in its place, and ends.
    /// Linux leaves the locks of the list alone: only the last list counts.
    #[needs(Fork)]
    #[since("2.6.17")]
    #[harm("Memory that a thread has freed is written when it ends.")]
    fn a_list_is_taken_back(world) {
        let list = world.new_list()?;
        world.has_robust_lists()?;
        let child = world.child(|world| {
            let list = world.list();
            list.link(1, world.own_number().map_err(|_| Errno::NOSYS)?);
            world.set_robust_list(list.head(), HEAD)?;
            world.set_robust_list(0, HEAD)
        })?;
        world.step(&"waits for the end of a child that has taken its list back");
        world.ends_well(child, "a child that has taken its list back")?;
        list.holds(world, 0, "a lock of the list", child.0 as u32)
    }

    /// A process of a namespace with numbers of its own ends, with a lock whose word is 1, its number
    /// there.
    /// Linux marks the lock: it compares with the number that the thread knows.
    #[needs(Fork)]
    #[since("3.8")]
    #[harm("Robust locks in containers stay locked, or those of another process are marked.")]
    fn numbers_of_a_namespace(world) {
        let list = world.new_list()?;
        world.has_robust_lists()?;
        let child = world.child_with_its_own_numbers(has_list)?;
        let owner = world.owner_of_list()?;
        list.link(2, owner);
        list.set_lock(0, child.0 as u32);
        world.step(&"waits for the end of a child in a namespace with numbers of its own");
        world.end_list_owner();
        world.ends_well(child, "the child")?;
        list.is_marked(world, 1, "a lock with the number that the child has in its namespace")?;
        list.holds(world, 0, "a lock with the number that the child has outside", child.0 as u32)
    }
}
