/* A signal handler that lets the program end. */

#include <leeward/event.h>
#include <signal.h>
#include <unistd.h>

static struct lee_event ended = LEE_EVENT_INIT;

static void end(int number)
{
	(void)number;
	lee_event_set(&ended);
}

int main(void)
{
	if (signal(SIGALRM, end) == SIG_ERR)
		return 1;
	alarm(1);
	lee_event_wait(&ended);
	return 0;
}
