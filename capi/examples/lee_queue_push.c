#include <leeward/queue.h>
#include <stdio.h>

struct job {
	struct lee_node node;
	int number;
};

static struct lee_queue jobs = LEE_QUEUE_INIT;

int main(void)
{
	struct job job = { .number = 7 };
	struct lee_node *node;

	lee_queue_push(&jobs, &job.node);
	node = lee_queue_pop(&jobs);
	printf("%d\n", LEE_OBJECT(node, struct job, node)->number);
	return 0;
}
