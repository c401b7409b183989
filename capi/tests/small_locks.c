/*
 * The small locks: semaphore, barrier, event, and work that is done once.
 */
#include "check.h"

#include <leeward/barrier.h>
#include <leeward/event.h>
#include <leeward/once.h>
#include <leeward/semaphore.h>

#define THREADS 4
#define TURNS 5000

static struct timespec soon(void)
{
	struct timespec deadline;

	lee_deadline_after(&deadline, 5 * 1000 * 1000);
	return deadline;
}

static struct lee_semaphore seats = LEE_SEMAPHORE_INIT(2);
static int inside;

static void *sit_down(void *unused)
{
	struct timespec deadline;
	int i;

	(void)unused;
	for (i = 0; i < TURNS; i++) {
		if (i % 2 == 0) {
			KEEPS_ERRNO(lee_semaphore_wait(&seats));
		} else {
			lee_deadline_after(&deadline, UINT64_C(60) * 1000 * 1000 * 1000);
			KEEPS_ERRNO(CHECK_EQ(lee_semaphore_timedwait(&seats, &deadline), 0));
		}
		CHECK(__atomic_add_fetch(&inside, 1, __ATOMIC_RELAXED) <= 2);
		if (i % 100 == 0)
			sched_yield();
		__atomic_sub_fetch(&inside, 1, __ATOMIC_RELAXED);
		KEEPS_ERRNO(CHECK_EQ(lee_semaphore_post(&seats), 0));
	}
	return NULL;
}

static struct lee_semaphore posted;

static void post_from_handler(int number)
{
	(void)number;
	(void)lee_semaphore_post(&posted);
}

static void semaphore(void)
{
	struct timespec deadline = soon();
	struct lee_semaphore one;
	pthread_t threads[THREADS];
	int i;

	CHECK_EQ(lee_semaphore_init(&one, LEE_SEMAPHORE_MOST + 1), EINVAL);
	CHECK_EQ(lee_semaphore_init(&one, LEE_SEMAPHORE_MOST), 0);
	KEEPS_ERRNO(CHECK_EQ(lee_semaphore_post(&one), EOVERFLOW));
	CHECK_EQ(lee_semaphore_permits(&one), LEE_SEMAPHORE_MOST);
	CHECK_EQ(lee_semaphore_init(&one, 0), 0);
	KEEPS_ERRNO(CHECK_EQ(lee_semaphore_trywait(&one), EAGAIN));
	KEEPS_ERRNO(CHECK_EQ(lee_semaphore_timedwait(&one, &deadline), ETIMEDOUT));
	CHECK_EQ(lee_semaphore_timedwait(&one, NULL), EINVAL);
	CHECK_EQ(lee_semaphore_post_many(&one, 3), 0);
	CHECK_EQ(lee_semaphore_trywait(&one), 0);
	CHECK_EQ(lee_semaphore_permits(&one), 2);

	for (i = 0; i < THREADS; i++)
		threads[i] = check_start(sit_down, NULL);
	for (i = 0; i < THREADS; i++)
		check_join(threads[i]);
	CHECK_EQ(lee_semaphore_permits(&seats), 2);

}

/* A waiter is let go by a handler that interrupts it. */
static void semaphore_in_a_handler(void)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = post_from_handler;
	CHECK_EQ(sigaction(SIGALRM, &action, NULL), 0);
	ualarm(5000, 0);
	KEEPS_ERRNO(lee_semaphore_wait(&posted));
	CHECK_EQ(lee_semaphore_permits(&posted), 0);
	action.sa_handler = SIG_DFL;
	CHECK_EQ(sigaction(SIGALRM, &action, NULL), 0);
	check_begin();
}

static struct lee_barrier barrier_of_all = LEE_BARRIER_INIT(THREADS);
static int arrived, leaders;

static void *go_round(void *unused)
{
	struct timespec deadline;
	int i, told;

	(void)unused;
	for (i = 1; i <= 500; i++) {
		__atomic_add_fetch(&arrived, 1, __ATOMIC_RELAXED);
		lee_deadline_after(&deadline, UINT64_C(60) * 1000 * 1000 * 1000);
		KEEPS_ERRNO(told = i % 2 == 0 ? lee_barrier_wait(&barrier_of_all)
					      : lee_barrier_timedwait(&barrier_of_all, &deadline));
		CHECK(told == 0 || told == LEE_BARRIER_LEADER);
		CHECK(__atomic_load_n(&arrived, __ATOMIC_RELAXED) >= THREADS * i);
		if (told == LEE_BARRIER_LEADER)
			__atomic_add_fetch(&leaders, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void barrier(void)
{
	struct timespec deadline = soon();
	struct lee_barrier one;
	pthread_t threads[THREADS];
	int i;

	CHECK_EQ(lee_barrier_init(&one, LEE_BARRIER_MOST + 1), EINVAL);
	CHECK_EQ(lee_barrier_init(&one, 2), 0);
	KEEPS_ERRNO(CHECK_EQ(lee_barrier_timedwait(&one, &deadline), ETIMEDOUT));
	CHECK_EQ(lee_barrier_timedwait(&one, NULL), EINVAL);
	CHECK_EQ(lee_barrier_init(&one, 1), 0);
	CHECK_EQ(lee_barrier_wait(&one), LEE_BARRIER_LEADER);
	for (i = 0; i < THREADS; i++)
		threads[i] = check_start(go_round, NULL);
	for (i = 0; i < THREADS; i++)
		check_join(threads[i]);
	CHECK_EQ(leaders, 500);
}

static struct lee_event ready = LEE_EVENT_INIT;
static int data;

static void *wait_for_event(void *unused)
{
	(void)unused;
	KEEPS_ERRNO(lee_event_wait(&ready));
	CHECK_EQ(data, 7);
	return NULL;
}

static void event(void)
{
	struct timespec deadline = soon();
	pthread_t thread;

	CHECK(!lee_event_is_set(&ready) && !lee_event_clear(&ready));
	KEEPS_ERRNO(CHECK_EQ(lee_event_timedwait(&ready, &deadline), ETIMEDOUT));
	CHECK_EQ(lee_event_timedwait(&ready, NULL), EINVAL);
	thread = check_start(wait_for_event, NULL);
	check_nap(5);
	data = 7;
	KEEPS_ERRNO(lee_event_set(&ready));
	check_join(thread);
	CHECK(lee_event_is_set(&ready));
	lee_event_wait(&ready);
	CHECK_EQ(lee_event_timedwait(&ready, &deadline), 0);
	CHECK(lee_event_clear(&ready) && !lee_event_is_set(&ready));
	memset(&ready, 0xff, sizeof(ready));
	lee_event_init(&ready);
	CHECK(!lee_event_is_set(&ready));
}

static struct lee_once start = LEE_ONCE_INIT;
static int runs;

static void work(void *count)
{
	check_nap(2);
	++*(int *)count;
}

static void *call_once(void *unused)
{
	(void)unused;
	KEEPS_ERRNO(CHECK_EQ(lee_once_call(&start, work, &runs), 0));
	CHECK_EQ(runs, 1);
	CHECK(lee_once_is_done(&start));
	return NULL;
}

static void asks_for_itself(void *once)
{
	KEEPS_ERRNO(CHECK_EQ(lee_once_call((struct lee_once *)once, asks_for_itself, once), EDEADLK));
}

static void call_what_asks_for_itself(void *once)
{
	CHECK_EQ(lee_once_call((struct lee_once *)once, asks_for_itself, once), 0);
}

static void once(void)
{
	struct lee_once recursive = LEE_ONCE_INIT;
	pthread_t threads[THREADS];
	int i;

	for (i = 0; i < THREADS; i++)
		threads[i] = check_start(call_once, NULL);
	for (i = 0; i < THREADS; i++)
		check_join(threads[i]);
	check_misuses("lee_once_call", &recursive, "whose work the thread does: it would wait for itself",
		      call_what_asks_for_itself, &recursive);
	CHECK(lee_once_is_done(&recursive));
}

static struct lee_once broken = LEE_ONCE_INIT;

static void ends_its_thread(void *unused)
{
	(void)unused;
	check_nap(5);
	pthread_exit(NULL);
}

static void is_cancelled(void *unused)
{
	(void)unused;
	CHECK_EQ(pthread_cancel(pthread_self()), 0);
	pthread_testcancel();
}

static struct lee_once cancelled = LEE_ONCE_INIT;

static void *call_and_be_cancelled(void *unused)
{
	(void)unused;
	lee_once_call(&cancelled, is_cancelled, NULL);
	return NULL;
}

static void *call_and_end(void *unused)
{
	(void)unused;
	lee_once_call(&broken, ends_its_thread, NULL);
	return NULL;
}

/*
 * Work that leaves in another way than by returning was not done: another caller, which
 * waits for it, begins it.
 */
static void work_that_does_not_return(void)
{
	pthread_t thread = check_start(call_and_end, NULL);
	int done = 0;

	check_nap(2);
	CHECK_EQ(lee_once_call(&broken, work, &done), 0);
	check_join(thread);
	CHECK(lee_once_is_done(&broken));
	CHECK_EQ(done, 1);
	check_join(check_start(call_and_be_cancelled, NULL));
	CHECK(!lee_once_is_done(&cancelled));
	CHECK_EQ(lee_once_call(&cancelled, work, &done), 0);
	CHECK_EQ(done, 2);
#ifdef __cplusplus
	struct lee_once thrown = LEE_ONCE_INIT;
	bool caught = false;

	try {
		lee_once_call(
			&thrown, [](void *) { throw 7; }, NULL);
	} catch (int) {
		caught = true;
	}
	CHECK(caught && !lee_once_is_done(&thrown));
	CHECK_EQ(lee_once_call(&thrown, work, &done), 0);
	CHECK_EQ(done, 3);
#endif
}

int main(void)
{
	check_begin();
	semaphore();
	if (CHECK_HANDLERS_RUN)
		semaphore_in_a_handler();
	barrier();
	event();
	once();
	if (CHECK_THREADS_UNWIND)
		work_that_does_not_return();
	return check_end("small_locks");
}
