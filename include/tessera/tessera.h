/* SPDX-License-Identifier: Apache-2.0
 * Tessera: probabilistic tensor-program scheduling.  The public C API.
 *
 * A part for each thing that one does: describe.h, schedule.h, trace.h,
 * kernel.h, space.h, tune.h, database.h, fleet.h, graph.h and model.h, on
 * context.h and types.h.  This header includes them all, and says what holds
 * for all.
 *
 * Objects are opaque and hang from a tess_context; each is released with its
 * own tess_X_free (NULL is fine), in any order: an object keeps alive what it
 * needs.  One thread at a time may use a context and what hangs from it; two
 * contexts may be used by two threads at once.  tess_stop() alone may be
 * called from anywhere.
 *
 * Functions that can fail return a tess_status; on failure the context's
 * last error (tess_error) has the message, and where there is one the place.
 * A refused schedule step is an ordinary TESS_REFUSED.  A failing call leaves
 * its object as it was.  What it would have given (TESS_GIVE, and the handles
 * of a builder) is NULL, or 0, then; other outputs it does not set, except
 * where said otherwise.
 *
 * Pointers must not be NULL where nothing says that they may be, but for
 * lists of no elements.  The functions that describe computations answer
 * INVALID to NULL, and all do to one in a list or struct of the host's; else
 * they do not look.
 *
 * Pointers given in are borrowed for the call (KEEP) unless marked TESS_TAKE;
 * objects given out (TESS_GIVE) belong to the caller.  A const char * that is
 * returned lives as long as its object and until the next call on it.
 *
 * How structs grow.  A struct that a host fills in, or has filled in, begins
 * with struct_size, where the host writes sizeof of it (TESS_INIT does).  New
 * members go to its end, never into padding, so each version of a struct is a
 * prefix of the next, and the size says which members the host knows: of an
 * argument those after them have their defaults, of a result they are not
 * written.  A host that was compiled against a newer header may call an older
 * library: that looks at the members it knows, and sets the rest of a result
 * to 0.  A size that no version of the struct can have is TESS_INVALID.  In an
 * array all elements have the size of the first.  Structs that the library
 * makes (tess_error_info, tess_progress) carry its own size.
 *
 * Structs without struct_size never change: tess_dtype, tess_value, tess_arg,
 * tess_candidate, tess_decision, tess_origin and tess_quality, which are array
 * elements or passed by value, and tess_allocator, a function and its user
 * data.
 *
 * Data is counted from 0 (sketches, rows, parameters, bits of a mask), but for
 * the instructions of a trace, which are counted from 1, as in Lua.  Texts for
 * people, messages and funnels among them, count from 1, and say so where a
 * host might have given the number; but dimensions, their extents and indices
 * are counted from 0 there, too, as in the operands that name them, which a
 * line that also counts from 1 says.
 */
#ifndef TESSERA_TESSERA_H
#define TESSERA_TESSERA_H

#include <tessera/context.h>
#include <tessera/database.h>
#include <tessera/describe.h>
#include <tessera/fleet.h>
#include <tessera/graph.h>
#include <tessera/kernel.h>
#include <tessera/model.h>
#include <tessera/schedule.h>
#include <tessera/space.h>
#include <tessera/trace.h>
#include <tessera/tune.h>
#include <tessera/types.h>

#define TESS_VERSION_MAJOR 0
#define TESS_VERSION_MINOR 1
#define TESS_VERSION_PATCH 0

#endif
