/*
 * lee_region_open(3): memory that several processes map.
 *
 *     struct lee_region region;
 *
 *     if (lee_region_open(&region, "/dev/shm/accounts", sizeof(struct accounts), 1,
 *                         make_accounts, NULL) != 0) ...
 *     struct accounts *accounts = region.value;
 *     ...
 *     lee_region_close(&region);
 *
 * A region has a value in it that one process has made. However many begin at once,
 * one makes the value, and none sees it before it is finished. What a maker that was
 * killed left unfinished is begun anew by the next process that opens the region.
 *
 * All processes that open a region use a value of the same layout whenever `version`
 * is the same; the value's size, its version and the layout of the locks are checked.
 * The value holds no pointers into the region, which each process maps at an address
 * of its own. It is shared by the locks of lee_shared_mutex_lock() and
 * lee_robust_mutex_lock().
 *
 * make(value, argument) finds zeros in a value that no process has made and finished;
 * `make` may be NULL. If it leaves in another way than by returning, such as an
 * exception of C++, pthread_exit(3) or a cancellation, the region is given up, and the
 * next process that opens the file begins anew. In C that needs -fexceptions. It may
 * not leave by a longjmp(3).
 *
 * Returns. Functions that return `int` return 0, or a positive error number.
 *
 * Errors. Beside those of the system, such as EACCES, EMFILE, ENOENT, ENOMEM and
 * ENOSPC:
 *
 * EBADMSG: the file begins with something else than a region.
 * EMSGSIZE: the region was made for a value of another size.
 * EPROTOTYPE: the region was made for another version of the value.
 * EPROTO: its locks are laid out as by another version of the library.
 * EAGAIN: lee_region_open_fd(): the process that makes the value has not finished.
 * ENOTSUP: lee_region_open_fd(): the file is not sealed against being made shorter.
 * EINVAL: lee_region_open(): the path is NULL.
 *
 * Memory. It is allocated at once, so that a file system that is full is an error, and
 * no SIGBUS later.
 *
 * Trust. A process that has the memory is trusted as a thread is. A process that may
 * open the region's file can make it shorter, so that to touch what is gone is a
 * SIGBUS. A region without a name cannot be made shorter or longer.
 *
 * Signals. No function is async-signal-safe.
 *
 * Fork. The child has the region at the same address; to close it there unmaps it in
 * the child only.
 *
 * Rust. A region is `leeward::shared::Region` of Rust: the same file serves both, if
 * the value has the same layout in both, as `repr(C)` gives it.
 *
 * See also memfd_create(2), shm_overview(7).
 */
#ifndef LEEWARD_REGION_H
#define LEEWARD_REGION_H

#include <leeward/guarded.h>
#include <leeward/lock_words.h>

LEE_1_BEGIN

/* A region, as one process has it. Programs read `value`, `size` and `fd`. */
struct lee_region {
	/* The value, aligned to 64 bytes; NULL: not open. */
	void *value;
	/* How many bytes the value has. */
	size_t size;
	/* Of a region without a name, its descriptor, to be passed on; else -1. */
	int fd;
	int lee_1_locked;
};

/* A region that is not open: closing it does nothing. */
#define LEE_REGION_INIT { NULL, 0, -1, -1 }

/* What lee_1_region_create and lee_1_region_open return if the caller makes the value. */
#define LEE_1_REGION_NEW (-1)

int lee_1_region_create(struct lee_region *region, size_t size, uint32_t version);
int lee_1_region_open(struct lee_region *region, const char *path, size_t size, uint32_t version);
void lee_1_region_finish(struct lee_region *region);
void lee_1_region_abandon(struct lee_region *region);
int lee_1_region_open_fd(struct lee_region *region, int fd, size_t size, uint32_t version);
void lee_1_region_close(struct lee_region *region);

/*
 * Tells the thread sanitizer that what was mapped at the region's address before is
 * gone, if the region was opened.
 */
LEE_1_INLINE int lee_1_region_got(struct lee_region *region, int outcome)
{
	if (region->value != NULL)
		LEE_1_ACQUIRED(region->value);
	return outcome;
}

/* A value that is to be made. */
struct lee_1_region_making {
	void (*make)(void *value, void *argument);
	void *value;
	void *argument;
};

/* Makes a value. */
static inline __attribute__((__unused__)) void lee_1_region_work(void *work)
{
	const struct lee_1_region_making *making = (const struct lee_1_region_making *)work;

	making->make(making->value, making->argument);
}

/* Gives a region up whose value was not made. */
static inline __attribute__((__unused__)) void lee_1_region_drop(void *region)
{
	lee_1_region_abandon((struct lee_region *)region);
}

/* Makes the value, if `outcome` says that the caller does. */
static inline __attribute__((__unused__)) int lee_1_region_make(struct lee_region *region, int outcome,
								void (*make)(void *value, void *argument),
								void *argument)
{
	struct lee_1_region_making making;
	struct lee_1_guarded call;

	if (lee_1_region_got(region, outcome) != LEE_1_REGION_NEW)
		return outcome;
	making.make = make;
	making.value = region->value;
	making.argument = argument;
	call.work = lee_1_region_work;
	call.argument = &making;
	call.abandon = lee_1_region_drop;
	call.object = region;
	if (make != NULL)
		lee_1_call(&call);
	lee_1_region_finish(region);
	return 0;
}

/*
 * Makes a region without a name: for children of a fork, which have it as it is, and
 * for processes that are given its descriptor, which open it by lee_region_open_fd().
 */
LEE_1_INLINE int lee_region_create(struct lee_region *region, size_t size, uint32_t version,
				   void (*make)(void *value, void *argument), void *argument)
{
	return lee_1_region_make(region, lee_1_region_create(region, size, version), make, argument);
}

/*
 * Opens the region in the file of this `path`, and makes the file, for this user
 * alone, if it is not there. A file in /dev/shm is memory. The file stays until it is
 * removed, and no process makes it shorter. The call waits while another process makes
 * the value.
 */
LEE_1_INLINE int lee_region_open(struct lee_region *region, const char *path, size_t size, uint32_t version,
				 void (*make)(void *value, void *argument), void *argument)
{
	return lee_1_region_make(region, lee_1_region_open(region, path, size, version), make, argument);
}

/*
 * Opens the region that lee_region_create() made in another process, which passed its
 * descriptor on. The descriptor stays the caller's.
 */
LEE_1_INLINE int lee_region_open_fd(struct lee_region *region, int fd, size_t size, uint32_t version)
{
	return lee_1_region_got(region, lee_1_region_open_fd(region, fd, size, version));
}

/*
 * Unmaps the region, and closes its descriptor. No thread uses the value any more, nor
 * holds a lock in it. A region that is not open, such as LEE_REGION_INIT, stays as it
 * is.
 */
LEE_1_INLINE void lee_region_close(struct lee_region *region)
{
	if (region->value != NULL)
		LEE_1_RELEASING(region->value);
	lee_1_region_close(region);
}

LEE_1_END

#endif
