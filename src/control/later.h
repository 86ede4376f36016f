/*
 * later.h - reads names of event types that a traced process has opened as another user
 *
 * A process that becomes another user for good keeps its names in the new user's directory from then on (H20), and
 * notes this where its names were. A reader of the old names follows the note: it copies the new registry, with the
 * new user's rights. New names are never added to the old registry, because the new user may have fewer rights.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef CONTROL_LATER_H
#define CONTROL_LATER_H

#include "shm/registry.h"

#define LATER_SOURCES 8

struct later {
	struct shm_dir shm_dir;       /* of the stream's registry */
	bool other_users;             /* the process is in another user namespace */
	const struct procpage *page;  /* of the traced process; null: unknown */
	unsigned count;
	struct later_source {
		struct names_moved at;
		uint32_t names;   /* number of names read so far */
		uint32_t layouts; /* number of layouts read so far */
		struct hold hold; /* keeps the file when the process ends */
	} from[LATER_SOURCES];
	char (*name)[REGISTRY_NAME_BYTES]; /* names of the ids from EVENT_ID_USER on; null: no names */
	uint32_t names;                    /* one past the last name */
	struct later_layouts *layouts;     /* declared layouts; null: none */
	uint32_t taken;                    /* names ignored because their ids have names of another user */
};

/* Begins without names. page: of a live traced process, or null. number: its process id in /proc, or 0. */
void later_init(struct later *l, const struct shm_dir *shm_dir, const struct procpage *page, uint32_t number);
void later_free(struct later *l);
/* Returns the number of ids from EVENT_ID_USER on, in the registry and later. Some ids may have no name. */
uint32_t later_count(struct later *l, const struct registry *r);
/* Copies the name of a user event. Returns false if the event has no name. */
bool later_name(struct later *l, const struct registry *r, trace_event_id_t id, char name[REGISTRY_NAME_BYTES]);
/*
 * Copies the declared layout of a user event, as registry_layout() does: of those that were there when later_count()
 * was last called.
 */
size_t later_layout(const struct later *l, const struct registry *r, trace_event_id_t id,
                    char layout[LAYOUT_TEXT_SIZE]);
/* Returns the number of names that share their id with another name, given by a process of another user. */
uint32_t later_taken(struct later *l, const struct registry *r);
/* Removes the later registries that no process holds. Their process may have ended and left them for this reader. */
void later_remove_unused(struct later *l);

#endif
