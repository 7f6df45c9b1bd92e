/* SPDX-License-Identifier: Apache-2.0
 * What an option of tess_tune or tess_tune_tasks is: how it is declared in
 * tune_options.def and tasks_options.def, from which the structs of
 * options.h are made, their defaults, their checks, and what bindings and
 * commands know of them. */
#ifndef TESSERA_OPTION_H
#define TESSERA_OPTION_H

#include <tessera/types.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  TESS_MAX_TRIALS = 10000000,
  TESS_MAX_BATCH = 4096,
  TESS_MAX_WINDOW = 1048576,
  TESS_MAX_THREADS = 1024
};

/* What the field holds, and of it what stands for "not given". */
typedef enum tess_option_kind {
  TESS_OPTION_VALUE,    /* no field: an object or a function of a binding */
  TESS_OPTION_COUNT,    /* uint32_t, 1 to `most`; 0 */
  TESS_OPTION_SEED,     /* uint64_t, any; 0 */
  TESS_OPTION_SECONDS,  /* double, more than 0; 0 */
  TESS_OPTION_SHARE,    /* double, more than 0 and up to 1; 0 */
  TESS_OPTION_TEXT,     /* const char *; NULL */
  TESS_OPTION_NAME,     /* const char *, one of `words`; NULL */
  TESS_OPTION_WORD,     /* int32_t, which of `words`, from 0; 0 */
  TESS_OPTION_SWITCH,   /* int32_t, 0 or 1; 0 */
  TESS_OPTION_OFF       /* int32_t, 1 where the option is false; 0 */
} tess_option_kind;

typedef struct tess_option {
  tess_option_kind kind;
  uint32_t offset;      /* of the field */
  const char *field;    /* of the struct; NULL: none */
  const char *name;     /* in Lua */
  const char *type;     /* in Lua, "string|table"; NULL: that of its kind */
  const char *flag;     /* of `tessera tune`, without dashes; NULL: the name */
  const char *shown;    /* what stands behind the flag; NULL: of its kind */
  const char *instead;  /* how the command has it; NULL: by the flag */
  const char *usual;    /* the default, in words; NULL: `initial` */
  const char *words;    /* "record|stop" */
  const char *help;     /* what it is */
  const char *lua;      /* more of it, for scripts and the command */
  const char *c;        /* more of it, for C */
  double initial, most; /* the default, 0: found out, and the greatest */
  int32_t single;       /* of one program; tess_tune_tasks has none such */
  uint32_t reserved;
} tess_option;

/* Option i of tess_tune, from 0, and of those of tess_tune_tasks alone; NULL
 * where there is none. */
TESS_API const tess_option *tess_tune_option(uint32_t i);
TESS_API const tess_option *tess_tasks_option(uint32_t i);

#ifdef __cplusplus
}
#endif
#endif
