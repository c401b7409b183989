#include <leeward/stack.h>

struct point {
	int x, y;
	struct lee_node node;
};

int main(void)
{
	struct point point = { .x = 3, .y = 4 };
	struct lee_node *node = &point.node;

	return LEE_OBJECT(node, struct point, node)->y == 4 ? 0 : 1;
}
