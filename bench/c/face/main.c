/*
 * The program of one face and flavour: measures a figure and prints it.
 *   program FIGURE NUMBER...
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "figures.h"
#include "sections.h"

#define MOST 3

static const struct {
	const char *name;
	void (*measure)(const uint64_t *args);
	int args;
} figures[] = {
	{ "synchronize-idle", figure_synchronize_idle, 2 },
	{ "synchronize-busy", figure_synchronize_busy, 2 },
	{ "begun", figure_begun, 2 },
	{ "defer", figure_defer, 3 },
	{ "sparse", figure_sparse, 2 },
	{ "latency", figure_latency, 1 },
	{ "register", figure_register, 2 },
	{ "churn", figure_churn, 2 },
	{ "alone", figure_alone, 2 },
	{ "pass", figure_pass, 3 },
	{ "map", figure_map, 3 },
};

int main(int argc, char **argv)
{
	uint64_t args[MOST] = { 0 };
	double result[2];

	for (int i = 2; i < argc && i < 2 + MOST; i++)
		args[i - 2] = strtoull(argv[i], NULL, 10);
	for (unsigned i = 0; argc > 1 && i < sizeof(figures) / sizeof(figures[0]); i++) {
		if (strcmp(argv[1], figures[i].name) == 0 && argc == 2 + figures[i].args) {
			figures[i].measure(args);
			return 0;
		}
	}
	if (argc == 3 && sections_measure(argv[1], args[0], result) == 0) {
		printf("%f %f\n", result[0], result[1]);
		return 0;
	}
	fputs("there is no such figure\n", stderr);
	return 2;
}
