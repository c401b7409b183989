/* urcu/rculfstack.h, by one thread; stacks_threads.c has many. */
#define CDS_LFS_RCU_DEPRECATED
#include <string.h>
#include <urcu/compiler.h>
#include <urcu/rculfstack.h>

#include "check.h"

struct item {
    int value;
    struct cds_lfs_node_rcu node;
};

int main(void)
{
    struct item items[4];
    struct cds_lfs_stack_rcu stack;
    struct cds_lfs_node_rcu *node;
    int i;

    errno = UNTOUCHED;
    cds_lfs_init_rcu(&stack);
    CHECK(cds_lfs_pop_rcu(&stack) == NULL);
    for (i = 0; i < 4; i++) {
        items[i].value = i;
        cds_lfs_node_init_rcu(&items[i].node);
        CHECK(!cds_lfs_push_rcu(&stack, &items[i].node) == (i == 0));
    }
    while (i-- > 0) {
        node = cds_lfs_pop_rcu(&stack);
        CHECK(caa_container_of(node, struct item, node)->value == i);
        memset(node, 0xff, sizeof(*node));
    }
    CHECK(cds_lfs_pop_rcu(&stack) == NULL);
    return done("rculfstack");
}
