/*
 * Regions: made once, found again by path and by descriptor, refused where they are
 * another's, and begun anew after a maker that did not finish.
 */
#include "check.h"

#include <fcntl.h>
#include <leeward/region.h>
#include <leeward/shared.h>

struct value {
	struct lee_shared_mutex mutex;
	uint32_t made;
	uint64_t count;
};

static char path[64];

static void make(void *value, void *argument)
{
	struct value *new_value = (struct value *)value;

	CHECK_EQ((uintptr_t)value % 64, 0);
	CHECK(new_value->made == 0 && new_value->count == 0);
	new_value->made = *(uint32_t *)argument;
}

static void must_not_make(void *value, void *argument)
{
	(void)value;
	(void)argument;
	check_failed("made twice", __FILE__, __LINE__);
}

static int open_region(struct lee_region *region)
{
	uint32_t number = 7;

	return lee_region_open(region, path, sizeof(struct value), 1, make, &number);
}

static void count(void *region)
{
	struct value *value = (struct value *)((struct lee_region *)region)->value;
	int i;

	for (i = 0; i < 1000; i++) {
		lee_shared_mutex_lock(&value->mutex);
		value->count++;
		lee_shared_mutex_unlock(&value->mutex);
	}
	/* The child's own mapping. */
	lee_region_close((struct lee_region *)region);
}

static void without_a_name(void)
{
	struct lee_region region, other;
	uint32_t number = 5;
	struct value *value;
	int fd;

	KEEPS_ERRNO(CHECK_EQ(lee_region_create(&region, sizeof(struct value), 3, make, &number), 0));
	value = (struct value *)region.value;
	CHECK(value != NULL && value->made == 5 && region.size == sizeof(struct value) && region.fd >= 0);
	check_ends_well(check_fork(count, &region));
	CHECK_EQ(value->count, 1000);

	KEEPS_ERRNO(CHECK_EQ(lee_region_open_fd(&other, region.fd, sizeof(struct value), 3), 0));
	CHECK(other.value != region.value && other.fd == -1);
	count(&other);
	CHECK_EQ(value->count, 2000);
	KEEPS_ERRNO(lee_region_close(&other));
	CHECK_EQ(lee_region_open_fd(&other, region.fd, sizeof(struct value), 4), EPROTOTYPE);
	CHECK_EQ(lee_region_open_fd(&other, region.fd, sizeof(struct value) + 8, 3), EMSGSIZE);
	CHECK_EQ(lee_region_open_fd(&other, -1, sizeof(struct value), 3), EBADF);
	CHECK(other.value == NULL);
	fd = region.fd;
	lee_region_close(&region);
	CHECK(region.value == NULL && region.fd == -1);
	CHECK_EQ(fcntl(fd, F_GETFD), -1);
	lee_region_close(&region);

	fd = open("/dev/null", O_RDWR);
	KEEPS_ERRNO(CHECK_EQ(lee_region_open_fd(&other, fd, sizeof(struct value), 3), ENOTSUP));
	close(fd);

	CHECK_EQ(lee_region_create(&region, 16, 1, NULL, NULL), 0);
	CHECK_EQ(((uint64_t *)region.value)[0], 0);
	lee_region_close(&region);
	CHECK(lee_region_create(&region, SIZE_MAX, 1, NULL, NULL) != 0);
}

static void in_a_file(void)
{
	struct lee_region one = LEE_REGION_INIT, two = LEE_REGION_INIT;

	lee_region_close(&one);
	KEEPS_ERRNO(CHECK_EQ(open_region(&one), 0));
	CHECK_EQ(lee_region_open(&two, path, sizeof(struct value), 1, must_not_make, NULL), 0);
	CHECK(one.value != two.value && one.fd == -1 && two.fd == -1);
	((struct value *)one.value)->count = 99;
	CHECK_EQ(((struct value *)two.value)->count, 99);
	CHECK_EQ(((struct value *)two.value)->made, 7);
	lee_region_close(&two);
	KEEPS_ERRNO(CHECK_EQ(lee_region_open(&two, path, sizeof(struct value), 2, must_not_make, NULL), EPROTOTYPE));
	CHECK_EQ(lee_region_open(&two, path, 1, 1, must_not_make, NULL), EMSGSIZE);
	CHECK_EQ(lee_region_open(&two, NULL, 1, 1, must_not_make, NULL), EINVAL);
	KEEPS_ERRNO(CHECK_EQ(lee_region_open(&two, "/nowhere/at/all", 1, 1, must_not_make, NULL), ENOENT));
	CHECK(two.value == NULL);
	lee_region_close(&one);
	CHECK_EQ(unlink(path), 0);
}

static void refused(void)
{
	struct lee_region region;
	int fd = open(path, O_RDWR | O_CREAT, 0600), i;

	CHECK(fd >= 0);
	for (i = 0; i < 20; i++)
		CHECK_EQ(write(fd, "another's", 9), 9);
	CHECK_EQ(ftruncate(fd, (off_t)(64 + sizeof(struct value))), 0);
	CHECK_EQ(open_region(&region), EBADMSG);
	close(fd);
	CHECK_EQ(unlink(path), 0);
}

static void be_killed(void *value, void *argument)
{
	(void)argument;
	((struct value *)value)->count = 5;
	kill(getpid(), SIGKILL);
}

static void make_and_be_killed(void *unused)
{
	struct lee_region region;

	(void)unused;
	(void)lee_region_open(&region, path, sizeof(struct value), 1, be_killed, NULL);
}

static void end_the_thread(void *value, void *argument)
{
	(void)argument;
	((struct value *)value)->count = 5;
	pthread_exit(NULL);
}

static void *make_and_end(void *region)
{
	(void)lee_region_open((struct lee_region *)region, path, sizeof(struct value), 1, end_the_thread, NULL);
	return NULL;
}

static void begun_anew(void)
{
	struct lee_region region;

	if (CHECK_THREADS_UNWIND) {
		check_join(check_start(make_and_end, &region));
		CHECK(region.value == NULL);
	}
	check_was_killed(check_fork(make_and_be_killed, NULL));
	CHECK_EQ(open_region(&region), 0);
	CHECK_EQ(((struct value *)region.value)->count, 0);
	lee_region_close(&region);
	CHECK_EQ(unlink(path), 0);
#ifdef __cplusplus
	bool caught = false;

	try {
		lee_region_open(
			&region, path, sizeof(struct value), 1, [](void *, void *) { throw 7; }, NULL);
	} catch (int) {
		caught = true;
	}
	CHECK(caught && region.value == NULL);
	CHECK_EQ(open_region(&region), 0);
	lee_region_close(&region);
	CHECK_EQ(unlink(path), 0);
#endif
}

static void *open_and_count(void *unused)
{
	struct lee_region region;

	(void)unused;
	CHECK_EQ(open_region(&region), 0);
	count(&region);
	return NULL;
}

static void many_begin_at_once(void)
{
	pthread_t threads[4];
	struct lee_region region;
	int i;

	for (i = 0; i < 4; i++)
		threads[i] = check_start(open_and_count, NULL);
	for (i = 0; i < 4; i++)
		check_join(threads[i]);
	CHECK_EQ(open_region(&region), 0);
	CHECK_EQ(((struct value *)region.value)->count, 4000);
	lee_region_close(&region);
	CHECK_EQ(unlink(path), 0);
}

int main(void)
{
	check_begin();
	snprintf(path, sizeof(path), "/dev/shm/leeward-capi-%d", (int)getpid());
	without_a_name();
	in_a_file();
	refused();
	begun_anew();
	many_begin_at_once();
	return check_end("region");
}
