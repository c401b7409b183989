/*
 * What readers read: a pointer to a node whose mark they check. Each file that includes this has a node of its own. Nobody
 * replaces it: the writers here are measured for their waiting alone.
 */
#ifndef NODE_H
#define NODE_H

#include <stdint.h>
#include <stdlib.h>

#include "face.h"

#define NODE_ALIVE 0x600dc0deu

struct node {
	uint64_t alive;
};

static struct node node __attribute__((aligned(128))) = { NODE_ALIVE };
/* Shares its cache lines with nothing. */
static struct {
	struct node *node;
} published __attribute__((aligned(128))) = { &node };

/* The section that every figure measures: enter, load, check a field, leave. */
static inline __attribute__((always_inline)) void one_section(void)
{
	struct node *now;

	face_lock();
	now = face_load(published.node);
	if (__builtin_expect(__atomic_load_n(&now->alive, __ATOMIC_RELAXED) != NODE_ALIVE, 0))
		abort();
	face_unlock();
}

#endif
