/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Loads plugin.c and unloads it, again and again; threads that were in it exit before and after.
 */
#include "check.h"

#include <dlfcn.h>

static const char *path;
static int phase;

static void *use(void *unused)
{
    void *library = dlopen(path, RTLD_NOW);
    int (*plugin)(void);

    (void)unused;
    if (!library)
        fprintf(stderr, "%s\n", dlerror());
    CHECK(library);
    *(void **)&plugin = dlsym(library, "plugin");
    CHECK(plugin && plugin() == 100);
    CHECK(dlclose(library) == 0);
    SET(phase, 1);
    while (unused && GET(phase) != 2)
        sleep_ms(1);
    return NULL;
}

int main(int count, char **arguments)
{
    pthread_t thread;
    int i;

    CHECK(count == 2);
    path = arguments[1];
    begin();
    for (i = 0; i < 10; i++) {
        phase = 0;
        thread = start_thread(use, &phase);
        EVENTUALLY(GET(phase) == 1);
        join_thread(start_thread(use, NULL));
        SET(phase, 2);
        join_thread(thread);
    }
    use(NULL);
    return end("plugin_host");
}
