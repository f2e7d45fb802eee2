/* server/export_view.c - views of the exports, counted per worker. */
#include "server/export_view.h"

#include <stdlib.h>
#include <sys/stat.h>

/* Zero for what lies in memory: there is one file system in it, numbered by the store. */
static uint64_t
root_device(const struct export *export)
{
    struct stat st;

    if (export->memory || stat(export->dir, &st) < 0)
        return 0;
    return st.st_dev;
}

struct export_view *
export_view_new(struct exports *set)
{
    struct export_view *view = malloc(sizeof(*view) + set->count * sizeof(view->devices[0]));

    if (view == NULL)
        return NULL;
    view->set = exports_ref(set);
    view->holders = 1;
    for (size_t i = 0; i < set->count; i++)
        view->devices[i] = root_device(&set->list[i]);
    return view;
}

struct export_view *
export_view_ref(struct export_view *view)
{
    view->holders++;
    return view;
}

void
export_view_put(struct export_view *view)
{
    if (view == NULL || --view->holders > 0)
        return;
    exports_put(view->set);
    free(view);
}

uint64_t
export_view_device(const struct export_view *view, const struct export *export)
{
    return view->devices[export - view->set->list];
}
