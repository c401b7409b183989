/*
 * The figures of the program. Each takes its numbers from `args`, as main.c has them from the command line, prints what it
 * measured in one line, and returns.
 */
#ifndef FIGURES_H
#define FIGURES_H

#include <stdint.h>

/* synchronize of one caller: grace.c */
void figure_synchronize_idle(const uint64_t *args);
void figure_synchronize_busy(const uint64_t *args);
void figure_begun(const uint64_t *args);

/* deferred callbacks: callbacks.c */
void figure_defer(const uint64_t *args);
void figure_sparse(const uint64_t *args);

/* the time until something has happened, beside a reader: latency.c */
void figure_latency(const uint64_t *args);

/* threads that come and go: threads.c */
void figure_register(const uint64_t *args);
void figure_churn(const uint64_t *args);

/* intrusive queues and stacks: queues.c */
void figure_alone(const uint64_t *args);
void figure_pass(const uint64_t *args);

/* a hash map of nodes: map.c */
void figure_map(const uint64_t *args);

#endif
