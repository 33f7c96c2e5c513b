/* Singly linked lists through a member `next`. */
#ifndef RAYDBG_BASE_LIST_H
#define RAYDBG_BASE_LIST_H

#include "base/invariant.h"

/* Takes `item` out of the list that begins with the pointer `first`. It must be in it. */
#define LIST_REMOVE(first, item)                                                                   \
    do {                                                                                           \
        __typeof__(&(first)) list_at_ = &(first);                                                  \
        while (*list_at_ != (item)) {                                                              \
            invariant(*list_at_);                                                                  \
            list_at_ = &(*list_at_)->next;                                                         \
        }                                                                                          \
        *list_at_ = (item)->next;                                                                  \
    } while (0)

/* The same for an item that may have been taken out before. */
#define LIST_DROP(first, item)                                                                     \
    do {                                                                                           \
        __typeof__(&(first)) list_at_ = &(first);                                                  \
        while (*list_at_ && *list_at_ != (item))                                                   \
            list_at_ = &(*list_at_)->next;                                                         \
        if (*list_at_)                                                                             \
            *list_at_ = (item)->next;                                                              \
    } while (0)

/* Empties the list: takes each item out and calls free_item(item). */
#define LIST_FREE(first, free_item)                                                                \
    do {                                                                                           \
        while (first) {                                                                            \
            __typeof__(first) list_item_ = (first);                                                \
            (first) = list_item_->next;                                                            \
            free_item(list_item_);                                                                 \
        }                                                                                          \
    } while (0)

/* Puts `item` behind the last of the list. */
#define LIST_APPEND(first, item)                                                                   \
    do {                                                                                           \
        __typeof__(&(first)) list_at_ = &(first);                                                  \
        while (*list_at_)                                                                          \
            list_at_ = &(*list_at_)->next;                                                         \
        *list_at_ = (item);                                                                        \
    } while (0)

#endif
