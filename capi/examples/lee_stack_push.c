#include <leeward/stack.h>
#include <stdio.h>

struct page {
	struct lee_node node;
	int number;
};

static struct lee_stack pages = LEE_STACK_INIT;

int main(void)
{
	struct page page[2] = { { .number = 1 }, { .number = 2 } };
	struct lee_node *node;

	lee_stack_push(&pages, &page[0].node);
	lee_stack_push(&pages, &page[1].node);
	for (node = lee_stack_pop_all(&pages); node != NULL; node = lee_stack_next(node))
		printf("%d\n", LEE_OBJECT(node, struct page, node)->number);
	return 0;
}
