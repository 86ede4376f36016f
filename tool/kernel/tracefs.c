/*
 * tracefs.c - the ids and formats of the kernel's tracepoints
 *
 * SPDX-License-Identifier: MIT
 */
#include "kernel/tracefs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const folders[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };

const char *tracefs_folder(const char **why)
{
	*why = "tracefs is not mounted: mount -t tracefs tracefs /sys/kernel/tracing";
	for (unsigned i = 0; i < sizeof folders / sizeof *folders; i++) {
		char path[80];

		int fd;

		snprintf(path, sizeof path, "%s/events/raw_syscalls/sys_enter/id", folders[i]);
		/* A kernel that is locked down refuses only the opening. */
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd >= 0) {
			close(fd);
			return folders[i];
		}
		if (errno == EACCES)
			*why = "this user cannot read tracefs, which has the numbers of the tracepoints: be root";
		else if (errno == EPERM)
			*why = "the kernel is locked down (see /sys/kernel/security/lockdown) and does not let "
			       "tracefs be read: boot with lockdown=integrity or none, which may need Secure Boot off";
	}
	return NULL;
}

/* Takes a line such as "field:char comm[16]; offset:8; size:16; signed:0;". */
static void take_field(struct tracefs_format *f, const char *line)
{
	struct tracefs_field *to = &f->field[f->count];
	const char *from = strstr(line, "field:"), *end, *name;
	size_t length;
	int is_signed;

	if (!from || f->count == TRACEFS_FIELDS)
		return;
	from += 6;
	end = from + strcspn(from, ";");
	if (sscanf(end, "; offset:%u; size:%u; signed:%d", &to->offset, &to->size, &is_signed) != 3)
		return;
	to->is_signed = is_signed != 0;
	/* An array's number of items. Brackets in front of the name belong to the type: "__data_loc char[] name". */
	if (end[-1] == ']')
		while (end > from && *end != '[')
			end--;
	for (name = end; name > from && name[-1] != ' ' && name[-1] != '*'; )
		name--;
	length = (size_t)(end - name);
	snprintf(to->name, sizeof to->name, "%.*s", (int)length, name);
	snprintf(to->type, sizeof to->type, "%.*s", (int)(name - from), from);
	f->count++;
}

bool tracefs_read(const char *event, struct tracefs_format *f)
{
	const char *why, *folder = tracefs_folder(&why);
	char path[160], line[512];
	FILE *file;

	memset(f, 0, sizeof *f);
	snprintf(path, sizeof path, "%s/events/%s/format", folder ? folder : folders[0], event);
	file = folder ? fopen(path, "re") : NULL;
	if (!file)
		return false;
	while (fgets(line, sizeof line, file))
		if (sscanf(line, "ID: %u", &f->id) != 1)
			take_field(f, line);
	fclose(file);
	return f->id != 0;
}

const struct tracefs_field *tracefs_find(const struct tracefs_format *f, const char *name)
{
	for (unsigned i = 0; i < f->count; i++)
		if (strcmp(f->field[i].name, name) == 0)
			return &f->field[i];
	return NULL;
}

uint64_t tracefs_number(const struct tracefs_field *f, const unsigned char *data, size_t size)
{
	uint64_t n8;
	uint32_t n4;
	uint16_t n2;

	if (!f || f->offset > size || f->size > size - f->offset)
		return 0;
	data += f->offset;
	switch (f->size) {
	case 8:
		memcpy(&n8, data, 8);
		return n8;
	case 4:
		memcpy(&n4, data, 4);
		return f->is_signed ? (uint64_t)(int32_t)n4 : n4;
	case 2:
		memcpy(&n2, data, 2);
		return f->is_signed ? (uint64_t)(int16_t)n2 : n2;
	case 1:
		return f->is_signed ? (uint64_t)(int8_t)*data : *data;
	default:
		return 0;
	}
}
