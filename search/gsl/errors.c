/* SPDX-License-Identifier: Apache-2.0
 * Who switches GSL's error handler off, counted: a search trains on a thread
 * of its own, and two contexts may search at once. */
#include "search/gsl/errors.h"

#include <gsl/gsl_errno.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned users;
static gsl_error_handler_t *host; /* while there are users */

void errors_off(void) {
  pthread_mutex_lock(&lock);
  if (!users++) host = gsl_set_error_handler_off();
  pthread_mutex_unlock(&lock);
}

void errors_restore(void) {
  pthread_mutex_lock(&lock);
  if (!--users) gsl_set_error_handler(host);
  pthread_mutex_unlock(&lock);
}
