/* The median of some times. */
#ifndef MEDIAN_H
#define MEDIAN_H

#include <stdint.h>
#include <stdlib.h>

static inline int median_order(const void *one, const void *other)
{
	uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;

	return (a > b) - (a < b);
}

/* Sorts the values, and returns the middle one. There is at least one. */
static inline double median(uint64_t *values, uint64_t count)
{
	qsort(values, count, sizeof(*values), median_order);
	return (double)values[count / 2];
}

#endif
