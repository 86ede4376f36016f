/*
 * kills_points.h - the names of all test points, so that the tests kill at each of them
 *
 * tests/check/points.py compares this list with the sources.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef KILLS_POINTS_H
#define KILLS_POINTS_H

static const char *const kills_points[] = {
	/* host/file.c */
	"directory_made", "hold_opened", "hold_locked", "hold_mapped", "file_new", "file_reserved", "file_filled",
	"file_named", "file_mapped", "remove_locked", "remove_reaped", "remove_unlinked",
	/* host/lock.c */
	"lock_mapped",
	/* shm/chunk.c */
	"chunk_unlocked", "revoke_withdrawn", "revoke_back", "recycle_read", "recycle_gap", "recycle_first",
	"recycle_done", "chunk_left", "seat_acquired", "seat_used",
	/* shm/procpage.c */
	"page_bit", "page_sum", "page_bit_back", "page_none", "page_sum_back",
	"page_locked", "page_filled", "page_entered", "page_leave_locked", "page_left",
	"page_freed", "page_look_again", "page_forget", "page_inherit",
	/* shm/registry.c */
	"registry_mapped", "registry_grown", "registry_bytes", "registry_entry", "registry_name",
	"registry_layout", "registry_declared",
	/* shm/stream.c */
	"stream_header", "stream_mapped", "reap_ended", "reap_forgotten",
	/* record/attach.c */
	"giveup_reaped", "attach_mapped", "detach_retired", "detach_outside", "letgo_taken", "attach_publish",
	"ahead_inside", "update_look", "update_writers", "update_done", "check_ended", "check_forgotten",
	"detach_taken",
	/* record/emit.c */
	"wake_seen", "wake_risen", "wake_woken", "lost_last", "lost_counted", "full_ticks", "full_stopped",
	"alone_locked", "alone_ticks", "alone_written", "alone_committed", "alone_unlocked",
	/* record/writer.c, writer.h */
	"writer_seat", "writer_left", "writer_locked", "writer_owner", "writer_ticks", "writer_begun", "writer_held",
	"record_busy", "record_owned", "record_written", "record_noted", "record_committed", "record_idle",
	/* record/tracepoint.c */
	"slow_inside", "slow_nested", "slow_looked", "slow_slot", "slow_outside", "event_inside", "event_deeper",
	"record_looked", "record_alone", "seam_again",
	/* record/self.c */
	"names_copied", "attach_ident", "attach_page", "attach_process", "attach_gate", "attach_done",
	"thread_block", "thread_done", "thread_deeper", "names_opened", "leave_page", "leave_unlocked",
	"leave_removed",
	/* shm/program.c */
	"program_locked", "program_filled", "program_left", "program_unlocked", "program_reported",
	/* record/acquire.c */
	"acquire_locked", "acquire_revoked", "acquire_woken",
	/* read/cursor.c */
	"resume_first", "read_seen", "read_copied", "read_consumed", "read_run",
	/* read/merge.c */
	"reset_progress", "reset_past", "read_writers", "read_watermark",
	/* read/gaps.h */
	"read_lost",
	/* control/filter.c */
	"filter_both", "filter_quiet", "filter_new",
	/* control/handle.c */
	"shutdown_dying",
	/* control/lifecycle.c */
	"create_made", "create_counted", "create_live", "create_entered", "create_published", "start_filter",
	"start_done", "stop_counted", "stop_state", "stop_quiet", "stop_recorded", "drained_ticks", "drained_started",
	"clear_quiet", "clear_reset", "clear_filter", "shutdown_left", "shutdown_detached", "shutdown_forgotten",
	"shutdown_removed", "shutdown_stopped", "shutdown_ended", "shutdown_unmapped", "shutdown_closed",
	"exit_stopped", "exit_withdrawn", "exit_streams",
	/* control/quiesce.c */
	"quiesce_locked", "quiesce_barrier", "quiesce_round",
	/* control/reading.c */
	"reading_waiting", "reading_barrier", "reading_sleep", "reading_awake",
	/* control/recover.c */
	"recover_stream",
	/* log/draft.c */
	"draft_written", "draft_marked", "draft_commit",
	/* log/output.c */
	"output_moved", "output_written", "output_reported", "output_ended", "output_cut",
	/* control/flusher.c */
	"flush_begins", "flush_ends", "end_flushed", "end_closed", "flusher_sleeps",
	/* control/save.c */
	"save_recovered", "save_stopped", "save_ended",
	/* control/target.c */
	"target_page", "target_unlocked", "target_removed",
};

#define POINTS ((int)(sizeof kills_points / sizeof kills_points[0]))

#endif
