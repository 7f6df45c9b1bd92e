/* SPDX-License-Identifier: Apache-2.0
 * Run while Tessera is built, before all else: writes the public header
 * options.h, the structs of the options that are declared in
 * tune_options.def and tasks_options.def, to the file that is named. */
#include <tessera/option.h>

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 79, TEXT_BYTES = 2048 };

/* An option, or a field of C alone. */
typedef struct row {
  tess_option option;
  const char *declaration, *comment;
} row;

#define OPTION_AS(KIND, FIELD, NAME, ...) \
  {.option = {.kind = TESS_OPTION_##KIND, \
              .field = #FIELD,            \
              .name = NAME,               \
              __VA_ARGS__}},
#define OPTION(KIND, FIELD, ...) OPTION_AS(KIND, FIELD, #FIELD, __VA_ARGS__)
#define VALUE(NAME, ...) {.option = {.name = #NAME, __VA_ARGS__}},
#define FIELD(DECLARATION, COMMENT) \
  {.declaration = (DECLARATION), .comment = (COMMENT)},
static const row tune_rows[] = {
#include <tessera/tune_options.def>
};
static const row tasks_rows[] = {
#include <tessera/tasks_options.def>
};

/* The longest piece of the text, up to a blank, that a line of n bytes has
 * room for; at least a word. */
static size_t piece(const char *text, size_t n) {
  size_t end = strlen(text), at = 0;
  if (end <= n) return end;
  for (size_t i = 0; i < end && (i <= n || !at); i++)
    if (text[i] == ' ') at = i;
  return at ? at : end;
}

static void write_comment(FILE *f, const char *text) {
  if (!*text) return;
  fprintf(f, "  /* ");
  while (*text) {
    size_t n = piece(text, WIDTH - 5);
    if (n == strlen(text) && n > WIDTH - 8) n = piece(text, WIDTH - 8);
    size_t shown = n;
    while (shown && text[shown - 1] == ' ') shown--;
    fprintf(f, "%.*s", (int)shown, text);
    text += n;
    while (*text == ' ') text++;
    if (*text) fprintf(f, "\n   * ");
  }
  fprintf(f, " */\n");
}

/* What stands for "not given", and what is taken then. */
static void write_default(const tess_option *o, char *to, size_t n) {
  char usual[64];
  snprintf(usual, sizeof usual, "%.10g", o->initial);
  const char *is = o->usual ? o->usual : usual;
  switch (o->kind) {
  case TESS_OPTION_COUNT:
  case TESS_OPTION_SECONDS:
  case TESS_OPTION_SHARE: snprintf(to, n, "; 0: %s", is); break;
  case TESS_OPTION_TEXT: snprintf(to, n, "; NULL: %s", is); break;
  case TESS_OPTION_NAME: snprintf(to, n, "; NULL: the first of these"); break;
  case TESS_OPTION_SWITCH: snprintf(to, n, "; 1: yes, 0: no"); break;
  case TESS_OPTION_OFF: snprintf(to, n, "; 0: yes, 1: no"); break;
  default: *to = '\0';
  }
}

/* "0: record, 1: stop" */
static void write_words(const tess_option *o, char *to, size_t n) {
  const char *at = o->kind == TESS_OPTION_WORD ? o->words : "";
  for (int i = 0; *at; i++) {
    int k = (int)strcspn(at, "|");
    size_t used = strlen(to);
    snprintf(to + used, n - used, "%s%d: \"%.*s\"", i ? ", " : "; ", i, k, at);
    at += k + (at[k] == '|');
  }
}

static void write_help(FILE *f, const tess_option *o) {
  char text[TEXT_BYTES], usual[256], words[256] = "";
  write_default(o, usual, sizeof usual);
  write_words(o, words, sizeof words);
  if (o->c && strstr(o->c, "NULL:")) *usual = '\0';
  snprintf(text, sizeof text, "%s%s%s%s.", o->help, o->c ? o->c : "", usual,
           words);
  *text = (char)toupper((unsigned char)*text);
  write_comment(f, text);
}

static const char *const types[] = {
    [TESS_OPTION_COUNT] = "uint32_t ",   [TESS_OPTION_SEED] = "uint64_t ",
    [TESS_OPTION_SECONDS] = "double ",   [TESS_OPTION_SHARE] = "double ",
    [TESS_OPTION_TEXT] = "const char *", [TESS_OPTION_NAME] = "const char *",
    [TESS_OPTION_WORD] = "int32_t ",     [TESS_OPTION_SWITCH] = "int32_t ",
    [TESS_OPTION_OFF] = "int32_t "};

static void write_struct(FILE *f, const char *name, size_t n, const row *r) {
  fprintf(f,
          "\ntypedef struct %s {\n  uint32_t struct_size; /* sizeof(%s) */\n",
          name, name);
  for (size_t i = 0; i < n; i++) {
    if (r[i].declaration) {
      write_comment(f, r[i].comment);
      fprintf(f, "  %s;\n", r[i].declaration);
    } else if (r[i].option.field) {
      write_help(f, &r[i].option);
      fprintf(f, "  %s%s;\n", types[r[i].option.kind], r[i].option.field);
    }
  }
  fprintf(f, "} %s;\n", name);
}

static void write_header(FILE *f) {
  fprintf(f,
          "/* SPDX-License-Identifier: Apache-2.0\n"
          " * Options of tess_tune and tess_tune_tasks, for tessera.h; written "
          "by the build\n"
          " * from tune_options.def and tasks_options.def. */\n"
          "#ifndef TESSERA_OPTIONS_H\n"
          "#define TESSERA_OPTIONS_H\n"
          "\n"
          "/* Counts above what tessera/option.h says, and times that are "
          "negative, are\n"
          " * TESS_INVALID. */\n"
          "struct tess_tasks_progress;\n");
  write_struct(f, "tess_tune_options", sizeof tune_rows / sizeof *tune_rows,
               tune_rows);
  write_struct(f, "tess_tasks_options", sizeof tasks_rows / sizeof *tasks_rows,
               tasks_rows);
  fprintf(f, "\n#endif\n");
}

int main(int argc, char **argv) {
  FILE *f = argc == 2 ? fopen(argv[1], "w") : NULL;
  if (!f) {
    fprintf(stderr, "usage: %s FILE, which can be written\n", argv[0]);
    return 2;
  }
  write_header(f);
  int bad = ferror(f) != 0;
  bad |= fclose(f) != 0;
  if (bad) fprintf(stderr, "%s: writing %s failed\n", argv[0], argv[1]);
  return bad;
}
