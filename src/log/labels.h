/*
 * labels.h - the body of a frame LABELS: who has recorded a log
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LOG_LABELS_H
#define LOG_LABELS_H

#include <stdbool.h>
#include <stddef.h>

#define LABELS_MAX      64
#define LABEL_KEY_MAX   63
#define LABEL_VALUE_MAX 255
#define LABELS_BODY_MAX (LABELS_MAX * (2 + LABEL_KEY_MAX + 2 + LABEL_VALUE_MAX))

struct labels {
	size_t size;
	unsigned char body[LABELS_BODY_MAX];
};

/*
 * Adds a label, or replaces the one with the same key. Returns false if the key is empty or has a '=', if the key or
 * the value is too long, not UTF-8 or has control characters, or if there are too many labels.
 */
bool labels_set(struct labels *l, const char *key, size_t key_length, const char *value, size_t value_length);
/* Adds host.id, if the machine has an id. */
void labels_set_machine(struct labels *l);
/* Calls f for each valid label in a body, which may have any bytes. */
void labels_each(const unsigned char *body, size_t size,
                 void (*f)(const char *key, size_t key_length, const char *value, size_t value_length, void *arg),
                 void *arg);

#endif
