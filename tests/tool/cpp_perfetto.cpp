/*
 * cpp_perfetto.cpp - a small program with the macros of Perfetto's SDK, for cpp.py: nothing here is of posixtrace
 *
 * SPDX-License-Identifier: MIT
 */
#include <string>
#include <thread>
#include <vector>

#include <perfetto.h>

PERFETTO_DEFINE_CATEGORIES(
	perfetto::Category("net").SetDescription("Network"),
	perfetto::Category("draw").SetTags("slow"));
PERFETTO_TRACK_EVENT_STATIC_STORAGE();

static void request(int id, const std::string &path)
{
	TRACE_EVENT("net", "request", "id", id, "path", path);
	TRACE_EVENT_BEGIN("net", perfetto::DynamicString("read " + path), perfetto::ThreadTrack::Current());
	TRACE_EVENT_BEGIN("net", "parse", "flag", id > 1);
	TRACE_EVENT_END("net");
	TRACE_EVENT_END("net", "bytes", 42);
	TRACE_EVENT_INSTANT("net", "done", perfetto::Flow::ProcessScoped(7), "a/b:c", 0.5,
	                    "list", std::vector<int>{ 1, 2 });
	TRACE_COUNTER("net", "open", 3 - id);
}

/* Flows: through both spans of a job, each in its own thread, to an event; and one that all processes know. */
static void jobs()
{
	static int job;
	const std::string name(60, 'n');

	TRACE_EVENT("draw", "submit", perfetto::Flow::FromPointer(&job), perfetto::Flow::Global(1), "id", 5);
	std::thread([] {
		TRACE_EVENT_BEGIN("draw", "run", "id", 5, perfetto::Flow::FromPointer(&job));
		TRACE_EVENT_END("draw");
	}).join();
	TRACE_EVENT_INSTANT("draw", "ran", perfetto::TerminatingFlow::FromPointer(&job));
	TRACE_EVENT_INSTANT("draw", perfetto::DynamicString(name), perfetto::Flow::Global(40));
	TRACE_EVENT("draw", "last", perfetto::TerminatingFlow::Global(40));
}

/* Spans that begin in each other. */
static void nested(int depth)
{
	TRACE_EVENT_BEGIN("deep", perfetto::StaticString("level"));
	if (depth > 1)
		nested(depth - 1);
	TRACE_EVENT_END("deep");
}

/* Values that are larger than an int64_t, or have a fraction; one name of several events; names that change. */
static void values()
{
	TRACE_COUNTER("v", "big", UINT64_C(3));
	TRACE_COUNTER("v", "big", UINT64_MAX);
	TRACE_COUNTER("v", "load", 1);
	TRACE_COUNTER("v", "load", 0.5F);
	TRACE_EVENT_INSTANT("v", "same", "a", 1);
	TRACE_EVENT_INSTANT("v", "same", "b", 2);
	for (int i = 0; i < 2; i++)
		TRACE_COUNTER("v", perfetto::CounterTrack(perfetto::DynamicString("cpu " + std::to_string(i)), "%"), i);
	TRACE_EVENT_INSTANT("v", "details", "b", 2,
	                    [&](perfetto::EventContext ctx) { ctx.AddDebugAnnotation("a", 1); });
	bool on = false;
	TRACE_EVENT_CATEGORY_GROUP_ENABLED("v", &on);
	TRACE_EVENT_INSTANT("v", "group", "on", on);
}

int main()
{
	perfetto::TracingInitArgs args;

	args.backends |= perfetto::kInProcessBackend | perfetto::kSystemBackend;
	perfetto::Tracing::Initialize(args);
	perfetto::TrackEvent::Register();
	/* An end without a beginning. */
	TRACE_EVENT_END("net");
	request(1, "/");
	request(2, "/tea");
	{
		TRACE_EVENT("draw", perfetto::StaticString("scene"), [](int) {});
		TRACE_COUNTER("draw", perfetto::CounterTrack("memory", "MB").set_unit_multiplier(1024), 0.25);
		if (TRACE_EVENT_CATEGORY_ENABLED("draw"))
			TRACE_EVENT_INSTANT("draw", "on");
	}
	TRACE_EVENT1("draw", "old", "text", "tea");
	jobs();
	values();
	nested(130); /* two more than there is room for */
	return 0;
}
