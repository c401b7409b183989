/*
 * Regions: memory that several processes map, with a value in it that one of them has
 * made.
 *
 *     struct lee_region region;
 *
 *     if (lee_region_open(&region, "/dev/shm/accounts", sizeof(struct accounts), 1,
 *                         make_accounts, NULL) != 0) ...
 *     struct accounts *accounts = region.value;
 *     ...
 *     lee_region_close(&region);
 *
 * One process makes the value, however many begin at once, and none sees it before it
 * is finished. What a maker that was killed left unfinished is begun anew by the next
 * process that opens the file. The value's size, its version and the layout of the
 * locks are checked. The memory is allocated at once, so that a full /dev/shm is an
 * error here and not a SIGBUS later.
 *
 * It is leeward::shared::Region of Rust: the same file serves both, if the value has
 * the same layout in both, as repr(C) gives it.
 *
 * The value is found by numbers and locks (<leeward/shared.h>, <leeward/robust.h>),
 * and holds no pointers: each process maps it at an address of its own.
 *
 * Trust. A process that has the memory is trusted as a thread is. A process that may
 * open the region's file can shorten it, so that touching what is gone is a SIGBUS. A
 * region without a name cannot be made shorter or longer.
 *
 * Fork. The child has the region at the same address; closing it there unmaps it in
 * the child only. No call is async-signal-safe, and none a cancellation point. errno is
 * changed by no call.
 *
 * Errors of the calls that open, beside those of the system (EACCES, EMFILE, ENOENT,
 * ENOMEM, ENOSPC, ...):
 *
 *     EBADMSG          the file begins with something else than a region
 *     EMSGSIZE         the region was made for a value of another size
 *     EPROTOTYPE       the region was made by a program of another version
 *     EPROTO           its locks are laid out as by another version of this library
 *     EAGAIN           the process that makes it has not finished (by descriptor)
 *     ENOTSUP          the file is not sealed against being made shorter (by descriptor)
 *     EINVAL           the path is null
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
 * for processes that are given its descriptor.
 *
 * make(value, argument) finds zeroes, and may be NULL. If it leaves by an exception of
 * C++, by pthread_exit or by a cancellation, the region is given up, and the next
 * process that opens the file begins anew. It may not leave by a longjmp.
 */
LEE_1_INLINE int lee_region_create(struct lee_region *region, size_t size, uint32_t version,
				   void (*make)(void *value, void *argument), void *argument)
{
	return lee_1_region_make(region, lee_1_region_create(region, size, version), make, argument);
}

/*
 * Opens the region in the file of this path, and makes the file, for this user alone,
 * if it is not there. (A file in /dev/shm is memory.) The file stays until it is
 * removed. Waits while another process makes the value.
 *
 * make(value, argument) is called, as by lee_region_create(), if no process has made
 * the value and finished it.
 *
 * All processes that open the file use a value of the same layout whenever `version`
 * is the same, and none makes the file shorter.
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
 * holds a lock in it. A region that is not open stays as it is.
 */
LEE_1_INLINE void lee_region_close(struct lee_region *region)
{
	if (region->value != NULL)
		LEE_1_RELEASING(region->value);
	lee_1_region_close(region);
}

LEE_1_END

#endif
