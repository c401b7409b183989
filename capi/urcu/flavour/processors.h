/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Workers of processors: the table that call_rcu() looks into (call_rcu.h), and its functions.
 */
#ifndef LEEWARD_URCU_FLAVOUR_PROCESSORS_H
#define LEEWARD_URCU_FLAVOUR_PROCESSORS_H

#include <fcntl.h>

#include "call_rcu.h"

/*
 * Returns the greatest number in a list as the kernel writes it ("0-3,5"), plus 1; 0: there is
 * none.
 */
static int end_of_list(const char *list)
{
    long greatest = -1, number = -1;

    for (; *list; list++) {
        if (*list < '0' || *list > '9') {
            number = -1;
            continue;
        }
        number = (number < 0 ? 0 : number * 10) + (*list - '0');
        if (number > 1 << 20)
            return 0;
        if (number > greatest)
            greatest = number;
    }
    return (int)greatest + 1;
}

/* Returns how many processors are possible: one more than the greatest number. */
static int count_processors(void)
{
    char list[256];
    long length = 0, configured;
    int count = 0;
    /* System calls and not the C library's functions, which are cancellation points. */
    long file = syscall(SYS_openat, AT_FDCWD, "/sys/devices/system/cpu/possible", O_RDONLY | O_CLOEXEC);

    if (file >= 0) {
        length = syscall(SYS_read, file, list, sizeof(list) - 1);
        syscall(SYS_close, file);
    }
    if (length > 0) {
        list[length] = '\0';
        count = end_of_list(list);
    }
    configured = sysconf(_SC_NPROCESSORS_CONF);
    return count > 0 ? count : configured > 0 ? (int)configured : 1;
}

/* Makes the table, if there is none yet. Returns it; NULL without memory. */
static struct processors *make_table(void)
{
    struct processors *all = table(), *first = NULL;
    int error = errno, count;

    if (all)
        return all;
    count = count_processors();
    all = calloc(1, sizeof(*all) + (size_t)count * sizeof(all->of[0]));
    if (all) {
        all->count = count;
        /* Release: the table is whole. Partner: the acquire in table(). */
        if (!__atomic_compare_exchange_n(&processors, &first, all, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            free(all);
            all = first;
        }
    }
    errno = error;
    return all;
}

/* Sets errno to an error, and returns it as call_rcu's functions do. */
static int fail(int error)
{
    errno = error;
    return -error;
}

EXPORT struct call_rcu_data *get_cpu_call_rcu_data(int cpu)
{
    return worker_of(cpu);
}

EXPORT int set_cpu_call_rcu_data(int cpu, struct call_rcu_data *crdp)
{
    struct processors *all = make_table();
    struct call_rcu_data *none = NULL;

    if (!all)
        return fail(ENOMEM);
    if (cpu < 0 || cpu >= all->count) {
        report(NAME(set_cpu_call_rcu_data) ": there is no processor of that number");
        return fail(EINVAL);
    }
    if (!crdp) {
        /* Relaxed: the caller waits for a grace period. */
        __atomic_store_n(&all->of[cpu], NULL, __ATOMIC_RELAXED);
        return 0;
    }
    /* Release: partner of the acquire in worker_of(). */
    if (!__atomic_compare_exchange_n(&all->of[cpu], &none, crdp, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        return fail(EEXIST);
    return 0;
}

/* Gives a processor a worker, if it has none. Returns 0 or an error, as above. */
static int fill_processor(int cpu, unsigned long flags)
{
    struct call_rcu_data *data;
    int error = errno, result;

    if (worker_of(cpu))
        return 0;
    data = create_call_rcu_data(flags, cpu);
    if (data == &by_default)
        return fail(ENOMEM);
    result = set_cpu_call_rcu_data(cpu, data);
    if (result != -EEXIST)
        return result;
    /* Another thread was faster. */
    call_rcu_data_free(data);
    errno = error;
    return 0;
}

EXPORT int create_all_cpu_call_rcu_data(unsigned long flags)
{
    struct processors *all = make_table();
    int cpu, result = 0;

    if (!all)
        return fail(ENOMEM);
    for (cpu = 0; cpu < all->count && result == 0; cpu++)
        result = fill_processor(cpu, flags);
    return result;
}

/*
 * Takes the workers of all processors away, and marks them with a number of this call's own: those
 * that another call takes wait for another grace period. Returns the number; 0: there was none.
 */
static uint64_t doom_workers(struct processors *all)
{
    static uint64_t dooms;
    /* Relaxed: a count. */
    uint64_t doom = __atomic_add_fetch(&dooms, 1, __ATOMIC_RELAXED);
    bool was_any = false;
    int cpu;

    for (cpu = 0; cpu < all->count; cpu++) {
        /* Acquire: partner of the release in set_cpu_call_rcu_data(). */
        struct call_rcu_data *data = __atomic_exchange_n(&all->of[cpu], NULL, __ATOMIC_ACQUIRE);

        if (!data || data == &by_default)
            continue;
        lock_workers();
        data->doom = doom;
        unlock_workers();
        was_any = true;
    }
    return was_any ? doom : 0;
}

/* Returns a worker that is marked so, and takes the mark back; NULL: there is none. */
static struct call_rcu_data *next_doomed(uint64_t doom)
{
    struct call_rcu_data *data;

    lock_workers();
    for (data = workers.first; data && data->doom != doom; data = data->next)
        ;
    if (data)
        data->doom = 0;
    unlock_workers();
    return data;
}

EXPORT void free_all_cpu_call_rcu_data(void)
{
    struct processors *all = table();
    uint64_t doom = all ? doom_workers(all) : 0;
    struct call_rcu_data *data;

    if (doom == 0)
        return;
    synchronize_rcu();
    while ((data = next_doomed(doom)))
        call_rcu_data_free(data);
}

/* Takes the workers of all processors away in a child. */
static void forget_processors(void)
{
    struct processors *all = table();
    int cpu;

    for (cpu = 0; all && cpu < all->count; cpu++)
        all->of[cpu] = NULL;
}

#endif
