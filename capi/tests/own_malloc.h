/*
 * An allocator that takes the place of the C library's, and counts the calls that threads make
 * while they say that they must not make any.
 */
#ifndef OWN_MALLOC_H
#define OWN_MALLOC_H

#include "rcu_check.h"

/* Not 0: the calling thread must not allocate. */
static __thread int must_not_allocate;
/* How often a thread did all the same. */
static int forbidden_allocations;
/* How often any thread allocated: shows that the allocator is in place. */
static int allocations;

#define OWN_ARENA ((size_t)256 << 20)
#define OWN_HEADER ((size_t)16)
static char own_arena[OWN_ARENA] __attribute__((__aligned__(4096)));
static size_t own_used;

#ifdef __cplusplus
extern "C" {
#endif
/* The C library's names, without its declarations, which differ between libraries and languages. */
void *own_malloc(size_t size) __asm__("malloc");
void *own_calloc(size_t count, size_t size) __asm__("calloc");
void *own_realloc(void *memory, size_t size) __asm__("realloc");
void own_free(void *memory) __asm__("free");
void *own_aligned(size_t align, size_t size) __asm__("aligned_alloc");
void *own_memalign(size_t align, size_t size) __asm__("memalign");
int own_posix_memalign(void **memory, size_t align, size_t size) __asm__("posix_memalign");

/* Memory is handed out in a row, and never given back. The size stands before it. */
void *own_aligned(size_t align, size_t size)
{
	const size_t unit = align < 16 ? 16 : align;
	const size_t room = (size + OWN_HEADER + unit + 15) & ~(size_t)15;
	const size_t at = __atomic_fetch_add(&own_used, room, __ATOMIC_RELAXED);
	uintptr_t memory = ((uintptr_t)own_arena + at + OWN_HEADER + unit - 1) & ~(uintptr_t)(unit - 1);

	ADD(allocations, 1);
	if (must_not_allocate)
		ADD(forbidden_allocations, 1);
	if (at + room > OWN_ARENA)
		return NULL;
	*(size_t *)(memory - OWN_HEADER) = size;
	return (void *)memory;
}

void *own_malloc(size_t size)
{
	return own_aligned(OWN_HEADER, size);
}

void *own_calloc(size_t count, size_t size)
{
	/* Fresh memory is zero. */
	return own_aligned(OWN_HEADER, count * size);
}

void *own_realloc(void *memory, size_t size)
{
	void *other = own_aligned(OWN_HEADER, size);

	if (memory != NULL && other != NULL) {
		size_t old = *(size_t *)((uintptr_t)memory - OWN_HEADER);

		memcpy(other, memory, old < size ? old : size);
	}
	return other;
}

void own_free(void *memory)
{
	if (memory != NULL && must_not_allocate)
		ADD(forbidden_allocations, 1);
}

void *own_memalign(size_t align, size_t size)
{
	return own_aligned(align, size);
}

int own_posix_memalign(void **memory, size_t align, size_t size)
{
	*memory = own_aligned(align, size);
	return *memory == NULL ? ENOMEM : 0;
}
#ifdef __cplusplus
}
#endif

#endif
