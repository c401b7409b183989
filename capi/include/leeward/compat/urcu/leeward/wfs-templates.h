/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu/leeward/wfs-templates.h: what a transparent union does in C, for urcu/wfstack.h in C++: its
 * functions for both stacks take a pointer to either. Programs do not include this.
 */
#ifndef LEEWARD_COMPAT_URCU_LEEWARD_WFS_TEMPLATES_H
#define LEEWARD_COMPAT_URCU_LEEWARD_WFS_TEMPLATES_H

/* Templates cannot stand inside an extern "C" of the program that includes this. */
extern "C++" {
static inline cds_wfs_stack_ptr_t lee_1_urcu_wfs_either(struct __cds_wfs_stack *s)
{
    return __cds_wfs_stack_cast(s);
}

static inline cds_wfs_stack_ptr_t lee_1_urcu_wfs_either(struct cds_wfs_stack *s)
{
    return cds_wfs_stack_cast(s);
}

static inline cds_wfs_stack_const_ptr_t lee_1_urcu_wfs_either_const(const struct __cds_wfs_stack *s)
{
    return __cds_wfs_stack_const_cast(s);
}

static inline cds_wfs_stack_const_ptr_t lee_1_urcu_wfs_either_const(const struct cds_wfs_stack *s)
{
    return cds_wfs_stack_const_cast(s);
}

static inline cds_wfs_stack_const_ptr_t lee_1_urcu_wfs_either_const(cds_wfs_stack_ptr_t s)
{
    return __cds_wfs_stack_const_cast(s._s);
}

template <typename Stack> static inline bool cds_wfs_empty(Stack s)
{
    return cds_wfs_empty(lee_1_urcu_wfs_either_const(s));
}

template <typename Stack> static inline int cds_wfs_push(Stack s, struct cds_wfs_node *node)
{
    return cds_wfs_push(lee_1_urcu_wfs_either(s), node);
}

template <typename Stack> static inline struct cds_wfs_node *__cds_wfs_pop_with_state_blocking(Stack s, int *state)
{
    return __cds_wfs_pop_with_state_blocking(lee_1_urcu_wfs_either(s), state);
}

template <typename Stack> static inline struct cds_wfs_node *__cds_wfs_pop_blocking(Stack s)
{
    return __cds_wfs_pop_blocking(lee_1_urcu_wfs_either(s));
}

template <typename Stack> static inline struct cds_wfs_node *__cds_wfs_pop_with_state_nonblocking(Stack s, int *state)
{
    return __cds_wfs_pop_with_state_nonblocking(lee_1_urcu_wfs_either(s), state);
}

template <typename Stack> static inline struct cds_wfs_node *__cds_wfs_pop_nonblocking(Stack s)
{
    return __cds_wfs_pop_nonblocking(lee_1_urcu_wfs_either(s));
}

template <typename Stack> static inline struct cds_wfs_head *__cds_wfs_pop_all(Stack s)
{
    return __cds_wfs_pop_all(lee_1_urcu_wfs_either(s));
}
}

#endif
