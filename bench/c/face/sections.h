/* The loops of one thread. sections.c is linked into the program, or loaded by it as a shared library: plugin.c. */
#ifndef SECTIONS_H
#define SECTIONS_H

#include <stdint.h>

/*
 * Measures about n steps of the loop `what`, and stores the nanoseconds of a step: the mean over the alignments, and the
 * best alignment's. Returns 0, or 1 if there is no such loop.
 */
int sections_measure(const char *what, uint64_t n, double result[2]);

#endif
