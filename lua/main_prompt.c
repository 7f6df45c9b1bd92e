/* SPDX-License-Identifier: Apache-2.0
 * The prompt: like lua's own, with history, and completion of globals,
 * fields and methods. */
#include "lua/lt.h"
#include "lua/main.h"

#include <editline/readline.h>
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wchar.h>

/* ---- lines -------------------------------------------------------------- */

static char *plain_line(void) {
  char *line = NULL;
  size_t cap = 0;
  main_hold_interrupts(0);
  ssize_t n = getline(&line, &cap, stdin);
  main_hold_interrupts(1);
  if (n < 0) {
    free(line);
    return NULL;
  }
  if (n > 0 && line[n - 1] == '\n') line[n - 1] = '\0';
  return line;
}

/* libedit decodes keys and encodes lines as the locale says, and drops what
 * does not fit: all but ASCII in "C", for which "C.UTF-8" stands in.  Of the
 * locale this is LC_CTYPE alone: numbers are written with a dot.  Asked before
 * libedit is first used; 0: there is no locale for it. */
static int can_edit(void) {
  static int answer = -1;
  if (answer >= 0) return answer;
  answer = setlocale(LC_CTYPE, "") &&
           strcmp(nl_langinfo(CODESET), "ANSI_X3.4-1968") != 0;
  if (!answer) answer = setlocale(LC_CTYPE, "C.UTF-8") != NULL;
  return answer;
}

/* Ctrl-C while a line is typed: the handler writes to the pipe, the reader
 * of keys waits for that, too.  `part`: of a character of several bytes. */
static struct {
  int ends[2], raised;
  mbstate_t part;
} typing = {{-1, -1}, 0, {0}};

static void on_typing(int sig) {
  int was = errno;
  (void)sig;
  ssize_t n = write(typing.ends[1], "", 1);
  (void)n; /* a full pipe says the same */
  errno = was;
}

enum { BROKEN = 0xfffd }; /* the character that shows where there is none */

/* The character that the byte ends; -1: it has more. */
static int decode(char byte) {
  wchar_t c = 0;
  size_t n = mbrtowc(&c, &byte, 1, &typing.part);
  if (n == (size_t)-2) return -1;
  if (n != (size_t)-1) return (int)c;
  memset(&typing.part, 0, sizeof typing.part);
  return BROKEN;
}

/* The next character for libedit, which takes no bytes here; after Ctrl-C the
 * end of the line. */
static int next_key(FILE *in) {
  struct pollfd p[] = {{fileno(in), POLLIN, 0}, {typing.ends[0], POLLIN, 0}};
  while (!typing.raised) {
    char byte;
    if (poll(p, 2, -1) < 0 && errno != EINTR) return -1;
    if (poll(&p[1], 1, 0) > 0)
      typing.raised = 1;
    else if (poll(&p[0], 1, 0) > 0) {
      if (read(p[0].fd, &byte, 1) != 1) return -1;
      int key = decode(byte);
      if (key >= 0) return key;
    }
  }
  return '\n';
}

/* A line from the terminal; one that Ctrl-C ended is thrown away, also where
 * libedit had the line's end already. */
static char *typed_line(const char *prompt, int *abandoned) {
  char some[16];
  if (typing.ends[0] < 0 && pipe2(typing.ends, O_CLOEXEC | O_NONBLOCK))
    return NULL;
  typing.raised = 0;
  memset(&typing.part, 0, sizeof typing.part);
  rl_getc_function = next_key;
  signal(SIGINT, on_typing);
  main_hold_interrupts(0);
  char *line = readline(prompt);
  main_hold_interrupts(1);
  signal(SIGINT, SIG_DFL);
  while (read(typing.ends[0], some, sizeof some) > 0) typing.raised = 1;
  *abandoned = typing.raised;
  if (!typing.raised) return line;
  free(line);
  return NULL;
}

char *main_read_line(const char *prompt, int *abandoned) {
  *abandoned = 0;
  if (!isatty(0)) return plain_line();
  if (!can_edit()) return printf("%s", prompt), fflush(stdout), plain_line();
  char *line = typed_line(prompt, abandoned);
  if (line && *line) add_history(line);
  return line;
}

/* $XDG_STATE_HOME/tessera/history, made when it is first needed; "" when
 * there is no place for it. */
static const char *history_file(void) {
  static char path[4096];
  const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
  if (path[0]) return path;
  if (state && *state)
    snprintf(path, sizeof path, "%s/tessera", state);
  else if (home)
    snprintf(path, sizeof path, "%s/.local/state/tessera", home);
  else
    return "";
  for (char *s = strchr(path + 1, '/'); s; s = strchr(s + 1, '/')) {
    *s = '\0';
    mkdir(path, 0700);
    *s = '/';
  }
  mkdir(path, 0700);
  strncat(path, "/history", sizeof path - strlen(path) - 1);
  return path;
}

/* ---- completion --------------------------------------------------------- */

/* readline's callback has no user data. */
static lua_State *completing;

/* Pushes what the words before the last separator name; 0: nothing. */
static int push_owner(lua_State *L, const char *text, const char *last) {
  lua_pushglobaltable(L);
  while (text < last) {
    size_t n = strcspn(text, ".:");
    lua_pushlstring(L, text, n);
    if (!lua_istable(L, -2) && !luaL_getmetafield(L, -2, "__index"))
      return lua_pop(L, 2), 0;
    if (!lua_istable(L, -2) && !lua_istable(L, -3))
      return lua_settop(L, lua_gettop(L) - 2), 0;
    lua_rawget(L, lua_istable(L, -2) ? -2 : -3);
    lua_remove(L, -2);
    text += n + 1;
  }
  if (lua_istable(L, -1)) return 1;
  if (luaL_getmetafield(L, -1, "__index") == LUA_TTABLE) {
    lua_remove(L, -2);
    return 1;
  }
  return 0;
}

/* The k-th key of the owner that begins as `text` ends. */
static char *candidate(const char *text, int k) {
  lua_State *L = completing;
  int top = lua_gettop(L);
  const char *last = text;
  char *found = NULL;
  for (const char *s = text; *s; s++)
    if (*s == '.' || *s == ':') last = s + 1;
  if (push_owner(L, text, last)) {
    int t = lua_gettop(L);
    for (lua_pushnil(L); !found && lua_next(L, t); lua_pop(L, 1)) {
      if (lua_type(L, -2) != LUA_TSTRING) continue;
      const char *key = lua_tostring(L, -2);
      if (strncmp(key, last, strlen(last)) || k-- > 0) continue;
      size_t head = (size_t)(last - text), size = head + strlen(key) + 1;
      found = malloc(size);
      if (found) snprintf(found, size, "%.*s%s", (int)head, text, key);
    }
  }
  lua_settop(L, top);
  return found;
}

static char *next_match(const char *text, int state) {
  static int k;
  if (!state) k = 0;
  return candidate(text, k++);
}

static char **complete(const char *text, int start, int end) {
  (void)start, (void)end;
  return rl_completion_matches(text, next_match);
}

/* Of `tessera step`: its commands, each with a blank behind it. */
static char commands[512];

/* The k-th command that begins so. */
static char *next_command(const char *text, int state) {
  static const char *at;
  size_t n = strlen(text);
  if (!state) at = commands;
  while (*at) {
    const char *word = at;
    size_t len = strcspn(word, " ");
    at += len + (word[len] == ' ');
    if (len >= n && !strncmp(word, text, n)) return strndup(word, len);
  }
  return NULL;
}

/* The first word is a command; what is behind it libedit completes to the name
 * of a file. */
static char **complete_command(const char *text, int start, int end) {
  (void)end;
  return start ? NULL : rl_completion_matches(text, next_command);
}

void main_complete_commands(const char *words) {
  snprintf(commands, sizeof commands, "%s ", words);
  if (!isatty(0) || !can_edit()) return;
  rl_getc_function = next_key;
  rl_attempted_completion_function = complete_command;
}

/* ---- reading and running ------------------------------------------------ */

static int is_incomplete(lua_State *L, int status) {
  size_t n, m = strlen("<eof>");
  if (status != LUA_ERRSYNTAX) return 0;
  const char *msg = lua_tolstring(L, -1, &n);
  return n >= m && !strcmp(msg + n - m, "<eof>");
}

enum { ENDED = -1, ABANDONED = -2 };

/* Compiles an expression or statement, reading on while it is incomplete;
 * ENDED at the end of input, ABANDONED by Ctrl-C. */
static int load_input(lua_State *L) {
  int abandoned;
  char *line = main_read_line("> ", &abandoned);
  if (!line) return abandoned ? ABANDONED : ENDED;
  lua_pushstring(L, line);
  free(line);
  lua_pushfstring(L, "return %s", lua_tostring(L, -1));
  size_t n;
  const char *s = lua_tolstring(L, -1, &n);
  int status = luaL_loadbuffer(L, s, n, "=stdin");
  if (status == LUA_OK) return LUA_OK;
  lua_pop(L, 2);
  for (;;) {
    s = lua_tolstring(L, -1, &n);
    status = luaL_loadbuffer(L, s, n, "=stdin");
    if (!is_incomplete(L, status)) return status;
    line = main_read_line(">> ", &abandoned);
    if (!line) return abandoned ? ABANDONED : status;
    lua_pop(L, 1);
    lua_pushfstring(L, "%s\n%s", lua_tostring(L, -1), line);
    lua_remove(L, -2);
    free(line);
  }
}

static int message(lua_State *L) {
  main_push_error_text(L, 1);
  if (main_options.verbose) lt_push_frames(L, lua_tostring(L, -1));
  return 1;
}

static void print_results(lua_State *L, int first) {
  int n = lua_gettop(L) - first + 1;
  if (n <= 0) return;
  lua_getglobal(L, "print");
  lua_insert(L, first);
  if (lua_pcall(L, n, 0, 0)) fprintf(stderr, "%s\n", lua_tostring(L, -1));
}

/* History and completion.  libedit asks for the reader of keys when it is first
 * used, be it for the history, and never again. */
static void begin_typing(void) {
  printf("Tessera %s  (ts is the module; Ctrl-D leaves)\n", tess_version());
  if (!can_edit()) return;
  rl_readline_name = (char *)(uintptr_t) "tessera";
  rl_getc_function = next_key;
  rl_attempted_completion_function = complete;
  rl_basic_word_break_characters =
      (char *)(uintptr_t) " \t\n\"\\'`@$><=;|&{(+-*/,";
  read_history(history_file());
}

static void end_typing(void) {
  printf("\n");
  if (!can_edit()) return;
  stifle_history(1000);
  write_history(history_file());
}

/* Runs what was loaded and prints the results; an error is at the top then. */
static int run_input(lua_State *L) {
  lua_pushcfunction(L, message);
  lua_replace(L, 1);
  int f = lua_gettop(L);
  main_catch_interrupts(1);
  main_hold_interrupts(0);
  int status = lua_pcall(L, 0, LUA_MULTRET, 1);
  if (status == LUA_OK) print_results(L, f);
  main_hold_interrupts(1);
  main_catch_interrupts(0);
  return status;
}

/* Ctrl-C waits while neither a line is typed nor anything runs. */
int main_prompt(lua_State *L) {
  int failed = 0;
  completing = L;
  lua_getglobal(L, "require");
  lua_pushliteral(L, "tessera");
  if (lua_pcall(L, 1, 1, 0)) {
    fprintf(stderr, "tessera: %s\n", luaL_tolstring(L, -1, NULL));
    return 1;
  }
  lua_setglobal(L, "ts");
  main_hold_interrupts(1);
  if (isatty(0)) begin_typing();
  for (int status; lua_settop(L, 0), (status = load_input(L)) != ENDED;) {
    if (status == ABANDONED) continue;
    if (status == LUA_OK && (status = run_input(L)) == LUA_OK) continue;
    fprintf(stderr, "%s\n", luaL_tolstring(L, -1, NULL));
    failed = 1;
  }
  if (isatty(0)) end_typing(), failed = 0;
  main_hold_interrupts(0);
  return failed;
}
