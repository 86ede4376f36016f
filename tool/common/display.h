/*
 * display.h - colours, the pager and the width of the terminal
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef DISPLAY_H
#define DISPLAY_H

enum colour { PLAIN, BOLD, DIM, RED, GREEN, YELLOW, BLUE, CYAN };

/*
 * Handles --color=auto|always|never. auto: colours on a terminal, if NO_COLOR is unset or empty and TERM is not dumb.
 */
void display_colours(const char *when);
/* Prints nothing if there are no colours. */
void display_colour(enum colour colour);
/* Sends standard output, if it is a terminal, through $PAGER or less until exit. */
void display_pager(void);
/* Returns the width of the terminal, or 80. */
int display_columns(void);

#endif
