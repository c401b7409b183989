/*
 * The table of functions of a scheme that is not Rust or is compiled separately. Each function is a whole loop, so that no
 * section makes a call across the boundary. src/rcu/foreign.rs has the same table in Rust; its trait
 * `Stage` says what each function does. Included by urcu.c.
 */
#ifndef COMPARE_SCHEME_H
#define COMPARE_SCHEME_H

#include <stdint.h>

/* The number of sections between two quiescent states of a QSBR reader, as in src/rcu/scheme.rs. */
#define COMPARE_BATCH 1024

/* The marks of a live node and of a freed one, as in src/rcu/scheme.rs. */
#define COMPARE_ALIVE 0x600dc0deu
#define COMPARE_POISON 0xdeadu

typedef void (*compare_during)(void *arg);

struct compare_scheme {
	void (*open)(void);
	void (*close)(void);
	uint64_t (*section)(uint64_t n, uint32_t alignment);
	void (*read)(const uint8_t *stop, uint64_t *tally);
	void (*dwell)(const uint8_t *stop, uint64_t *tally, uint64_t inside_ns);
	void (*write)(const uint8_t *stop, uint64_t *tally);
	void (*retire)(const uint8_t *stop, uint64_t *tally);
	void (*retire_one)(void);
	void (*hold)(compare_during during, void *arg);
	void (*rest)(compare_during during, void *arg);
	void (*synchronize)(void);
	void (*barrier)(void);
};

#endif
