/* A loop that handles events and is quiescent between them. */

#include <leeward/rcu.h>
#include <stdio.h>

struct rules { int limit; };
static struct rules first = { 10 };
static struct rules *rules = &first;

static int next_event(void)
{
	static int left = 3;

	return left--;                          /* blocks, in a program */
}

int main(void)
{
	int event;

	if (lee_qsbr_register() != 0)
		return 1;
	for (;;) {
		lee_qsbr_offline();
		event = next_event();
		lee_qsbr_online();
		if (event == 0)
			break;
		printf("%d of %d\n", event, lee_dereference(rules)->limit);
		lee_qsbr_quiescent();
	}
	lee_qsbr_unregister();
	return 0;
}
