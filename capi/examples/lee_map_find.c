#include <leeward/map.h>
#include <stdio.h>

struct entry {
	struct lee_map_node node;
	int key, value;
};

static int has_key(const struct lee_map_node *node, const void *key)
{
	return LEE_OBJECT(node, struct entry, node)->key == *(const int *)key;
}

int main(void)
{
	struct lee_map *map = lee_map_new(&lee_memb, 100);
	struct entry entry = { .key = 7, .value = 49 };
	struct lee_map_node *node;
	int key = 7;

	if (map == NULL)
		return 1;
	lee_memb_read_lock();
	lee_map_add(map, 7, &entry.node);
	node = lee_map_find(map, 7, has_key, &key);
	printf("%d\n", LEE_OBJECT(node, struct entry, node)->value);
	lee_map_remove(map, node);
	lee_memb_read_unlock();
	return lee_map_free(map);
}
