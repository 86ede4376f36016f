/*
 * list.c - posixtrace list: which processes are traced, by which streams
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <trace.h>
#include <unistd.h>

#include "common/bytes.h"
#include "common/command.h"
#include "common/display.h"
#include "common/json.h"
#include "common/message.h"
#include "common/options.h"
#include "common/out.h"
#include "event/layouts.h"
#include "event/policy.h"
#include "process/explain.h"
#include "process/hidden_logs.h"
#include "process/streams.h"

struct list {
	uint32_t pid; /* 0: all */
	uint32_t parent; /* the parent of pid, if it has event types; else 0 */
	bool all, events, json;
	bool failed; /* a directory could not be read */
	size_t rows; /* number of processes printed */
	size_t users;
	size_t dead, dead_of_others; /* number of this user's and other users' streams whose creators have ended */
	bool heading;
};

/* -- Words ------------------------------------------------------------------------------------------ */

static uint64_t room(const struct seen_stream *s)
{
	return (uint64_t)s->header.chunk_count * s->header.chunk_size;
}

static int flush_error(const struct seen_stream *s)
{
	return (int)(s->header.state >> STATE_ERROR_SHIFT);
}

struct flag {
	bool is;
	const char *name;
};

#define FLAGS 10

static unsigned flags(const struct seen_stream *s, const struct seen_page *page, struct flag flag[FLAGS])
{
	uint32_t state = s->header.state;
	bool inherited = page &&
	                 (page->ident.pid != s->header.target_pid || page->ident.start != s->header.target_start);
	unsigned n = 0;

	flag[n++] = (struct flag){ !s->alive, "creator ended" };
	flag[n++] = (struct flag){ s->alive && (state & STATE_RUNNING), "running" };
	flag[n++] = (struct flag){ s->alive && !(state & STATE_RUNNING), "suspended" };
	flag[n++] = (struct flag){ state & STATE_FULL, "full" };
	flag[n++] = (struct flag){ state & STATE_FLUSHING, "flushing" };
	flag[n++] = (struct flag){ s->losing, "losing" };
	flag[n++] = (struct flag){ state & STATE_LOG_FULL, "log full" };
	flag[n++] = (struct flag){ flush_error(s) != 0, "flush error" };
	flag[n++] = (struct flag){ inherited, "inherited" };
	flag[n++] = (struct flag){ page && !page->attached, "no trace point yet" };
	return n;
}

/* -- Lines -------------------------------------------------------------------------------------------- */

static void heading(struct list *l)
{
	if (l->heading)
		return;
	l->heading = true;
	display_colour(BOLD);
	out_printf("%8s %-15s %-12s %-20s %-17s %6s %5s %8s  %-20s %s", "PID", "COMMAND", "STREAM", "CREATOR", "POLICY",
	           "SIZE", "USED", "LOST", "STATUS", "LOG");
	display_colour(PLAIN);
	out_char('\n');
}

static void show_process(const struct seen_process *p, uint32_t pid)
{
	out_number(p->number ? p->number : pid, 8);
	out_char(' ');
	out_foreign(p->name[0] ? p->name : "(ended)", strlen(p->name[0] ? p->name : "(ended)"), 15);
	out_char(' ');
}

static void show_creator(const struct seen_stream *s)
{
	char text[64];

	if (s->creator.number)
		snprintf(text, sizeof text, "%u %s", s->creator.number, s->creator.name);
	else
		snprintf(text, sizeof text, s->alive ? "%u (hidden)" : "%u (ended)", s->entry.creator.pid);
	out_foreign(text, strlen(text), 20);
	out_char(' ');
}

static void show_status(const struct seen_stream *s, const struct seen_page *page)
{
	struct flag flag[FLAGS];
	unsigned n = flags(s, page, flag);
	char text[200] = "";

	for (unsigned i = 0; i < n; i++)
		if (flag[i].is)
			snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", text[0] ? ", " : "",
			         flag[i].name);
	if (s->losing || flush_error(s) || !s->alive)
		display_colour(RED);
	else if (s->header.state & STATE_RUNNING)
		display_colour(GREEN);
	out_text(text);
	display_colour(PLAIN);
	/* No padding after the last column. */
	for (size_t i = strlen(text); s->header.log_state && i < 20; i++)
		out_char(' ');
}

static void show_log(const struct seen_stream *s)
{
	if (!s->header.log_state)
		return;
	out_char(' ');
	if (!s->log[0])
		out_text(s->log_hidden ? "(known to its creator)" : "(a pipe)");
	else
		out_foreign(s->log, strlen(s->log), 0);
	if (s->log[0] && !s->log_hidden && streams_log_there(s) < 0)
		out_text(" (moved or removed)");
	if (flush_error(s))
		out_printf(" (%s)", strerror(flush_error(s)));
}

static void show_trouble(const struct seen_stream *s)
{
	if (s->trouble == STREAM_VERSION)
		out_printf("%-14s made by another version of the library (layout %u, this one has %u)", "?",
		           s->header.version, LAYOUT_VERSION);
	else if (s->trouble == STREAM_UNREADABLE)
		out_printf("%-14s %s: %s", "?", s->file, strerror(-s->error));
	else
		out_printf("%-14s %s: damaged", "?", s->file);
}

static void show_stream(const struct seen_stream *s, const struct seen_page *page)
{
	const struct stream_header *h = &s->header;
	char policy[40], size[16], lost[24];

	if (s->trouble) {
		out_text("?            ");
		show_creator(s);
		show_trouble(s);
		out_char('\n');
		return;
	}
	out_foreign(h->name[0] ? h->name : "-", strlen(h->name[0] ? h->name : "-"), 12);
	out_char(' ');
	show_creator(s);
	snprintf(policy, sizeof policy, h->log_state ? "%s/%s" : "%s", policy_name(h->stream_policy),
	         policy_name(h->log_policy));
	snprintf(lost, sizeof lost, "%llu%s", (unsigned long long)s->lost, s->lost_at_least ? "+" : "");
	out_printf("%-17s %6s %4u%% %8s  ", policy, bytes_short(size, h->stream_size),
	           (unsigned)(100 * s->used / room(s)), lost);
	show_status(s, page);
	show_log(s);
	out_char('\n');
}

/* -- JSON ------------------------------------------------------------------------------------------------ */

static void json_process(const char *key, const struct seen_process *p, uint32_t pid)
{
	json_key(key);
	json_begin('{');
	json_key("pid");
	json_number(p->number ? p->number : pid);
	json_key("command");
	if (p->number)
		json_string(p->name);
	else
		json_null();
	json_end('}');
}

/* Writes a number about the log; null if only its creator knows it. */
static void json_known(const struct seen_stream *s, uint64_t number)
{
	s->log_hidden ? json_null() : json_number(number);
}

static void json_log(const struct seen_stream *s)
{
	json_key("log");
	if (!s->header.log_state) {
		json_null();
		return;
	}
	json_begin('{');
	json_key("path");
	s->log[0] ? json_string(s->log) : json_null();
	json_key("there");
	json_bool(s->log[0] && (s->log_hidden || streams_log_there(s) == 0));
	json_key("policy");
	json_string(policy_name(s->header.log_policy));
	json_key("max_size");
	if (s->header.log_policy == POSIX_TRACE_APPEND)
		json_null();
	else
		json_number(s->header.log_size);
	json_key("bytes");
	json_known(s, s->log_position.end);
	json_key("events");
	json_known(s, s->log_position.events);
	json_key("pending");
	json_known(s, s->mark.sequence == s->log_position.sequence ? s->mark.events : 0);
	json_key("discarded");
	json_known(s, s->log_position.discarded + s->mark.discarded);
	json_key("flush_error");
	flush_error(s) ? json_string(strerror(flush_error(s))) : json_null();
	json_end('}');
}

static void json_status(const struct seen_stream *s, const struct seen_page *page)
{
	struct flag flag[FLAGS];
	unsigned n = flags(s, page, flag);

	json_key("status");
	json_begin('[');
	for (unsigned i = 0; i < n; i++)
		if (flag[i].is)
			json_string(flag[i].name);
	json_end(']');
}

static void json_stream(const struct seen_stream *s, const struct seen_page *page)
{
	static const char *const troubles[] = { NULL, "unreadable", "other version", "damaged" };
	const struct stream_header *h = &s->header;

	json_begin('{');
	json_process("creator", &s->creator, s->entry.creator.pid);
	json_key("file");
	json_string(s->file);
	json_key("trouble");
	s->trouble ? json_string(troubles[s->trouble]) : json_null();
	if (!s->trouble) {
		json_process("target", &s->target, h->target_pid);
		json_key("name");
		json_string(h->name);
		json_key("policy");
		json_string(policy_name(h->stream_policy));
		json_key("inheritance");
		json_bool(h->inheritance == POSIX_TRACE_INHERITED);
		json_key("size");
		json_number(h->stream_size);
		json_key("max_data_size");
		json_number(h->data_size);
		json_key("used");
		json_number(s->used);
		json_key("unread");
		json_number(s->unread);
		json_key("lost");
		json_number(s->lost);
		json_key("lost_at_least");
		json_bool(s->lost_at_least);
		json_status(s, page);
		json_log(s);
	}
	json_end('}');
}

/* -- Event types ------------------------------------------------------------------------------------------- */

struct names {
	const struct list *list;
	const struct streams *all;
	const struct seen_page *page;
	struct layouts *layouts;
	unsigned count;
};

/* Returns how many streams of the process filter the event type out. */
static unsigned filtered(const struct names *n, trace_event_id_t id)
{
	unsigned count = 0;

	for (unsigned i = 0; i < n->page->entries; i++) {
		const struct seen_stream *s = streams_find(n->all, &n->page->entry[i]);

		count += s && !s->trouble && (s->header.filter[id / 32] >> id % 32 & 1);
	}
	return count;
}

static void show_name(trace_event_id_t id, const char *name, const char *layout, void *arg)
{
	struct names *n = arg;
	size_t length = layout_name(name);
	unsigned without = filtered(n, id);
	const char *wrong;

	n->count++;
	layouts_add(n->layouts, id, name);
	if (layout[0])
		layouts_declare(n->layouts, id, layout);
	layout = layouts_text(n->layouts, id);
	wrong = layouts_wrong(n->layouts, id);
	if (n->list->json) {
		json_begin('{');
		json_key("id");
		json_number(id);
		json_key("name");
		json_text(name, length);
		json_key("layout");
		layout[0] ? json_string(layout) : json_null();
		json_key("wrong");
		wrong ? json_string(wrong) : json_null();
		json_key("filtered_out_by");
		json_number(without);
		json_end('}');
		return;
	}
	out_number(id, 13);
	out_text("  ");
	out_foreign(name, length, 0);
	if (layout[0]) {
		display_colour(DIM);
		out_char(' ');
		out_foreign(layout, strlen(layout), 0);
		display_colour(PLAIN);
	}
	if (without)
		out_printf("   (filtered out by %u of %u streams)", without, n->page->entries);
	if (wrong) {
		display_colour(RED);
		out_text("   (wrong layout: ");
		out_foreign(wrong, strlen(wrong), 0);
		out_char(')');
		display_colour(PLAIN);
	}
	out_char('\n');
}

static void show_names(const struct list *l, const struct streams *all, const struct seen_page *page)
{
	struct names n = { l, all, page, layouts_new(), 0 };

	if (!n.layouts)
		fail("no memory");
	if (l->json) {
		json_key("events");
		json_begin('[');
	}
	streams_names(all, page->names, show_name, &n);
	layouts_free(n.layouts);
	if (l->json) {
		json_end(']');
		return;
	}
	if (n.count == 0)
		out_text("             no event types of its own yet\n");
}

/* -- Processes ---------------------------------------------------------------------------------------------- */

static void list_page(struct list *l, const struct streams *all, const struct seen_page *page)
{
	unsigned shown = 0;

	l->rows++;
	if (l->json) {
		json_begin('{');
		json_process("process", &page->process, page->ident.pid);
		json_key("attached");
		json_bool(page->attached);
		json_key("streams");
		json_begin('[');
	} else {
		heading(l);
	}
	for (unsigned i = 0; i < page->entries; i++) {
		const struct seen_stream *s = streams_find(all, &page->entry[i]);

		if (!s || !s->alive)
			continue;
		if (l->json) {
			json_stream(s, page);
		} else {
			show_process(&page->process, page->ident.pid);
			show_stream(s, page);
		}
		shown++;
	}
	if (l->json) {
		json_end(']');
	} else if (shown == 0) {
		show_process(&page->process, page->ident.pid);
		out_text(page->readable ? "-            not traced\n" :
		         "?            uses another version of the library\n");
	}
	if (l->events)
		show_names(l, all, page);
	if (l->json)
		json_end('}');
}

static bool in_a_page(const struct streams *all, const struct seen_stream *s)
{
	for (size_t i = 0; i < all->pages; i++)
		for (unsigned k = 0; all->page[i].alive && k < all->page[i].entries; k++)
			if (page_entry_same(&all->page[i].entry[k], &s->entry))
				return true;
	return false;
}

/* Lists a stream that traces no living process, or whose process is unknown because the stream is unreadable. */
static void list_alone(struct list *l, const struct seen_stream *s)
{
	l->rows++;
	if (l->json) {
		json_begin('{');
		json_key("process");
		json_null();
		json_key("attached");
		json_bool(false);
		json_key("streams");
		json_begin('[');
		json_stream(s, NULL);
		json_end(']');
		json_end('}');
		return;
	}
	heading(l);
	show_process(&s->target, s->header.target_pid);
	show_stream(s, NULL);
}

static void list_all(struct list *l, const struct streams *all)
{
	struct shm_dir own = shm_dir_own();
	size_t *dead = strcmp(all->shm_dir.path, own.path) == 0 ? &l->dead : &l->dead_of_others;

	for (size_t i = 0; i < all->pages; i++)
		if (all->page[i].alive)
			list_page(l, all, &all->page[i]);
	for (size_t i = 0; i < all->streams; i++) {
		const struct seen_stream *s = &all->stream[i];

		if (!s->alive)
			(*dead)++;
		if (!s->alive || !in_a_page(all, s))
			list_alone(l, s);
	}
}

/* Returns what the user can do if a directory of streams cannot be read, to be appended to a message; or "". */
static const char *remedy_of(const struct shm_dir *shm_dir, int error)
{
	struct stat st;

	if ((error != -EACCES && error != -EPERM) || stat(shm_dir->path, &st) != 0)
		return "";
	if (st.st_uid == geteuid())
		return st.st_mode & 077 ? ": other users may have changed it: chmod 700 it, or remove it" : "";
	return geteuid() != 0 ? ": it belongs to another user: run as that user, or as root" : "";
}

static void list_directory(const struct shm_dir *shm_dir, void *arg)
{
	struct list *l = arg;
	struct streams all;
	int r = streams_read(&all, shm_dir);

	if (r == 0)
		hidden_logs_find(&all);
	if (r < 0 && r != -ENOENT) {
		l->failed = true;
		complain("%s: %s%s", shm_dir->path, strerror(-r), remedy_of(shm_dir, r));
	}
	if (r == 0) {
		l->users++;
		list_all(l, &all);
	}
	streams_free(&all);
}

/* -- One process ----------------------------------------------------------------------------------------------- */

/* Ends the program: the process, or its directory of streams, cannot be read. directory: null for the process. */
static void not_readable(uint32_t pid, const char *directory, int error) __attribute__((noreturn));
static void not_readable(uint32_t pid, const char *directory, int error)
{
	const char *remedy;
	char why[96];

	if (error == -ESRCH && !directory)
		fail("there is no process %u%s", pid, kill((pid_t)pid, 0) == 0 ? "; it is the id of a thread" : "");
	if ((error == -EACCES || error == -EPERM) && proc_permit(pid) != 0) {
		explain_permission((pid_t)pid, why, &remedy);
		fail("process %u may not be looked at: %s: %s", pid, why, remedy);
	}
	fail("process %u: %s%s%s", pid, directory ? directory : "", directory ? ": " : "", strerror(-error));
}

static void list_process(struct list *l)
{
	const struct seen_page *page;
	struct streams all;
	struct shm_dir shm_dir;
	struct proc proc;
	int r = proc_read(l->pid, &proc);

	if (r < 0)
		not_readable(l->pid, NULL, r);
	shm_dir = shm_dir_of(&proc);
	r = streams_read(&all, &shm_dir);
	if (r == 0)
		hidden_logs_find(&all);
	if (r < 0 && r != -ENOENT)
		not_readable(l->pid, shm_dir.path, r);
	/* Begin the array only now, so an error above leaves no half of an array. */
	if (l->json)
		json_begin('[');
	page = r == 0 ? streams_page(&all, proc.parent) : NULL;
	if (page && page->alive && streams_names(&all, page->names, NULL, NULL) > 0)
		l->parent = proc.parent;
	page = r == 0 ? streams_page(&all, l->pid) : NULL;
	if (page && page->alive)
		list_page(l, &all, page);
	streams_free(&all);
}

/* -- The command --------------------------------------------------------------------------------------------------- */

/* Prints a message if nothing was listed. */
static void say_none(const struct list *l)
{
	if (l->pid && l->parent)
		complain("process %u has not reached a trace point of its own yet, and is not traced; if it was "
		         "forked without exec, it has the event types "
		         "of its parent: 'posixtrace list -p %u'", l->pid, l->parent);
	else if (l->pid)
		complain("process %u has not used the library, and is not traced; 'posixtrace doctor -p %u' tells why",
		         l->pid, l->pid);
	else
		complain("no process of %s can be traced now: none has reached a trace point, and none is traced",
		         l->all ? "any user" : geteuid() ? "this user" : "root (--all: those of all users)");
}

static int run(int argc, char **argv)
{
	struct list l = { .pid = 0 };
	const char *colours = "auto";
	struct shm_dir own;
	int c;

	while ((c = next_option(argc, argv)) >= 0)
		switch (c) {
		case 'p':
			l.pid = (uint32_t)argument_number("--pid", optarg, 1, INT32_MAX);
			l.events = true;
			break;
		case 'e':
			l.events = true;
			break;
		case 'a':
			l.all = true;
			break;
		case OPTION_JSON:
			l.json = true;
			break;
		case OPTION_COLOR:
			colours = optarg;
			break;
		}
	if (optind < argc)
		wrong_usage("unexpected argument '%s'", argv[optind]);
	display_colours(colours);
	if (l.json && !l.pid)
		json_begin('[');
	own = shm_dir_own();
	if (l.pid)
		list_process(&l);
	else if (l.all)
		streams_each_user(list_directory, &l);
	else
		list_directory(&own, &l);
	if (l.json) {
		json_end(']');
		json_done();
	}
	out_flush();
	if (l.rows == 0 && !l.json && !l.failed)
		say_none(&l);
	if (l.dead && !l.json)
		complain("%zu stream%s of creators that have ended; "
		         "'posixtrace recover' finishes their logs and removes them",
		         l.dead, l.dead == 1 ? "" : "s");
	if (l.dead_of_others && !l.json)
		complain(STREAMS_OF_OTHERS, l.dead_of_others, l.dead_of_others == 1 ? "" : "s",
		         l.dead_of_others == 1 ? "its creator has" : "their creators have");
	return l.failed ? STATUS_FAILED : STATUS_DONE;
}

static const struct option_row option_rows[] = {
	OPTION('p', "pid", "PID", "only this process, with its event types"),
	OPTION('e', "events", NULL, "with the event types of each process"),
	OPTION('a', "all", NULL, "processes of all users (for root)"),
	OPTION(OPTION_JSON, "json", NULL, "a JSON array of processes, each with its streams"),
	OPTION_ROW_COLOR,
	{ 0 },
};

const struct command command_list = {
	.name = "list",
	.summary = "list processes that can be traced, their streams and event types",
	.synopsis = "[options]",
	.about = "Lists this user's processes that can be traced, and the streams that trace them.",
	.options = option_rows,
	.run = run,
};
