/*
 * A program that has the loops of sections.c in a shared library, which it loads: the case of a plug-in.
 *   plugin LIBRARY LOOP N
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "sections.h"

int main(int argc, char **argv)
{
	int (*measure)(const char *, uint64_t, double[2]);
	void *library;
	double result[2];

	if (argc != 4)
		return 2;
	library = dlopen(argv[1], RTLD_NOW);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	*(void **)&measure = dlsym(library, "sections_measure");
	if (!measure || measure(argv[2], strtoull(argv[3], NULL, 10), result) != 0)
		return 2;
	printf("%f %f\n", result[0], result[1]);
	return 0;
}
