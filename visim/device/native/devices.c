/* Which devices a program sees: the models that VISIM_DEVICE names, in their order, and which kernel
 * driver plays them. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "models.h"

static const struct model *chosen[MOST_DEVICES];
static int chosen_count;
static bool is_i915;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static const struct model *find(const char *name, size_t length) {
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (strlen(models[i].name) == length && strncmp(models[i].name, name, length) == 0)
            return &models[i];
    return NULL;
}

static void choose(void) {
    const char *driver = getenv("VISIM_KERNEL_DRIVER");
    is_i915 = driver && strcmp(driver, "i915") == 0;
    const char *rest = getenv("VISIM_DEVICE");
    if (!rest || !*rest) rest = models[0].name;
    while (*rest && chosen_count < MOST_DEVICES) {
        const size_t length = strcspn(rest, ",");
        const struct model *model = find(rest, length);
        if (model)
            chosen[chosen_count++] = model;
        else
            fprintf(stderr, "visim: there is no device %.*s to emulate\n", (int)length, rest);
        rest += length + (rest[length] == ',');
    }
}

int device_count(void) {
    pthread_once(&once, choose);
    return chosen_count;
}

bool plays_i915(void) {
    pthread_once(&once, choose);
    return is_i915;
}

const struct model *device_at(int index) {
    return index >= 0 && index < device_count() ? chosen[index] : NULL;
}
