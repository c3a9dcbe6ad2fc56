/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The slow, obviously correct matcher; see lhs_reference.h.
 */
#include "lhs_reference.h"

#include <assert.h>

static bool matches(dnet_ref_entry_t receive, dnet_ref_entry_t message)
{
    if (receive.context != message.context)
        return false;
    if (receive.rank != DNET_REF_ANY && receive.rank != message.rank)
        return false;
    if (receive.tag != DNET_REF_ANY && receive.tag != message.tag)
        return false;
    return true;
}

static void append(dnet_ref_list_t *list, dnet_ref_entry_t entry)
{
    assert(list->count < DNET_REF_MAX);
    list->entry[list->count++] = entry;
}

static int remove_at(dnet_ref_list_t *list, int at)
{
    int id = list->entry[at].id;
    list->count--;
    for (int i = at; i < list->count; i++)
        list->entry[i] = list->entry[i + 1];
    return id;
}

int dnet_ref_arrive(dnet_ref_t *r, dnet_ref_entry_t message)
{
    for (int i = 0; i < r->posted.count; i++)
        if (matches(r->posted.entry[i], message))
            return remove_at(&r->posted, i);
    return DNET_REF_NONE;
}

void dnet_ref_keep(dnet_ref_t *r, dnet_ref_entry_t message)
{
    append(&r->unexpected, message);
}

int dnet_ref_lookup(dnet_ref_t *r, dnet_ref_entry_t receive, bool take)
{
    for (int i = 0; i < r->unexpected.count; i++)
        if (matches(receive, r->unexpected.entry[i]))
            return take ? remove_at(&r->unexpected, i) : r->unexpected.entry[i].id;
    return DNET_REF_NONE;
}

void dnet_ref_post(dnet_ref_t *r, dnet_ref_entry_t receive)
{
    append(&r->posted, receive);
}

bool dnet_ref_withdraw(dnet_ref_t *r, int id)
{
    for (int i = 0; i < r->posted.count; i++)
        if (r->posted.entry[i].id == id) {
            remove_at(&r->posted, i);
            return true;
        }
    return false;
}
