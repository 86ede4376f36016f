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
	return 0;
}
