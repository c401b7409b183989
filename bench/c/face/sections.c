/*
 * Sections, nested pairs and quiescent states of one thread, without writers; and functions whose size in bytes is measured.
 * src/c/sections.rs, sizes.rs and instructions.rs name what is here.
 */
#include <string.h>

#include "clock.h"
#include "face.h"
#include "node.h"
#include "sections.h"

#define ALIGNMENTS 4
#define BATCH 1024
#define NOINLINE __attribute__((noinline))

/*
 * The same loop at four alignments in a cache line, as src/alignment.rs has it: some processors take three times as long at
 * an unlucky one.
 */
#if defined(__x86_64__)
#define ALIGN(alignment) __asm__ volatile(".p2align 6\n\t.rept 16 * " #alignment "\n\tnop\n\t.endr")
#else
#define ALIGN(alignment)
#endif

static inline __attribute__((always_inline)) void one_nested(void)
{
	face_lock();
	face_unlock();
}

static inline __attribute__((always_inline)) void one_quiescent(void)
{
	face_quiescent();
}

/* A nested pair stands between `face_lock` and `face_unlock`, once a batch. */
#define LOOP_AT(name, alignment, before, after)                  \
	static NOINLINE void batch_##name##_##alignment(void)    \
	{                                                        \
		before;                                          \
		ALIGN(alignment);                                \
		for (int i = 0; i < BATCH; i++)                  \
			one_##name();                            \
		after;                                           \
	}
#define LOOP(name, before, after)                                                                         \
	LOOP_AT(name, 0, before, after)                                                                   \
	LOOP_AT(name, 1, before, after)                                                                   \
	LOOP_AT(name, 2, before, after)                                                                   \
	LOOP_AT(name, 3, before, after)                                                                   \
	static void (*const name##_batches[ALIGNMENTS])(void) = { batch_##name##_0, batch_##name##_1,     \
								  batch_##name##_2, batch_##name##_3 };

LOOP(section, (void)0, (void)0)
LOOP(nested, face_lock(), face_unlock())
LOOP(quiescent, (void)0, (void)0)

/* The size of each of these functions is a figure. They are never called. */
uint64_t code_section(void);
uint64_t code_section(void)
{
	uint64_t alive;

	face_lock();
	alive = __atomic_load_n(&face_load(published.node)->alive, __ATOMIC_RELAXED);
	face_unlock();
	return alive;
}

void code_quiescent(void);
void code_quiescent(void)
{
	face_quiescent();
}

static double nanoseconds(void (*batch)(void), uint64_t n)
{
	uint64_t began, done = 0;

	batch();
	began = now_ns();
	while (done < n) {
		batch();
		done += BATCH;
	}
	return (double)(now_ns() - began) / (double)done;
}

int sections_measure(const char *what, uint64_t n, double result[2])
{
	static const struct {
		const char *name;
		void (*const *batches)(void);
	} loops[] = { { "section", section_batches }, { "nested", nested_batches }, { "quiescent", quiescent_batches } };

	for (unsigned i = 0; i < sizeof(loops) / sizeof(loops[0]); i++) {
		if (strcmp(what, loops[i].name) != 0)
			continue;
		result[0] = 0;
		result[1] = 1e9;
		face_register();
		for (unsigned alignment = 0; alignment < ALIGNMENTS; alignment++) {
			double ns = nanoseconds(loops[i].batches[alignment], n / ALIGNMENTS);

			result[0] += ns / ALIGNMENTS;
			if (ns < result[1])
				result[1] = ns;
		}
		face_unregister();
		return 0;
	}
	return 1;
}
