/* Stores each different string once, for many strings of which most are equal. Strings whose hashes
 * collide in great number are stored each time. */
#ifndef RAYDBG_PROTO_STRING_POOL_H
#define RAYDBG_PROTO_STRING_POOL_H

#include <stddef.h>

struct ray_string_pool;

struct ray_string_pool *ray_string_pool_create(void);
/* The pool's copy, which lives as long as the pool: equal bytes give the same pointer, unless
 * too many hashes collide. */
const char *ray_string_pool_add(struct ray_string_pool *pool, const void *bytes, size_t len);
void ray_string_pool_free(struct ray_string_pool *pool); /* NULL is fine */

#endif
