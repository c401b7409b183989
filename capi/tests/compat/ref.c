/* urcu/ref.h. */
#include <limits.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>
#include <urcu/ref.h>

#include "check.h"

struct object {
    int released;
    struct urcu_ref ref;
};

static void release(struct urcu_ref *ref)
{
    caa_container_of(ref, struct object, ref)->released++;
}

/* urcu_ref_get() at the limit aborts, instead of making the count negative. */
static void overflow(void)
{
    int status;
    pid_t child = fork();

    CHECK(child >= 0);
    if (child == 0) {
        struct urcu_ref ref;

        urcu_ref_set(&ref, LONG_MAX);
        urcu_ref_get(&ref);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status));
}

int main(void)
{
    struct object object = { 0, { 0 } };
    struct urcu_ref *ref = &object.ref;

    errno = UNTOUCHED;
    urcu_ref_init(ref);
    CHECK(ref->refcount == 1);
    urcu_ref_get(ref);
    CHECK(ref->refcount == 2);
    CHECK(urcu_ref_get_safe(ref) && ref->refcount == 3);
    CHECK(urcu_ref_get_unless_zero(ref) && ref->refcount == 4);
    urcu_ref_put(ref, release);
    urcu_ref_put(ref, release);
    urcu_ref_put(ref, release);
    CHECK(ref->refcount == 1 && object.released == 0);
    urcu_ref_put(ref, release);
    CHECK(ref->refcount == 0 && object.released == 1);
    CHECK(!urcu_ref_get_unless_zero(ref) && ref->refcount == 0);
    CHECK(urcu_ref_get_safe(ref) && ref->refcount == 1);
    urcu_ref_set(ref, LONG_MAX);
    CHECK(!urcu_ref_get_safe(ref) && ref->refcount == LONG_MAX);
    CHECK(!urcu_ref_get_unless_zero(ref) && ref->refcount == LONG_MAX);
    urcu_ref_set(ref, LONG_MAX - 1);
    CHECK(urcu_ref_get_safe(ref) && ref->refcount == LONG_MAX);
    overflow();
    return done("ref");
}
