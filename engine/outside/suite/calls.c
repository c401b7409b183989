// The calls by themselves: what they answer for words that change, addresses that are not there,
// and arguments that make no sense.
#include "suite.h"

#define FAILS(call, why) CHECK((call) == -1 && errno == (why))

int main(void) {
    char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED && mprotect(page + 4096, 4096, PROT_READ) == 0);
    uint32_t word = 5, other = 0;
    uint32_t *none = (uint32_t *)64, *last = (uint32_t *)(page + 4092), *readable = (uint32_t *)(page + 4096);
    struct timespec now = {0, 0}, wrong = {0, 1000000000}, soon = {0, 1000000};
    FAILS(futex(&word, FUTEX_WAIT_PRIVATE, 4, NULL, NULL, 0), EAGAIN);
    FAILS(futex(&word, FUTEX_WAIT_PRIVATE, 5, &now, NULL, 0), ETIMEDOUT);
    FAILS(futex(&word, FUTEX_WAIT_PRIVATE, 5, &soon, NULL, 0), ETIMEDOUT);
    FAILS(futex(&word, FUTEX_WAIT, 5, &soon, NULL, 0), ETIMEDOUT);
    FAILS(futex(&word, FUTEX_WAIT_PRIVATE, 5, &wrong, NULL, 0), EINVAL);
    FAILS(futex(&word, FUTEX_WAIT_PRIVATE, 5, (void *)8, NULL, 0), EFAULT);
    FAILS(futex(none, FUTEX_WAIT_PRIVATE, 5, NULL, NULL, 0), EFAULT);
    FAILS(futex(none, FUTEX_WAKE, 1, NULL, NULL, 0), EFAULT);
    FAILS(futex((void *)4, FUTEX_WAIT_PRIVATE, 5, NULL, NULL, 0), EFAULT);
    FAILS(futex(readable, FUTEX_WAIT, 1, NULL, NULL, 0), EFAULT);
    FAILS(futex((void *)-4096L, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0), EFAULT);
    CHECK(futex(none, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) == 0);
    FAILS(futex((char *)&word + 1, FUTEX_WAIT_PRIVATE, 5, NULL, NULL, 0), EINVAL);
    FAILS(futex(readable, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0), EAGAIN);
    FAILS(futex(last, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0), EAGAIN);
    FAILS(futex(&word, FUTEX_WAKE_OP_PRIVATE, 1, NULL, readable, FUTEX_OP(FUTEX_OP_ADD, 1, FUTEX_OP_CMP_EQ, 0)),
          EFAULT);
    CHECK(futex(&word, FUTEX_WAKE_OP_PRIVATE, 1, NULL, &other, FUTEX_OP(FUTEX_OP_ADD, 3, FUTEX_OP_CMP_EQ, 0)) == 0);
    CHECK(other == 3);
    FAILS(futex(&word, FUTEX_CMP_REQUEUE_PRIVATE, 1, (void *)1, &other, 4), EAGAIN);
    CHECK(futex(&word, FUTEX_CMP_REQUEUE_PRIVATE, 1, (void *)1, &other, 5) == 0);
    FAILS(futex(&word, FUTEX_WAIT_BITSET_PRIVATE, 5, NULL, NULL, 0), EINVAL);
    FAILS(futex(&word, 77, 0, NULL, NULL, 0), ENOSYS);
    struct { uint64_t value, address; uint32_t flags, reserved; } words[2] = {
        {5, (uintptr_t)&word, 130, 0}, {4, (uintptr_t)&other, 130, 0}};
    long answer = syscall(449, words, 2, 0, NULL, 0);
    CHECK(answer == -1 && (errno == EAGAIN || errno == ENOSYS));
    void *head;
    size_t size;
    CHECK(syscall(SYS_get_robust_list, 0, &head, &size) == 0 && size == 24 && head != NULL);
    return 0;
}
