/* All headers in one unit, inside an extern "C" of the program's, as some C++ programs have it. */
#define CDS_WFQ_DEPRECATED
#define CDS_LFS_RCU_DEPRECATED
#ifdef __cplusplus
extern "C" {
#endif
#include <urcu-pointer.h>
#include <urcu/arch.h>
#include <urcu/assert.h>
#include <urcu/compiler.h>
#include <urcu/config.h>
#include <urcu/debug.h>
#include <urcu/futex.h>
#include <urcu/hlist.h>
#include <urcu/lfstack.h>
#include <urcu/list.h>
#include <urcu/pointer.h>
#include <urcu/rculfqueue.h>
#include <urcu/rculfstack.h>
#include <urcu/rcuhlist.h>
#include <urcu/rculist.h>
#include <urcu/ref.h>
#include <urcu/system.h>
#include <urcu/tls-compat.h>
#include <urcu/uatomic.h>
#include <urcu/wfcqueue.h>
#include <urcu/wfqueue.h>
#include <urcu/wfstack.h>
#ifdef __cplusplus
}
#endif

#include "check.h"

#ifdef __cplusplus
/* The macros in templates: of types that are known later, of elements and of pointers. */
template <typename T> static T add_to(T *at, T value)
{
    uatomic_add(at, value);
    return uatomic_add_return(at, uatomic_xchg(at, uatomic_read(at)));
}

template <typename T> struct linked {
    T value;
    struct cds_list_head link;

    static int sum(struct cds_list_head *head)
    {
        linked<T> *pos;
        int total = 0;

        cds_list_for_each_entry_rcu(pos, head, link)
            total += static_cast<int>(pos->value);
        return total;
    }
};

template <typename Head> static bool queue_works(Head *head, struct cds_wfcq_tail *tail)
{
    struct cds_wfcq_node node;

    cds_wfcq_node_init(&node);
    return !cds_wfcq_enqueue(head, tail, &node) && __cds_wfcq_dequeue_blocking(head, tail) == &node;
}

struct derived : cds_wfcq_head {
    int more;
};

static void cxx(void)
{
    int x = 1;
    unsigned char byte = 2;
    linked<short> element = { 5, { nullptr, nullptr } };
    CDS_LIST_HEAD(head);
    int *p = nullptr;
    derived queue;
    struct __cds_wfcq_head bare;
    struct cds_wfcq_tail tail;

    CHECK(add_to(&x, 3) == 8 && add_to<unsigned char>(&byte, 1) == 6);
    cds_list_add_rcu(&element.link, &head);
    CHECK(linked<short>::sum(&head) == 5);
    rcu_assign_pointer(p, nullptr);
    CHECK(rcu_xchg_pointer(&p, &x) == nullptr && rcu_cmpxchg_pointer(&p, &x, nullptr) == &x);
    cds_wfcq_init(&queue, &tail);
    CHECK(queue_works(&queue, &tail));
    cds_wfcq_destroy(&queue, &tail);
    __cds_wfcq_init(&bare, &tail);
    CHECK(queue_works(&bare, &tail));
    auto largest = caa_max(3, caa_min(7L, 9));
    static_assert(sizeof(largest) == sizeof(long), "the type of an ordinary conditional");
    CHECK(largest == 7);
}
#else
static void cxx(void)
{
}
#endif

/* Functions that the headers define can be pointed to. */
static bool (*const empty)(cds_wfcq_head_const_ptr_t, const struct cds_wfcq_tail *) = cds_wfcq_empty;
static void (*const add)(struct cds_list_head *, struct cds_list_head *) = cds_list_add;

int main(void)
{
    struct cds_wfcq_head head;
    struct cds_wfcq_tail tail;
    cds_wfcq_head_const_ptr_t either;
    CDS_LIST_HEAD(list);
    CDS_LIST_HEAD(element);

    errno = UNTOUCHED;
    cds_wfcq_init(&head, &tail);
    either.h = &head;
    CHECK(empty(either, &tail));
    cds_wfcq_destroy(&head, &tail);
    add(&element, &list);
    CHECK(!cds_list_empty(&list));
    cxx();
    return done("everything");
}
