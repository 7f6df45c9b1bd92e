/* SPDX-License-Identifier: Apache-2.0
 * GSL's error handler, of which a process has one. */
#ifndef SEARCH_GSL_ERRORS_H
#define SEARCH_GSL_ERRORS_H

/* GSL's own handler would end the process.  Between the two calls errors are
 * what functions return; the host's handler is back when no thread is between
 * them. */
void errors_off(void);
void errors_restore(void);

#endif
