/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu/leeward/lfs-templates.h: what a transparent union does in C, for urcu/lfstack.h in C++: its
 * functions for both stacks take a pointer to either. Programs do not include this.
 */
#ifndef LEEWARD_COMPAT_URCU_LEEWARD_LFS_TEMPLATES_H
#define LEEWARD_COMPAT_URCU_LEEWARD_LFS_TEMPLATES_H

/* Templates cannot stand inside an extern "C" of the program that includes this. */
extern "C++" {
static inline cds_lfs_stack_ptr_t lee_1_urcu_lfs_either(struct __cds_lfs_stack *s)
{
    return __cds_lfs_stack_cast(s);
}

static inline cds_lfs_stack_ptr_t lee_1_urcu_lfs_either(struct cds_lfs_stack *s)
{
    return cds_lfs_stack_cast(s);
}

static inline cds_lfs_stack_const_ptr_t lee_1_urcu_lfs_either_const(const struct __cds_lfs_stack *s)
{
    return __cds_lfs_stack_const_cast(s);
}

static inline cds_lfs_stack_const_ptr_t lee_1_urcu_lfs_either_const(const struct cds_lfs_stack *s)
{
    return cds_lfs_stack_const_cast(s);
}

static inline cds_lfs_stack_const_ptr_t lee_1_urcu_lfs_either_const(cds_lfs_stack_ptr_t s)
{
    return __cds_lfs_stack_const_cast(s._s);
}

template <typename Stack> static inline bool cds_lfs_empty(Stack s)
{
    return cds_lfs_empty(lee_1_urcu_lfs_either_const(s));
}

template <typename Stack> static inline bool cds_lfs_push(Stack s, struct cds_lfs_node *node)
{
    return cds_lfs_push(lee_1_urcu_lfs_either(s), node);
}

template <typename Stack> static inline struct cds_lfs_node *__cds_lfs_pop(Stack s)
{
    return __cds_lfs_pop(lee_1_urcu_lfs_either(s));
}

template <typename Stack> static inline struct cds_lfs_head *__cds_lfs_pop_all(Stack s)
{
    return __cds_lfs_pop_all(lee_1_urcu_lfs_either(s));
}
}

#endif
