/* Threads that read, or rest, while something is measured. */
#ifndef CREW_H
#define CREW_H

#include <stdint.h>

/* What a thread of the crew does until the crew is dismissed. */
enum job {
	IDLE,  /* is registered, reads once, and sleeps; in qsbr, offline */
	BUSY,  /* reads without pause; in qsbr, announces a quiescent state every 1,024 sections */
	DWELL, /* reads in sections of 100 us; in qsbr, announces a quiescent state as often */
};

/* Starts `count` threads, and returns when all of them are at work. */
void crew_start(enum job job, unsigned count);

/* Ends the threads. */
void crew_dismiss(void);

/* Starts a thread, or ends the process if there is none to be had. */
void thread_start(unsigned long *thread, void *(*run)(void *arg), void *arg);

/* Waits until a thread has ended. */
void thread_join(unsigned long thread);

#endif
