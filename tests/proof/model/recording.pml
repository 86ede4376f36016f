/*
 * recording.pml - the protocol of the recording threads and the reader, for SPIN
 *
 * Each step of a process is one access to shared memory, so SPIN tries every
 * order of the steps. README.md in this folder has a drawing, and explains how
 * to read the model, what is checked, and what is not. The comment above each
 * transition names the function of src/ that it models; tests/check/model.py
 * checks that the function exists.
 *
 * -D selects a configuration: README.md and script/model list them. -DMUTANT_x
 * breaks the protocol in one place, and SPIN has to find the error.
 *
 * SPDX-License-Identifier: MIT
 */

/* -- Sizes ------------------------------------------------------------------- */

#ifndef WRITERS
#define WRITERS 2
#endif
#ifndef CHUNKS
#define CHUNKS 2
#endif
#ifndef CAP
#define CAP 3           /* places in a chunk; an owner record takes one, a record another */
#endif
#ifndef EVENTS_0
#define EVENTS_0 2      /* events of writer 0 */
#endif
#ifndef EVENTS_1
#define EVENTS_1 1
#endif
#ifndef DEPTH
#define DEPTH 2         /* stores that a processor may hold back */
#endif
#ifndef TRIES
#define TRIES 2         /* how often a chunk just taken may be taken away before its first record */
#endif
#ifndef TICKS
#define TICKS 10        /* more than all events and tries together */
#endif

#ifdef CHANGE
#define HAVE_RSEQ
#endif

#define READER  WRITERS       /* thread numbers */
#define STOPPER (WRITERS + 1) /* the thread that calls stop; only with STOP */
#define THREADS (WRITERS + 2)
#define NONE 255

/* -- Memory ------------------------------------------------------------------ */

/* A chunk's words; src/shm/layout.h, struct chunk. */
#define OWNER(c) (c)
#define PROG(c)  (CHUNKS + (c))
#define LAST(c)  (2 * CHUNKS + (c))
#define GAPF(c)  (3 * CHUNKS + (c))
#define GAPU(c)  (4 * CHUNKS + (c))
#define FIRST(c) (5 * CHUNKS + (c))
#define LOCK(c) (6 * CHUNKS + (c))
#define READ(c)  (7 * CHUNKS + (c))
#define SEEN(c)  (8 * CHUNKS + (c))
/* A record is two words with the same ticks, which are unique to an event: if the words differ, the record is torn. */
#define HEAD(c, s) (9 * CHUNKS + (c) * CAP + (s))
#define DATA(c, s) (9 * CHUNKS + CHUNKS * CAP + (c) * CAP + (s))
/* A seat, one for each writer; and the stream's header. */
#define BUSY(t)  (9 * CHUNKS + 2 * CHUNKS * CAP + (t))
#define STATE    (9 * CHUNKS + 2 * CHUNKS * CAP + WRITERS)
#define LOST     (STATE + 1)
#define WAITING  (STATE + 2)
#define WAKEUPS  (STATE + 3)
#define FULL     (STATE + 4) /* bits of the state that have a word of their own here */
#define OVERRUN  (STATE + 5)
#define MEMORY   (STATE + 6)

byte m[MEMORY];

#define RUNNING 1
#define ARMED   2

/* owner: generation << 2 | seat + 1 */
#define OWNER_IS(o)      (((o) & 3) != 0)
#define OWNER_SEAT(o)    (((o) & 3) - 1)
#define OWNER_NEXT(o, s) ((((((o) >> 2) + 1) & 7) << 2) | (s))
/* progress: records << 3 | position */
#define RECORDS(p)  ((p) >> 3)
#define POSITION(p) ((p) & 7)
#define PROGRESS(records, position) (((records) << 3) | (position))
/* Instead of a record's ticks: whose the records behind it are. */
#define OWNER_RECORD(t) (200 + (t))
#define IS_OWNER_RECORD(h) ((h) >= 200)

/* -- Threads: alive, interrupted, dead; and what is only for the books --------- */

bool killed[WRITERS];   /* makes no step any more */
bool gone[WRITERS];     /* and the kernel reports its death: its stores are visible by then */
bool inside[WRITERS];   /* thread.ready, as seen by the handler of the thread */
bool blocked[WRITERS];  /* its signals are */
bool handling[WRITERS]; /* a handler runs: the thread does not */
bool broken[WRITERS];   /* a handler interrupted its restartable sequence, which is aborted */
byte own_busy[WRITERS]; /* the busy word of the seat, as seen by its own processor */
#ifdef CHANGE
byte taking[WRITERS];   /* the chunk + 1 that its writer is about to acquire in a restartable sequence */
bool loses[WRITERS];    /* by that */
#define TAKING(t) (taking[t] != 0)
#else
#define TAKING(t) false
#endif
bool done[WRITERS];

byte now = 1;           /* the clock: each reading of a writer is another, and rises */
byte by[TICKS];         /* whose event */
byte what[TICKS];       /* 1: committed, 2: reported */
byte ended;             /* events whose trace point has ended */
byte none;              /* of these, events that do not count, because the stream did not run */
bool over;              /* all writers have ended */
bool stopping;          /* a thread has called stop, and the call has not returned */
bool quiet;             /* stop has returned: nothing is committed any more */

#define LIVES(t) (!gone[t])
#ifdef MUTANT_WAIT_FOR_THE_DEAD
#define WAITS_FOR(t) true
#else
#define WAITS_FOR(t) LIVES(t)
#endif

/* -- Store buffers: a store may be seen by others later than the next loads are made (x86-64) ---- */

byte b_n[WRITERS];
byte b_at[WRITERS * DEPTH];
byte b_value[WRITERS * DEPTH];
#ifdef WEAK
bool b_release[WRITERS * DEPTH];
#endif
hidden byte i_;
hidden byte j_;
hidden byte k_;

#ifdef WEAK
#define KEEP_RELEASE(t, release) b_release[(t) * DEPTH + b_n[t]] = release;
#define MOVE_RELEASE(t) b_release[(t) * DEPTH + k_] = b_release[(t) * DEPTH + k_ + 1];
#define FORGET_RELEASE(t) b_release[(t) * DEPTH + k_] = false;
#else
#define KEEP_RELEASE(t, release)
#define MOVE_RELEASE(t)
#define FORGET_RELEASE(t)
#endif

/* A locked instruction, and a full barrier, wait until the processor's own stores are out. */
#define LOCKED(t) ((t) >= WRITERS || b_n[t] == 0)

/* Used inside of a d_step that has checked ROOM_FOR another store. */
#define ROOM_FOR(t) (b_n[t] < DEPTH)
inline hold(t, at, value, release)
{
	b_at[(t) * DEPTH + b_n[t]] = at;
	b_value[(t) * DEPTH + b_n[t]] = value;
	KEEP_RELEASE(t, release)
	b_n[t]++
}

/*
 * There are three kinds of stores. The processor may delay a store after the
 * loads that follow it. If no load follows before the next store, delaying the
 * store is the same as executing it later. With WEAK, stores may pass each
 * other, and all are delayed. Only writers have a store buffer: stores of other
 * processes are under a lock, or their delay does not matter.
 */
inline store_late(t, at, value, release)
{
	d_step { ROOM_FOR(t) -> hold(t, at, value, release) }
}
#ifdef WEAK
inline store(t, at, value)
{
	if
	:: t < WRITERS -> d_step { ROOM_FOR(t) -> hold(t, at, value, false) }
	:: else -> m[at] = value
	fi
}
inline store_release(t, at, value)
{
	if
	:: t < WRITERS -> d_step { ROOM_FOR(t) -> hold(t, at, value, true) }
	:: else -> m[at] = value
	fi
}
#else
inline store(t, at, value)
{
	d_step { LOCKED(t) -> m[at] = value }
}
#define store_release(t, at, value) store(t, at, value)
#endif

/* Entry k_ of a buffer gets out. */
inline out(t)
{
	m[b_at[(t) * DEPTH + k_]] = b_value[(t) * DEPTH + k_];
	do
	:: k_ + 1 < b_n[t] ->
		b_at[(t) * DEPTH + k_] = b_at[(t) * DEPTH + k_ + 1];
		b_value[(t) * DEPTH + k_] = b_value[(t) * DEPTH + k_ + 1];
		MOVE_RELEASE(t)
		k_++
	:: else -> break
	od;
	b_at[(t) * DEPTH + k_] = 0;
	b_value[(t) * DEPTH + k_] = 0;
	FORGET_RELEASE(t)
	b_n[t]--;
	k_ = 0
}

/* A barrier on that thread's processor; inside of a d_step. */
inline all_out(t)
{
	do
	:: b_n[t] > 0 -> k_ = 0; out(t)
	:: else -> break
	od
}

/* Returns the value that a thread loads from a location in which it may have stored. */
#define HELD_1(t, at) (b_n[t] > 1 && b_at[(t) * DEPTH + 1] == (at))
#define HELD_0(t, at) (b_n[t] > 0 && b_at[(t) * DEPTH] == (at))
#ifdef WEAK
#if DEPTH > 2
#define LOAD(t, at) ((t) >= WRITERS -> m[at] : ((b_n[t] > 2 && b_at[(t) * DEPTH + 2] == (at)) -> b_value[(t) * DEPTH + 2] : \
	(HELD_1(t, at) -> b_value[(t) * DEPTH + 1] : (HELD_0(t, at) -> b_value[(t) * DEPTH] : m[at]))))
#else
#define LOAD(t, at) ((t) >= WRITERS -> m[at] : (HELD_1(t, at) -> b_value[(t) * DEPTH + 1] : (HELD_0(t, at) -> b_value[(t) * DEPTH] : m[at])))
#endif
#else
#define LOAD(t, at) m[at]
#endif

/*
 * src/base/wait.c: barrier_everywhere(); inside of a d_step
 * One processor after the other is the same as all at once: what the later ones
 * have stored meanwhile may come out by itself at any time.
 */
inline barriers()
{
	all_out(0)
#if WRITERS > 1
	; all_out(1)
#endif
#if WRITERS > 2
	; all_out(2)
#endif
	; k_ = 0
}

/* src/base/wait.c: barrier_everywhere() */
inline barrier_everywhere()
{
	d_step { true -> barriers() }
}

/*
 * The processor's stores come out at any time. A thread that was killed is gone
 * for the kernel when they have.
 */
proctype memory(byte t)
{
	do
	:: d_step { b_n[t] > 0 -> k_ = 0; out(t) }
#ifdef WEAK
	/* Stores to different locations may pass each other, but a release store does not pass earlier stores. */
	:: d_step {
		b_n[t] > 1 && !b_release[t * DEPTH + 1] && b_at[t * DEPTH] != b_at[t * DEPTH + 1] ->
		k_ = 1; out(t)
	}
#if DEPTH > 2
	:: d_step {
		b_n[t] > 2 && !b_release[t * DEPTH + 2] && b_at[t * DEPTH] != b_at[t * DEPTH + 2] &&
			b_at[t * DEPTH + 1] != b_at[t * DEPTH + 2] ->
		k_ = 2; out(t)
	}
#endif
#endif
	:: killed[t] && !gone[t] && b_n[t] == 0 -> gone[t] = true
	od
}

/* -- Chunks: locks, revoking, recycling --------------------------------------- */

/* src/record/acquire.c: rank_of() */
#define HELD(c)   OWNER_IS(m[OWNER(c)])
#define EMPTY(c)  (RECORDS(m[PROG(c)]) == m[READ(c)])
#define ROOM(c)   (POSITION(m[PROG(c)]) + 2 <= CAP)
#ifdef UNTIL_FULL
#define R_OLDEST 4
#else
#define R_OLDEST 3
#endif
#define R_EMPTY 0
#define R_ROOM  1
#define R_IDLE  2
#define R_NONE  4
#define RANK(c) ((!HELD(c) && EMPTY(c)) -> R_EMPTY : ((!HELD(c) && ROOM(c)) -> R_ROOM : \
	((HELD(c) && (EMPTY(c) || ROOM(c))) -> R_IDLE : R_OLDEST)))

#ifdef MUTANT_LOCK_OF_THE_LIVING
#define LOCKABLE(t, c) (m[LOCK(c)] != (t) + 1)
#else
#ifdef MUTANT_LOCK_OF_THE_DEAD
#define LOCKABLE(t, c) (m[LOCK(c)] == 0)
#else
#define LOCKABLE(t, c) (m[LOCK(c)] == 0 || (m[LOCK(c)] != (t) + 1 && m[LOCK(c)] <= WRITERS && gone[m[LOCK(c)] - 1]))
#endif
#endif

/* src/record/acquire.c: own_record(), choose(). Of the best rank any one, not only that of the longest idle thread. */
#define POSSIBLE(t, c) (RANK(c) != R_NONE && LOCKABLE(t, c) && !(HELD(c) && OWNER_SEAT(m[OWNER(c)]) == (t) && own_busy[t] == (c) + 1))
#define NOT_BETTER(t, c, d) (!POSSIBLE(t, d) || RANK(c) <= RANK(d))
#define CHOICE(t, c) (POSSIBLE(t, c) && NOT_BETTER(t, c, 0) && NOT_BETTER(t, c, CHUNKS / 2) && NOT_BETTER(t, c, CHUNKS - 1))
#define IDLE_OR_WORSE(t, d) (!POSSIBLE(t, d) || RANK(d) >= R_IDLE)
/* The reader may clear the full flag at any time, so the flag may be clear once the stream was full. */
#define WRAPPED_CHOICE(t, c) (m[FULL] && POSSIBLE(t, c) && IDLE_OR_WORSE(t, 0) && IDLE_OR_WORSE(t, CHUNKS / 2) && \
	IDLE_OR_WORSE(t, CHUNKS - 1))

/* src/shm/chunk.c: chunk_unlock() */
inline chunk_unlock(t, c)
{
	store_release(t, LOCK(c), 0)
}

/*
 * src/shm/chunk.c: chunk_withdrawn()
 * It looks until the record is over, or until it has looked often enough.
 */
inline chunk_withdrawn(c, seat)
{
#ifdef MUTANT_REVOKE_DOES_NOT_WAIT
	ok = true
#else
	if
	:: d_step { m[BUSY(seat)] != (c) + 1 || gone[seat] -> ok = true }
	:: d_step { m[BUSY(seat)] == (c) + 1 && !gone[seat] -> ok = false }
	fi
#endif
}

/* src/shm/chunk.c: settle() */
inline settle(t, c)
{
	if
	:: OWNER_IS(m[OWNER(c)])
	:: !OWNER_IS(m[OWNER(c)]) ->
		barrier_everywhere();
		do
		:: d_step { u < WRITERS && (m[BUSY(u)] != (c) + 1 || gone[u]) -> u++ }
		:: d_step { u < WRITERS && m[BUSY(u)] == (c) + 1 && !gone[u] -> was = OWNER_NEXT(m[OWNER(c)], u + 1) };
			store(t, OWNER(c), was);
			break
		:: u >= WRITERS -> break
		od;
		atomic { u = 0; was = 0 }
	fi
}

/* src/shm/chunk.c: chunk_trylock() */
inline chunk_trylock(t, c)
{
	d_step {
		LOCKED(t) ->
		was = m[LOCK(c)];
		if
		:: LOCKABLE(t, c) -> m[LOCK(c)] = (t) + 1; ok = true
		:: else -> ok = false; was = 0
		fi;
#ifdef MUTANT_NO_SETTLE
		was = 0
#endif
	};
	if
	:: was -> was = 0; settle(t, c)
	:: else
	fi
}

/* src/shm/chunk.c: chunk_withdraw(), chunk_give_back(), chunk_revoke() */
inline chunk_revoke(t, c)
{
	d_step {
		LOCKED(t) ->
		ok = true;
		was = m[OWNER(c)];
		if
		:: OWNER_IS(was) -> m[OWNER(c)] = OWNER_NEXT(was, 0)
		:: else -> was = 0
		fi
	};
	if
	:: d_step {
		was ->
#ifdef MUTANT_REVOKE_WITHOUT_BARRIER
		skip
#else
		barriers()
#endif
	   };
		chunk_withdrawn(c, OWNER_SEAT(was));
		if
		:: d_step { ok -> was = 0 }
		:: !ok -> store(t, OWNER(c), was); was = 0
		fi
	:: !was
	fi
}

/* src/shm/chunk.c: ticks_of() */
inline ticks_of(c, number, ticks)
{
	i_ = 0;
	j_ = number;
	ticks = 0;
	do
	:: i_ >= CAP -> break
	:: i_ < CAP && IS_OWNER_RECORD(m[HEAD(c, i_)]) -> i_++
	:: i_ < CAP && !IS_OWNER_RECORD(m[HEAD(c, i_)]) && j_ == 0 -> ticks = m[HEAD(c, i_)]; break
	:: i_ < CAP && !IS_OWNER_RECORD(m[HEAD(c, i_)]) && j_ > 0 -> j_--; i_++
	od;
	i_ = 0;
	j_ = 0
}

#ifdef MUTANT_READ_BEFORE_GAP
#define GAP_IS_OLD(c)
#else
#define GAP_IS_OLD(c) && m[GAPU(c)] != m[LAST(c)]
#endif

/* Only the call for the status reads this. */
inline say_overrun()
{
#ifdef STATUS
	m[OVERRUN] = 1
#else
	skip
#endif
}

/* src/shm/chunk.c: chunk_recycle() */
inline note_gap(t, c)
{
	if
	:: m[SEEN(c)] == m[FIRST(c)] GAP_IS_OLD(c) -> store(t, GAPF(c), 0)
	:: !(m[SEEN(c)] == m[FIRST(c)] GAP_IS_OLD(c))
	fi;
#ifndef MUTANT_NO_GAP
	if
	:: records != x ->
		if
		:: d_step { LOAD(t, GAPF(c)) == 0 -> ticks_of(c, x - m[FIRST(c)], was) };
			store(t, GAPF(c), was)
		:: LOAD(t, GAPF(c)) != 0
		fi;
		was = m[LAST(c)];
		store(t, GAPU(c), was);
		was = 0
	:: else
	fi
#else
	skip
#endif
}

/* src/shm/chunk.c: chunk_recycle() */
inline chunk_recycle(t, c)
{
	d_step { records = RECORDS(m[PROG(c)]); x = m[READ(c)] };
#ifndef MUTANT_READ_BEFORE_GAP
	note_gap(t, c);
#endif
#ifndef MUTANT_RECYCLE_LEAVES_READ
	d_step { LOCKED(t) -> x = m[READ(c)]; m[READ(c)] = records };
#endif
#ifdef MUTANT_READ_BEFORE_GAP
	note_gap(t, c);
#endif
#ifndef MUTANT_RECYCLE_FIRST_LAST
	store_release(t, FIRST(c), records);
	LOCKED(t);
#endif
	store_release(t, PROG(c), PROGRESS(records, 0));
	/* src/record/acquire.c: acquire_chunk() */
	if
	:: records != x -> d_step { LOCKED(t) -> m[FULL] = 1; say_overrun(); x = 0; records = 0 }
	:: else -> atomic { x = 0; records = 0 }
	fi
}

/* src/record/acquire.c: acquire_chunk(), late(). The result is in chunk; NONE: the stream is full. */
inline acquire_chunk(t)
{
	do
	:: atomic {
		LOCKED(t) ->
		if
		:: CHOICE(t, 0) -> chunk = 0; best = RANK(0)
#if CHUNKS > 1
		:: CHOICE(t, 1) -> chunk = 1; best = RANK(1)
#endif
#if CHUNKS > 2
		:: CHOICE(t, 2) -> chunk = 2; best = RANK(2)
#endif
#ifndef UNTIL_FULL
		:: WRAPPED_CHOICE(t, 0) -> chunk = 0; best = R_OLDEST
#if CHUNKS > 1
		:: WRAPPED_CHOICE(t, 1) -> chunk = 1; best = R_OLDEST
#endif
#if CHUNKS > 2
		:: WRAPPED_CHOICE(t, 2) -> chunk = 2; best = R_OLDEST
#endif
#endif
		:: else -> break
		fi
	   }
	   chunk_trylock(t, chunk);
	   if
	   :: !ok -> chunk = NONE
	   :: ok && RANK(chunk) > best -> chunk_unlock(t, chunk); chunk = NONE
	   :: ok && RANK(chunk) <= best ->
		chunk_revoke(t, chunk);
		if
		:: ok && RANK(chunk) == R_ROOM -> break
		:: ok && RANK(chunk) != R_ROOM && RANK(chunk) <= best -> chunk_recycle(t, chunk); break
		:: !ok || (RANK(chunk) != R_ROOM && RANK(chunk) > best) -> chunk_unlock(t, chunk); chunk = NONE
		fi
	   fi
	od;
	best = 0
}

/* -- Writers ------------------------------------------------------------------- */

/* src/base/ticks.h: ticks_read() */
inline ticks_read(t)
{
	now++; k = now; by[k] = t
}

/* For the accounting: the event is committed from here on, although other processes may see it later. */
inline committed()
{
	assert(!quiet);
	what[k] = 1
}

/* src/record/emit.c: emit_lost() */
inline emit_lost(t)
{
	d_step { LOCKED(t) -> m[LOST]++ };
#ifdef STATUS
	d_step { LOCKED(t) -> say_overrun() }
#endif
}

/* src/record/writer.h: writer_record(), step 3, where the stream does not run */
inline not_running(t)
{
	if
	:: m[STATE] & ARMED -> emit_lost(t)
	:: (m[STATE] & ARMED) == 0 -> none++
	fi
}

/* src/record/emit.c: emit_wake() */
inline emit_wake(t)
{
#ifdef SLEEP
	x = m[WAITING];
	d_step { LOCKED(t) -> m[WAKEUPS]++ };
	d_step {
		LOCKED(t) ->
		if
#ifdef MUTANT_FORGETS_ANOTHERS_WAIT
		:: true -> m[WAITING] = 0
#else
		:: m[WAITING] == x -> m[WAITING] = 0
		:: else
#endif
		fi;
		x = 0
	}
#else
	skip
#endif
}

/* src/record/emit.c: emit_full() */
inline emit_full(t)
{
	if
	:: (m[STATE] & (RUNNING | ARMED)) == 0 -> none++
	:: (m[STATE] & (RUNNING | ARMED)) != 0 ->
		emit_lost(t);
#ifdef UNTIL_FULL
		d_step {
			LOCKED(t) ->
			ok = (m[STATE] & RUNNING);
			if
			:: ok -> m[STATE] = ARMED
			:: else
			fi
		};
#ifdef SLEEP
		if
		:: ok -> emit_wake(t)
		:: else
		fi
#else
		skip
#endif
#endif
	fi
}

#ifdef SLEEP
#define ASKED m[WAITING]
#else
#define ASKED false
#endif

/* src/shm/chunk.c: chunk_leave() */
inline chunk_leave(t, c, word)
{
	d_step {
		LOCKED(t) ->
		if
		:: m[OWNER(c)] == word -> m[OWNER(c)] = OWNER_NEXT(word, 0)
		:: else
		fi;
		chunk = NONE; mine = 0; progress = 0; at = 0
	}
}

/* src/record/writer.c: writer_acquire() */
inline writer_acquire(t)
{
	if
	:: chunk != NONE -> chunk_leave(t, chunk, mine)
	:: else
	fi;
	acquire_chunk(t);
	if
	:: d_step {
		chunk != NONE ->
		progress = LOAD(t, PROG(chunk));
		at = POSITION(progress);
		mine = OWNER_NEXT(m[OWNER(chunk)], (t) + 1)
	   };
		store(t, HEAD(chunk, at), OWNER_RECORD(t));
		d_step { at++; progress++; x = now };
		store(t, LAST(chunk), x);
		x = 0;
#ifdef MUTANT_HELD_BEFORE_BEGUN
		store(t, OWNER(chunk), mine);
		chunk_unlock(t, chunk);
		store_release(t, PROG(chunk), progress)
#else
		store_release(t, PROG(chunk), progress);
		store(t, OWNER(chunk), mine);
		chunk_unlock(t, chunk)
#endif
	:: chunk == NONE
	fi
}

/* A store that commits: for the books at once. */
#if defined(WEAK) || defined(SLEEP) || defined(STOP)
inline commit(t, c, word)
{
	d_step { ROOM_FOR(t) -> hold(t, PROG(c), word, true); committed() }
}
#else
inline commit(t, c, word)
{
	d_step { LOCKED(t) -> m[PROG(c)] = word; committed() }
}
#endif

/* src/record/writer.h: writer_record(); src/record/record_rseq.h: writer_write(), writers_write(): steps 4 to 7. Sets result. */
#define R_DONE    0
#define R_NO_ROOM 1
#define R_BROKEN  2
inline writer_record(t)
{
#ifdef MUTANT_TICKS_BEFORE_BUSY
	d_step { ticks_read(t) };
#endif
	d_step { ROOM_FOR(t) -> own_busy[t] = chunk + 1; hold(t, BUSY(t), chunk + 1, false) };
	if
#ifdef MUTANT_NO_LOOK_AT_THE_OWNER
	:: false ->
#else
	:: LOAD(t, OWNER(chunk)) != mine ->
#endif
		d_step { ROOM_FOR(t) -> own_busy[t] = 0; hold(t, BUSY(t), 0, false); result = R_NO_ROOM }
#ifdef MUTANT_NO_LOOK_AT_THE_OWNER
	:: true ->
#else
	:: LOAD(t, OWNER(chunk)) == mine ->
#endif
#ifndef MUTANT_TICKS_BEFORE_BUSY
		d_step { ticks_read(t) };
#endif
#ifdef MUTANT_COMMIT_FIRST
		d_step { progress = progress + PROGRESS(1, 1) };
		commit(t, chunk, progress);
#endif
		store(t, HEAD(chunk, at), k);
		store(t, DATA(chunk, at), k);
#ifdef MUTANT_BUSY_ENDS_FIRST
		store_late(t, BUSY(t), 0, true);
#endif
#ifndef MUTANT_COMMIT_FIRST
		store(t, LAST(chunk), k);
		d_step { progress = progress + PROGRESS(1, 1) };
		commit(t, chunk, progress);
#endif
#ifdef MUTANT_RSEQ_ENDS_LATE
		store_late(t, BUSY(t), 0, true);
#elif !defined(MUTANT_BUSY_ENDS_FIRST)
		/* The restartable sequence ends with this store: a thread that is interrupted after the store continues here. */
		d_step { ROOM_FOR(t) -> own_busy[t] = 0; hold(t, BUSY(t), 0, true) };
#endif
		d_step { own_busy[t] = 0; at++; k = 0; result = R_DONE }
	fi
}

/*
 * src/record/writer.c: writer_mend(), writer_committed()
 * After a restartable sequence was aborted by a handler.
 */
inline writer_mend(t)
{
	d_step {
		if
		:: POSITION(progress) == at -> result = R_NO_ROOM
#ifndef MUTANT_MEND_BELIEVES_NOTHING
		:: POSITION(progress) != at && LOAD(t, PROG(chunk)) == progress -> at = POSITION(progress); result = R_DONE
#endif
		:: else -> progress = PROGRESS(RECORDS(progress) - 1, at); result = R_NO_ROOM
		fi
	};
	d_step { ROOM_FOR(t) -> own_busy[t] = 0; k = 0; hold(t, BUSY(t), 0, true) }
}

#ifdef HAVE_RSEQ
/* src/record/writer.c: writer_finish(): a record that may be aborted, in a trace point that a handler may interrupt. */
inline writer_record_open(t)
{
	{ writer_record(t) } unless { d_step { broken[t] -> result = R_BROKEN; blocked[t] = true } };
	if
	:: result == R_BROKEN ->
		writer_mend(t);
		if
		:: result == R_NO_ROOM && (m[STATE] & RUNNING) == 0 -> not_running(t); result = R_DONE
		:: result == R_NO_ROOM && (m[STATE] & RUNNING) != 0 -> writer_record(t)
		:: else
		fi;
		broken[t] = false
	:: else
	fi
}
#else
#define writer_record_open(t) writer_record(t)
#endif

#ifdef CHANGE
/* src/record/acquire.c: acquire_candidate(), the choice */
#define CANDIDATE(t, c) (CHOICE(t, c) && !HELD(c) && RANK(c) != R_ROOM)

/* src/record/acquire.c: acquire_candidate() Sets candidate, word and words; NONE: there is none. */
inline acquire_candidate(t)
{
	atomic {
		if
		:: CANDIDATE(t, 0) -> candidate = 0; best = RANK(0); was = m[LAST(0)]
#if CHUNKS > 1
		:: CANDIDATE(t, 1) -> candidate = 1; best = RANK(1); was = m[LAST(1)]
#endif
		:: else -> candidate = NONE
		fi
	}
	if
	:: d_step { candidate != NONE && !HELD(candidate) && (best == R_EMPTY -> EMPTY(candidate) : m[LAST(candidate)] == was) ->
		word = m[OWNER(candidate)]; words = m[PROG(candidate)]; best = 0; was = 0 }
	:: else -> d_step { candidate = NONE; best = 0; was = 0 }
	fi
}

/* src/record/record_rseq.h: writer_hold() Sets chunk, if all is well. */
inline writer_hold(t)
{
	taking[t] = candidate + 1;
	d_step { LOCKED(t) -> ok = (m[LOCK(candidate)] == 0); if :: ok -> m[LOCK(candidate)] = (t) + 1 :: else fi };
	if
#ifdef MUTANT_TAKES_WHAT_IT_SAW
	:: ok ->
#else
	:: ok && m[OWNER(candidate)] == word && m[PROG(candidate)] == words && (EMPTY(candidate) || m[READ(candidate)] == m[FIRST(candidate)]) ->
#endif
		loses[t] = !EMPTY(candidate);
		chunk_recycle(t, candidate);
		d_step { progress = m[PROG(candidate)]; at = POSITION(progress); mine = OWNER_NEXT(word, (t) + 1) };
		store(t, HEAD(candidate, at), OWNER_RECORD(t));
		d_step { at++; progress++; x = now };
		store(t, LAST(candidate), x);
		x = 0;
		store_release(t, PROG(candidate), progress);
		store(t, OWNER(candidate), mine);
		/* The restartable sequence's last instruction; behind it nothing is aborted. */
		d_step { LOCKED(t) -> m[LOCK(candidate)] = 0; chunk = candidate; taking[t] = 0; loses[t] = false }
	:: else
	fi
}

/* src/record/writer.c: writer_give_back() */
inline writer_give_back(t)
{
	d_step { x = 0; records = 0; was = 0; best = 0; candidate = NONE };
	if
#ifdef MUTANT_GIVES_NOTHING_BACK
	:: false ->
#else
	:: d_step { TAKING(t) && m[LOCK(taking[t] - 1)] == (t) + 1 -> candidate = taking[t] - 1 };
#endif
		d_step {
			LOCKED(t) ->
			if
			:: loses[t] && EMPTY(candidate) -> m[FULL] = 1; say_overrun()
			:: else
			fi
		};
		chunk_leave(t, candidate, mine);
		chunk_unlock(t, candidate)
	:: else
	fi;
	d_step { taking[t] = 0; loses[t] = false; chunk = NONE; mine = 0; progress = 0; at = 0 }
}

/* src/record/writer.c: writer_change() */
inline writer_change(t)
{
	chunk_leave(t, chunk, mine);
	acquire_candidate(t);
	if
	:: candidate != NONE -> writer_hold(t)
	:: else
	fi
}
#endif

/* src/record/tracepoint.c: posix_trace_event(); src/record/writer.c: writer_finish(), writer_record_slow() */
proctype writer(byte t; byte events) provided (!killed[t] && !handling[t])
{
	byte chunk = NONE, mine, at, progress; /* the writer */
	byte k, x, best, was, records, u, result, tries;
#ifdef CHANGE
	byte candidate = NONE, word, words;
#endif
	bool ok;

	do
	:: events > 0 ->
		if
		:: d_step { (m[STATE] & RUNNING) == 0 && (m[STATE] & ARMED) != 0 -> inside[t] = true };
			emit_lost(t)
		:: d_step { (m[STATE] & (RUNNING | ARMED)) == 0 -> none++ }
		:: d_step { (m[STATE] & RUNNING) != 0 && (chunk == NONE || at >= CAP) -> inside[t] = true; result = R_NO_ROOM }
		:: d_step { (m[STATE] & RUNNING) != 0 && chunk != NONE && at < CAP -> inside[t] = true; result = R_NO_ROOM };
			writer_record_open(t);
			if
			:: result == R_DONE && ASKED -> blocked[t] = true; emit_wake(t)
			:: else
			fi
		fi;
#ifdef CHANGE
		if
		:: result == R_NO_ROOM && chunk != NONE && !blocked[t] ->
			{ writer_change(t) } unless { d_step { broken[t] -> blocked[t] = true } };
			if
			:: chunk == NONE || broken[t] ->
				blocked[t] = true;
				writer_give_back(t);
				broken[t] = false
			:: chunk != NONE && !broken[t] && (m[STATE] & RUNNING) == 0 -> not_running(t); result = R_DONE
			:: chunk != NONE && !broken[t] && (m[STATE] & RUNNING) != 0 ->
				writer_record_open(t);
				if
				:: result == R_DONE && ASKED -> blocked[t] = true; emit_wake(t)
				:: else
				fi
			fi;
			d_step { candidate = NONE; word = 0; words = 0; ok = false }
		:: else
		fi;
#endif
		do
		:: result == R_NO_ROOM && tries == TRIES -> emit_lost(t); result = R_DONE
		:: result == R_NO_ROOM && tries < TRIES ->
			d_step { blocked[t] = true; tries++ };
			writer_acquire(t);
			if
			:: chunk == NONE -> emit_full(t); result = R_DONE
			:: chunk != NONE && (m[STATE] & RUNNING) == 0 -> not_running(t); result = R_DONE
			:: chunk != NONE && (m[STATE] & RUNNING) != 0 ->
				writer_record(t);
				if
				:: result == R_DONE && ASKED -> emit_wake(t)
				:: else
				fi
			fi
		:: result != R_NO_ROOM -> break
		od;
		atomic { tries = 0; events--; ended++; inside[t] = false; blocked[t] = false; result = 0 }
	:: else -> break
	od;
	atomic { LOCKED(t); done[t] = true; chunk = NONE; mine = 0; at = 0; progress = 0 }
}

/*
 * src/record/emit.c: emit_alone(); src/record/slow.c: record_slow()
 * The one event of a handler that has interrupted a trace point of thread t:
 * the thread does not go on before it has ended, and is killed with it. Or, not
 * nested, the one event of a thread that has no seat.
 */
proctype handler(byte t; bool nested) provided (!killed[t])
{
	byte chunk = NONE, progress, k, x, best, was, records, u;
	bool ok;

	d_step {
		!nested || (inside[t] && !blocked[t]) ->
		handling[t] = nested;
#ifdef HAVE_RSEQ
		broken[t] = (own_busy[t] != 0 || TAKING(t))
#endif
	};
	if
	:: m[STATE] & RUNNING ->
		acquire_chunk(t);
		if
		:: chunk == NONE -> emit_full(t)
		:: else ->
			progress = LOAD(t, PROG(chunk));
#ifndef MUTANT_STATE_BEFORE_LOCK
			if
			:: (m[STATE] & RUNNING) == 0 ->
				LOCKED(t);
				chunk_unlock(t, chunk);
				if
				:: m[STATE] & ARMED -> emit_lost(t)
				:: (m[STATE] & ARMED) == 0 -> none++
				fi
			:: (m[STATE] & RUNNING) != 0 ->
#else
			if
			:: true ->
#endif
				d_step { LOCKED(t) -> ticks_read(t) };
				store(t, HEAD(chunk, POSITION(progress)), OWNER_RECORD(t));
				store(t, HEAD(chunk, POSITION(progress) + 1), k);
				store(t, DATA(chunk, POSITION(progress) + 1), k);
				store(t, LAST(chunk), k);
				d_step { progress = progress + PROGRESS(1, 2) };
				commit(t, chunk, progress);
				chunk_unlock(t, chunk);
				LOCKED(t);
				if
				:: ASKED -> emit_wake(t)
				:: else
				fi
			fi
		fi
	:: (m[STATE] & (RUNNING | ARMED)) == ARMED -> emit_lost(t)
	:: (m[STATE] & (RUNNING | ARMED)) == 0 -> none++
	fi;
	atomic { ended++; handling[t] = false; chunk = NONE; progress = 0; k = 0 };
	if
	:: !nested -> done[t] = true
	:: else
	fi
}

/* -- The reader ---------------------------------------------------------------- */

bool reading_done;

/* src/read/gaps.h: gaps_add() */
inline add_gap(from, until)
{
	if
	:: gap_from == 0 || from < gap_from -> gap_from = from
	:: else
	fi;
	if
	:: until > gap_until -> gap_until = until
	:: else
	fi
}

#ifdef GIVES_UP
#define WAS_GIVEN_UP(c, until) (c_given_up[c] == (until))
#define GIVEN_UP(c) (c_given_up[c] && c_next[c] < c_given_up_end[c])
#define forget_given_up(c) c_given_up[c] = 0; c_given_up_end[c] = 0

/* src/read/held_up.c: held_up_too_long(); src/read/cursor.c: cursor_give_up() */
inline give_up(c)
{
	if
	:: c_given_up[c] != 0 -> ok = true
	:: c_given_up[c] == 0 ->
		d_step { gf = m[GAPF(c)] };
		d_step { gu = m[GAPU(c)]; p = RECORDS(m[PROG(c)]) };
		d_step {
			if
			:: m[FIRST(c)] == c_first[c] ->
				c_given_up[c] = gu;
				c_given_up_end[c] = p;
#ifndef MUTANT_GIVES_UP_SILENTLY
				add_gap(gf, gu);
#endif
				ok = true
			:: else
#ifdef MUTANT_GIVES_UP_TOO_LATE
				-> ok = true
#endif
			fi;
			gf = 0; gu = 0; p = 0
		}
	fi
}
#else
#define WAS_GIVEN_UP(c, until) false
#define GIVEN_UP(c) false
#define forget_given_up(c) skip
#endif

/* src/read/cursor.c: cursor_look(), start_over(), find_event(); src/read/merge.c: look() */
inline look(c)
{
	do
	:: d_step { m[FIRST(c)] != c_first[c] && m[FIRST(c)] != c_next[c] -> f = m[FIRST(c)]; have[c] = false; moving[c] = false };
		gf = m[GAPF(c)];
		d_step {
			gu = m[GAPU(c)];
			if
			:: gf != 0 && !WAS_GIVEN_UP(c, gu) -> add_gap(gf, gu)
			:: else
			fi;
			forget_given_up(c);
			overwritten = overwritten + f - c_next[c];
			gf = 0; gu = 0;
			c_first[c] = f; c_next[c] = f; c_at[c] = 0
		};
		d_step { m[SEEN(c)] = f; f = 0 }
	:: d_step { m[FIRST(c)] != c_first[c] && m[FIRST(c)] == c_next[c] ->
			have[c] = false; moving[c] = false; c_first[c] = c_next[c]; c_at[c] = 0 };
		m[SEEN(c)] = c_first[c]
	:: d_step { m[FIRST(c)] == c_first[c] -> f = m[FIRST(c)]; have[c] = false; moving[c] = false };
		if
		:: d_step { RECORDS(m[PROG(c)]) == c_next[c] -> f = 0 }; break
		:: d_step { RECORDS(m[PROG(c)]) != c_next[c] -> p = m[PROG(c)] }
		fi;
		if
		:: d_step { m[READ(c)] != c_next[c] -> moving[c] = true; f = 0; p = 0 }; break
		:: d_step { m[READ(c)] == c_next[c] -> a = c_at[c]; o = c_owner[c] }
		fi;
		do
		:: d_step { a < POSITION(p) && IS_OWNER_RECORD(m[HEAD(c, a)]) -> o = m[HEAD(c, a)] - 200; a++ }
		:: d_step { a < POSITION(p) && !IS_OWNER_RECORD(m[HEAD(c, a)]) -> h = m[HEAD(c, a)]; have[c] = true; p = 0 }
		:: a >= POSITION(p) -> break
		od;
		if
#ifdef MUTANT_NO_SECOND_LOOK
		:: d_step { true ->
#else
		:: d_step { m[FIRST(c)] == f ->
#endif
			if
			:: have[c] -> c_at[c] = a; c_owner[c] = o; c_head[c] = h
			:: else
			fi;
			f = 0; p = 0; a = 0; o = 0; h = 0
		   }; break
#ifndef MUTANT_NO_SECOND_LOOK
		:: d_step { m[FIRST(c)] != f -> have[c] = false; f = 0; p = 0; a = 0; o = 0; h = 0 }
#endif
		fi
	od
}

/* Stores the process that the caller waits for: if that process is dead, the wait would never end. */
inline held_up_by(word, value, c, thread)
{
	waiting = true; w_word = word; w_value = value; w_progress = PROG(c); w_p = m[PROG(c)]; w_thread = thread
}

inline forget_waiting()
{
	d_step { w_word = 0; w_value = 0; w_progress = 0; w_p = 0; w_thread = 0; waiting = false }
}

/* src/read/held_up.c: holds_up(). src/host/ident.c: thread_lives() */
inline holds_up(word, c, thread)
{
	if
	:: d_step { m[word] != x || m[PROG(c)] != p || !WAITS_FOR(thread) -> x = 0; p = 0 }
	:: d_step {
		m[word] == x && m[PROG(c)] == p && WAITS_FOR(thread) ->
		held_up_by(word, x, c, thread);
		holds[c] = true;
		if
		:: m[LAST(c)] < watermark -> watermark = m[LAST(c)]
		:: else
		fi;
		x = 0; p = 0
	   }
#ifdef PATIENCE
	:: d_step { m[word] == x -> x = 0; p = 0 }
#endif
#ifdef GIVES_UP
	/* An acquirer that has been held up for that long just before it overwrites a chunk. */
	:: d_step { word == LOCK(c) && m[word] == x && m[READ(c)] != c_next[c] -> x = 0; p = 0 }
#endif
	fi
}

/* src/read/held_up.c: held_up_look() */
inline hold_nobody()
{
	u = 0;
	do
	:: u < CHUNKS -> holds[u] = false; u++
	:: else -> break
	od;
	u = 0
}

/* src/read/held_up.c: held_up_look() */
inline look_for_writers()
{
#ifndef MUTANT_WATERMARK_IGNORES_BUSY
	do
	:: d_step { u < WRITERS && m[BUSY(u)] == 0 -> u++ }
	:: d_step { u < WRITERS && m[BUSY(u)] != 0 -> x = m[BUSY(u)]; p = m[PROG(x - 1)] };
		holds_up(BUSY(u), x - 1, u);
		u++
	:: atomic { u >= WRITERS -> hold_nobody(); break }
	od;
#else
	d_step { hold_nobody() };
#endif
#ifndef MUTANT_WATERMARK_IGNORES_LOCKS
	do
	:: d_step { u < CHUNKS && (m[LOCK(u)] == 0 || m[LOCK(u)] > WRITERS) -> u++ }
	:: d_step { u < CHUNKS && m[LOCK(u)] != 0 && m[LOCK(u)] <= WRITERS -> x = m[LOCK(u)]; p = m[PROG(u)]; y = x - 1 };
		holds_up(LOCK(u), u, y);
		atomic { u++; y = 0 }
	:: atomic { u >= CHUNKS -> u = 0; n = 0; break }
	od
#else
	n = 0
#endif
}

/* src/read/merge.c: put_back() */
inline put_back(c)
{
	chunk_trylock(READER, c);
	if
	:: ok ->
		d_step {
			if
			:: m[FIRST(c)] == c_first[c] && m[READ(c)] != c_next[c] -> m[READ(c)] = c_next[c]
			:: else
			fi
		};
		m[LOCK(c)] = 0
	:: else
	fi
}

/* src/read/merge.c: refill(), waits_for_acquirer() */
inline refill()
{
	d_step { watermark = now + 1; waiting = false };
#ifndef MUTANT_WATERMARK_WITHOUT_BARRIER
	barrier_everywhere();
#endif
	look_for_writers();
	do
	:: n < CHUNKS ->
		if
		:: !have[n] -> look(n)
		:: else
		fi;
		if
		:: d_step { moving[n] && holds[n] -> watermark = (c_head[n] < watermark -> c_head[n] : watermark); n++ }
		:: moving[n] && !holds[n] ->
#ifdef MUTANT_NO_PUT_BACK
			ok = true;
#else
			put_back(n);
#endif
			if
			:: ok -> look(n)
			:: else ->
#ifdef GIVES_UP
				if
				:: m[LOCK(n)] != 0 -> give_up(n)
				:: true
				fi;
#endif
				if
				:: ok
				:: d_step {
					!ok ->
					watermark = (c_head[n] < watermark -> c_head[n] : watermark);
					x = m[LOCK(n)];
					if
					:: x != 0 && x <= WRITERS -> held_up_by(LOCK(n), x, n, x - 1)
					:: else -> w_thread = NONE; waiting = true
					fi;
					x = 0
				   }
				fi
			fi;
			n++
		:: d_step { !moving[n] -> n++ }
		fi
	:: atomic { n >= CHUNKS -> n = 0; break }
	od
}

/* Checks each event that is reported. */
inline report()
{
	h = c_head[top];
	assert(x == h);                /* whole */
	assert(what[h] == 1);          /* committed, and not reported before */
	assert(c_owner[top] == by[h]); /* whose it is */
#ifndef PATIENCE
	assert(h > reported);          /* times increase, over all threads */
	if
	:: told
	:: else ->
		/* No event is missing between two events unless a loss was reported. */
		i_ = reported + 1;
		do
		:: i_ < h -> assert(what[i_] != 1 && what[i_] != 3); i_++
		:: else -> break
		od;
		i_ = 0
	fi;
#endif
	what[h] = 2;
	reported = h;
	h = 0;
	if
	:: told -> gap_from = 0
	:: else
	fi
}

#ifdef RUN
#define TAKEN (another -> 2 : 1)

/* src/read/merge.c: merge_limit() */
#ifdef MUTANT_RUN_PASSES_OTHERS
#define OLDER_THAN_OTHERS(ticks) true
#else
#define OLDER_THAN(ticks, c) (top == (c) || !have[c] || (ticks) < c_head[c])
#define OLDER_THAN_OTHERS(ticks) (OLDER_THAN(ticks, 0) && OLDER_THAN(ticks, CHUNKS / 2) && OLDER_THAN(ticks, CHUNKS - 1))
#endif
#ifdef MUTANT_RUN_PASSES_WATERMARK
#define FOLLOWS(ticks) OLDER_THAN_OTHERS(ticks)
#else
#define FOLLOWS(ticks) ((ticks) < watermark && OLDER_THAN_OTHERS(ticks))
#endif

/* src/read/live.c: take_run(); src/read/cursor.c: cursor_step(). The record after it, which is consumed with it. */
inline step()
{
	if
	:: d_step { gap_from == 0 && c_head[top] > gap_until && RECORDS(m[PROG(top)]) != c_next[top] + 1 ->
		p = m[PROG(top)]; a = c_at[top] + 1; o = c_owner[top] };
		do
		:: d_step { a < POSITION(p) && IS_OWNER_RECORD(m[HEAD(top, a)]) -> o = m[HEAD(top, a)] - 200; a++ }
		:: d_step { a < POSITION(p) && !IS_OWNER_RECORD(m[HEAD(top, a)]) -> h = m[HEAD(top, a)]; p = 0 };
			if
			:: FOLLOWS(h) -> another_x = m[DATA(top, a)]; another = h
			:: else
			fi;
			break
		:: a >= POSITION(p) -> break
		od;
		atomic { p = 0; h = 0 }
	:: else
	fi
}

/* src/read/live.c: report_next(). In the same lock: the first has been reported. */
inline report_another()
{
	if
	:: another -> c_head[top] = another; x = another_x; c_owner[top] = o; c_at[top] = a; told = false; report()
	:: else
	fi
}

#define forget_another() another = 0; another_x = 0; a = 0; o = 0
#else
#define TAKEN 1
#define report_another() skip
#define forget_another() skip
#endif

/*
 * src/read/cursor.c: cursor_read(), cursor_copy(), cursor_consume()
 * src/read/merge.c: merge_read(), replace_top(); src/read/live.c: live_peek(), live_read()
 */
inline take()
{
#ifdef MUTANT_LOCKED_BEFORE_COPIED
	d_step {
		ok = (m[READ(top)] == c_next[top]);
		if
		:: ok -> m[READ(top)] = c_next[top] + 1
		:: else
		fi
	};
	x = m[DATA(top, c_at[top])];
	d_step {
#else
	x = m[DATA(top, c_at[top])];
#ifdef RUN
	step();
#endif
	d_step {
		ok = (m[READ(top)] == c_next[top]);
		if
		:: ok -> m[READ(top)] = c_next[top] + TAKEN
		:: else
		fi;
#endif
		have[top] = false;
		told = (gap_from != 0 && gap_from <= c_head[top]);
		if
		:: !ok
		:: ok && c_head[top] <= gap_until ->
			/* The event is older than an overwritten event. */
			assert(what[c_head[top]] == 1);
			what[c_head[top]] = 3;
			dropped++;
			if
			:: !GIVEN_UP(top) -> add_gap(c_head[top], 0)
			:: else
			fi
		:: ok && c_head[top] > gap_until ->
			report();
			report_another()
		fi;
		if
		:: ok -> c_next[top] = c_next[top] + TAKEN; c_at[top]++
		:: else
		fi;
		forget_another();
		x = 0;
		told = false
	}
}

/*
 * src/control/lifecycle.c: lifecycle_status(); src/read/merge.c: merge_lost(); src/read/cursor.c: cursor_lost()
 * A thread that loses events counts them first and then sets the bit, and may be
 * killed in between. So the reader uses the number.
 */
inline status()
{
	d_step { overrun = m[OVERRUN]; m[OVERRUN] = 0 };
	x = m[LOST] + dropped + overwritten;
	do
	:: d_step { u < CHUNKS ->
		if
		:: m[FIRST(u)] != c_first[u] -> x = x + m[FIRST(u)] - c_next[u]
		:: else
		fi;
		u++ }
	:: u >= CHUNKS -> break
	od;
	u = 0;
	d_step {
#ifndef MUTANT_OVERRUN_BY_THE_BIT
		overrun = (x > lost);
#endif
		assert(x >= lost);             /* the number never falls, */
		assert(overrun == (x > lost)); /* and says the same as the status */
		lost = x;
		overrun = false; x = 0
	}
}

/* src/read/merge.c: merge_next(); src/read/live.c: live_next(). All that can be reported now. */
inline read_all()
{
	fresh = false;
	do
	:: atomic {
		if
		:: top != NONE && moving[top] -> fresh = false
		:: else
		fi;
		top = NONE;
		i_ = 0;
		do
		:: i_ < CHUNKS ->
			if
			:: have[i_] && (top == NONE || c_head[i_] < c_head[top]) -> top = i_
			:: else
			fi;
			i_++
		:: else -> break
		od;
		i_ = 0;
		if
		:: fresh && (top == NONE || c_head[top] >= watermark) -> young = (top != NONE); break
		:: else
		fi
	   };
	   if
#ifdef STATUS
	   :: asked < STATUS -> status(); atomic { asked++; top = NONE }
#endif
	   :: !fresh -> refill(); atomic { fresh = true; top = NONE }
	   :: fresh -> take(); look(top)
	   fi
	od;
	atomic { top = NONE; fresh = false }
}

#define UNREAD (!EMPTY(0) || !EMPTY(CHUNKS / 2) || !EMPTY(CHUNKS - 1))
#define OVER(t) (done[t] || gone[t])
#define ALL_OVER (OVER(0) && OVER(WRITERS / 2) && OVER(WRITERS - 1) && !stopping)
#define ANY_KILLED (killed[0] || killed[WRITERS / 2] || killed[WRITERS - 1])

/* src/control/reading.c: next_active(), wait_for_event(); src/control/resume.c: resume_drained() */
proctype reader()
{
	byte c_first[CHUNKS], c_next[CHUNKS], c_at[CHUNKS], c_head[CHUNKS], c_owner[CHUNKS];
	bool have[CHUNKS], moving[CHUNKS], holds[CHUNKS];
	byte gap_from, gap_until, watermark, reported, overwritten, dropped;
	byte f, p, a, o, h, gf, gu, u, x, y, n, was, top = NONE;
#ifdef GIVES_UP
	byte c_given_up[CHUNKS], c_given_up_end[CHUNKS];
#endif
#ifdef RUN
	byte another, another_x; /* the ticks of the next record, and its data */
#endif
	byte w_word, w_value, w_progress, w_p, w_thread;
#ifdef SLEEP
	byte wakeups;
#endif
	bool ok, told, fresh, waiting;
#ifdef STATUS
	byte asked, lost; /* the number of calls, and the last result */
	bool overrun;
#endif
	bool young; /* an event is ready for the next report */

	do
	:: atomic {
		/* There is something, or has been, or nothing will be. */
#ifdef READ_LATE
		ALL_OVER ->
#else
#ifndef SLEEP
		UNREAD || ALL_OVER || m[STATE] == ARMED ->
#endif
#endif
		over = ALL_OVER
	   };
	   read_all();
	   /* No process is left to wait for. */
	   assert(!over || !waiting);
	   if
	   :: waiting ->
		/* Look again after a change. The reader must not wait for a dead process, because the wait would never end. */
		w_thread == NONE || m[w_word] != w_value || m[w_progress] != w_p || !WAITS_FOR(w_thread);
		forget_waiting()
	   :: else ->
#ifdef UNTIL_FULL
		/* Everything was read: the stream runs again. */
		if
		:: d_step { m[STATE] == ARMED -> m[STATE] = RUNNING }
		:: m[STATE] != ARMED
		fi;
#endif
		if
		:: over && !young -> break
		:: else
		fi
#ifdef SLEEP
		;
		d_step { wakeups = m[WAKEUPS] };
		m[WAITING] = (wakeups << 1) | 1;
		barrier_everywhere();
#ifndef MUTANT_SLEEPS_AT_ONCE
		read_all();
#endif
		if
		:: waiting || young -> forget_waiting()
		:: else ->
			if
			:: m[WAKEUPS] != wakeups
			:: ALL_OVER ->
				/* No process is left that could wake the reader. Look for events once more. */
				assert(ANY_KILLED || m[WAKEUPS] != wakeups || !UNREAD)
			fi
		fi;
		wakeups = 0
#endif
	   fi
	od;

#ifdef STATUS
	status();
	assert(lost == overwritten + dropped + m[LOST]);
#endif

	/* The books: each event is reported or counted, once. */
	n = 0;
	d_step {
		x = 0; p = 0;
		do
		:: n < CHUNKS -> assert(m[FIRST(n)] == c_first[n] && RECORDS(m[PROG(n)]) == c_next[n]); n++
		:: else -> break
		od;
		n = 0;
		do
		:: n <= now -> x = x + (what[n] != 0); p = p + (what[n] == 2); n++
		:: else -> break
		od;
		assert(x == p + overwritten + dropped);
		x = x + m[LOST] + none;
		assert(x >= ended);
		n = 0;
		do
		:: n < WRITERS -> ended = ended + (killed[n] && !done[n]) + (killed[n] && handling[n]); n++
		:: else -> break
		od;
		assert(x <= ended);
		n = 0; x = 0; p = 0
	};
	reading_done = true
}

/* -- Others -------------------------------------------------------------------- */

#ifdef STOP
/*
 * src/control/quiesce.c: quiesce(); src/control/lifecycle.c: lifecycle_stop()
 * The model waits where the library waits for a tenth of a second, to check that the awaited process is not dead.
 */
proctype stopper()
{
	byte wanted[CHUNKS], was, n, u;
	bool ok, again, locked[CHUNKS];

	m[STATE] = 0;
	do
	:: atomic { again = false; n = 0 };
	   do
	   :: n < CHUNKS ->
		if
#ifdef MUTANT_STOP_IGNORES_LOCKS
		:: !HELD(n)
#else
		:: !HELD(n) && m[LOCK(n)] == 0
#endif
		:: else ->
			chunk_trylock(STOPPER, n);
			if
			:: ok ->
				locked[n] = true;
				d_step { wanted[n] = m[OWNER(n)];
					if
					:: OWNER_IS(wanted[n]) -> m[OWNER(n)] = OWNER_NEXT(wanted[n], 0)
					:: else
					fi
				}
			:: else -> again = true
			fi
		fi;
		n++
	   :: else -> break
	   od;
	   barrier_everywhere();
	   n = 0;
	   do
	   :: n < CHUNKS ->
		if
		:: locked[n] ->
			ok = true;
			if
			:: OWNER_IS(wanted[n]) -> chunk_withdrawn(n, OWNER_SEAT(wanted[n]))
			:: else
			fi;
			if
			:: ok
			:: else -> store(STOPPER, OWNER(n), wanted[n]); again = true
			fi;
			chunk_unlock(STOPPER, n);
			d_step { locked[n] = false; wanted[n] = 0 }
		:: else
		fi;
		n++
	   :: else -> break
	   od;
	   n = 0;
	   if
	   :: again
	   :: else -> break
	   fi
	od;
	atomic { quiet = true; stopping = false }
}
#endif

#ifdef KILLS
/* SIGKILL, at any step. */
proctype killer()
{
	if
#ifndef KILL_ONLY_1
	:: killed[0] = true
#endif
#if WRITERS > 1
	:: killed[1] = true
#endif
	:: true
	fi
}
#endif

/* If no step is possible, every living process has ended. */
proctype monitor()
{
	timeout ->
	assert(reading_done);
	assert(done[0] || killed[0]);
	assert(done[WRITERS - 1] || killed[WRITERS - 1])
}

init {
	byte n;

	atomic {
		m[STATE] = RUNNING;
		do
		:: n < WRITERS -> run memory(n); n++
		:: else -> break
		od;
		run writer(0, EVENTS_0);
#if WRITERS > 1
#ifdef ALONE
		run handler(1, false);
#else
		run writer(1, EVENTS_1);
#endif
#endif
#if WRITERS > 2
		run writer(2, EVENTS_2);
#endif
#ifdef HANDLER
		run handler(0, true);
#endif
#ifdef STOP
		stopping = true;
		run stopper();
#endif
#ifdef KILLS
		run killer();
#endif
		run reader();
		run monitor()
	}
}
