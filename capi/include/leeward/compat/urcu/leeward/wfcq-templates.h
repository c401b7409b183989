/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * urcu/leeward/wfcq-templates.h: what a transparent union does in C, for urcu/wfcqueue.h in C++:
 * its functions for both heads take a pointer to either. Programs do not include this.
 */
#ifndef LEEWARD_COMPAT_URCU_LEEWARD_WFCQ_TEMPLATES_H
#define LEEWARD_COMPAT_URCU_LEEWARD_WFCQ_TEMPLATES_H

/* Templates cannot stand inside an extern "C" of the program that includes this. */
extern "C++" {
static inline cds_wfcq_head_ptr_t lee_1_urcu_wfcq_either(struct __cds_wfcq_head *head)
{
    return __cds_wfcq_head_cast(head);
}

static inline cds_wfcq_head_ptr_t lee_1_urcu_wfcq_either(struct cds_wfcq_head *head)
{
    return cds_wfcq_head_cast(head);
}

static inline cds_wfcq_head_ptr_t lee_1_urcu_wfcq_either(cds_wfcq_head_ptr_t head)
{
    return head;
}

static inline cds_wfcq_head_const_ptr_t lee_1_urcu_wfcq_either_const(const struct __cds_wfcq_head *head)
{
    return __cds_wfcq_head_const_cast(head);
}

static inline cds_wfcq_head_const_ptr_t lee_1_urcu_wfcq_either_const(const struct cds_wfcq_head *head)
{
    return cds_wfcq_head_const_cast(head);
}

static inline cds_wfcq_head_const_ptr_t lee_1_urcu_wfcq_either_const(cds_wfcq_head_ptr_t head)
{
    return __cds_wfcq_head_const_cast(head._h);
}

template <typename Head> static inline bool cds_wfcq_empty(Head head, const struct cds_wfcq_tail *tail)
{
    return cds_wfcq_empty(lee_1_urcu_wfcq_either_const(head), tail);
}

template <typename Head>
static inline bool cds_wfcq_enqueue(Head head, struct cds_wfcq_tail *tail, struct cds_wfcq_node *node)
{
    return cds_wfcq_enqueue(lee_1_urcu_wfcq_either(head), tail, node);
}

template <typename Head>
static inline struct cds_wfcq_node *__cds_wfcq_dequeue_with_state_blocking(Head head, struct cds_wfcq_tail *tail,
                                                                           int *state)
{
    return __cds_wfcq_dequeue_with_state_blocking(lee_1_urcu_wfcq_either(head), tail, state);
}

template <typename Head>
static inline struct cds_wfcq_node *__cds_wfcq_dequeue_blocking(Head head, struct cds_wfcq_tail *tail)
{
    return __cds_wfcq_dequeue_blocking(lee_1_urcu_wfcq_either(head), tail);
}

template <typename Head>
static inline struct cds_wfcq_node *__cds_wfcq_dequeue_with_state_nonblocking(Head head, struct cds_wfcq_tail *tail,
                                                                              int *state)
{
    return __cds_wfcq_dequeue_with_state_nonblocking(lee_1_urcu_wfcq_either(head), tail, state);
}

template <typename Head>
static inline struct cds_wfcq_node *__cds_wfcq_dequeue_nonblocking(Head head, struct cds_wfcq_tail *tail)
{
    return __cds_wfcq_dequeue_nonblocking(lee_1_urcu_wfcq_either(head), tail);
}

template <typename Dest, typename Src>
static inline enum cds_wfcq_ret __cds_wfcq_splice_blocking(Dest dest_head, struct cds_wfcq_tail *dest_tail,
                                                           Src src_head, struct cds_wfcq_tail *src_tail)
{
    return __cds_wfcq_splice_blocking(lee_1_urcu_wfcq_either(dest_head), dest_tail, lee_1_urcu_wfcq_either(src_head),
                                      src_tail);
}

template <typename Dest, typename Src>
static inline enum cds_wfcq_ret __cds_wfcq_splice_nonblocking(Dest dest_head, struct cds_wfcq_tail *dest_tail,
                                                              Src src_head, struct cds_wfcq_tail *src_tail)
{
    return __cds_wfcq_splice_nonblocking(lee_1_urcu_wfcq_either(dest_head), dest_tail,
                                         lee_1_urcu_wfcq_either(src_head), src_tail);
}

template <typename Head>
static inline struct cds_wfcq_node *__cds_wfcq_first_blocking(Head head, struct cds_wfcq_tail *tail)
{
    return __cds_wfcq_first_blocking(lee_1_urcu_wfcq_either(head), tail);
}

template <typename Head>
static inline struct cds_wfcq_node *__cds_wfcq_first_nonblocking(Head head, struct cds_wfcq_tail *tail)
{
    return __cds_wfcq_first_nonblocking(lee_1_urcu_wfcq_either(head), tail);
}

template <typename Head>
static inline struct cds_wfcq_node *__cds_wfcq_next_blocking(Head head, struct cds_wfcq_tail *tail,
                                                             struct cds_wfcq_node *node)
{
    return __cds_wfcq_next_blocking(lee_1_urcu_wfcq_either(head), tail, node);
}

template <typename Head>
static inline struct cds_wfcq_node *__cds_wfcq_next_nonblocking(Head head, struct cds_wfcq_tail *tail,
                                                                struct cds_wfcq_node *node)
{
    return __cds_wfcq_next_nonblocking(lee_1_urcu_wfcq_either(head), tail, node);
}
}

#endif
