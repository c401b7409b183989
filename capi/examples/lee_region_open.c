#include <leeward/region.h>
#include <stdio.h>
#include <unistd.h>

struct table { uint32_t size; uint32_t entries[100]; };

static void make_table(void *value, void *argument)
{
	struct table *table = value;

	table->size = *(uint32_t *)argument;
}

int main(void)
{
	struct lee_region first = LEE_REGION_INIT, second = LEE_REGION_INIT;
	uint32_t size = 100;
	char path[64];
	int is_same = 0;

	snprintf(path, sizeof path, "/tmp/table.%ld", (long)getpid());
	if (lee_region_open(&first, path, sizeof(struct table), 1, make_table, &size) == 0 &&
	    lee_region_open(&second, path, sizeof(struct table), 1, make_table, NULL) == 0)
		is_same = ((struct table *)second.value)->size == 100;
	unlink(path);
	lee_region_close(&second);
	lee_region_close(&first);
	return is_same ? 0 : 1;
}
