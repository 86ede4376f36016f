/*
 * doctor.c - posixtrace doctor: why does tracing not work here?
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdint.h>

#include "common/command.h"
#include "common/display.h"
#include "common/message.h"
#include "common/options.h"
#include "common/out.h"
#include "doctor/findings.h"
#include "doctor/kernel_events.h"
#include "doctor/library.h"
#include "doctor/machine.h"
#include "doctor/process.h"
#include "doctor/program.h"
#include "doctor/trial.h"

static int run(int argc, char **argv)
{
	const char *colours = "auto";
	uint32_t pid = 0;
	bool problems;
	int c;

	while ((c = next_option(argc, argv)) >= 0)
		if (c == 'p')
			pid = (uint32_t)argument_number("--pid", optarg, 1, INT32_MAX);
		else
			colours = optarg;
	if (optind + 1 < argc)
		wrong_usage("unexpected argument '%s': give one PROGRAM, without its arguments", argv[optind + 1]);
	if (optind < argc && pid)
		wrong_usage("PROGRAM and -p cannot be combined");
	display_colours(colours);
	if (pid) {
		doctor_process(pid);
	} else if (optind < argc) {
		doctor_program(argv[optind]);
	} else {
		doctor_machine();
		doctor_kernel_events();
		doctor_library();
		doctor_directory();
		doctor_trials();
	}
	problems = findings_end();
	out_flush();
	return problems ? STATUS_FAILED : STATUS_DONE;
}

static const struct option_row option_rows[] = {
	OPTION('p', "pid", "PID", "find out why this process cannot be traced"),
	OPTION_FLAG(OPTION_JSON, "json", &findings_json, "a JSON object on each line"),
	OPTION_ROW_COLOR,
	{ 0 },
};

const struct command command_doctor = {
	.name = "doctor",
	.summary = "find out why tracing does not work here",
	.synopsis = "[options] [PROGRAM]",
	.about = "Checks everything that tracing needs on this machine, and tries it; with -p, what it needs to "
	         "trace that process. With PROGRAM: what can be recorded of a program as it is, and how; it is not "
	         "run.",
	.options = option_rows,
	.ending = "Exit status: 0 no problem, 1 a problem, 2 wrong usage.",
	.operand = "COMMAND",
	.run = run,
};
