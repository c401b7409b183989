/* urcu/pointer.h. */
#include <urcu/pointer.h>

#include "check.h"

struct object {
    int value;
    struct object *next;
};

struct incomplete;
typedef int (*function)(void);

static int one(void)
{
    return 1;
}

static int calls;

static struct object **where(struct object **at)
{
    calls++;
    return at;
}

static struct object *what(struct object *object)
{
    calls++;
    return object;
}

static void publish(void)
{
    struct object a = { 1, NULL }, b = { 2, &a }, *p = NULL, *const constant = &a;
    const struct object *readable = NULL;
    struct object *volatile v = NULL;
    struct incomplete *opaque = NULL;
    void *plain = NULL;
    function f = NULL;

    CHECK(rcu_dereference(p) == NULL);
    rcu_assign_pointer(p, &a);
    CHECK(rcu_dereference(p) == &a && rcu_dereference(p)->value == 1);
    rcu_set_pointer(&p, &b);
    /* One inside the other. */
    CHECK(rcu_dereference(rcu_dereference(p)->next)->value == 1);
    CHECK(rcu_dereference(constant) == &a);
    rcu_assign_pointer(readable, &a);
    CHECK(rcu_dereference(readable)->value == 1);
    rcu_assign_pointer(v, &a);
    CHECK(rcu_dereference(v) == &a);
    CHECK(rcu_dereference(opaque) == NULL);
    rcu_assign_pointer(plain, &a);
    CHECK(rcu_dereference(plain) == &a);
    rcu_assign_pointer(f, one);
    CHECK(rcu_dereference(f)() == 1);
    rcu_assign_pointer(p, NULL);
    rcu_set_pointer(&p, NULL);
    CHECK(p == NULL);
    /* As the only statement of a branch. */
    if (p)
        rcu_assign_pointer(p, NULL);
    else
        rcu_assign_pointer(p, &b);
    CHECK(p == &b);
}

static void exchange(void)
{
    struct object a = { 1, NULL }, b = { 2, NULL }, *p = &a, *old;
    const char *text = "a";

    CHECK(rcu_xchg_pointer(&p, &b) == &a && p == &b);
    CHECK(rcu_xchg_pointer(&p, NULL)->value == 2 && p == NULL);
    old = rcu_cmpxchg_pointer(&p, &a, &b);
    CHECK(old == NULL && p == NULL);
    /* An expression, and of the pointer's type. */
    if (rcu_cmpxchg_pointer(&p, NULL, &a) != NULL)
        CHECK(0);
    CHECK(rcu_cmpxchg_pointer(&p, &a, &b)->value == 1 && p == &b);
    CHECK((rcu_cmpxchg_pointer(&p, &b, &a) == &b ? p : NULL) == &a);
    rcu_xchg_pointer(&p, &b);
    CHECK(rcu_xchg_pointer(&text, "b")[0] == 'a' && text[0] == 'b');
}

static void once(void)
{
    struct object a = { 1, NULL }, b = { 2, NULL }, *p = NULL;

    calls = 0;
    rcu_set_pointer(where(&p), what(&a));
    CHECK(calls == 2);
    rcu_assign_pointer(*where(&p), what(&b));
    CHECK(calls == 4);
    CHECK(rcu_xchg_pointer(where(&p), what(&a)) == &b && calls == 6);
    CHECK(rcu_cmpxchg_pointer(where(&p), what(&a), what(&b)) == &a && calls == 9);
    CHECK(rcu_dereference(*where(&p)) == &b && calls == 10);
}

static void underscored(void)
{
#ifdef LEEWARD
    struct object a = { 1, NULL }, b = { 2, NULL }, *p = NULL;

    _rcu_assign_pointer(p, &a);
    CHECK(_rcu_dereference(p) == &a);
    _rcu_set_pointer(&p, &b);
    CHECK(_rcu_xchg_pointer(&p, &a) == &b);
    CHECK(_rcu_cmpxchg_pointer(&p, &a, NULL) == &a);
    CHECK(p == NULL);
    CHECK(cmm_ptr_eq(&a, &a) && !cmm_ptr_eq(&a, &b) && cmm_ptr_eq(NULL, p) == 1);
#endif
}

/* Clients redefine the names without underscore in terms of the others. */
#ifdef LEEWARD
#undef rcu_dereference
#define rcu_dereference(p) _rcu_dereference(p)
#endif

static void redefined(void)
{
    int x = 3, *p = &x;

    CHECK(*rcu_dereference(p) == 3);
}

/*
 * The functions are declared, and programs may take their addresses; the library's test calls them.
 */
static void declared(void)
{
#ifdef LEEWARD
    CHECK(sizeof(rcu_dereference_sym(NULL)) == sizeof(void *));
    CHECK(sizeof(rcu_set_pointer_sym(NULL, NULL)) == sizeof(void *));
    CHECK(sizeof(rcu_xchg_pointer_sym(NULL, NULL)) == sizeof(void *));
    CHECK(sizeof(rcu_cmpxchg_pointer_sym(NULL, NULL, NULL)) == sizeof(void *));
#endif
}

int main(void)
{
    errno = UNTOUCHED;
    publish();
    exchange();
    once();
    underscored();
    redefined();
    declared();
    return done("pointer");
}
