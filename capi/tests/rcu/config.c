/*
 * A shared library that has a domain of the name `config`, as another library of the same program has.
 * OWN is the macro that defines it, and LIBRARY what the library's functions begin with.
 */
#include <leeward/rcu.h>

#define JOINED(library, name) library##_##name
#define FUNCTION(library, name) JOINED(library, name)

OWN(config);

#ifdef __cplusplus
extern "C" {
#endif
struct lee_domain *FUNCTION(LIBRARY, domain)(void);
void FUNCTION(LIBRARY, enter)(void);
void FUNCTION(LIBRARY, leave)(void);
bool FUNCTION(LIBRARY, is_inside)(void);
int FUNCTION(LIBRARY, synchronize)(void);

struct lee_domain *FUNCTION(LIBRARY, domain)(void)
{
	return &config;
}

#ifndef DEFINES_ONLY
void FUNCTION(LIBRARY, enter)(void)
{
	config_read_lock();
}

void FUNCTION(LIBRARY, leave)(void)
{
	config_read_unlock();
}

bool FUNCTION(LIBRARY, is_inside)(void)
{
	return config_is_inside();
}

int FUNCTION(LIBRARY, synchronize)(void)
{
	return config_synchronize();
}
#endif
#ifdef __cplusplus
}
#endif
